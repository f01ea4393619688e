"""What tomli says of a broken file, in words that tell an operator what to change. Only a report needs it.

No message holds a value of the file: it may be a secret.
"""

import re
from typing import Final

import tomli

_TEXT_IN_QUOTES: Final = 'text stands in quotes, as in key = "value"'
_NUMBERS: Final = "numbers are written as 1, 0.5 or 1e3"
_NO_LEADING_ZEROS: Final = "numbers begin with no 0, as in 8080"
_STRAIGHT_QUOTES: Final = 'TOML takes straight quotes alone, as in key = "value"'
_LINE_ENDS: Final = "lines end with a line feed: save the file with LF or CRLF"
_NEVER_CLOSED: Final = "a text that is never closed"

#: By how tomli's message begins: what we say instead, and what to do about it.
_SAID: Final = (
    ("Invalid statement", "neither KEY = VALUE nor [TABLE]", ""),
    ("Expected '=' after a key", "expected '=' behind the key", "TOML writes KEY = VALUE"),
    ("Found invalid character '\\n'", "a text that does not end on its line", ""),
    ("Illegal character '\\n'", "a text that does not end on its line", ""),
    ('Expected "\'"', _NEVER_CLOSED, ""),
    ("Expected \"'''\"", _NEVER_CLOSED, ""),
    ("Unterminated string", _NEVER_CLOSED, ""),
    ("Unescaped", "a backslash that escapes nothing", r"write \\ for a backslash, or put the text in '...'"),
    ("Cannot overwrite a value", "the key has a value already", "keep one of the two"),
    ("Invalid initial character for a key", "a key is missing, or needs quotes", ""),
)

#: Messages about what stands in brackets: what it is, and what ends it.
_UNCLOSED: Final = {"Unclosed array": ("a list", "]"), "Unclosed inline table": ("an inline table", "}")}

#: Messages that name a key, as a tuple of its parts.
_ABOUT_KEY: Final = re.compile(r"Cannot (declare|redefine namespace|mutate immutable namespace) (\(.*\))")
_DUPLICATE: Final = re.compile(r"Duplicate inline table key (.*)", re.DOTALL)

#: Words that other formats take for values.
_FOREIGN_WORDS: Final = {
    "true": "TOML writes true in lower case",
    "false": "TOML writes false in lower case",
    "none": "TOML has no such value; leave the key out, or name it in unset",
    "null": "TOML has no such value; leave the key out, or name it in unset",
    "nil": "TOML has no such value; leave the key out, or name it in unset",
}


def in_our_words(error: tomli.TOMLDecodeError) -> tuple[str, str]:
    """Return what is wrong, and what to do about it or an empty text.

    Args:
        error: What tomli raised.
    """
    message = error.msg
    if message == "Invalid value":
        return _no_value(error.doc[error.pos : error.pos + 80].partition("\n")[0])
    if message.startswith("Expected newline"):
        return _more(error.doc[error.doc.rfind("\n", 0, error.pos) + 1 : error.pos], error.doc[error.pos])
    if message == "Invalid statement" and error.doc.lstrip()[:1] == "{":
        return "this is no TOML; it looks like JSON", "write [pools.NAME] and KEY = VALUE"
    if message in _UNCLOSED:
        what, end = _UNCLOSED[message]
        ended = error.pos >= len(error.doc)
        return (f"{what} that is never closed" if ended else f"expected ',' or '{end}' in {what}"), ""
    about_key = _ABOUT_KEY.match(message)
    if about_key is not None:
        return _about_key(about_key[1], re.findall(r"'([^']*)'|\"([^\"]*)\"", about_key[2]))
    duplicate = _DUPLICATE.match(message)
    if duplicate is not None:
        return f"the key {duplicate[1]} stands twice", "keep one of the two"
    for begin, said, hint in _SAID:
        if message.startswith(begin):
            return said, hint
    return message[0].lower() + message[1:], ""


def _more(line: str, found: str) -> tuple[str, str]:
    """Return what is wrong with a line that goes on where it should end.

    Args:
        line: The line up to there.
        found: The character that stands there.
    """
    what = "[TABLE]" if line.lstrip().startswith("[") else "the value"
    if found == "\r":
        hint = _LINE_ENDS
    elif what == "[TABLE]":
        hint = ""
    else:
        hint = _NO_LEADING_ZEROS if re.search(r"=\s*[+-]?0$", line) and found.isdecimal() else _TEXT_IN_QUOTES
    return f"the line goes on behind {what}", hint


def _no_value(rest: str) -> tuple[str, str]:
    """Return what is wrong with a value that is none.

    Args:
        rest: The rest of its line.
    """
    if not rest.strip() or rest.lstrip().startswith("#"):
        return "a value is missing", ""
    word = re.match(r"[A-Za-z]+", rest)
    if rest[0] in "\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb`":
        return "no TOML value", _STRAIGHT_QUOTES
    if word is None:
        return "no TOML value", _NUMBERS if rest[0] in "+-.0123456789" else _TEXT_IN_QUOTES
    return "no TOML value", _FOREIGN_WORDS.get(word[0].lower(), _TEXT_IN_QUOTES)


def _about_key(what: str, parts: list[tuple[str, str]]) -> tuple[str, str]:
    key = ".".join(one or other for one, other in parts)
    if what == "declare":
        return f"[{key}] can not stand here: it, or the table around it, is complete already", "write it in one place"
    return f"{key} is complete where it stands; nothing can be added to it", f"write it as a table [{key}]"
