"""Command lines for a flag table: good ones, and good ones with something done to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

from oracles.snapshot_parser import Flag, names

#: Words with a meaning of their own somewhere: to argparse, to int() and float(), to a type of some flag.
ODD_WORDS: Final = (
    *("", " ", "-", "--", "---", "=", "--=", "-h", "--help", "-hx", "--no-", "--x", "-x", "--unknown=1"),
    *("a b", "-a b", "--a b", "--unknown=a b", "--seed 1", "a=b", "\x00", "\n", "a\tb"),
    *("-1", "-1e5", "-.5", "-1.", "-1\n", "-1 ", "-٣", "-1_0", "-0", "1_000", "1__0", " 12 ", "+5", "007", "٣", "0x10"),
    *("1e3", "1.5", "9" * 4301, "65535", "65536", "18446744073709551616"),
    *("nan", "-nan", "inf", "-inf", "Infinity", "1e400", ".5", "5.", "1_0.5"),
    *("true", "True", "YES", "off", "0", "none", "None", "null", "auto", "1,2", "1,,2", ",", " 1, 2 ", "[1]", "{}"),
    *('{"a": [1, null]}', "é", "模型", "\u202e", "'", '"', "$HOME", "\\"),
)

_GREEDY: Final = ("list", "append", "optional_value")  # would take the model that stands behind it
_SPELLED: Final[dict[str, Sequence[str]]] = {
    "int": ("1_000", " 12 ", "+5", "٣", "007", "-0"),
    "float": ("nan", "inf", "-inf", "1e400", ".5", "5.", "1_0.5", " 1 ", "٣"),
    "bool": ("1", "true", "Yes", "ON", "0", "False", "no", "off"),
}
_DASHES_SWAPPED: Final = str.maketrans("-_", "_-")
_INTEGERS: Final = st.integers(-9, 99) | st.integers(-(1 << 70), 1 << 70)
_TEXT: Final = st.text(max_size=8) | st.sampled_from(ODD_WORDS)
_JSON: Final = st.recursive(
    st.none() | st.booleans() | _INTEGERS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
_WORDS: Final[dict[str, st.SearchStrategy[str]]] = {
    "int": _INTEGERS.map(str) | st.sampled_from(_SPELLED["int"]),
    "uint16": st.integers(0, 65535).map(str) | st.sampled_from(_SPELLED["int"]),
    "non_negative_int": st.integers(0, 1 << 70).map(str) | st.sampled_from(_SPELLED["int"]),
    "float": st.floats().map(repr) | _INTEGERS.map(str) | st.sampled_from(_SPELLED["float"]),
    "bool": st.sampled_from(_SPELLED["bool"]),
    "json": st.dictionaries(st.text(max_size=4), _JSON, max_size=2).map(json.dumps) | _TEXT,
    "nonempty_str": _TEXT.filter(str.strip),
    "int_tuple_csv": st.lists(_INTEGERS, min_size=1, max_size=4).map(lambda items: ",".join(map(str, items))),
    "int_csv": st.lists(_INTEGERS, max_size=4).map(lambda items: ",".join(map(str, items))),
}


def lines(flags: Sequence[Flag]) -> st.SearchStrategy[list[str]]:
    """Command lines, good and bad; a real parser takes more than a third of them."""
    return valid_lines(flags) | mutated_lines(flags)


def valid_lines(flags: Sequence[Flag]) -> st.SearchStrategy[list[str]]:
    """Command lines that a real parser takes."""
    return _valid_lines(_Table(flags))


def mutated_lines(flags: Sequence[Flag]) -> st.SearchStrategy[list[str]]:
    """Command lines that were good until something was done to them, once or a few times."""
    return _mutated_lines(_Table(flags))


class _Table:
    """The strategies that a flag table gives, each made once.

    Attributes:
        takes_model: Whether there is a positional model.
        flag: Any flag but the positional.
        some_flags: Flags that stand well together.
        written: A flag as an operator may write it, by name.
        odd: A word that may be out of place anywhere.
    """

    def __init__(self, flags: Sequence[Flag]) -> None:
        options = [flag for flag in flags if flag["kind"] != "positional"]
        self.takes_model = len(options) < len(flags)
        self.flag = st.sampled_from(options)
        self.some_flags = st.lists(
            self.flag, max_size=6, unique_by=lambda flag: flag.get("mutex_group") or flag["name"]
        )
        self.written = {flag["name"]: written(flag) for flag in options}
        spelled = [name for flag in options for name in spellings(flag)]
        self.odd = st.sampled_from(ODD_WORDS) | st.sampled_from(spelled) | st.text(max_size=5)


def spellings(flag: Flag) -> list[str]:
    """Every option string of a flag."""
    return [*names(flag), *flag.get("negatives", ())]


def written(flag: Flag) -> st.SearchStrategy[list[str]]:
    """A flag as an operator may write it; a real parser takes it."""
    name = st.sampled_from(spellings(flag))
    kind = flag["kind"]
    bare = name.map(lambda name: [name])
    if kind in ("switch_true", "switch_false", "boolean_optional"):
        return bare
    words = _words(flag)
    nargs = flag.get("nargs", "+" if kind == "list" else None)
    if nargs in ("+", "*"):
        several = st.lists(words.filter(_stands_alone), min_size=1 if nargs == "+" else 0, max_size=3)
        return st.tuples(name, several).map(lambda both: [both[0], *both[1]])
    one = st.tuples(name, words, st.integers(0, 2)).map(
        lambda drawn: [*drawn[:2]] if drawn[2] and _stands_alone(drawn[1]) else [f"{drawn[0]}={drawn[1]}"]
    )
    return bare | one if kind == "optional_value" else one


def _words(flag: Flag) -> st.SearchStrategy[str]:
    if flag.get("choices"):
        return st.sampled_from([str(choice) for choice in flag["choices"]])
    by_type = _WORDS.get(flag["type"], _TEXT)
    return _WORDS.get(flag.get("argparse_type", ""), by_type)


def _stands_alone(word: str) -> bool:
    """Whether argparse takes a word for a value where it stands behind its flag."""
    return not word.startswith("-") or word == "-" or re.fullmatch(r"-\d+|-\d*\.\d+", word) is not None


@st.composite
def _valid_lines(draw: st.DrawFn, table: _Table) -> list[str]:
    chosen = draw(table.some_flags)
    pieces = [draw(table.written[flag["name"]]) for flag in chosen]
    if table.takes_model and draw(st.booleans()):
        model = draw(_TEXT)
        places = [0, *(after for after, flag in enumerate(chosen, 1) if flag["kind"] not in _GREEDY)]
        if model.startswith("-") or draw(st.booleans()):
            pieces.append(["--", model])
        else:
            pieces.insert(places[draw(st.integers(0, len(places) - 1))], [model])
    return [word for piece in pieces for word in piece]


@st.composite
def _mutated_lines(draw: st.DrawFn, table: _Table) -> list[str]:
    line = draw(_valid_lines(table))
    for change in draw(_SOME_CHANGES):
        line = change(draw, table, line)
    return line


Change = Callable[[st.DrawFn, _Table, list[str]], list[str]]


def _insert(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
    at = draw(st.integers(0, len(line)))
    return [*line[:at], draw(table.odd), *line[at:]]


def _swap(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
    line = list(line)
    if line:
        one, other = _index(draw, line), _index(draw, line)
        line[one], line[other] = line[other], line[one]
    return line


def _join(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
    if not line:
        return line
    at = _index(draw, line)
    return [*line[:at], "=".join(line[at : at + 2]), *line[at + 2 :]]


def _add_flag(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
    return [*line, *draw(table.written[draw(table.flag)["name"]])]


def _on_one_word(change: Callable[[st.DrawFn, _Table, str], list[str]]) -> Change:
    def changed(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
        if not line:
            return _insert(draw, table, line)
        at = _index(draw, line)
        return [*line[:at], *change(draw, table, line[at]), *line[at + 1 :]]

    return changed


def _index(draw: st.DrawFn, line: Sequence[str]) -> int:
    return int(draw(st.integers(0, len(line) - 1)))


def _repeated(draw: st.DrawFn, table: _Table, line: list[str]) -> list[str]:
    """The line with a stretch of it once more: the same flag again, perhaps with its value."""
    if not line:
        return line
    at, length = _index(draw, line), draw(st.integers(1, 3))
    return [*line, *line[at : at + length]]


#: What can be done to a line; most change one word: leave it out, glue a value to it, cut it short, ...
_SOME_CHANGES: Final[st.SearchStrategy[list[Change]]] = st.lists(
    st.sampled_from(
        [
            _insert,
            _swap,
            _join,
            _add_flag,
            _repeated,
            _on_one_word(lambda draw, table, word: []),
            _on_one_word(lambda draw, table, word: [draw(table.odd)]),
            _on_one_word(lambda draw, table, word: [word, draw(table.odd)]),
            _on_one_word(lambda draw, table, word: [f"{word}={draw(table.odd)}"]),
            _on_one_word(lambda draw, table, word: word.split("=", 1)),
            _on_one_word(lambda draw, table, word: [word[: draw(st.integers(0, len(word)))]]),
            _on_one_word(lambda draw, table, word: [word + draw(st.text(max_size=2))]),
            _on_one_word(lambda draw, table, word: [word[1:]]),
            _on_one_word(lambda draw, table, word: [word.upper()]),
            _on_one_word(lambda draw, table, word: [word.replace("--", "--no-", 1)]),
            _on_one_word(lambda draw, table, word: [word[:2] + word[2:].translate(_DASHES_SWAPPED)]),
        ]
    ),
    min_size=1,
    max_size=3,
)
