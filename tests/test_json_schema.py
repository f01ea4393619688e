"""The JSON Schema of a deployment file against the loader: what one takes, the other takes."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import tomli
import tomlkit
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from smgcfg.backends import BACKENDS
from smgcfg.cli import main
from smgcfg.cli.schema import text
from smgcfg.codec import Refused
from smgcfg.config import Gateway, Launch, Pool
from smgcfg.errors import Finding
from smgcfg.flags import key_of, specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.json_schema import json_schema, leaf_schema
from smgcfg.json_value import Json
from smgcfg.loading import load_sources
from smgcfg.schema import Leaf, Schema, Table
from smgcfg.testing import strategies
from smgcfg.toml_write import deployment_text

ROOT: Final = Path(__file__).parents[1]
SHIPPED: Final = ROOT / "smgcfg/deployment.schema.json"
SCHEMA: Final = json_schema()
VALIDATOR: Final = jsonschema.Draft202012Validator(SCHEMA)

Value = Any


def leaves() -> Iterator[Leaf]:
    """Every setting of a file, under every key that means it."""
    schema = Schema()
    tables = [
        (Table("pool", ("pools", "p"), Pool), Pool),
        (Table("gateway", ("gateway",), GatewayArgs), GatewayArgs),
        (Table("gateway", ("gateway",), GatewayArgs), Gateway),
        (Table("launch", ("launch",), Launch), Launch),
        *((Table("engine", ("pools", "p", "engine"), backend.args), backend.args) for backend in BACKENDS.values()),
    ]
    for table, cls in tables:
        for spec in specs_of(cls):
            for key in (*spec.keys, *map(key_of, spec.off)):
                found = schema.child(table, key)
                assert isinstance(found, Leaf)
                yield found


LEAVES: Final = list(leaves())

#: Values of every type that TOML has, the awkward of each.
VALUES: Final[tuple[Value, ...]] = (
    *(True, False, 0, 1, 2, -1, 5, 65535, 65536, 2**53 + 1, 2**63 - 1, 10**400),
    *(0.0, 1.0, -1.0, 0.5, 1e300, math.inf, -math.inf, math.nan),
    *("", " ", "x", "--", "-", "-x", "-1", "a,b", "a b", "\0", "\n", "None", "none", "true", "1", "0-3", "3-0", "é"),
    *(
        "xgrammar",
        "random",
        "zmq",
        "auto",
        '{"a": 1}',
        "{",
        "[]",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "./x",
        "\x1c",
        "x\n",
    ),
    *(
        [],
        [1],
        [0],
        ["x"],
        ["x", "y"],
        [1, "x"],
        [True],
        [-1],
        [1.5],
        [""],
        ["--"],
        ["a,b"],
        ["x\n"],
        [["x"]],
        [["x", "y"]],
    ),
    *(
        [[]],
        [["x", "-y"]],
        [["--"]],
        [["-x"]],
        ["\0"],
        [{"env": "A"}],
        [{"file": "f"}],
        [["x", "-1"]],
        ["x", "x"],
        [[1]],
    ),
    *(
        {},
        {"a": 1},
        {"a": {"b": [1, {"c": True}]}},
        {"env": "A"},
        {"env": "A-B"},
        {"env": ""},
        {"env": 1},
        {"file": "f"},
    ),
    *({"file": ""}, {"file": "\0"}, {"env": "A", "file": "f"}, {"a": datetime.date(2026, 1, 2)}, {"a": math.nan}),
    *(datetime.date(2026, 1, 2), datetime.time(1, 2), datetime.datetime(2026, 1, 2)),
)

#: Where schema and loader differ on purpose: (name, reason, whether a setting's value is one).
Difference = tuple[str, Callable[[Leaf, Value], bool]]
DIFFERENCES: Final[tuple[Difference, ...]] = (
    ("JSON has one kind of number: 1.0 is an integer", lambda leaf, value: _any(value, _whole_float)),
    ("JSON has no nan, so a schema says nothing of it", lambda leaf, value: _any(value, _is_nan)),
    ("an integer that no float holds is no number for a float", lambda leaf, value: _any(value, _too_big)),
    ("a schema does not read JSON inside of text, nor what JSON has no spelling for", lambda leaf, value: _json(leaf)),
    ("GPUs as text are ranges and names, which no pattern takes apart", lambda leaf, value: _gpu_text(leaf, value)),
    ("where a pattern ends, Python lets a line break follow", lambda leaf, value: _any(value, _ends_a_line)),
)  # fmt: skip


def _any(value: Value, is_one: Callable[[Value], bool]) -> bool:
    """Whether a value, or something inside of it, is of a kind."""
    inside = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return is_one(value) or any(_any(item, is_one) for item in inside)


def _whole_float(value: Value) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _too_big(value: Value) -> bool:
    return isinstance(value, int) and abs(value) > 2**53


def _ends_a_line(value: Value) -> bool:
    return isinstance(value, str) and value.endswith("\n")


def _json(leaf: Leaf) -> bool:
    return leaf.spec is not None and leaf.spec.type is Json


def _gpu_text(leaf: Leaf, value: Value) -> bool:
    is_gpus = leaf.cls is Pool and leaf.spec is not None and leaf.spec.key == "gpus"
    return is_gpus and _any(value, lambda item: isinstance(item, str))


def loader_takes(leaf: Leaf, value: Value) -> bool:
    """Whether the loader takes a value for a setting."""
    try:
        leaf.checked(value)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("table", sorted({leaf.cls.__name__ for leaf in LEAVES}))
def test_every_value_of_every_setting(table: str) -> None:
    """For each key and each of a hundred values, schema and loader agree, but for the differences that are listed."""
    wrong = []
    # The choices of `backend` are looked at only when all files are read.
    here = [leaf for leaf in LEAVES if leaf.cls.__name__ == table and leaf.path != ("pools", "p", "backend")]
    for leaf in here:
        validator = jsonschema.Draft202012Validator({**leaf_schema(leaf), "$defs": SCHEMA["$defs"]})
        for value in VALUES:
            differs = validator.is_valid(value) != loader_takes(leaf, value)
            if differs and not any(is_one(leaf, value) for _, is_one in DIFFERENCES):
                wrong.append((leaf.path, leaf.as_it_is, value))
    assert here
    assert wrong == []


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: str(difference[0]).split(" ")[0])
def test_every_difference_is_one(difference: Difference) -> None:
    """No difference is listed that is none: each is seen, with a value that no other one is about."""
    name, is_one = difference
    others = [other for other in DIFFERENCES if other[0] != name]
    for leaf in LEAVES:
        validator = jsonschema.Draft202012Validator({**leaf_schema(leaf), "$defs": SCHEMA["$defs"]})
        for value in VALUES:
            alone = is_one(leaf, value) and not any(other(leaf, value) for _, other in others)
            if alone and validator.is_valid(value) != loader_takes(leaf, value):
                return
    pytest.fail(f"never seen: {name}")


# --- whole documents -------------------------------------------------------------------------------------------------


def _only_loaders(finding: Finding) -> bool:
    """Whether a finding is about what no schema of a single file can see.

    A file may be a layer on others, so nothing is missing from it; a reference is read elsewhere; that a key is set and
    unset at once is between two lists; and which words of `extra` are known flags depends on those behind them.
    """
    set_and_unset = finding.code == "SMG009" and "unset" in finding.key + finding.message
    known_in_extra = finding.code == "SMG015" and "is known" in finding.message
    elsewhere = finding.code in ("SMG007", "SMG018") or set_and_unset or known_in_extra
    return finding.severity != "error" or elsewhere


def load_takes(document: dict[str, Any]) -> bool:
    """Whether the loader finds nothing wrong with a document, as far as it is one file's matter."""
    data = tomlkit.dumps(document).encode()
    findings = load_sources([("d.toml", data)], environ={"A": "1"}).findings
    return all(map(_only_loaders, findings))


