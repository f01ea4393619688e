"""What becomes of the bytes of a TOML file, and of bytes that are none."""

import codecs
import contextlib
import pickle
import sys

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from smgcfg.sources.toml_text import MOST_BYTES, TomlProblem, read_toml

LIMIT = sys.get_int_max_str_digits()
LONG = b"9" * (LIMIT + 1)
DECLARED = "[a] can not stand here: it, or the table around it, is complete already"
# Each of these is one line, though some of them hold what Python counts as a line end.
LINES = ["a = 1", "# \u2028 \x85", "", "'é' = '\u2029'", "[b]", "x = [", "\t"]
VALUES = ["1", "'\u2028'", "[\n1,\n]", '"""\n\n"""', "[ # [\n]", '"#"', "{ a.b = [{}] }", "'''\n\n\r\n'''"]
UNCLOSED = ["", "'", "'''", '"""', '"""\\"""', "[1,", "{", "[[", "{ b = [", "[\n\n'''\n", "[ # ]\n{ a = '' },\n"]


def problem(data: bytes) -> TomlProblem:
    """Return what `read_toml` raises for `data`."""
    with pytest.raises(TomlProblem) as caught:
        read_toml(data)
    return caught.value


def test_a_file_is_its_data_and_its_text() -> None:
    """The data is what tomli reads, and the text is the one it was read from, with its own line ends."""
    assert read_toml("a = 1\r\n'é' = [2]\r\n".encode()) == ({"a": 1, "é": [2]}, "a = 1\r\n'é' = [2]\r\n")
    assert read_toml(b"") == ({}, "")


def test_a_byte_order_mark_is_dropped_once() -> None:
    """The mark that editors on Windows write is no part of the text; a second one is no mark."""
    assert read_toml(codecs.BOM_UTF8 + b"a = 1") == ({"a": 1}, "a = 1")
    assert problem(codecs.BOM_UTF8 * 2 + b"a = 1").line == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_another_encoding_is_named(encoding: str) -> None:
    """A file in UTF-16 or UTF-32 is told from a broken one by its mark, and without a mark by its NULs."""
    marked = problem("\ufeffa = 1\n".encode(encoding))
    assert marked.message == f"the file is {encoding[:6].upper()}, not UTF-8"
    assert marked.line == 1
    assert marked.hint == "save the file as UTF-8"
    bare = problem("a = 1\n".encode(encoding))
    assert bare.message == "a NUL character, which no text file has"
    assert bare.hint == "save the file as UTF-8"


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        (b"a = 1\r\n\r\n'\xe9' = 1", "not UTF-8: byte 0xe9 at offset 10", 3),
        (codecs.BOM_UTF8 + b"\n\xc3", "not UTF-8: byte 0xc3 at offset 4", 2),
        (b"a = '\xed\xa0\x80'", "not UTF-8: byte 0xed at offset 5", 1),
        (b"a = 1\n# \0\n", "a NUL character, which no text file has", 2),
        (b"a = 1\r\n\r\nb 2\r\n", "expected '=' behind the key", 3),
        ("a = 1 # \u2028 \x85\nb = '\u2028\nc = ''".encode(), "a text that does not end on its line", 2),
        (b"a = [\n1,\n2,\n=\n]", "no TOML value", 4),
        # What tomli notices at the end of a statement is reported where the statement begins.
        (b"a = 1\na = [\n2,\n]\nb = 1\n", "the key has a value already", 2),
        (b"[a]\r\nb = 1\r\n\r\n[a]\r\nc = 1", DECLARED, 4),
        (b"a.b = 1\n[c]\n[a]\n", DECLARED, 3),
        (b"a = 1\nb = '1\n\n[c]\n", "a text that is never closed", 2),
        (b"a = [\n]\nb = [1,\n2", "a list that is never closed", 3),
        (b"a = 1\r\n\r\nb = [1,\r\n2\r\n\r\n", "a list that is never closed", 3),
        (b'a = 1\nb = """\n[c]\nd = 1\n\n', "a text that is never closed", 2),
        (b"a = 1\nb =", "a value is missing", 2),
        (b"a = 1\n\n[b", "expected ']' at the end of a table declaration", 3),
        (b"a = 1\n\n\na = " + b"[" * 5000 + b"]" * 5000, "nested too deeply", 4),
        (b"a = " + b"{ b = " * 5000 + b"1" + b" }" * 5000, "nested too deeply", 1),
        (b"x = [[1]]\n" + b"a." * 9000 + b"b = 1\n= =", "nested too deeply", 2),
        (b"a = 1\nb = [\n  -" + LONG + b"]", f"an integer of more than {LIMIT} digits", 3),
        (b"a = 1\nb = " + b"1_0" * LIMIT, f"an integer of more than {LIMIT} digits", 2),
        (b"a = " + b"1_" * (LIMIT - 1) + b"1\nb = " + LONG, f"an integer of more than {LIMIT} digits", 2),
        (b"a = '" + LONG + b"'\nb = " + LONG, f"an integer of more than {LIMIT} digits", 2),
        (b"a = " + LONG[1:] + b"\nb = 0x" + LONG[1:] + b"\nc = " + LONG, f"an integer of more than {LIMIT} digits", 3),
    ],
)
def test_a_broken_file_is_a_problem_with_its_line(data: bytes, message: str, line: int | None) -> None:
    """What is wrong is said in one message, with the line an editor shows, or with none where it is not sure."""
    found = problem(data)
    assert (found.message, found.line) == (message, line)


