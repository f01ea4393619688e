"""A parser built from a flag table, the kind that ships with smgcfg: it reads what the real parser reads."""

from __future__ import annotations

import argparse
import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from oracles.parsing import Oracle, Parser, read, without_defaults

Flag = Mapping[str, Any]


def chosen(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether `SMGCFG_ORACLES=snapshot` asks for these parsers in place of the real programs."""
    return environ.get("SMGCFG_ORACLES") == "snapshot"


def shipped_flags(program: str, version: str) -> list[Flag]:
    """The flag table of an engine, or of the gateway's `launch`, that ships with smgcfg."""
    text = resources.files("smgcfg.backends.snapshots").joinpath(f"{program}-{version}.json").read_text("utf-8")
    flags: list[Flag] = json.loads(text)["parsers"][0]["flags"]
    return flags


@functools.cache
def shipped(program: str, version: str) -> Oracle:
    """The oracle built from a shipped flag table."""
    return Snapshot(shipped_flags(program, version), allow_abbrev=program != "tokenspeed")


def names(flag: Flag) -> list[str]:
    """Every spelling that gives a flag its value, or true."""
    return flag.get("aliases") or [flag["name"]]


class Snapshot:
    """An oracle built from a flag table.

    Args:
        flags: One mapping per flag.
        allow_abbrev: Whether the real parser takes an unambiguous beginning of a flag for it.
    """

    def __init__(self, flags: Sequence[Flag], *, allow_abbrev: bool) -> None:
        parser = Parser(allow_abbrev=allow_abbrev)
        groups: dict[str, Any] = {}
        for flag in flags:
            group = flag.get("mutex_group", "")
            if group and group not in groups:
                groups[group] = parser.add_mutually_exclusive_group()
            _add(groups.get(group, parser), flag)
        self._parser = without_defaults(parser)

    def parse(self, argv: Sequence[str]) -> dict[str, object]:
        """Read a command line; see `Oracle.parse`."""
        return read(self._parser, argv)


def _add(parser: argparse.ArgumentParser, flag: Flag) -> None:
    kind = flag["kind"]
    if kind == "positional":
        parser.add_argument(flag["dest"], nargs="?")
        return
    options: dict[str, Any] = {"dest": flag["dest"]}
    if kind == "boolean_optional":
        options["action"] = argparse.BooleanOptionalAction
    elif kind in ("switch_true", "switch_false"):
        options["action"] = "store_" + kind.removeprefix("switch_")
    else:
        options |= {"type": _reader(flag), "choices": flag.get("choices")}
        if kind == "optional_value":
            options |= {"nargs": "?", "const": flag["const"]}
        elif kind == "list":
            options["nargs"] = flag.get("nargs", "+")
        elif kind == "append":
            options["nargs"] = flag.get("nargs")
        if flag.get("repeat") in ("append", "extend"):
            options["action"] = flag["repeat"]
    parser.add_argument(*names(flag), **options)


def _uint16(word: str) -> int:
    number = int(word)
    if not 0 <= number < 1 << 16:
        raise ValueError(word)
    return number


def _non_negative_int(word: str) -> int:
    number = int(word)
    if number < 0:
        raise ValueError(word)
    return number


def _bool(word: str) -> bool:
    lowered = word.lower()
    if lowered not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise ValueError(word)
    return lowered in ("1", "true", "yes", "on")


def _nonempty_str(word: str) -> str:
    if not word.strip():
        raise ValueError(word)
    return word


#: How a word is read, by the table's `argparse_type`, else by its `type`; every other type is text.
_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "int": int,
    "float": float,
    "bool": _bool,
    "uint16": _uint16,
    "non_negative_int": _non_negative_int,
    "nonempty_str": _nonempty_str,
    "nullable_str": lambda word: None if word in ("", "None") else word,
    "int_tuple_csv": lambda word: tuple(map(int, word.split(","))),
    "int_csv": lambda word: [int(item) for item in word.split(",") if item],
    "str_csv": lambda word: [item.strip() for item in word.split(",") if item.strip()],
}


def _reader(flag: Flag) -> Callable[[str], object]:
    if "lower-cased" in (flag.get("value_format") or ""):
        return str.lower
    return _READERS.get(flag.get("argparse_type") or flag["type"], str)
