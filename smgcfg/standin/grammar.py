"""Constraint enforcement: what a request may answer, byte by byte.

The library is llguidance, not the xgrammar of the real engine. It has no dependencies, imports in a twentieth of a
second and a few MiB, and takes JSON schema and regex as they are; xgrammar needs numpy, pydantic, apache-tvm-ffi, and
empty modules in the place of torch and transformers to import at all (0.2.9: 0.56 s and 62 MB to start, against 0.21 s
and 31 MB). The price is two translations, for EBNF and for structural tags, and that the two libraries draw the border
of what they take differently. The stand-in errs on one side only: what it can not enforce in full it aborts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import attrs
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from smgcfg.standin import ebnf, structural_tag
from smgcfg.standin.tokenizer import EOS_ID, SPECIAL_TOKENS
from smgcfg.standin.wire import SamplingParams

_CACHED_GRAMMARS = 256


class GrammarError(ValueError):
    """A constraint that can not be enforced; the message says why."""


@attrs.frozen
class Constraint:
    """What an answer must obey.

    Attributes:
        kind: The name of its field on the wire: json_schema, regex, ebnf or structural_tag.
        text: The schema, pattern, grammar or tag.
    """

    kind: str
    text: str


def constraints_of(params: SamplingParams) -> list[Constraint]:
    """The constraints that a request carries; a proper one carries at most one."""
    fields = {
        "json_schema": params.json_schema,
        "regex": params.regex,
        "ebnf": params.ebnf,
        "structural_tag": params.structural_tag,
    }
    return [Constraint(kind, text) for kind, text in fields.items() if text is not None]


class Grammar:
    """The state of one answer under a constraint.

    Tokens are bytes (see `smgcfg.standin.tokenizer`); the one token above them that can be allowed is the end.
    """

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def allowed(self) -> frozenset[int]:
        """The token ids that may come next, `EOS_ID` among them where the answer may end.

        Returns:
            The ids; empty where the library has given up on the grammar.
        """
        return _members(self._matcher.compute_bitmask())

    def accept(self, token: int) -> None:
        """Go on by a token.

        Raises:
            GrammarError: The token is not allowed here, or the library ran into one of its limits.
        """
        if not self._matcher.consume_token(token):
            raise GrammarError(_brief(self._matcher.get_error()))


class GrammarLibrary:
    """Compiles constraints, and keeps the compiled ones."""

    def __init__(self) -> None:
        self._tokenizer = LLTokenizer(TokenizerWrapper(_ByteTokenizer()))
        self._compile = functools.lru_cache(_CACHED_GRAMMARS)(self._compile_uncached)

    def start(self, constraint: Constraint) -> Grammar:
        """Begin an answer under a constraint.

        Raises:
            GrammarError: The constraint is malformed, or beyond what the library enforces.
        """
        return Grammar(self._compile(constraint).deep_copy())

    def _compile_uncached(self, constraint: Constraint) -> LLMatcher:
        try:
            source = _SOURCES[constraint.kind](constraint.text)
        except (ValueError, RecursionError) as exc:
            raise GrammarError(f"{constraint.kind}: {_brief(str(exc))}") from exc
        matcher = LLMatcher(self._tokenizer, source, log_level=0)
        if matcher.is_error():
            raise GrammarError(f"{constraint.kind}: {_brief(matcher.get_error())}")
        return matcher


class _ByteTokenizer:
    """What llguidance asks of a tokenizer."""

    eos_token_id = EOS_ID
    bos_token_id = None
    tokens: Sequence[bytes] = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in SPECIAL_TOKENS)]
    special_token_ids: Sequence[int] = tuple(SPECIAL_TOKENS.values())

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


@functools.lru_cache(4096)
def _members(bitmask: bytes) -> frozenset[int]:
    # Few masks make up most answers (inside a string, inside a number), so unpacking them once is worth a table.
    bits = int.from_bytes(bitmask, "little")
    return frozenset(token for token in range(EOS_ID + 1) if bits >> token & 1)


def _json_source(text: str) -> str:
    return LLMatcher.grammar_from_json_schema(text, overrides=structural_tag.JSON_OPTIONS)


def _ebnf_source(text: str) -> str:
    root, rules = ebnf.to_lark(text)
    return LLMatcher.grammar_from_lark(f"start: {root}\n{rules}\n")


def _structural_tag_source(text: str) -> str:
    return LLMatcher.grammar_from_lark(structural_tag.to_lark(text))


_SOURCES: dict[str, Callable[[str], str]] = {
    "json_schema": _json_source,
    "regex": LLMatcher.grammar_from_regex,
    "ebnf": _ebnf_source,
    "structural_tag": _structural_tag_source,
}


def _brief(message: str) -> str:
    """A library's message in one line, without the state that it goes on with."""
    return " ".join(message.split())[:200] or "no reason given"
