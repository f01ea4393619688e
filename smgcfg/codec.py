"""Text and native values to settings and back: the one place that knows what each type of setting takes.

Every function raises `Refused` with a message in the style "expected ..., got ..."; the caller adds key and place.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from smgcfg.flags import FlagSpec
from smgcfg.json_value import Json
from smgcfg.reference import HINT, Reference, reference_in

#: The words that the engine reads as true and false where a switch takes a value (TokenSpeed 0.1.1 `str_to_bool`).
TRUE_WORDS: Final = ("1", "true", "yes", "on")
FALSE_WORDS: Final = ("0", "false", "no", "off")

#: Words by which other places say that a setting has no value, and what an operator says here.
NOTHING: Final = ("", "none", "null", "nil")
LEAVE_OUT: Final = "to pass nothing, leave it out"

_ENDS_FLAGS: Final = "the text '--' ends the flags of the engine's parser; it has no spelling as a value"

#: What argparse (CPython 3.11) takes for a negative number, hence for a value, in a parser without such options.
NEGATIVE_NUMBER: Final = re.compile(r"^-\d+$|^-\d*\.\d+$")

_TYPE_NAMES: Final = {int: "an integer", float: "a number", str: "text", bool: "true or false", Json: "a JSON object"}


class Refused(ValueError):
    """A value that a setting can not have.

    Attributes:
        code: The code of the finding it becomes.
        hint: What to write instead, or empty.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def shown(spec: FlagSpec, value: object) -> str:
    """Return a value for a message: redacted where secret, cut where long."""
    if isinstance(value, Reference):
        return str(value)
    return "***" if spec.secret else brief(value)


def brief(value: object) -> str:
    """Return a value for a message: cut where long."""
    try:
        text = repr(value)
    except ValueError:
        return "an integer of more than 4300 digits"
    return text if len(text) <= 80 else text[:60] + f"... ({len(text)} characters)"


def expected(spec: FlagSpec) -> str:
    """Return what a setting takes, in words."""
    one = _TYPE_NAMES[spec.type] if spec.choices is None else "one of " + ", ".join(map(str, spec.choices))
    if spec.kind == "groups":
        return "a list of lists of text"
    return f"a list, each {one}" if spec.many else one


# --- text: one word of a command line, or VALUE of --set -------------------------------------------------------------


def _int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        digits = sum(map(str.isdigit, text))
        reason = "an integer of at most 4300 digits" if digits > 4300 else "an integer"
        raise Refused("SMG003", f"expected {reason}, got {_cut(text)}", _number_hint(text)) from None


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused("SMG003", f"expected a number, got {_cut(text)}", _number_hint(text)) from None


def _number_hint(text: str) -> str:
    """Return what to write instead of a text that is no number."""
    if text.strip().lower() in NOTHING:
        return LEAVE_OUT
    seconds = re.fullmatch(r"([0-9.]+) ?(?:s|sec|seconds)", text.strip())
    if seconds is not None:
        return f"write {seconds[1]}"
    return "write the number in full, without its unit" if re.fullmatch(r"[0-9.]+ ?[A-Za-z]+", text.strip()) else ""


def _bool(text: str) -> bool:
    word = text.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise Refused("SMG003", f"expected one of {', '.join(TRUE_WORDS + FALSE_WORDS)}, got {_cut(text)}")


def _json(text: str | Mapping[str, Any]) -> Json:
    try:
        return Json(text)
    except (ValueError, TypeError) as problem:
        said = str(problem)
        raise Refused("SMG003", f"expected a JSON object: {said[:1].lower()}{said[1:]}") from None


_READERS: Final[dict[type, Callable[[str], Any]]] = {int: _int, float: _float, str: str, bool: _bool, Json: _json}


def _cut(text: str) -> str:
    return repr(text) if len(text) <= 80 else repr(text[:60]) + f"... ({len(text)} characters)"


def read_word(spec: FlagSpec, text: str) -> Any:
    """Read one word as the program's own parser reads it.

    Args:
        spec: The setting.
        text: The word; for a csv setting the whole list, for any other list one item.

    Returns:
        The value; a tuple for a csv setting; None where the parser reads the word as "unset".

    Raises:
        Refused: The program's parser would refuse it, or it is no JSON object where one is wanted.
    """
    if spec.kind == "csv":
        items = text.split(",")
        if spec.reads == "stripped":
            items = [item for item in map(str.strip, items) if item]
        elif not spec.least:
            items = [item for item in items if item]
        return tuple(_checked_item(spec, _READERS[spec.type](item)) for item in items)
    if text == "--" and spec.reads != "raw":
        raise Refused("SMG006", _ENDS_FLAGS)
    if spec.reads == "nullable" and text in ("", "None"):
        return None
    if spec.reads == "nonempty" and not text.strip():
        raise Refused("SMG003", f"expected text that is not blank, got {_cut(text)}")
    if spec.reads == "lower":
        text = text.lower()
    return _checked_item(spec, _READERS[spec.type](text))


