"""What the stand-in says is the same for the same prompt and seed, and keeps to its limits."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin.answers import LIBRARY

from smgcfg.standin.grammar import Constraint, GrammarError
from smgcfg.standin.tokenizer import EOS_ID
from smgcfg.standin.writer import ConstrainedWriter, FreeWriter, Writer, seeded


def tokens_of(writer: Writer, limit: int) -> list[int]:
    """Write until the end or the limit, as the engine does."""
    tokens: list[int] = []
    while len(tokens) < limit and EOS_ID not in tokens:
        tokens += writer.more(len(tokens), limit)
    return tokens[:limit]


def free(prompt: list[int], seed: int | None) -> list[int]:
    """Write a free answer."""
    return tokens_of(FreeWriter(seeded(prompt, seed)), 200)


@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=5), st.none() | st.integers(0, 2**63))
def test_prompt_and_seed_decide(prompt: list[int], seed: int | None) -> None:
    """The same prompt and seed give the same text; another prompt or another seed gives another one."""
    assert free(prompt, seed) == free(prompt, seed)
    assert free(prompt, seed) != free([*prompt, 7], seed)
    assert free(prompt, seed) != free(prompt, 1 if seed is None else seed + 1)


@given(st.integers(0, 999))
def test_free_answers_end_by_themselves(seed: int) -> None:
    """A free answer is words of lower-case letters that end after a sensible number of tokens."""
    *text, end = free([1, 2, 3], seed)
    assert end == EOS_ID
    assert 24 <= len(text) <= 96
    assert all(word.islower() and word.isascii() for word in bytes(text).decode().split())


@given(st.integers(0, 99), st.integers(0, 150), st.sets(st.sampled_from(range(ord("a"), ord("z")))))
def test_nothing_stops_before_the_least(seed: int, least: int, avoid: set[int]) -> None:
    """Before the least number of tokens come neither the end nor a token that would stop."""
    tokens = tokens_of(FreeWriter(seeded([1], seed), least=least, avoid=avoid), 200)
    assert not ({EOS_ID} | avoid) & set(tokens[:least])
    assert EOS_ID in tokens[least:]


def test_endless_answers_do_not_end() -> None:
    """An endless answer goes on to any limit."""
    assert EOS_ID not in tokens_of(FreeWriter(seeded([1], 0), endless=True), 2000)


@given(st.integers(0, 99), st.integers(40, 200))
def test_constrained_answers_end_within_their_limit(seed: int, limit: int) -> None:
    """An answer that fits well into its limit is whole, however tight the limit."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array"}}, "required": ["a", "b"]}
    grammar = LIBRARY.start(Constraint("json_schema", json.dumps(schema)))
    *text, end = tokens_of(ConstrainedWriter(seeded([1], seed), grammar), 2 * limit)
    assert end == EOS_ID
    assert json.loads(bytes(text))


def test_what_is_forced_comes_in_one_piece() -> None:
    """Tokens without a choice leave together, up to the limit."""
    forced = ConstrainedWriter(seeded([1], 0), LIBRARY.start(Constraint("regex", "<call>(a|b)")))
    assert bytes(forced.more(0, 100)) == b"<call>"
    long = ConstrainedWriter(seeded([1], 0), LIBRARY.start(Constraint("regex", "a{500}")))
    assert bytes(long.more(20, 100)) == b"a" * 80


def test_a_grammar_without_an_end_is_an_error() -> None:
    """A grammar that no answer satisfies runs into a limit of the library, not into an endless loop."""
    writer = ConstrainedWriter(seeded([1], 0), LIBRARY.start(Constraint("ebnf", 'root ::= "a" root')))
    with pytest.raises(GrammarError):
        tokens_of(writer, 1000)
