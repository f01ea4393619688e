"""The reader of sources: what it follows comes out as it does when the source is run, and it never guesses."""

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smgcfg.drift.there
from smgcfg.drift.there.names import Package, Unknown
from smgcfg.drift.there.reader import Reader
from smgcfg.drift.there.records import records

THERE = sorted(Path(smgcfg.drift.there.__file__).parent.glob("*.py"))


def follow(folder: Path, **modules: str) -> Reader:
    """A reader that has followed `register(parser)` of the module `flags` of a package."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    reader = Reader(Package("planted", [str(folder)]))
    reader.register("planted.flags", "register")
    return reader


# --- against the run of the same source ---

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 1 << 20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "é"])
)
SWITCHES = st.sampled_from(["store_true", "store_false", "argparse.BooleanOptionalAction"])

ARITIES: list[dict[str, str]] = [
    {},
    {"nargs": "'+'"},
    {"nargs": "'*'"},
    {"nargs": "2"},
    {"nargs": "'?'", "const": "1"},
    {"action": "'append'"},
    {"action": "'append'", "nargs": "'+'"},
    {"action": "'extend'", "nargs": "'+'"},
]


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """An expression for a value: as it is, through a constant, an operator, a call, a class or another module."""
    plain = repr(value)
    ways = [
        plain,
        f"({plain})",
        f"[{plain}][0]",
        f"{{'k': {plain}}}['k']",
        f"({plain} if True else 0)",
        f"same({plain})",
    ]
    if isinstance(value, list):
        ways += [
            f"[*{plain}]",
            f"{plain[:-1]}]" if not value else f"{[value[0]]!r} + {value[1:]!r}",
            f"list(tuple({plain}))",
        ]
        ways += [f"[item for item in {plain}]"]
    if isinstance(value, int) and not isinstance(value, bool):
        ways += [f"{value - 1} + 1", f"Defaults.zero + {value}", f"{value} << elsewhere.ZERO", f"int({str(value)!r})"]
    if isinstance(value, str):
        ways += [f"''.join({list(value)!r})", f'f"{{{plain}}}"']
    return draw(st.sampled_from(ways))


@st.composite
def registrations(draw: st.DrawFn, number: int) -> str:
    """The source of one registration."""
    names = [
        f"--flag-{number}",
        *draw(st.lists(st.sampled_from([f"--alias-{number}", f"-{chr(97 + number)}"]), max_size=1)),
    ]
    shape: dict[str, str] = {}
    if draw(st.booleans()):
        action = draw(SWITCHES)
        shape["action"] = action if "." in action else draw(written(action))
    else:
        shape |= draw(st.sampled_from([{}, {"type": "int"}, {"type": "float"}, {"type": "str"}, {"type": "word_of"}]))
        shape |= draw(st.sampled_from(ARITIES))
        if draw(st.booleans()):
            shape["choices"] = draw(written(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))))
    if draw(st.booleans()):
        shape["default"] = draw(written(draw(VALUES)))
    target = draw(st.sampled_from(["parser", "group", "exclusive"]))
    words = ", ".join([draw(written(name)) for name in names] + [f"{key}={value}" for key, value in shape.items()])
    call = f"{target}.add_argument({words})"
    frame = draw(
        st.sampled_from(["{}", "if Defaults.zero == 0:\n        {}", "for _ in (1,):\n        {}", "with_it = {}"])
    )
    return "    " + frame.format(call)


HEAD = """
import argparse
from . import elsewhere
class Base:
    zero = elsewhere.ZERO
class Defaults(Base):
    one: int = 1
def same(value):
    kept = [value]
    return kept[0]
def word_of(text):
    return text
def register(parser):
    group = parser.add_argument_group("group")
    exclusive = parser.add_mutually_exclusive_group()
"""


@settings(max_examples=100)
@given(data=st.data(), count=st.integers(1, 5))
def test_what_is_followed_is_what_a_run_gives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int
) -> None:
    """The records that come of following a source are those of the parser that a run of it fills."""
    source = HEAD + "\n".join(data.draw(registrations(number)) for number in range(count)) + "\n"
    reader = follow(tmp_path_factory.mktemp("planted"), flags=source, elsewhere="ZERO = 1 - 1\n")
    names: dict[str, Any] = {"__name__": "planted"}
    run = source.replace("from . import elsewhere", "import types\nelsewhere = types.SimpleNamespace(ZERO=0)")
    exec(compile(run, "planted", "exec"), names)
    parser = argparse.ArgumentParser(add_help=False)
    names["register"](parser)
    assert reader.unread == []
    assert records(reader.parser, reader.notes) == records(parser, {})


# --- what it does not know ---


@pytest.mark.parametrize(
    "body",
    [
        "X = 1\nif machine.fast:\n    X = 2",
        "try:\n    from machine import X\nexcept ImportError:\n    from elsewhere import X",
        "X = machine.X if machine.fast else 1",
        "X = machine.fast and 1",
        "X = [machine.X]",
        "X = {machine.key: 1}['a']",
        "X = open('/etc/hostname').read()",
        "X = __import__('os').getpid()",
        "X = (lambda: machine.X)()",
        "X = Y\nY = X",
        "def deep():\n    return deep()\nX = deep()",
        "X = [item for item in (1, 2) if machine.likes(item)]",
    ],
)
def test_what_is_not_known_is_not_guessed(body: str, tmp_path: Path) -> None:
    """A value that depends on what is not in the package is unknown, and what would have an effect is not done."""
    reader = follow(tmp_path, flags=f"import machine\n{body}\ndef register(parser):\n    pass\n")
    module: Any = reader.module("planted.flags")
    assert isinstance(module.find("X"), Unknown)


def test_both_sides_of_an_unknown_condition_are_followed(tmp_path: Path) -> None:
    """What either side registers is there and noted; what one of them sets is unknown afterwards, the rest is known."""
    source = """
import machine
def register(parser):
    kept, set_here = 1, 1
    if machine.fast:
        parser.add_argument("--fast", default=kept)
        parser.add_argument("--both")
        set_here = 2
        return
    else:
        parser.add_argument("--slow")
        parser.add_argument("--both")
    parser.add_argument("--always", default=set_here, const=kept, nargs="?")
"""
    reader = follow(tmp_path, flags=source)
    found = {flag["name"]: flag for flag in records(reader.parser, reader.notes)}
    assert list(found) == ["--fast", "--both", "--slow", "--always"]
    assert {name: list(flag["unknown"]) for name, flag in found.items()} == {
        "--fast": ["registered"],
        "--both": ["registered"],
        "--slow": ["registered"],
        "--always": ["default"],
    }
    assert found["--fast"]["default"] == found["--always"]["const"] == 1


def test_it_ends_whatever_the_source_does(tmp_path: Path) -> None:
    """A loop without an end is followed once."""
    loop = "    while True:\n        parser.add_argument('--once')\n"
    source = f"def register(parser):\n{loop}    parser.add_argument('--then')\n"
    assert [action.dest for action in follow(tmp_path, flags=source).parser._actions] == ["once", "then"]


# --- where it runs ---


@pytest.mark.parametrize("path", THERE, ids=lambda path: path.stem)
def test_what_runs_over_there_needs_nothing_but_python(path: Path) -> None:
    """It parses as Python 3.8, evaluates no annotation, and imports the standard library and itself alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom) and not node.level]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert path.stem == "__init__" or any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in imports
    )
