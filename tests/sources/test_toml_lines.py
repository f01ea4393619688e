"""The lines of keys: random documents whose writer knows each line, and the pitfalls by name."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from smgcfg.sources.toml_lines import Path, key_lines

# What a scan could trip over in keys, comments and strings. A piece never ends in a quote that could join the next.
KEYS = ["a", "b", "c", "-", "_1", "1", "0", "1979-05-27", "inf", "true", "", "3.14", "a.b", "c d", '"', "'", "\\", "#"]
KEYS += ["]", "[a]", "{=", "\n", "\r\n", "\t", "\0", "\u2028", "\x85", "\ufeff", "é", "😀", '"""', "'''", r"\u0041"]
NOISE = ["[", "]]", "{", "}", "#", "=", ",", ".", "a = 1", "[a.b]", " ", "\t", "é", "\u2028", "\x85", "\ufeff", "😀"]
COMMENT = [*NOISE, '"', '"""', "'", "'''", "\\"]
BASIC = [*NOISE, "'", "'''", r"\"", r"\\", r"\n", r"\u005B", r"\U0001F600"]
LITERAL = [*NOISE, '"', '"""', "\\", '\\"']
LONG_BASIC = [*BASIC, "\n", "\n", '"x', '""x', "\\\n  ", "\\ \t\n\n ", r'""\"', r"\\\\"]
LONG_LITERAL = [*LITERAL, "\n", "\n", "'x", "''x", "\\\n"]
STRINGS = [('"', BASIC), ("'", LITERAL), ('"""', LONG_BASIC), ("'''", LONG_LITERAL)]
NUMBERS = ["1", "-17", "0xdead_beef", "1_000", "+1.5e-3", "-inf", "nan", "true", "false", "07:32:00.5", "1979-05-27"]
NUMBERS += ["1979-05-27T07:32:00Z", "1979-05-27 07:32:00-08:00"]
SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}
# Lines that go together or do not, so that tomli's rules for tables are met by chance.
LINES = ["[a]", "[a.b]", "[[a]]", "[[a.b]]", "[b.c]", "[[b]]", "[[b.c.d]]", "a = 1", "b = 1", "a.b = 1", "b.c.d = {}"]
LINES += ["c.d = [1, {}]", "c.'a' = 1", "c = {a.b = 1, a.c = 2}", "d = [", "]", "1, {a = 1},", "[", "d = '''", "'''"]
LINES += ['"""', "e = {", "}", "#'[", "=", "'", '"\\"', ".", "[[b.c", "\\", '"\\u0061"."b" = """"a"""""', ""]


class Statement(NamedTuple):
    """A key with a value: None for a scalar, a list for an array, a tuple of statements for an inline table."""

    path: Path
    value: Any


class Section(NamedTuple):
    """A header and the statements that follow it."""

    header: str
    path: Path
    statements: list[Statement]


