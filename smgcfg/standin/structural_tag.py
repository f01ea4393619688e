"""xgrammar's structural tags, translated to llguidance's Lark.

A structural tag is a tree of formats that mixes free text with constrained pieces, which smg uses for the tool calls of
models with a syntax of their own. The stand-in only ever *writes* such text, so the translation may accept less than
the structural tag does, never more: free text holds no character that begins a delimiter (so no trigger and no end can
arise in it by chance), and triggered tags are one tag of the first trigger. A format without a translation is an error.

llguidance reads greedily: a number in front of a piece that begins with a digit, say, has no end that it could see.
Such an answer only ends at its limit.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator
from typing import Any

from smgcfg.standin import ebnf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

#: How llguidance reads schemas and lays out JSON: in one line, as models write it
JSON_OPTIONS: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    # A schema may bring options of its own; these two would loosen it.
    "lenient": False,
    "coerce_one_of": False,
}

_TEXT_CHARACTERS = string.ascii_letters + string.digits + " .,;:!?"
#: Longest run of free text, in characters
_MAX_TEXT = 80


class StructuralTagError(ValueError):
    """The structural tag is malformed or holds a format without a translation."""


def to_lark(text: str) -> str:
    """Translate a structural tag.

    Args:
        text: The tag as JSON: an object with ``format``, as smg 1.13.0 sends it.

    Returns:
        A Lark grammar for llguidance.

    Raises:
        StructuralTagError: It has no translation; the message names the format.
        smgcfg.standin.ebnf.EbnfError: An embedded grammar has no translation.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise StructuralTagError(f"the structural tag is no JSON: {exc}") from exc
    if not isinstance(document, dict) or "format" not in document:
        raise StructuralTagError("the structural tag has no format")
    return _Translation(document["format"]).result()


class _Translation:
    """One walk over a tree of formats; each format becomes a Lark expression.

    Attributes:
        rules: Rules that the expressions refer to.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.rules: list[str] = []
        self.grammars = 0
        # A trigger or an end can only arise where its first character stands.
        delimiters = {delimiter[0] for delimiter in _delimiters(root) if delimiter}
        allowed = [character for character in _TEXT_CHARACTERS if character not in delimiters]
        self.text = f"/[{''.join(allowed)}]{{0,{_MAX_TEXT}}}/" if allowed else '""'
        self.formats: dict[str, Callable[..., str]] = {
            "any_text": self.any_text,
            "const_string": self.const_string,
            "grammar": self.grammar,
            "json_schema": self.json_schema,
            "optional": self.optional,
            "or": self.either,
            "plus": self.plus,
            "regex": self.regex,
            "sequence": self.sequence,
            "star": self.star,
            "tag": self.tag,
            "tags_with_separator": self.tags_with_separator,
            "triggered_tags": self.triggered_tags,
        }

    def result(self) -> str:
        start = self.expression(self.root)
        return "\n".join([f"start: {start}", *self.rules]) + "\n"

    def expression(self, node: Any, default: str = "") -> str:
        if not isinstance(node, dict):
            raise StructuralTagError(f"a format is an object, got {node!r}")
        fields = dict(node)
        kind = fields.pop("type", default)
        translate = self.formats.get(kind) if isinstance(kind, str) else None
        if translate is None:
            raise StructuralTagError(f"the format {kind!r} has no translation")
        try:
            return f"({translate(**fields)})"
        except (TypeError, AttributeError) as exc:
            # A field that a format does not know could loosen it, so it is as wrong as a missing one.
            raise StructuralTagError(f"the format {kind!r} has missing, unknown or wrong fields: {exc}") from exc

    def any_text(self, *, excludes: list[str] | None = None, excluded_str: list[str] | None = None) -> str:
        return self.text

    def const_string(self, *, value: str) -> str:
        return _literal(value)

    def grammar(self, *, grammar: str) -> str:
        self.grammars += 1
        root, rules = ebnf.to_lark(grammar, prefix=f"grammar_{self.grammars}")
        self.rules.append(rules)
        return root

    def json_schema(self, *, json_schema: dict[str, Any] | bool, style: str = "json") -> str:
        if style != "json" or json_schema is False:
            raise StructuralTagError(f"the JSON schema {json_schema!r} in style {style!r} has no translation")
        schema = {} if json_schema is True else json_schema
        return f"%json {json.dumps({**schema, 'x-guidance': JSON_OPTIONS})}"

    def optional(self, *, content: Any) -> str:
        return f"{self.expression(content)}?"

    def either(self, *, elements: list[Any]) -> str:
        return self.choice(self.expression(element) for element in elements)

    def plus(self, *, content: Any) -> str:
        return f"{self.expression(content)}+"

    def regex(self, *, pattern: str) -> str:
        return regex_literal(pattern)

    def sequence(self, *, elements: list[Any]) -> str:
        return " ".join(self.expression(element) for element in elements) or '""'

    def star(self, *, content: Any) -> str:
        return f"{self.expression(content)}*"

    def tag(self, *, begin: str, content: Any, end: str | list[str]) -> str:
        ends = self.choice(map(_literal, [end] if isinstance(end, str) else end))
        return f"{_literal(begin)} {self.expression(content)} ({ends})"

    def tags_with_separator(
        self, *, tags: list[Any], separator: str, at_least_one: bool = False, stop_after_first: bool = False
    ) -> str:
        tag = self.choice(self.expression(entry, default="tag") for entry in tags)
        some = f"({tag})" if stop_after_first else f"({tag}) ({_literal(separator)} ({tag}))*"
        return some if at_least_one else f"({some})?"

    def triggered_tags(
        self,
        *,
        triggers: list[str],
        tags: list[Any],
        at_least_one: bool = False,
        stop_after_first: bool = False,
        excludes: list[str] | None = None,
    ) -> str:
        # Several triggers are several spellings of one thing in smg's tags (with or without the section around the
        # calls, with or without the end of a thought before them); the first is the one that its parsers like best.
        spelled = [[tag for tag in tags if tag.get("begin", "").startswith(trigger)] for trigger in triggers]
        if sum(map(len, spelled)) < len(tags):
            raise StructuralTagError("a tag begins with none of the triggers")
        usual = next(filter(None, spelled), [])
        tag = self.choice(self.expression(entry, default="tag") for entry in usual)
        # xgrammar: the tag of at_least_one stands at the very beginning.
        return f"({tag})" if at_least_one else f"{self.text} ({tag})?"

    @staticmethod
    def choice(expressions: Iterator[str]) -> str:
        branches = " | ".join(dict.fromkeys(expressions))
        if not branches:
            raise StructuralTagError("a choice of nothing")
        return branches


def _delimiters(node: Any) -> Iterator[str]:
    """Every string in a format that ends, begins or may not stand in free text."""
    if isinstance(node, list):
        for element in node:
            yield from _delimiters(element)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("begin", "end", "value", "separator", "triggers", "excludes", "excluded_str"):
                texts = value if isinstance(value, list) else [value]
                yield from (text for text in texts if isinstance(text, str))
            elif key in ("content", "elements", "tags"):
                yield from _delimiters(value)


def _literal(text: str) -> str:
    if not isinstance(text, str):
        raise StructuralTagError(f"expected a string, got {text!r}")
    return json.dumps(text, ensure_ascii=False)


def regex_literal(pattern: str) -> str:
    """A regex as Lark writes it, between slashes."""
    escaped = pattern.replace("\\/", "/").replace("/", "\\/").replace("\n", "\\n")
    return f"/{escaped}/"
