"""What tomli says of a broken file, in words that tell an operator what to change. Only a report needs it.

No message holds a value of the file: it may be a secret.
"""

import re
from typing import Final

import tomli

_TEXT_IN_QUOTES: Final = 'text stands in quotes, as in key = "value"'
_NUMBERS: Final = "numbers are written as 1, 0.5 or 1e3"
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

_MORE_THAN_A_VALUE: Final = ("the line goes on behind the value", _TEXT_IN_QUOTES)

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
        line = error.doc[error.doc.rfind("\n", 0, error.pos) + 1 : error.pos]
        return ("the line goes on behind [TABLE]", "") if line.lstrip().startswith("[") else _MORE_THAN_A_VALUE
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


def _no_value(rest: str) -> tuple[str, str]:
    """Return what is wrong with a value that is none.

    Args:
        rest: The rest of its line.
    """
    if not rest.strip() or rest.lstrip().startswith("#"):
        return "a value is missing", ""
    word = re.match(r"[A-Za-z]+", rest)
    if word is None:
        return "no TOML value", _NUMBERS if rest[0] in "+-.0123456789" else _TEXT_IN_QUOTES
    return "no TOML value", _FOREIGN_WORDS.get(word[0].lower(), _TEXT_IN_QUOTES)


def _about_key(what: str, parts: list[tuple[str, str]]) -> tuple[str, str]:
    key = ".".join(one or other for one, other in parts)
    if what == "declare":
        return f"[{key}] can not stand here: it, or the table around it, is complete already", "write it in one place"
    return f"{key} is complete where it stands; nothing can be added to it", f"write it as a table [{key}]"
