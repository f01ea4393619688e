"""Answers of the stand-in without any socket, for the tests of its parts."""

from __future__ import annotations

import random
from collections.abc import Callable

from smgcfg.standin.grammar import Constraint, GrammarLibrary
from smgcfg.standin.tokenizer import EOS_ID
from smgcfg.standin.writer import ConstrainedWriter

LIBRARY = GrammarLibrary()


class Unfinished(AssertionError):
    """An answer did not end by itself."""


def answer(kind: str, text: str, seed: int = 0, limit: int = 4000) -> str:
    """Write one constrained answer to its end, and fail when it does not end by itself."""
    writer = ConstrainedWriter(random.Random(seed), LIBRARY.start(Constraint(kind, text)))
    tokens: list[int] = []
    while not tokens or tokens[-1] != EOS_ID:
        if len(tokens) >= limit:
            raise Unfinished(bytes(tokens).decode(errors="replace"))
        tokens += writer.more(len(tokens), limit)
    return bytes(tokens[:-1]).decode()


def accepts(kind: str, text: str) -> Callable[[str], bool]:
    """Return a function that says whether a whole text obeys the constraint."""

    def check(candidate: str) -> bool:
        grammar = LIBRARY.start(Constraint(kind, text))
        for byte in candidate.encode():
            if byte not in grammar.allowed():
                return False
            grammar.accept(byte)
        return EOS_ID in grammar.allowed()

    return check
