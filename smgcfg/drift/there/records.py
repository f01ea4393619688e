"""A parser's flags as records, in the shape that smgcfg's snapshots have."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

#: The kinds of flags whose action class says it all. `BooleanOptionalAction` came with Python 3.9.
_KINDS: tuple[tuple[str, str], ...] = (
    ("_StoreTrueAction", "switch_true"),
    ("_StoreFalseAction", "switch_false"),
    ("_StoreConstAction", "switch_const"),
    ("BooleanOptionalAction", "boolean_optional"),
    ("_AppendAction", "append"),
)


def records(parser: argparse.ArgumentParser, notes: Mapping[int, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return one record per flag, in the parser's order; what is empty is left out.

    Args:
        parser: The parser.
        notes: Per flag (the `id` of its action) what is not known of it, and why.
    """
    groups = {
        id(action): f"group {number}"
        for number, group in enumerate(parser._mutually_exclusive_groups, 1)
        for action in group._group_actions
    }
    flags = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    first: dict[str, argparse.Action] = {}
    for action in flags:
        if action.default is not argparse.SUPPRESS:
            first.setdefault(action.dest, action)  # of flags that share a destination, this one's default counts
    made = []
    for action in flags:
        known = _record(action, first.get(action.dest, action), dict(notes.get(id(action), {})))
        made.append({**known, **({"mutex_group": groups[id(action)]} if id(action) in groups else {})})
    return made


def _record(action: argparse.Action, deciding: argparse.Action, unknown: dict[str, str]) -> dict[str, Any]:
    kind = _kind(action)
    names = list(action.option_strings) or [action.dest]
    off = [name for name in names if name.startswith("--no-") and "--" + name[5:] in names]
    if kind != "boolean_optional":
        off = []
    names = [name for name in names if name not in off]
    record = {
        "name": names[0],
        "aliases": names if len(names) > 1 else None,
        "negatives": off,
        "dest": action.dest,
        "kind": kind,
        "type": _type(action, kind),
        "choices": None if action.choices is None else _plain("choices", list(action.choices), unknown),
        "default": _plain("default", deciding.default, unknown),
        "const": action.const if kind == "optional_value" else None,
        "nargs": action.nargs if kind in ("list", "append") else None,
        "repeat": "extend" if _extends(action) else "append" if kind == "append" else None,
        "unknown": unknown,
    }
    return {part: value for part, value in record.items() if value not in (None, "", [], {}) and value is not False}


def _kind(action: argparse.Action) -> str:
    if not action.option_strings:
        return "positional"
    for name, kind in _KINDS:
        if isinstance(action, getattr(argparse, name, ())):
            return "list" if kind == "append" and _extends(action) else kind
    if action.nargs == "?":
        return "optional_value"
    return "value" if action.nargs is None else "list"


def _extends(action: argparse.Action) -> bool:
    return isinstance(action, argparse._ExtendAction)


def _type(action: argparse.Action, kind: str) -> str:
    """Return a flag's type: a plain one, "enum", or the name of the function that reads its words."""
    if kind.startswith(("switch", "boolean")):
        return "bool"
    if action.choices is not None:
        return "enum"
    return "str" if action.type is None else getattr(action.type, "__name__", str(action.type)).lstrip("_")


def _plain(part: str, value: Any, unknown: dict[str, str]) -> Any:
    """Return a value as JSON holds it, or None, and say so, where it is none."""
    if value is argparse.SUPPRESS:
        return None
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [_plain(part, item, unknown) for item in items]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    unknown[part] = f"a {type(value).__name__}, which is no plain value"
    return None
