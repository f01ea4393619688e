"""The bytes of a TOML file to its data, and every way in which that can fail."""

import codecs
import re
import sys
from bisect import bisect_left
from typing import Any, BinaryIO

import tomli

#: By the mark that a file begins with. UTF-32 comes first: its little-endian mark begins with that of UTF-16.
_FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_SAVE_AS_UTF8 = "save the file as UTF-8"

#: The most bytes that a file may have: far more than a deployment needs, and few enough to be read in no time.
MOST_BYTES = 1 << 20


def read_most(file: BinaryIO) -> bytes:
    """Return the bytes of a file, of one that is too long no more than it takes to see that.

    A device or a pipe may never end.
    """
    return file.read(MOST_BYTES + 1)


class TomlProblem(Exception):
    """A file that cannot be read as TOML.

    Attributes:
        message: What is wrong.
        line: The 1-based line of the problem, or None where it is not known for sure.
        hint: What to do about it, or None.
    """

    def __init__(self, message: str, line: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint


def read_toml(data: bytes) -> tuple[dict[str, Any], str]:
    """Parse a TOML file.

    A UTF-8 byte order mark is dropped: TOML 1.0 has none, but editors on Windows write it.

    Args:
        data: The bytes of the file.

    Returns:
        The document, and the text that it was parsed from (for `key_lines`, which has the same line numbers).

    Raises:
        TomlProblem: The bytes are not UTF-8 or not TOML, or go beyond what is read or Python or tomli can hold.
    """
    if len(data) > MOST_BYTES:
        line = data.count(b"\n", 0, MOST_BYTES) + 1
        raise TomlProblem(f"the file goes on behind {MOST_BYTES} bytes, the most that are read", line)
    text = _decode(data)
    try:
        return tomli.loads(text), text
    except tomli.TOMLDecodeError as error:
        raise _syntax_problem(error) from error
    except RecursionError as error:
        from smgcfg.sources.toml_lines import deepest_line

        raise TomlProblem("nested too deeply", deepest_line(text)) from error
    except ValueError as error:
        # The one ValueError that tomli lets through: int() of too many digits.
        raise _long_integer_problem(text) from error


def _decode(data: bytes) -> str:
    for mark, name in _FOREIGN_MARKS.items():
        if data.startswith(mark):
            raise TomlProblem(f"the file is {name}, not UTF-8", 1, _SAVE_AS_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        raise TomlProblem(message, data.count(b"\n", 0, error.start) + 1, _SAVE_AS_UTF8) from error
    nul = text.find("\0")
    if nul >= 0:
        # What UTF-16 without a mark looks like, too.
        raise TomlProblem("a NUL character, which no text file has", text.count("\n", 0, nul) + 1, _SAVE_AS_UTF8)
    return text.removeprefix("\ufeff")


def _syntax_problem(error: tomli.TOMLDecodeError) -> TomlProblem:
    # Imported here: only a report needs them.
    from smgcfg.sources.toml_errors import in_our_words
    from smgcfg.sources.toml_lines import last_statement_line

    message, hint = in_our_words(error)
    if error.pos < len(error.doc) and not error.msg.startswith("Cannot"):
        return TomlProblem(message, error.lineno, hint or None)
    # tomli raised only behind the statement that is at fault, which may be lines below its key: at the end of a value
    # that may not be there, or at the end of a file in which something was never closed.
    return TomlProblem(message, last_statement_line(error.doc[: error.pos]), hint or None)


def _long_integer_problem(text: str) -> TomlProblem:
    limit = sys.get_int_max_str_digits()
    too_long = [run for run in re.finditer("[0-9_]+", text) if len(run[0].replace("_", "")) > limit]
    # Floats, strings and comments may be as long: the integer is the first of them that can not be read over.
    first = bisect_left(too_long, True, key=lambda run: _stops_at_integer(text[: run.end()]))
    line = text.count("\n", 0, too_long[first].start()) + 1 if first < len(too_long) else None
    return TomlProblem(f"an integer of more than {limit} digits", line, "text of digits needs quotes")


def _stops_at_integer(begin: str) -> bool:
    try:
        tomli.loads(begin)
    except tomli.TOMLDecodeError:
        return False
    except ValueError:
        return True
    return False
