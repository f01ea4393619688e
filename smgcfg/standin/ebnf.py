"""EBNF as xgrammar reads it, translated to llguidance's Lark.

llguidance has a converter of its own, but it joins rules into greedy lexemes: after ``word ::= [a-z]+`` a literal
``"x"`` could never follow. Here every character is a lexeme of its own, so the parser explores each reading and the
translation accepts exactly the strings of the grammar. What is not understood (look-ahead, macros) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | \#[^\n]* )
    | (?P<define> ::= )
    | (?P<name> [A-Za-z_][A-Za-z0-9_.-]* )
    | (?P<string> "(?:[^"\\\n]|\\.)*" )
    | (?P<class> \[\^?(?:[^\]\\\n]|\\.)*\] )
    | (?P<repeat> [*+?] | \{\s*\d+\s*(?:,\s*\d*\s*)?\} )
    | (?P<punct> [|()] )
    """,
    re.VERBOSE,
)
_CHARACTER = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\(.)|(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"} | {symbol: symbol for symbol in "\"'\\[]^-/"}


class EbnfError(ValueError):
    """The text is no EBNF that can be translated; the message says where and why."""


def to_lark(text: str, prefix: str = "ebnf") -> tuple[str, str]:
    """Translate a grammar.

    Args:
        text: Rules ``name ::= expression``, among them ``root``.
        prefix: Begins the name of every rule, so that several grammars can stand in one Lark text; lower case.

    Returns:
        The name of the root's rule, and the Lark rules, one a line.

    Raises:
        EbnfError: The grammar is malformed, lacks a rule, or uses something without a translation.
    """
    return _Translation(text, prefix).result()


class _Translation:
    """One recursive descent over the tokens of one grammar."""

    def __init__(self, text: str, prefix: str) -> None:
        self.tokens = list(_tokens(text))
        self.position = 0
        self.prefix = prefix
        self.rules: dict[str, str] = {}
        self.used: dict[str, str] = {}

    def result(self) -> tuple[str, str]:
        while self.position < len(self.tokens):
            self.rule()
        for name in ("root", *self.used):
            if name not in self.rules:
                raise EbnfError(f"there is no rule {name!r}")
        return self.lark_name("root"), "\n".join(f"{self.lark_name(name)}: {body}" for name, body in self.rules.items())

    def lark_name(self, name: str) -> str:
        return self.used.setdefault(name, f"{self.prefix}_{len(self.used)}")

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else ("end", "")

    def take(self, kind: str, text: str | None = None) -> str:
        found, value = self.peek()
        if found != kind or text not in (None, value):
            raise EbnfError(f"expected {text or kind}, got {value or found!r}")
        self.position += 1
        return value

    def rule(self) -> None:
        name = self.take("name")
        self.take("define")
        if name in self.rules:
            raise EbnfError(f"rule {name!r} is defined twice")
        self.rules[name] = self.alternatives()

    def alternatives(self) -> str:
        branches = [self.sequence()]
        while self.peek() == ("punct", "|"):
            self.position += 1
            branches.append(self.sequence())
        return " | ".join(branches)

    def sequence(self) -> str:
        items: list[str] = []
        while (item := self.item()) is not None:
            kind, text = self.peek()
            if kind == "repeat":
                self.position += 1
                item = f"({item}){_repeat(text)}"
            items.append(item)
        return " ".join(items) or '""'

    def item(self) -> str | None:
        kind, text = self.peek()
        if kind == "name" and self.peek(1)[0] != "define":  # a name before ::= begins the next rule
            self.position += 1
            return self.lark_name(text)
        if kind == "string":
            self.position += 1
            return " ".join(f"/{_escaped(character)}/" for character in _characters(text[1:-1])) or '""'
        if kind == "class":
            self.position += 1
            return _class(text)
        if (kind, text) == ("punct", "("):
            self.position += 1
            inner = self.alternatives()
            self.take("punct", ")")
            return f"({inner})"
        return None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            line = text.count("\n", 0, position) + 1
            raise EbnfError(f"can not read {text[position : position + 12]!r} in line {line}")
        position = match.end()
        if match.lastgroup != "space":
            yield match.lastgroup, match.group()


def _characters(body: str) -> Iterator[str]:
    """The characters that the inside of a string or class stands for."""
    for match in _CHARACTER.finditer(body):
        *codes, escape, plain = match.groups()
        code = next(filter(None, codes), None)
        if code is not None:
            yield _character(code)
        elif escape is None:
            yield plain
        elif escape in _ESCAPES:
            yield _ESCAPES[escape]
        else:
            raise EbnfError(f"unknown escape {match.group()!r}")


def _character(code: str) -> str:
    number = int(code, 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise EbnfError(f"{code!r} is no character")
    return chr(number)


def _class(text: str) -> str:
    negated = text.startswith("[^")
    # A dash that was written as an escape stands for itself, so ranges are told apart on the raw text.
    parts = [match.group() for match in _CHARACTER.finditer(text[2 if negated else 1 : -1])]
    ranges: list[str] = []
    while parts:
        low = next(_characters(parts.pop(0)))
        if len(parts) >= 2 and parts[0] == "-":
            high = next(_characters(parts[1]))
            del parts[:2]
            if high < low:
                raise EbnfError(f"the range {low!r}-{high!r} is empty")
            ranges.append(f"{_escaped(low)}-{_escaped(high)}")
        else:
            ranges.append(_escaped(low))
    if not ranges:
        raise EbnfError(f"the class {text!r} is empty")
    return f"/[{'^' if negated else ''}{''.join(ranges)}]/"


def _escaped(character: str) -> str:
    """The character in a regex, by its number where it could be taken for something else."""
    return character if character.isascii() and character.isalnum() else f"\\x{{{ord(character):x}}}"


def _repeat(text: str) -> str:
    if not text.startswith("{"):
        return text
    low, comma, high = text.strip("{}").replace(" ", "").partition(",")
    if high and int(high) < int(low):
        raise EbnfError(f"the repetition {text!r} is empty")
    return f"{{{low},{high if comma else low}}}"