# --- native values: TOML and Python ----------------------------------------------------------------------------------


def check(spec: FlagSpec, value: object) -> Any:
    """Check a native value and return it in the setting's own type.

    Nothing is coerced but what loses nothing: a list becomes a tuple, an integer a float of the same value, a mapping
    or JSON text a `Json`.

    Args:
        spec: The setting.
        value: A value as TOML or a Python caller gives it; not None.

    Raises:
        Refused: Wrong type, not a choice, outside the parser's bounds, or a value that has no spelling.
    """
    if not spec.many:
        return _checked(spec, value)
    if not isinstance(value, list | tuple):
        raise Refused("SMG003", f"expected {expected(spec)}, got {shown(spec, value)}", _list_hint(spec, value))
    if len(value) < spec.least:
        raise Refused("SMG006", f"expected at least {spec.least} item(s): an empty list has no spelling")
    if spec.kind == "groups":
        return tuple(_group(spec, group) for group in value)
    items = tuple(_checked(spec, item) for item in value)
    if spec.kind == "append" and not items:
        raise Refused("SMG006", "an empty list has no spelling", "leave the key out")
    return items


def _checked(spec: FlagSpec, value: object) -> Any:
    """Check one item."""
    if spec.refers and (reference := reference_in(value)) is not None:
        if reference.text is not None:
            _spellable(spec, reference.text)
        return reference
    return _spellable(spec, _checked_item(spec, _native(spec, value)))


def _list_hint(spec: FlagSpec, value: object) -> str:
    """Return how a value is written as the list that is wanted."""
    if not isinstance(value, str) or spec.type is not str or spec.secret or len(value) > 60:
        return "write [ ... ]"
    # Imported here: only a report needs it.
    import json

    words = value.split(",") if spec.kind == "csv" else value.split()
    return f"write {json.dumps(words, ensure_ascii=False)}"


def _group(spec: FlagSpec, group: object) -> tuple[Any, ...]:
    if not isinstance(group, list | tuple) or not group:
        raise Refused("SMG003", f"expected a list of non-empty lists, got {shown(spec, group)} inside")
    items = tuple(_checked(spec, item) for item in group)
    if len(items) > 1 and not all(stands_alone(word(item)) for item in items):
        raise Refused("SMG006", "an item that reads as a flag has no spelling beside others in one group")
    return items


def _native(spec: FlagSpec, value: object) -> Any:
    kind = spec.type
    if kind is Json:
        if isinstance(value, Json):
            return value
        if isinstance(value, str | Mapping):
            return _json(value)
    elif kind is float and type(value) is int:
        if _exact(value):
            return float(value)
        raise Refused("SMG003", f"expected a number that a float holds exactly, got {shown(spec, value)}")
    elif type(value) is kind:
        return value
    raise Refused("SMG003", f"expected {expected(spec)}, got {_native_shown(spec, value)}", _type_hint(spec, value))


