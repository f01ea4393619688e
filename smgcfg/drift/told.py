"""What a difference between two flag tables is, and what to do about it, in an operator's words."""

import json
from typing import Any

from smgcfg.args import Args
from smgcfg.drift.compare import Difference, Record
from smgcfg.flags import spelling_table
from smgcfg.release import taken


def what(difference: Difference) -> str:
    """Return what differs: "--seed: was unset, is 7"."""
    before, now = difference.before, difference.now
    if difference.part == "added":
        return f"{usage(now)}{_default(now)}"
    if difference.part == "removed":
        return difference.flag
    return f"{difference.flag}: {_CHANGES[difference.part](before, now)}"


def usage(record: Record) -> str:
    """Return how a flag is written: "--mode fast|slow", "--sizes INT..."."""
    _, most, _ = taken(record)
    if not most:
        return str(record["name"])
    value = "|".join(map(str, record["choices"])) if record.get("choices") else str(record["type"]).upper()
    if record["kind"] == "positional":
        return f"{record['name']} (a word without a flag)"
    return f"{record['name']} {f'[{value}]' if record['kind'] == 'optional_value' else value}{'...' * (most > 1)}"


def remedy(difference: Difference, cls: type[Args] | None) -> str:
    """Return how an operator gets at what is new; empty where there is nothing to do, or no settings.

    Args:
        difference: What differs.
        cls: The class of the program's settings.
    """
    known = spelling_table(cls).get(difference.flag) if cls is not None else None
    if difference.part == "added":
        if known is not None:
            return f"set {known[0].key}"
        _, most, _ = taken(difference.now)
        example = [str(choice) for choice in difference.now.get("choices", ())][:1] or [difference.now["type"].upper()]
        return f"extra = {json.dumps([difference.flag, *(example if most else [])])}"
    if difference.part == "choices" and known is not None:
        spec = known[0]
        fresh = [item for item in difference.now or () if item not in (difference.before or ())]
        beyond = [item for item in fresh if spec.choices is not None and item not in spec.choices]
        if beyond:
            return f"extra = {json.dumps([difference.flag, str(beyond[0])])}"
        return f"set {spec.key}" if fresh else ""
    return ""


def _default(record: Record) -> str:
    return f" ({_said(record['default'])} by default)" if "default" in record else ""


def _said(value: Any) -> str:
    if value is None:
        return "unset"
    return ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)


def _choices(before: list[Any] | None, now: list[Any] | None) -> str:
    if before is None or now is None:
        return f"took anything, takes {_said(now)}" if before is None else f"took {_said(before)}, takes anything"
    fresh, gone = [item for item in now if item not in before], [item for item in before if item not in now]
    parts = [f"takes {_said(fresh)}, too" if fresh else "", f"does not take {_said(gone)} any more" if gone else ""]
    return "; ".join(filter(None, parts))


def _spellings(before: list[str], now: list[str]) -> str:
    fresh, gone = [name for name in now if name not in before], [name for name in before if name not in now]
    parts = [f"also {', '.join(fresh)}" if fresh else "", f"no longer {', '.join(gone)}" if gone else ""]
    return "; ".join(filter(None, parts))


def _was(before: Any, now: Any) -> str:
    return f"was {_said(before)}, is {_said(now)}"


_CHANGES = {"kind": _was, "type": _was, "default": _was, "choices": _choices, "spellings": _spellings}
