"""The lines of a TOML file's keys, found by a scan that is run only when a report is printed."""

import contextlib
import math
import re
from collections.abc import Sequence
from typing import Final

import tomli

Path = tuple[str | int, ...]

_GAP: Final = re.compile(r"(?:[ \t\n,]+|#[^\n]*)*")  # what may stand between two statements, or two items
_KEY_START: Final = re.compile(r"""[A-Za-z0-9_-]+|["']""")
_AFTER_KEY_PART: Final = re.compile(r"[ \t]*(?:\.[ \t]*)?")
_EQUALS: Final = re.compile(r"=[ \t]*")
_HEADER_START: Final = re.compile(r"\[{1,2}[ \t]*")
_HEADER_END: Final = re.compile(r"\]{1,2}")
_VALUE_START: Final = re.compile(r"""[\[{]|\"{3}|'{3}|["']|[^,\]}#\n]+""")  # the last is a number, a date, a boolean
_CONTAINER_END: Final = re.compile(r"[\]}]?")
#: The end of the string that a quote opens, and the escapes on the way there. Three quotes are ended by three, which
#: up to two more may precede as content.
_STRING_END: Final = {
    '"': re.compile(r'\\.|"'),
    "'": re.compile(r"'"),
    '"""': re.compile(r'\\.|"{3,5}'),
    "'''": re.compile(r"'{3,5}"),
}


def key_lines(text: str) -> dict[Path, int]:
    """Return the line of every key and of every array element.

    Args:
        text: A document that `tomli.loads` has accepted.

    Returns:
        The 1-based line by path: the names of the keys, and the index wherever an array is on the way. A table that
        several places of the document name has the first line that defines it by itself (`[a]`), else the first that
        implies it (`[a.b]`, `a.b = 1`). Empty where the text is something that the scan does not know: a line is
        right or absent, never wrong.
    """
    scanner = _Scanner(text)
    try:
        scanner.scan_document()
    except ValueError:
        return {}
    return {**scanner.implied, **scanner.explicit}


def last_statement_line(text: str) -> int:
    """Return the line on which the last statement of a text begins.

    Args:
        text: The part of a document that tomli has read before it raised, whose last statement may be unfinished.

    Returns:
        The 1-based line; 1 where there is no statement.
    """
    scanner = _Scanner(text)
    # What stops the scan is what stopped tomli, and stands in the last statement.
    with contextlib.suppress(ValueError):
        scanner.scan_document()
    return scanner.statement_line


def deepest_line(text: str) -> int:
    """Return the line on which the most deeply nested statement of a text begins.

    Args:
        text: A document that is nested too deeply for tomli.
    """
    # The paths of what is further in would take memory that grows with the square of the depth; tomli takes less.
    scanner = _Scanner(text, most_depth=1000)
    # What tomli did not reach may be no TOML at all.
    with contextlib.suppress(ValueError):
        scanner.scan_document()
    return scanner.deepest_line


class _Scanner:
    """A reader that checks as little as it can, because its text has already been parsed once.

    Args:
        text: The text.
        most_depth: How deep what it reads may be nested.

    Attributes:
        explicit: The line of every path that a statement defines by itself.
        implied: The line of every table that was on the way to another path.
        statement_line: The line on which the current statement begins.
        deepest_line: The line on which the first of the most deeply nested statements begins.
    """

    def __init__(self, text: str, most_depth: float = math.inf) -> None:
        self._most_depth = most_depth
        self.explicit: dict[Path, int] = {}
        self.implied: dict[Path, int] = {}
        self.statement_line = 1
        self.deepest_line = 1
        self._deepest = 0
        self._table_counts: dict[Path, int] = {}  # the tables so far of each array of tables
        # As tomli does it. Now "\n" alone ends a line: str.splitlines knows more ends than TOML has.
        self._text = text.replace("\r\n", "\n")
        self._position = 0
        self._line = 1
        self._counted = 0  # up to here the newlines are in _line

    def scan_document(self) -> None:
        table: Path = ()
        self._take(_GAP)
        while self._position < len(self._text):
            self.statement_line = self._current_line()
            if self._text.startswith("[", self._position):
                table = self._scan_header()
            else:
                self._scan_value(self._define(table, self._take_equated_key()))
            self._take(_GAP)

    def _scan_header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]` and return the path of the table that it opens."""
        is_array = self._take(_HEADER_START).startswith("[[")
        path = self._define((), self._take_key())
        self._take(_HEADER_END)
        if is_array:
            index = self._table_counts.get(path, 0)
            self._table_counts[path] = index + 1
            path = self._define(path, [index])
        return path

    def _scan_value(self, path: Path) -> None:
        """Skip the value at `path`, defining what stands within it."""
        # No recursion: the open containers, each with the index of its next item (None: an inline table).
        containers: list[tuple[Path, int | None]] = []
        while True:
            start = self._take(_VALUE_START)
            if start in _STRING_END:
                self._take_string(start)
            elif start in ("[", "{"):
                containers.append((path, 0 if start == "[" else None))
                self._note_depth(len(containers))
            while True:
                if not containers:
                    return
                self._take(_GAP)
                if not self._take(_CONTAINER_END):
                    break
                containers.pop()
            container, index = containers[-1]
            if index is None:
                path = self._define(container, self._take_equated_key())
            else:
                path = self._define(container, [index])
                containers[-1] = (container, index + 1)

    def _define(self, table: Path, key: Sequence[str | int]) -> Path:
        """Note the current line for `key` below `table` and for what it implies; return the whole path."""
        line = self._current_line()
        *parents, name = key
        for parent in parents:
            table = (*table, parent)
            self.implied.setdefault(table, line)
            if table in self._table_counts:  # an array of tables stands for its last table
                table = (*table, self._table_counts[table] - 1)
        path = (*table, name)
        self.explicit.setdefault(path, line)
        return path

    def _note_depth(self, depth: int) -> None:
        if depth > self._deepest:
            self._deepest, self.deepest_line = depth, self.statement_line
        if depth > self._most_depth:
            raise ValueError("nested too deeply")

    def _current_line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line

    def _take_equated_key(self) -> list[str]:
        """Read `a.b =`."""
        key = self._take_key()
        self._take(_EQUALS)
        return key

    def _take_key(self) -> list[str]:
        """Read a key of one part or, with dots, of several."""
        key: list[str] = []
        while True:
            part = self._take(_KEY_START)
            if part in _STRING_END:
                raw = self._take_string(part)
                # tomli itself undoes the escapes, so that the key is the very one that it gave.
                part = tomli.loads(f'key = "{raw}"')["key"] if part == '"' and "\\" in raw else raw
            key.append(part)
            self._note_depth(len(key))
            if "." not in self._take(_AFTER_KEY_PART):
                return key

    def _take_string(self, quote: str) -> str:
        """Read the rest of the string that `quote` opened; return what is between the quotes, as it is written."""
        start = self._position
        for match in _STRING_END[quote].finditer(self._text, start):
            if not match[0].startswith("\\"):
                self._position = match.end()
                return self._text[start : match.start()]
        raise ValueError("a string without an end")

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        if match is None:
            raise ValueError(f"no {pattern.pattern!r} at offset {self._position}")
        self._position = match.end()
        return match[0]