def _native_shown(spec: FlagSpec, value: object) -> str:
    """Return the value as a TOML file shows it: true, not True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if hasattr(value, "isoformat") and not spec.secret else shown(spec, value)


def _exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _type_hint(spec: FlagSpec, value: object) -> str:
    if spec.refers and isinstance(value, Mapping):
        return HINT
    if reference_in(value) is not None:
        return "only a secret may be a reference here; a deployment file may hold one in place of any single value"
    if spec.secret or spec.many:
        return ""
    if spec.type is bool:
        return bool_hint(value if isinstance(value, str) else "1" if value == 1 else "0" if value == 0 else "")
    if spec.type is str and spec.choices is None and isinstance(value, bool | int | float):
        return f'write "{_native_shown(spec, value)}"' if len(shown(spec, value)) < 30 else "text stands in quotes"
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    if not isinstance(value, str):
        return ""
    variable = re.fullmatch(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", value)
    if variable is not None:
        return f'write {{ env = "{variable[1] or variable[2]}" }}'
    try:
        read_word(spec, value)
    except Refused as refused:
        return refused.hint
    return f"write {value.strip()} without quotes"


def bool_hint(word: str) -> str:
    """Return how TOML writes a word that other places read as true or false; empty for any other."""
    word = word.strip().lower()
    return "write true" if word in TRUE_WORDS else "write false" if word in FALSE_WORDS else ""


# --- both --------------------------------------------------------------------------------------------------------


def _checked_item(spec: FlagSpec, value: Any) -> Any:
    if spec.choices is not None and value not in spec.choices:
        # Imported here: only a report needs it.
        from smgcfg.suggest import did_you_mean

        hint = did_you_mean(value, map(str, spec.choices)) if isinstance(value, str) else ""
        if isinstance(value, str) and value.strip().lower() in NOTHING:
            hint = LEAVE_OUT
        raise Refused("SMG004", f"expected one of {', '.join(map(str, spec.choices))}; got {shown(spec, value)}", hint)
    low, high = spec.bounds
    if (low is not None and value < low) or (high is not None and value > high):
        allowed = f"at least {low}" if high is None else f"{low} to {high}"
        raise Refused("SMG005", f"expected {allowed}, got {shown(spec, value)}")
    return value


def _spellable(spec: FlagSpec, value: Any) -> Any:
    """Refuse a value that no command line can carry to the program unchanged."""
    if type(value) is float and math.isnan(value):
        raise Refused("SMG006", "nan has no spelling that reads back as itself")
    if type(value) is int:
        try:
            str(value)
        except ValueError:
            raise Refused("SMG006", "the integer has more than 4300 digits; the engine can not read it") from None
    if type(value) is not str:
        return value
    if "\0" in value:
        raise Refused("SMG006", "a NUL character can not stand in a command line")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("SMG006", "a lone surrogate can not stand in a command line") from None
    if value == "--" and spec.reads != "raw":
        raise Refused("SMG006", _ENDS_FLAGS)
    if spec.reads == "nonempty" and not value.strip():
        raise Refused("SMG003", f"expected text that is not blank, got {shown(spec, value)}")
    if spec.reads == "nullable" and value in ("", "None"):
        raise Refused("SMG006", f"the engine reads {value!r} here as unset", "leave the key out, or use unset")
    if spec.kind == "csv" and ("," in value or value != value.strip() or not value):
        raise Refused("SMG006", f"an item of a comma-separated list can not be {shown(spec, value)}")
    return value


# --- writing -----------------------------------------------------------------------------------------------------


def stands_alone(text: str) -> bool:
    """Whether argparse takes a word for a value wherever it stands: no dash, "-" itself, or a negative number."""
    return not text.startswith("-") or text == "-" or NEGATIVE_NUMBER.match(text) is not None


def word(value: object) -> str:
    """Return one item as one word of a command line; a reference that is not read as it shows itself."""
    if isinstance(value, Reference):
        return str(value) if value.text is None else value.text
    return value if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)


def words(spec: FlagSpec, value: Any, version: str | None = None) -> list[str]:
    """Return the words that say a setting on a command line.

    Args:
        spec: The setting.
        value: Its value, checked; not None.
        version: Write a spelling that this version has; None means the newest.

    Returns:
        The words; none for a bare switch that is off.

    Raises:
        Refused: The version has no spelling for it.
    """
    names, off = (spec.names, spec.off) if version is None else spec.spellings(version)
    if spec.kind == "switch":
        return [_first(spec, names, version)] if value else []
    if spec.kind == "pair":
        return [_first(spec, names if value else off, version)]
    name = _first(spec, names, version)
    if spec.kind == "optional":
        return [name, "true" if value else "false"]
    if spec.kind == "csv":
        return _with_value(name, ",".join(map(word, value)))
    if spec.kind == "append":
        return [token for item in value for token in _with_value(name, word(item))]
    if spec.kind == "groups":
        return [token for group in value for token in _with_items(name, group, spec)]
    if spec.kind == "list":
        return _with_items(name, value, spec)
    return _with_value(name, word(value))


def _first(spec: FlagSpec, names: tuple[str, ...], version: str | None) -> str:
    if not names:
        raise Refused("SMG012", f"version {version} has no spelling for this value of {spec.key}")
    return names[0]


def _with_value(name: str, text: str) -> list[str]:
    return [f"{name}={text}"] if text.startswith("-") or not text else [name, text]


def _with_items(name: str, items: tuple[Any, ...], spec: FlagSpec) -> list[str]:
    texts = [word(item) for item in items]
    if not all(map(stands_alone, texts)) and (spec.extends or len(texts) == 1):
        # Only `--flag=-x` carries such an item, and it carries one: the flag is repeated where that adds.
        # (Elsewhere lists hold integers, and every integer stands alone.)
        return [f"{name}={text}" for text in texts]
    return [name, *texts]
