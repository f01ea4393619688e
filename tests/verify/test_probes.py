"""Probes: obeying answers pass, answers written without regard to the constraint do not."""

import itertools
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verify.writing import free_answers, obedient_answer

from smgcfg.standin.grammar import GrammarLibrary
from smgcfg.verify import probes
from smgcfg.verify.answers import Answer, Call
from smgcfg.verify.probes import KINDS, Kind, Probe, make_probe

each_kind = pytest.mark.parametrize("kind", KINDS)

#: The kinds whose nonces stand in the constraint alone.
HIDDEN: tuple[Kind, ...] = ("json_schema", "regex", "ebnf")


@pytest.fixture(scope="module")
def grammars() -> GrammarLibrary:
    """The library that the stand-in enforces constraints with."""
    return GrammarLibrary()


@each_kind
def test_no_false_pass_in_a_thousand_runs(kind: Kind) -> None:
    """Of 1,000 runs against an engine that ignores constraints, none finds one enforced."""
    for run in range(1000):
        rng = random.Random(f"{kind} {run}")
        probe = make_probe(kind, rng)
        assert {probe.judge(answer) for answer in free_answers(probe, rng)} == {"ignored"}


@each_kind
def test_no_false_alarm(kind: Kind, grammars: GrammarLibrary) -> None:
    """Of 200 answers written under the constraint, every one passes."""
    for run in range(200):
        rng = random.Random(f"{kind} {run}")
        probe = make_probe(kind, rng)
        answer = obedient_answer(probe, grammars, rng)
        assert probe.judge(answer) == "enforced", answer


@each_kind
def test_chance_is_small(kind: Kind) -> None:
    """Two answers pass by chance in fewer than one of 100,000,000 runs; for most kinds that is true of one."""
    probe = make_probe(kind, random.Random(0))
    assert probe.chance**2 < 1e-8
    assert kind == "json_object" or probe.chance < 1e-12


class Dealt(random.Random):
    """Deals nonces from a list, so that a space of few nonces can be gone through."""

    def __init__(self, nonces: Iterator[str]) -> None:
        super().__init__(0)
        self._nonces = nonces

    def choices(self, *_: Any, **__: Any) -> list[str]:
        """Return the letters of the next nonce."""
        return list(next(self._nonces))


@pytest.mark.parametrize("kind", HIDDEN)
def test_chance_is_what_counting_gives(kind: Kind) -> None:
    """In a space of a few nonces, no text passes in a larger share of all draws than the stated chance says."""
    space = [letter * 3 for letter in probes.LETTERS[:5]]
    needed = {"json_schema": 4, "regex": 1, "ebnf": 2}[kind]
    texts = {
        "json_schema": [f'{{"k": "{word}"}}' for word in space],
        "regex": [f"{word}-12" for word in space],
        "ebnf": [f"{word}-one" for word in space],
    }[kind]
    stated = Fraction(make_probe(kind, random.Random(0)).chance * probes.NONCES).limit_denominator(100) / len(space)
    draws = list(itertools.product(space, repeat=needed))
    passed = dict.fromkeys(texts, 0)
    for draw in draws:
        # A further word goes into the prompt, and one in front of it.
        probe = make_probe(kind, Dealt(iter([*draw, "xxx", "xxx"])))
        for text in texts:
            passed[text] += probe.judge(Answer(status=200, text=text, finish="stop")) == "enforced"
    for count in passed.values():
        assert 0 < Fraction(count, len(draws)) <= stated


@pytest.mark.parametrize("kind", HIDDEN)
def test_prompt_tells_nothing(kind: Kind) -> None:
    """The nonces of the constraint do not stand in the prompt, so a model can not take them from there."""
    probe = make_probe(kind, random.Random(1), padding=20)
    constraint = f"{json.dumps(probe.schema)} {probe.pattern} {probe.grammar}"
    assert not [word for word in probe.prompt.split() if word.strip(".") in constraint and len(word) >= probes.LENGTH]