@settings(max_examples=100)
@given(strategies.deployments())
def test_what_smgcfg_writes_the_schema_takes(deployment: Any) -> None:
    """Any deployment, written as a file, is taken by the schema."""
    document = tomli.loads(deployment_text(deployment))
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


DOCUMENT: Final[dict[str, Any]] = {
    "name": "d",
    "pools": {"p": {"backend": "tokenspeed", "model": "m", "engine": {"max_num_seqs": 8}, "env": {"A": "b"}}},
    "gateway": {"port": 1, "env": {}},
    "launch": {"grace": 1},
}

SPELLED, ALIASED, UNSET = (("pools", "p", "engine", key) for key in ("tensor_parallel_size", "tp", "unset"))

#: What can be done to a document: where, and what is put there; None takes it away.
CHANGES: Final[tuple[tuple[tuple[str, ...], Value], ...]] = (
    (("name",), ""), (("name",), "a b"), (("name",), 1), (("name",), {"env": "A"}), (("name",), None),
    (("pools",), 1), (("pools",), {}), (("pools",), None), (("pools", "p"), 1), (("pools", "a b"), {}),
    (("pools", "p", "engine"), 1), (("pools", "p", "env"), 1), (("pools", "p", "env", "A"), 1),
    (("pools", "p", "env", "A"), {"file": "f"}), (("pools", "p", "env", "A=B"), "x"), (("pools", "p", "env", ""), "x"),
    (("pools", "p", "env", "unset"), "x"), (("pools", "p", "backend"), "none-such"), (("pools", "p", "nonsense"), 1),
    (("pools", "p", "backend"), None), (("pools", "p", "backend"), {"env": "A"}), (("pools", "p", "unset"), ["model"]),
    (("pools", "p", "unset"), ["nonsense"]), (("pools", "p", "unset"), 1), (("pools", "p", "unset"), [1]),
    (("pools", "p", "unset"), ["env.B"]), (("pools", "p", "unset"), ["engine"]), (("pools", "p", "unset"), []),
    (("pools", "p", "engine", "tp"), 2), (("pools", "p", "engine", "tensor_parallel_size"), 2),
    (("pools", "p", "engine", "block_size"), 16), (("pools", "p", "engine", "prefix_granularity"), 16),
    (("pools", "p", "engine", "disable_prefix_caching"), True),
    (("pools", "p", "engine", "enable_prefix_caching"), True),
    (("pools", "p", "engine", "unset"), ["grammar_backend"]), (("pools", "p", "engine", "unset"), ["nonsense"]),
    (("pools", "p", "engine", "unset"), ["tp"]), (("pools", "p", "engine", "extra"), ["--new", "x"]),
    (("pools", "p", "engine", "extra"), ["x"]), (("pools", "p", "engine", "extra"), ["--new", "--"]),
    (("pools", "p", "engine", "extra"), ["--max-num-seqs", "1"]), (("pools", "p", "engine", "extra"), []),
    (("pools", "p", "engine", "extra"), 1),
    (("pools", "p", "engine", "host"), "h"), (("pools", "p", "engine", "nonsense"), 1),
    (("gateway", "unset"), ["policy", "python", "env.X"]), (("gateway", "unset"), ["startup_timeout", "extra"]),
    (("gateway", "version"), "1.13.0"), (("gateway", "env", "X"), "y"), (("gateway", "model"), "m"),
    (("gateway", "model_path"), "m"), (("gateway", "api_key"), {"env": "A"}), (("gateway", "extra"), ["--new"]),
    (("gateway", "nonsense"), 1), (("gateway",), 1), (("launch", "nonsense"), 1), (("launch", "grace"), -1),
    (("launch", "unset"), ["run_dir"]), (("launch", "unset"), ["nonsense"]), (("unset",), ["gateway.policy"]),
    (("unset",), ["launch.run_dir", "name"]), (("unset",), ["nonsense"]), (("nonsense",), {}), (("engine",), {}),
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(CHANGES), max_size=3))
def test_whole_documents(changes: list[tuple[tuple[str, ...], Value]]) -> None:
    """Tables, keys, aliases, `unset`, `extra` and names: schema and loader agree on a document that was changed."""
    # To the loader both spellings of a key are set and unset at once then, which the schema does not see.
    assume(not {SPELLED, ALIASED, UNSET} <= {path for path, _ in changes})
    document: dict[str, Any] = json.loads(json.dumps(DOCUMENT))
    for path, value in changes:
        _put(document, path, value)
    errors = [error.message for error in VALIDATOR.iter_errors(document)]
    assert (not errors) == load_takes(document), errors


