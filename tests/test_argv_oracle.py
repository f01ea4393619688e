"""The reader and the writer against the programs' own parsers: they agree on what is taken, and on every value."""

import functools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import argv_strategies, smg, snapshot_parser, tokenspeed
from oracles.parsing import Oracle, Refused

from smgcfg import ConfigError, GatewayArgs, Json, TokenspeedArgs
from smgcfg.args import Args, set_settings
from smgcfg.flags import FlagSpec, spec_of, spelling_table
from smgcfg.testing import strategies

#: The programs: name, version, the class of its settings, its real parser.
PROGRAMS: Final[list[tuple[str, str, type[Args], Callable[[], Oracle]]]] = [
    ("tokenspeed", "0.1.1", TokenspeedArgs, functools.partial(tokenspeed.oracle, "0.1.1")),
    ("tokenspeed", "0.1.0", TokenspeedArgs, functools.partial(tokenspeed.oracle, "0.1.0")),
    ("smg", "1.13.0", GatewayArgs, smg.oracle),
]
each_program = pytest.mark.parametrize(
    ("name", "version", "cls", "real"), PROGRAMS, ids=[f"{name}-{version}" for name, version, _, _ in PROGRAMS]
)

#: Where smgcfg refuses what a program's parser takes: a word of its finding, and why.
REFUSED_HERE: Final = {
    "JSON object": "JSON settings hold JSON objects; the parsers take any text",
    "nan has no spelling": "nan is not equal to itself, so it can not be checked against what was asked for",
    "the text '--'": "a positional '--' is taken by the parser, but no flag can carry it",
    "lone surrogate": "no process can be started with it",
    "NUL character": "no process can be started with it",
    "reads as a flag": "a group item such as '--x y' is a value for argparse only as long as no flag is so called",
    "is no setting": "-h and --help print the help and leave",
    "not allowed together with the positional": "TokenSpeed refuses it after parsing (from_cli_args)",
    "not allowed together with --model": "TokenSpeed refuses it after parsing (from_cli_args)",
    "no such flag": "abbreviations, which smg's parser takes; asserted below to be one",
}
#: Settings that 0.1.0 leaves open and 0.1.1 closes: smgcfg takes what the newest version takes.
CLOSED_SINCE: Final = {"--all2all-backend", "--ep-dispatch-algorithm", "--expert-distribution-recorder-mode"}


@functools.cache
def destinations(name: str, version: str, cls: type[Args]) -> dict[str, tuple[str, bool]]:
    """Return per key the parser's destination, and whether the value there is the opposite."""
    table = spelling_table(cls, version)
    found: dict[str, tuple[str, bool]] = {}
    for flag in snapshot_parser.shipped_flags(name, version):
        if flag["kind"] != "positional":
            spec, on = table[flag["name"]]
            if on:
                found[spec.key] = (flag["dest"], flag["kind"] == "switch_false")
    return found


def said(args: Args, name: str, version: str) -> dict[str, Any]:
    """Return what an object says, by the parser's destinations and in its types."""
    spells = destinations(name, version, type(args))
    result = {}
    for key, value in set_settings(args).items():
        if value is False and spec_of(type(args), key).kind == "switch":
            continue  # no word stands for it
        dest, opposite = spells[key]
        result[dest] = not value if opposite else plain(value)
    return result


def plain(value: Any) -> Any:
    """Return a value as parsers give it: lists for tuples, objects for JSON."""
    if isinstance(value, Json):
        return value.value
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def read(real: dict[str, Any], cls: type[Args], name: str, version: str) -> dict[str, Any]:
    """Return what the real parser read, JSON text as objects, the positional as the model, nothing for "unset"."""
    by_dest = {dest: key for key, (dest, _) in destinations(name, version, cls).items()}
    by_key = {spec.key: spec for spec, _ in spelling_table(cls, version).values()}
    result = {}
    for dest, value in real.items():
        if dest == "model_path" and name == "tokenspeed":
            dest = "model"
        spec: FlagSpec = by_key[by_dest[dest]]
        if value is None:
            continue
        if spec.type is Json:
            value = json.loads(value)
        if spec.key == "decode":
            value = [url for (url,) in value]  # declared with nargs=1: each is a list of one
        result[dest] = plain(tuple(value)) if isinstance(value, list | tuple) else value
    return result


@each_program
@settings(max_examples=2000)
@given(data=st.data())
def test_the_real_parser_reads_what_is_written(
    name: str, version: str, cls: type[Args], real: Callable[[], Oracle], data: st.DataObject
) -> None:
    """Every object's command line is taken by the program's own parser and read as the same values."""
    made = data.draw(strategies.args(cls, version))
    assert read(real().parse(made.to_argv(version)), cls, name, version) == said(made, name, version)


@each_program
@settings(max_examples=2500)
@given(data=st.data())
def test_the_reader_agrees_with_the_real_parser(
    name: str, version: str, cls: type[Args], real: Callable[[], Oracle], data: st.DataObject
) -> None:
    """Valid and broken lines are taken or refused by both, and read as the same values."""
    line = data.draw(lines(name, version))
    try:
        expected = real().parse(line)
    except Refused as refused:
        expected = None
        reason = refused.message
    try:
        made = cls.from_argv(line, version=version)
    except ConfigError as bad:
        known = expected is None or known_refusal(bad, line, cls, version)
        assert known, (line, expected, str(bad))  # noqa: PT017  # the refusal is drawn, not expected
        return
    assert expected is not None, (line, reason, made)
    assert same(read(expected, cls, name, version), said(made, name, version)), line


def lines(name: str, version: str) -> st.SearchStrategy[list[str]]:
    """Return command lines, about half of them mutated."""
    return _lines(name, version)


@functools.cache
def _lines(name: str, version: str) -> st.SearchStrategy[list[str]]:
    return argv_strategies.lines(snapshot_parser.shipped_flags(name, version))


def known_refusal(bad: ConfigError, line: Sequence[str], cls: type[Args], version: str) -> bool:
    """Whether every problem is one that stands in the table of differences."""
    for finding in bad.findings:
        text = finding.message
        if "no such flag" in text:
            # An abbreviation: some flag that the program has begins with it.
            assert any(name.startswith(finding.key) for name in spelling_table(cls, version)), line
        elif version == "0.1.0" and finding.code == "SMG004" and finding.key in CLOSED_SINCE:
            continue
        elif not any(reason in text for reason in REFUSED_HERE):
            return False
    return True


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type, nan included."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)