def test_obeying_the_prompt_is_no_pass() -> None:
    """A model that writes the word that the prompt asks for, and calls no tool, passes nothing but logprobs."""
    for kind in KINDS:
        probe = make_probe(kind, random.Random(2))
        answer = Answer(status=200, text=probe.prompt.split()[-1], finish="stop")
        assert probe.judge(answer) == "ignored"


@each_kind
@given(text=st.text(max_size=40), seed=st.integers(0, 2**32))
def test_no_text_passes_that_was_there_before_the_nonces(kind: Kind, text: str, seed: int) -> None:
    """Whatever a text is, it does not fit nonces that were drawn after it was written."""
    probe = make_probe(kind, random.Random(seed))
    may_be_object = kind == "json_object" and text.lstrip().startswith("{")
    answers = [Answer(status=200, text=text, finish="stop"), Answer(status=200, calls=(Call("tool", text),))]
    assert may_be_object or "enforced" not in {probe.judge(answer) for answer in answers}


def _twisted(probe: Probe, text: str) -> Iterator[str]:
    yield from (text + " ", text + text, text[1:], text[:-1], text.upper(), f"Sure: {text}", f"```{text}```", "")
    if probe.kind == "json_schema":
        yield from (text.replace('"k"', '"key"'), text.replace("}", ', "more": 1}'), f"[{text}]", "{}", "null")


@pytest.mark.parametrize("kind", HIDDEN)
def test_near_misses_do_not_pass(kind: Kind, grammars: GrammarLibrary) -> None:
    """An answer that is nearly right is outside the constraint; blanks around JSON are not."""
    probe = make_probe(kind, random.Random(3))
    good = obedient_answer(probe, grammars, random.Random(3))
    for text in _twisted(probe, good.text):
        allowed = kind == "json_schema" and text.strip() == good.text
        assert (probe.judge(Answer(status=200, text=text, finish="stop")) == "enforced") == allowed, text


def test_a_call_has_to_be_the_right_one() -> None:
    """Another tool, other arguments, or a second call that is wrong break the choice of a tool."""
    probe = make_probe("tool_named", random.Random(4))
    schema: Any = probe.tools[1][1]
    good = Call(probe.tool, json.dumps({"k": schema["properties"]["k"]["enum"][0]}))
    other = Call(probe.tools[0][0], good.arguments)
    assert probe.judge(Answer(status=200, calls=(good,))) == "enforced"
    for calls in ((other,), (good, other), (Call(good.name, "{}"),), (Call(good.name, '{"k": "sunny"}'),)):
        assert probe.judge(Answer(status=200, calls=calls)) == "ignored"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(status=200, finish="abort"), "aborted"),
        (Answer(status=200, text="half an ans", finish="abort"), "aborted"),
        (Answer(status=200, finish="stop"), "aborted"),
        (Answer(status=200, text="word", finish="stop"), "ignored"),
        (Answer(status=200, text="word word word", finish="length", cut=True), "ignored"),
        (Answer(status=200, text='{"k": "b', finish="length", cut=True), "failed"),
        (Answer(status=200, finish="length", cut=True), "failed"),
        (Answer(status=200, text='{"k"', problem="error event"), "failed"),
        (Answer(status=400, problem="unknown field"), "refused"),
        (Answer(status=401, problem="no key"), "refused"),
        (Answer(status=404, code="model_not_found", problem="no worker"), "refused"),
        (Answer(status=404, code="unknown_url"), "not_supported"),
        (Answer(status=404), "not_supported"),
        (Answer(status=405), "not_supported"),
        (Answer(status=501), "not_supported"),
        (Answer(status=500, problem="worker_stream_failed"), "failed"),
        (Answer(problem="connection refused"), "failed"),
    ],
)
def test_verdict_of_everything_else(answer: Answer, verdict: str) -> None:
    """What is not an answer inside the constraint gets the verdict that says what it is."""
    assert make_probe("json_schema", random.Random(5)).judge(answer) == verdict
