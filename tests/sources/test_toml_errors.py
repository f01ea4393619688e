"""What is said of a broken file."""

import pytest

from smgcfg.sources.toml_text import TomlProblem, read_toml

QUOTES = 'text stands in quotes, as in key = "value"'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a = True", "no TOML value", "TOML writes true in lower case"),
        ("a = None # x", "no TOML value", "TOML has no such value; leave the key out, or name it in unset"),
        ("a = hello", "no TOML value", QUOTES),
        ("a = ${X}", "no TOML value", QUOTES),
        ("a = .5", "no TOML value", "numbers are written as 1, 0.5 or 1e3"),
        ("a = # x", "a value is missing", None),
        ("v = 0.1.1", "the line goes on behind the value", QUOTES),
        ("a = 0-3", "the line goes on behind the value", QUOTES),
        ("a = 08080", "the line goes on behind the value", "numbers begin with no 0, as in 8080"),
        ("a = 0x", "the line goes on behind the value", QUOTES),
        ("[a]\ra = 1", "the line goes on behind [TABLE]", "lines end with a line feed: save the file with LF or CRLF"),
        (
            "a = 1\rb = 2",
            "the line goes on behind the value",
            "lines end with a line feed: save the file with LF or CRLF",
        ),
        ("a = \u201cx\u201d", "no TOML value", 'TOML takes straight quotes alone, as in key = "value"'),
        ("a = `x`", "no TOML value", 'TOML takes straight quotes alone, as in key = "value"'),
        ("[a]]", "the line goes on behind [TABLE]", None),
        ("a: 1", "expected '=' behind the key", "TOML writes KEY = VALUE"),
        ("{'a': 1}", "this is no TOML; it looks like JSON", "write [pools.NAME] and KEY = VALUE"),
        ("\u00e9 = 1", "neither KEY = VALUE nor [TABLE]", None),
        ('a = "x\n', "a text that does not end on its line", None),
        ('a = "C:\\dir"', "a backslash that escapes nothing", r"write \\ for a backslash, or put the text in '...'"),
        ("a = [1 2]", "expected ',' or ']' in a list", None),
        ("a = {b = 1", "an inline table that is never closed", None),
        ("a = {b = 1 c = 2}", "expected ',' or '}' in an inline table", None),
        ("a = 1\na = 2", "the key has a value already", "keep one of the two"),
        ("a = {b = 1, b = 2}", "the key 'b' stands twice", "keep one of the two"),
        (
            "a = {b = 1}\na.c = 1",
            "a is complete where it stands; nothing can be added to it",
            "write it as a table [a]",
        ),
        ("[a.]", "a key is missing, or needs quotes", None),
        ("a = '\x01'", "found invalid character '\\x01'", None),
    ],
)
def test_a_broken_file_is_explained(text: str, message: str, hint: str | None) -> None:
    """The message says what is wrong in an operator's words, and the hint what to write instead."""
    with pytest.raises(TomlProblem) as caught:
        read_toml(text.encode())
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("line", ["api_key = s3cret", "api_key: s3cret", "api_key = 's3cret", "api_key 's3cret'"])
def test_no_value_of_a_broken_file_is_repeated(line: str) -> None:
    """What a broken line says may be a secret, so no message holds it."""
    with pytest.raises(TomlProblem) as caught:
        read_toml(line.encode())
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"