class Document:
    """A random document, and the lines of its paths as noted while it was written.

    Args:
        seed: Of all that is random in it: a hundred draws of hypothesis's own take ten times as long.
        size: The most keys in one table and items in one array; the smaller, the easier a failure is to read.

    Attributes:
        text: The document.
        lines: What `key_lines` should return for it.
    """

    def __init__(self, seed: int, size: int) -> None:
        self.rng = rng = random.Random(seed)
        self.size = size
        self.line_ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n", "\r\n"]])
        self.pieces: list[str] = []
        self.line = 1
        self.marks: defaultdict[Path, list[tuple[bool, int]]] = defaultdict(list)  # (merely implied, line)
        statements, sections = self.make_table((), depth=0)
        self.write_statements((), statements)
        for section in sections:
            self.write_section(section)
        self.text = "".join(self.pieces)
        self.lines = {path: min(marks)[1] for path, marks in self.marks.items()}

    # Which statements there are, in an order that TOML allows

    def make_table(self, path: Path, depth: int) -> tuple[list[Statement], list[Section]]:
        """Make a table of statements and of the sections below it."""
        statements: list[Statement] = []
        sequences: list[list[Section]] = []  # sections that must keep their order
        for name in self.rng.sample(KEYS, self.rng.randint(0, self.size)):
            inner = (*path, name)
            kind = self.rng.choice(["value", "value", "header", "array", "dotted"]) if depth < 4 else "value"
            if kind == "value":
                statements.append(Statement(inner, self.make_value(depth)))
            elif kind == "dotted":  # by dotted keys or by deeper headers; by neither, there is no such table
                dotted, sections = self.make_table(inner, depth + 1)
                statements += dotted
                sequences.append(sections)
            elif kind == "header":  # which may stand before or after the sections inside the table
                own, *sections = self.make_section("[%s]", inner, depth)
                sequences += [[own], sections]
            else:
                indices = range(self.rng.randint(1, self.size))
                elements = [self.make_section("[[%s]]", (*inner, index), depth) for index in indices]
                sequences.append([section for element in elements for section in element])
        self.rng.shuffle(statements)
        # A random merge: the iterator of each sequence, as often as the sequence is long.
        turns = [turn for sequence in sequences for turn in [iter(sequence)] * len(sequence)]
        self.rng.shuffle(turns)
        return statements, [next(turn) for turn in turns]

    def make_section(self, header: str, path: Path, depth: int) -> list[Section]:
        statements, sections = self.make_table(path, depth + 1)
        return [Section(header, path, statements), *sections]

    def make_value(self, depth: int) -> Any:
        kind = self.rng.choice(["scalar", "scalar", "array", "table"]) if depth < 6 else "scalar"
        if kind == "scalar":
            return None
        if kind == "array":
            return [self.make_value(depth + 1) for _ in range(self.rng.randint(0, self.size))]
        return tuple(self.make_inline_table((), depth + 1))

    def make_inline_table(self, path: Path, depth: int) -> Iterator[Statement]:
        for name in self.rng.sample(KEYS, self.rng.randint(0, self.size)):
            dotted = list(self.make_inline_table((*path, name), depth + 1)) if self.one_in(3) and depth < 6 else []
            yield from dotted or [Statement((*path, name), self.make_value(depth))]

    # How they are written

    def write(self, text: str) -> None:
        """Write; each newline of `text` becomes one of the document's line ends."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self.pieces.append(self.line_ends[self.line % len(self.line_ends)])
                self.line += 1
            self.pieces.append(part)

    def mark(self, path: Path, below: Path) -> None:
        """Note that this line defines `path`, and implies what lies between it and `below`."""
        for end in range(len(below) + 1, len(path)):
            self.marks[path[:end]].append((True, self.line))
        self.marks[path].append((False, self.line))

    def write_section(self, section: Section) -> None:
        self.write_blank_lines()
        self.mark(section.path, below=())
        if section.header == "[[%s]]":
            self.mark(section.path[:-1], below=())
        self.write(self.space() + section.header % (self.space() + self.key(section.path) + self.space()))
        self.write_line_end()
        self.write_statements(section.path, section.statements)

    def write_statements(self, table: Path, statements: list[Statement]) -> None:
        for statement in statements:
            self.write_blank_lines()
            self.write(self.space())
            self.write_statement(table, statement.path[len(table) :], statement.value)
            self.write_line_end()

    def write_statement(self, table: Path, key: Path, value: Any) -> None:
        self.mark(table + key, below=table)
        self.write(f"{self.key(key)}{self.space()}={self.space()}")
        self.write_value(table + key, value)

    def write_value(self, path: Path, value: Any) -> None:
        if value is None:
            self.write(self.scalar())
            return
        is_array = isinstance(value, list)
        self.write("[" if is_array else "{")
        for index, item in enumerate(value):
            self.write(("," if index else "") + self.gap())
            if is_array:
                self.mark((*path, index), below=path)
                self.write_value((*path, index), item)
            else:
                self.write_statement(path, item.path, item.value)
        self.write(self.gap() + ("," if value and self.one_in(3) else "") + self.gap())
        self.write("]" if is_array else "}")

    def write_blank_lines(self) -> None:
        while self.one_in(3):
            self.write_line_end()

    def write_line_end(self) -> None:
        self.write(self.space() + (f"#{self.noise(COMMENT)}\n" if self.one_in(4) else "\n"))

    def one_in(self, chances: int) -> bool:
        return self.rng.randrange(chances) == 0

    def space(self) -> str:
        return self.rng.choice(["", "", " ", "\t "])

    def gap(self) -> str:
        """Return what may stand around an item of an array."""
        return self.rng.choice(["", "", "", " ", "\n", "\n\n ", "\t#\n", f" #{self.noise(COMMENT)}\n  "])

    def noise(self, pieces: list[str]) -> str:
        return "".join(self.rng.choice(pieces) for _ in range(self.rng.randrange(5)))

    def key(self, path: Path) -> str:
        """Return a dotted key of the names of `path`: an index is in no header."""
        return (self.space() + "." + self.space()).join(self.name(part) for part in path if isinstance(part, str))

    def name(self, name: str) -> str:
        if re.fullmatch("[A-Za-z0-9_-]+", name) and not self.one_in(4):
            return name
        if not re.search("['\n\r\0]", name) and self.one_in(2):
            return f"'{name}'"
        return '"' + "".join(self.escape(char) for char in name) + '"'

    def escape(self, char: str) -> str:
        forms = [rf"\U{ord(char):08X}", SHORT_ESCAPES.get(char) or char]
        if ord(char) < 0x10000:
            forms.append(rf"\u{ord(char):04x}")
        return self.rng.choice(forms if char != "\0" else forms[:1])

    def scalar(self) -> str:
        if self.one_in(3):
            return self.rng.choice(NUMBERS)
        quote, pieces = self.rng.choice(STRINGS)
        # Up to two quotes of a long string's own may stand before the three that end it.
        own = quote[0] * self.rng.randrange(3) if len(quote) == 3 else ""
        return quote + self.noise(pieces) + own + quote


def paths_in(data: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every key and of every array element."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in items:
        yield (*path, name)
        yield from paths_in(value, (*path, name))


@settings(max_examples=2000, deadline=None)
@given(st.builds(Document, seed=st.integers(0, 2**64 - 1), size=st.integers(1, 4)))
def test_every_key_of_a_random_document_has_its_line(document: Document) -> None:
    """Each key and array element that tomli reads has the line where the document's writer put it, and no other has."""
    assert set(document.lines) == set(paths_in(tomli.loads(document.text)))
    assert key_lines(document.text) == document.lines


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=8).map("\n".join))
def test_any_text_is_scanned_to_its_end(text: str) -> None:
    """Whatever the text, the scan returns; when tomli accepts the text, the scan finds the same paths."""
    lines = key_lines(text)
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError:
        return
    assert set(lines) == set(paths_in(data))