def test_a_file_that_is_far_too_long_is_not_read() -> None:
    """Behind the most bytes that a deployment needs, reading stops, and the line on which it does is named."""
    most = b"#" * 99 + b"\n"
    assert read_toml(most * (MOST_BYTES // 100))[0] == {}
    found = problem(most * (MOST_BYTES // 100 + 1))
    assert (found.message, found.line) == (f"the file goes on behind {MOST_BYTES} bytes, the most that are read", 10486)


def test_a_number_as_long_as_python_reads_is_no_problem() -> None:
    """The limit is Python's own, and is for decimal integers alone."""
    assert read_toml(b"a = " + LONG[1:])[0] == {"a": int(LONG[1:])}
    assert read_toml(b"a = 0x" + LONG)[0] == {"a": int(LONG, 16)}
    assert read_toml(b"a = " + LONG + b".0")[0] == {"a": float("inf")}


def test_a_problem_is_data() -> None:
    """A problem prints as its message and survives pickling, as errors that cross a process do."""
    found = pickle.loads(pickle.dumps(problem(b"a = 1\n\xff")))
    assert str(found) == found.message == "not UTF-8: byte 0xff at offset 6"
    assert (found.line, found.hint) == (2, "save the file as UTF-8")


@settings(max_examples=2000, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\r\n"])), max_size=8),
    st.sampled_from([b"\xff", b"\0", b"\xc3", b"\xe2\x80"]),
    st.booleans(),
)
def test_a_broken_byte_is_on_the_line_that_an_editor_shows(
    lines: list[tuple[str, str]], broken: bytes, marked: bool
) -> None:
    """A byte that is no text is reported on the line behind all line ends before it, whatever else comes first."""
    before = (codecs.BOM_UTF8 if marked else b"") + "".join(line + end for line, end in lines).encode()
    assert problem(before + b"a = 1 #" + broken + b"\n= =\n").line == len(lines) + 1


@settings(max_examples=2000, deadline=None)
@given(
    st.lists(st.sampled_from(VALUES), max_size=5), st.sampled_from(UNCLOSED), st.sampled_from(["", "\n", "\r\n\r\n"])
)
def test_what_is_never_closed_is_reported_where_it_begins(values: list[str], unclosed: str, rest: str) -> None:
    """Where tomli sees but the end of the file, the operator has to look at the statement that never ends."""
    before = "".join(f"k{number} = {value}\r\n" for number, value in enumerate(values))
    assert problem(f"{before}last = {unclosed}{rest}".encode()).line == before.count("\n") + 1


@settings(max_examples=2000, deadline=None)
@given(st.binary(max_size=40) | st.lists(st.sampled_from(LINES)).map("\n".join).map(str.encode))
def test_any_bytes_are_data_or_a_problem(data: bytes) -> None:
    """No bytes raise anything else, and what is read is what tomli reads from the text that comes with it."""
    with contextlib.suppress(TomlProblem):
        document, text = read_toml(data)
        assert document == tomli.loads(text)
        assert text.encode() == data.removeprefix(codecs.BOM_UTF8)
