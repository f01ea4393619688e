"""What the stand-in says: pseudo-random text, free or under a constraint, the same for the same prompt and seed."""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from smgcfg.standin.grammar import Grammar, GrammarError
from smgcfg.standin.tokenizer import EOS_ID

_LOWER = tuple(string.ascii_lowercase.encode())
_DIGITS = frozenset(string.digits.encode())
_SPACE = ord(" ")
_QUOTE = ord('"')
_MINUS = ord("-")

#: Fewest and most tokens of a free answer that ends by itself
_FREE_LENGTHS = (24, 96)

#: How likely each choice of a constrained answer heads for the end of what it is in
_CLOSE_CHANCE = 0.2

#: How likely an answer that has to end tries another way than the best
_DETOUR_CHANCE = 0.25

#: After this many choices, or half the tokens it may have, a constrained answer heads for its end all the time
_MOST_CHOICES = 48

_END = frozenset({EOS_ID})
_LETTERS = frozenset(string.ascii_letters.encode())
_SENTENCE = frozenset(b" .,;:!?") | _LETTERS | _DIGITS
_ZERO = frozenset(b"0")
_EXPONENT = frozenset(b"eE")
_PRINTABLE = frozenset(range(_SPACE + 1, 0x7F))

#: What leads to the end of a text (where every letter may come), best first: the quote of a JSON string, else what may
#: begin a delimiter; an escape never does
_TEXT_CLOSERS = (_END, frozenset({_QUOTE}), _PRINTABLE - _SENTENCE - frozenset(b"\\"), _LETTERS)

#: What leads to the end elsewhere, best first: closing brackets, the shortest values, the next member; opening brackets
#: cost most
_CLOSERS = (
    _END,
    frozenset(b"}"),
    frozenset(b"]"),
    frozenset({_QUOTE}),
    frozenset(b",:"),
    _PRINTABLE - _DIGITS - _LETTERS - frozenset(b"{[\\"),
    _DIGITS,
    _LETTERS,
)


class Writer(Protocol):
    """Produces one answer, piece by piece."""

    def more(self, position: int, limit: int) -> list[int]:
        """Return the next token, and those behind it that leave no choice.

        Args:
            position: How many tokens the answer has so far.
            limit: How many it can have.

        Raises:
            GrammarError: The answer can not go on.
        """


def seeded(prompt: Sequence[int], seed: int | None) -> random.Random:
    """Return a random stream that depends on the prompt's tokens and the seed only."""
    digest = hashlib.blake2b(msgspec.msgpack.encode((list(prompt), seed)), digest_size=16)
    return random.Random(digest.digest())


class FreeWriter:
    """Writes words.

    Args:
        rng: The source of choices.
        least: Tokens before which neither the end nor a token of `avoid` comes.
        endless: Never end; the limit on tokens does.
        avoid: Tokens that would stop the request.
    """

    def __init__(self, rng: random.Random, *, least: int = 0, endless: bool = False, avoid: Iterable[int] = ()) -> None:
        self._rng = rng
        self._least = least
        self._length = None if endless else max(least, rng.randint(*_FREE_LENGTHS))
        self._shy_letters = tuple(letter for letter in _LOWER if letter not in set(avoid)) or _LOWER
        self._word_left = self._word_length()

    def more(self, position: int, limit: int) -> list[int]:
        """Return a letter, a space between words, or the end."""
        if position == self._length:
            return [EOS_ID]
        shy = position < self._least
        if self._word_left == 0 and not shy:
            self._word_left = self._word_length()
            return [_SPACE]
        self._word_left = max(0, self._word_left - 1)
        return [self._rng.choice(self._shy_letters if shy else _LOWER)]

    def _word_length(self) -> int:
        return self._rng.randint(2, 8)


class ConstrainedWriter:
    """Writes what a grammar allows, with an eye on its end."""

    def __init__(self, rng: random.Random, grammar: Grammar) -> None:
        self._rng = rng
        self._grammar = grammar
        self._choices = 0
        self._last = EOS_ID

    def more(self, position: int, limit: int) -> list[int]:
        """Return a chosen token and those that the grammar forces then, as an engine with jump-forward decoding does.

        A marker of a tool call so leaves in one piece, as the single token does that it is to a real tokenizer.
        """
        self._choices += 1
        tokens: list[int] = []
        allowed = self._grammar.allowed()
        while not tokens or (len(allowed) == 1 and position + len(tokens) < limit):
            if not allowed:
                raise GrammarError("no token can follow")
            self._last = self._rng.choice(sorted(self._preferred(allowed, position, limit)))
            tokens.append(self._last)
            if self._last == EOS_ID:
                break
            self._grammar.accept(self._last)
            allowed = self._grammar.allowed()
        return tokens

    def _preferred(self, allowed: frozenset[int], position: int, limit: int) -> frozenset[int]:
        in_text = allowed.issuperset(_LOWER)
        if not in_text:
            allowed = self._without_odd_numbers(allowed)
        if self._choices > _MOST_CHOICES or position >= limit // 2:
            # What closes JSON may lead nowhere in a regex, so every now and then all the others get their chance.
            detour = EOS_ID not in allowed and self._rng.random() < _DETOUR_CHANCE
            return allowed if detour else _closing(allowed, in_text)
        empty = in_text and self._last == _QUOTE  # an empty string is dull
        if not empty and self._rng.random() < _CLOSE_CHANCE:
            return _closing(allowed, in_text)
        return frozenset(_LOWER) if in_text else allowed & _PRINTABLE or allowed

    def _without_odd_numbers(self, allowed: frozenset[int]) -> frozenset[int]:
        """Leave out what is JSON but troubles its readers: exponents beyond every float, and minus zero."""
        odd = _EXPONENT if allowed & _DIGITS else frozenset[int]()
        if self._last == _MINUS:
            odd |= _ZERO
        return allowed - odd or allowed


def _closing(allowed: frozenset[int], in_text: bool) -> frozenset[int]:
    groups = _TEXT_CLOSERS if in_text else _CLOSERS
    return next((best for group in groups if (best := allowed & group)), allowed)
