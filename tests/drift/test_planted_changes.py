"""A change in an engine's or gateway's source is found, whatever way it is written; and nothing is when it is none."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from planted import ENGINE, ENGINE_FIRST, GATEWAY, GATEWAY_FIRST, Change, planted, reading

from smgcfg.drift.compare import Difference, differences
from smgcfg.snapshots import snapshot

NAME = "--served-model-name"
SERVED = f'"{NAME}",\n            type=str,'
SEED = '"--seed",\n            metavar="SEED",\n            type=int,'
LOAD_FORMAT = '                "instanttensor",\n'
DISPATCH = '    "dynamic",\n'
DISPATCH_FILE = "tokenspeed/runtime/moe/dispatch_algorithm.py"


def found(program: str, version: str, requirement: str, folder: Path, changes: dict[str, tuple[Change, ...]]) -> Any:
    """What differs in a planted program, and what of it is not known."""
    read = reading(program, planted(requirement, folder, changes), sys.executable)
    different = differences(snapshot(program, version).flags, read.flags)
    unknown = {flag["name"]: flag["unknown"] for flag in read.flags if "unknown" in flag}
    return different, unknown, read


def engine(folder: Path, *changes: Change, file: str = ENGINE) -> Any:
    """What differs in TokenSpeed 0.1.1 with changes planted in one of its files."""
    return found("tokenspeed", "0.1.1", "tokenspeed==0.1.1", folder, {file: changes})


def said(different: list[Difference]) -> list[tuple[str, str]]:
    """The part and the flag of each difference."""
    return [(difference.part, difference.flag) for difference in different]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SERVED, SERVED.replace(NAME, "--public-name"), [("added", "--public-name"), ("removed", NAME)]),
        (SERVED, SERVED.replace(f'"{NAME}"', f'"{NAME}", "--alias"'), [("spellings", NAME)]),
        (SERVED, SERVED.replace("type=str", "nargs='+'"), [("kind", NAME)]),
        (SERVED, SERVED.replace("type=str", "action='store_true'"), [("kind", NAME)]),
        (SERVED, SERVED.replace("type=str", "choices=('a', 'b')"), [("choices", NAME)]),
        (SEED, SEED.replace("int", "float"), [("type", "--seed")]),
        ("    stream_interval: int = 1\n", "    stream_interval: int = 1 << 3\n", [("default", "--stream-interval")]),
        (LOAD_FORMAT, "", [("choices", "--load-format")]),
        ('            choices=["xgrammar", "none"],\n', "", [("choices", "--grammar-backend")]),
    ],
    ids=["renamed", "alias", "list", "switch", "closed", "type", "default", "choice", "opened"],
)
def test_a_change_in_the_engine_is_found(old: str, new: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    """Exactly what was planted is reported."""
    different, unknown, read = engine(tmp_path, (old, new))
    assert sorted(said(different)) == sorted(expected)
    assert (unknown, read.unread) == ({}, ())


def test_a_choice_in_another_module_is_found(tmp_path: Path) -> None:
    """Choices that the parser takes from a constant elsewhere are followed to it."""
    different, _, _ = engine(tmp_path, (DISPATCH, f'{DISPATCH}    "sampled",\n'), file=DISPATCH_FILE)
    (only,) = different
    assert (only.flag, only.part) == ("--ep-dispatch-algorithm", "choices")
    assert set(only.now) - set(only.before) == {"sampled"}


#: Ways to register a flag, and what the record of it has.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "a constant expression": (
        """parser.add_argument("--fresh", type=int, default=1 << 4)""",
        {"kind": "value", "type": "int", "default": 16},
    ),
    "a loop": (
        """
        for name in ("fresh",):
            parser.add_argument(f"--{name}", action="store_true")
        """,
        {"kind": "switch_true"},
    ),
    "keywords in a dictionary": (
        """
        options = {"nargs": "+"}
        options["type"] = float
        parser.add_argument("--fresh", **options)
        """,
        {"kind": "list", "type": "float"},
    ),
    "a group": (
        """
        group = parser.add_argument_group("g")
        group.add_argument("--fresh", choices=[*SAMPLING_STREAMS, "own"])
        """,
        {"kind": "value", "type": "enum"},
    ),
    "a function": (
        """add_fresh(parser, default="x" if len(SAMPLING_STREAMS) else None)""",
        {"kind": "value", "default": "x"},
    ),
    "a try": (
        """
        try:
            parser.add_argument("--fresh", action=argparse.BooleanOptionalAction)
        finally:
            pass
        """,
        {"kind": "boolean_optional", "negatives": ["--no-fresh"]},
    ),
    "a comprehension": (
        """parser.add_argument("--fresh", choices=[word.lower() for word in ("A", "B") if word])""",
        {"choices": ["a", "b"]},
    ),
    "a condition": (
        """
        if os.getenv("FRESH", "1") == "1":
            parser.add_argument("--fresh", nargs="?", const="c")
        """,
        {"kind": "optional_value", "const": "c"},
    ),
}


def registered(source: str) -> Change:
    """A change that plants statements in front of the first registration."""
    return ENGINE_FIRST, textwrap.indent(textwrap.dedent(source).strip(), " " * 8) + "\n" + ENGINE_FIRST


@pytest.mark.parametrize("way", WAYS)
def test_a_new_flag_is_found_however_it_is_registered(way: str, tmp_path: Path) -> None:
    """Constants, loops, keyword dictionaries, groups, helpers and conditions are followed."""
    helper = '\n\ndef add_fresh(to, *, default=None, flag="--fresh"):\n    to.add_argument(flag, default=default)\n\n\n'
    head = "logger = get_colorful_logger(__name__)\n"
    source, record = WAYS[way]
    different, unknown, read = engine(tmp_path, (head, head + helper), registered(source))
    assert said(different) == [("added", "--fresh")]
    assert record.items() <= different[0].now.items()
    assert (unknown, read.unread) == ({}, ())


@pytest.mark.parametrize(
    ("registration", "part", "why"),
    [
        ('parser.add_argument("--fresh", choices=current_platform().names())', "choices", "tokenspeed_kernel"),
        ('parser.add_argument("--fresh", default=os.cpu_count())', "default", "AttributeError"),
        ('parser.add_argument("--fresh", action=current_platform())', "action", "tokenspeed_kernel"),
        ('if current_platform().is_amd:\n    parser.add_argument("--fresh")', "registered", "tokenspeed_kernel"),
    ],
)
def test_what_the_source_does_not_tell_is_said(registration: str, part: str, why: str, tmp_path: Path) -> None:
    """What depends on the machine or on other packages is unknown, with its reason, and the flag is there."""
    different, unknown, _ = engine(tmp_path, registered(registration))
    assert said(different) == [("added", "--fresh")]
    assert list(unknown["--fresh"]) == [part]
    assert why in unknown["--fresh"][part]


def test_a_known_flag_that_becomes_unknown_is_no_difference(tmp_path: Path) -> None:
    """A default that the machine decides differs from none, and is reported as not known."""
    before = "    stream_interval: int = 1\n"
    different, unknown, _ = engine(tmp_path, (before, before.replace("1", "current_platform().interval")))
    assert different == []
    assert list(unknown) == ["--stream-interval"]


def test_a_flag_that_can_not_be_read_is_said(tmp_path: Path) -> None:
    """A registration whose very name is not known makes the reading incomplete, and says where."""
    different, _, read = engine(tmp_path, registered("parser.add_argument(current_platform().flag)"))
    assert different == []
    (line,) = read.unread
    assert line.startswith("tokenspeed.runtime.utils.server_args, line ")


def test_a_parser_that_moved_is_found(tmp_path: Path) -> None:
    """Where the module is gone, the function of that name that registers the most flags is read."""
    folder = planted("tokenspeed==0.1.1", tmp_path, {ENGINE: ()})
    (folder / ENGINE).rename((folder / ENGINE).with_name("arguments.py"))
    read = reading("tokenspeed", folder, sys.executable)
    assert read.module == "tokenspeed.runtime.utils.arguments"
    assert differences(snapshot("tokenspeed", "0.1.1").flags, read.flags) == []


@pytest.mark.parametrize("program", ["engine", "gateway"])
def test_heavy_packages_are_not_imported(program: str, tmp_path: Path) -> None:
    """A torch that is installed is never imported: what wants it is read from its source."""
    (tmp_path / "torch").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("import os\nos._exit(7)\n")
    if program == "engine":
        different, _, read = engine(tmp_path, ("import argparse\n", "import argparse\nimport torch\n"))
    else:
        changes = {GATEWAY: (("import argparse\n", "import argparse\nimport torch\n"),)}
        different, _, read = found("smg", "1.13.0", "smg==1.13.0", tmp_path, changes)
        assert read.why == "ImportError: torch is not imported to read a flag table"
    assert (different, read.method) == ([], "source")


def test_a_change_in_the_gateway_is_found(tmp_path: Path) -> None:
    """A gateway's own parser is made, and has what was planted in it."""
    plant = f'        parser.add_argument("--fresh", type=int, default=len("abc"))\n{GATEWAY_FIRST}'
    changes = {GATEWAY: ((GATEWAY_FIRST, plant), ('    "least_load",\n', ""))}
    different, _, read = found("smg", "1.13.0", "smg==1.13.0", tmp_path, changes)
    assert read.method == "import"
    fresh = [(difference.flag, difference.now["default"]) for difference in different if difference.part == "added"]
    assert fresh == [("--fresh", 3)]
    closed = {difference.flag for difference in different if difference.part == "choices"}
    assert closed == {"--policy", "--prefill-policy", "--decode-policy"}
    assert len(different) == 4