PITFALLS: dict[str, tuple[str, dict[Path, int]]] = {
    "separators that only Python counts": (
        "a = '\x85\u2028\u2029'  # \x85 \u2028\n'\u2028' = 1",
        {("a",): 1, ("\u2028",): 2},
    ),
    "carriage return and line feed": (
        '\r\na = """\r\n\r\n"""\r\nb = 1\r\n',
        {("a",): 2, ("b",): 5},
    ),
    "four and five quotes": (
        "a = '''\n''''\nb = '''\n'''''\nc = \"\"\"\n\"\"\"\"\nd = \"\"\"\n\"\"\"\"\"\ne = 1",
        {("a",): 1, ("b",): 3, ("c",): 5, ("d",): 7, ("e",): 9},
    ),
    "six to eight quotes in a row": (
        'a = """"""\nb = \'\'\'\'\'\'\nc = """""""\nd = """"""""\ne = 1',
        {("a",): 1, ("b",): 2, ("c",): 3, ("d",): 4, ("e",): 5},
    ),
    "escaped quotes and backslashes before the end": (
        'a = "\\\\"\nb = "\\""\nc = """\\""""\nd = """""\\"\n\\\\"""\ne = \'\\\'\nf = \'\'\'\\\'\'\'\ng = 1',
        {("a",): 1, ("b",): 2, ("c",): 3, ("d",): 4, ("e",): 6, ("f",): 7, ("g",): 8},
    ),
    "a newline that a backslash takes away": (
        'a = """one \\  \n\n   two"""\nb = 1',
        {("a",): 1, ("b",): 4},
    ),
    "statements inside a long string": (
        "a = '''\nb = 1\n[c]\n# '''\nd = 1",
        {("a",): 1, ("d",): 5},
    ),
    "quotes and brackets in comments": (
        "# it's [[a]] \"\"\"\n[a] # ] ''' {\nb = [ # ]\n1, # [,\n{ c = 1 }] # }\n",
        {("a",): 2, ("a", "b"): 3, ("a", "b", 0): 4, ("a", "b", 1): 5, ("a", "b", 1, "c"): 5},
    ),
    "escapes in quoted keys": (
        '"\\u0061\\U00000062\\"\\\\\\n" = 1\n[\'a.b\'."c d"]\n\'\\u0061\' = 1\n"" = 1',
        {
            ('ab"\\\n',): 1,
            ("a.b",): 2,
            ("a.b", "c d"): 2,
            ("a.b", "c d", "\\u0061"): 3,
            ("a.b", "c d", ""): 4,
        },
    ),
    "keys that look like values": (
        "1.2 = 1\n1979-05-27 = 1\n-inf- = 1\ntrue = 1\n-1 = 1",
        {("1",): 1, ("1", "2"): 1, ("1979-05-27",): 2, ("-inf-",): 3, ("true",): 4, ("-1",): 5},
    ),
    "values that look like keys": (
        "a = 1.5\nb = 1979-05-27 07:32:00.5 # c = 1\nc = [07:32:00, 1e5]",
        {("a",): 1, ("b",): 2, ("c",): 3, ("c", 0): 3, ("c", 1): 3},
    ),
    "blanks around dots": (
        '[ a \t.\t"b" ]\n c . d\t= 1\n\t[[ e . f ]]\t\n',
        {
            ("a",): 1,
            ("a", "b"): 1,
            ("a", "b", "c"): 2,
            ("a", "b", "c", "d"): 2,
            ("e",): 3,
            ("e", "f"): 3,
            ("e", "f", 0): 3,
        },
    ),
    "arrays of tables": (
        "[[a]]\n[a.b]\nc = 1\n[[a]]\n[[a.d]]\n[[a.d]]\n[a.d.e]\n[[a]]\n",
        {
            ("a",): 1,
            ("a", 0): 1,
            ("a", 0, "b"): 2,
            ("a", 0, "b", "c"): 3,
            ("a", 1): 4,
            ("a", 1, "d"): 5,
            ("a", 1, "d", 0): 5,
            ("a", 1, "d", 1): 6,
            ("a", 1, "d", 1, "e"): 7,
            ("a", 2): 8,
        },
    ),
    "arrays over lines": (
        "a = [\n  [ # one\n    1,\n\n    { b = [ { c = 1 } ] }, ],\n  2\n]\nd = []",
        {
            ("a",): 1,
            ("a", 0): 2,
            ("a", 0, 0): 3,
            ("a", 0, 1): 5,
            ("a", 0, 1, "b"): 5,
            ("a", 0, 1, "b", 0): 5,
            ("a", 0, 1, "b", 0, "c"): 5,
            ("a", 1): 6,
            ("d",): 8,
        },
    ),
    "dotted keys inside inline tables": (
        "a = { b.c = 1, b.d = '''\n''', e = {} }\nf = 1",
        {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1, ("a", "b", "d"): 1, ("a", "e"): 2, ("f",): 3},
    ),
    "inline tables over lines, as TOML 1.1 has them": (
        "a = {\n  b = 1, # }\n  c = { },\n}\nd = 1",
        {("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("d",): 5},
    ),
    "a table that is implied before it is defined": (
        "[a.b.c]\n[d.e]\n[a]\nx = 1\n[d]\nf.g = 1\nf.h = 1",
        {
            ("a",): 3,
            ("a", "b"): 1,
            ("a", "b", "c"): 1,
            ("a", "x"): 4,
            ("d",): 5,
            ("d", "e"): 2,
            ("d", "f"): 6,
            ("d", "f", "g"): 6,
            ("d", "f", "h"): 7,
        },
    ),
    "nothing": ("", {}),
    "no last newline, and nothing but a comment": ("# a = 1", {}),
}


@pytest.mark.parametrize(("text", "expected"), PITFALLS.values(), ids=PITFALLS)
def test_a_pitfall_is_not_fallen_into(text: str, expected: dict[Path, int]) -> None:
    """What looks like a key, a newline or an end, and is none, moves no line."""
    assert set(expected) == set(paths_in(tomli.loads(text)))
    assert key_lines(text) == expected


def test_depth_is_no_limit() -> None:
    """Arrays and inline tables nested deeper than Python can recurse are scanned as any others."""
    depth = 3000
    lines = key_lines("a = " + "[\n{ b = " * (depth // 2) + "1" + " }]" * (depth // 2) + "\nc = 1")
    assert max(len(path) for path in lines) == depth + 1
    assert lines["a", 0, "b", 0, "b"] == 3
    assert lines["c",] == depth // 2 + 2


@pytest.mark.parametrize("text", ["a = 'b", 'a = """b""', '"\\x" = 1', "a = [1", "é = 1", "[a", "a 1", "]"])
def test_a_text_that_is_not_understood_has_no_lines(text: str) -> None:
    """A scan that loses its way gives nothing, rather than a line that may be wrong."""
    assert key_lines(f"x = 1\n{text}") == {}