def _put(document: dict[str, Any], path: tuple[str, ...], value: Value) -> None:
    *tables, last = path
    for key in tables:
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            return
    if value is None:
        document.pop(last, None)
    else:
        document[last] = value


# --- the file and the command ----------------------------------------------------------------------------------------


def test_the_shipped_file_is_current() -> None:
    """The schema that ships is the one that the declarations give."""
    assert SHIPPED.read_text(encoding="utf-8") == text(), "run: python -m smgcfg schema > smgcfg/deployment.schema.json"


def test_the_schema_is_one() -> None:
    """The schema keeps to the rules of its own dialect, and says something of every setting."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in ("engine-tokenspeed", "gateway", "pool", "launch"):
        for key, node in SCHEMA["$defs"][name]["properties"].items():
            assert "$ref" in node or node["description"], (name, key)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_the_examples_name_the_schema_and_keep_to_it(path: Path) -> None:
    """Each example's first line names the schema that ships, and the schema takes the example."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("#:schema ")
    assert (path.parent / first.removeprefix("#:schema ")).resolve() == SHIPPED
    assert [error.message for error in VALIDATOR.iter_errors(tomli.loads(path.read_text(encoding="utf-8")))] == []


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """`smgcfg schema` prints the schema and nothing else."""
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    assert main(["schema", "word"]) == 2


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ("engine-tokenspeed", "grammar_backend", ['default: "xgrammar", which smgcfg', "takes: one of xgrammar"]),
        ("engine-tokenspeed", "enable_cache_report", ["only TokenSpeed 0.1.0"]),
        ("engine-tokenspeed", "tp", ["another key for tensor_parallel_size"]),
        ("engine-tokenspeed", "disable_prefix_caching", ["the opposite of enable_prefix_caching"]),
        ("gateway", "worker_urls", ["the plan decides it; use [pools.NAME] host, port and replicas"]),
    ],
)  # fmt: skip
def test_editors_show_what_matters(table: str, key: str, words: list[str]) -> None:
    """The description of a setting says what it takes, what holds without it, and what to use instead of it."""
    node = SCHEMA["$defs"][table]["properties"][key]
    assert all(word in node["description"] for word in words)
    assert node.get("deprecated", False) == (key in ("tp", "disable_prefix_caching"))
