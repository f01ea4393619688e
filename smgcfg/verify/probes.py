"""What is asked of a gateway: small requests whose constraint an engine can hardly meet without enforcing it.

Constraints are made of nonces, words of random letters that are drawn anew for each request. Whoever writes without
regard to the constraint writes a text that does not depend on the nonces, so the probability that they happen to fit it
is at most the number of accepted nonces over the number of possible ones, whatever the text: `Probe.chance`. That is
exact for json_schema, regex and ebnf, where the nonces stand in the constraint alone. Two kinds have less:

- The tools' names and schemas stand in the prompt too, because chat templates show them. A model could obey them of its
  own accord; so the prompt forbids a call and asks for a word that no schema allows.
- A JSON object carries no nonce. The bound given is that of a text of random printable characters: it would have to
  begin with a brace, go on with a quote or a brace, and end with a brace. The prompt asks for a bare word.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from smgcfg.verify.answers import Answer, Verdict, has_logprobs, judge

Kind = Literal["json_schema", "json_object", "tool_required", "tool_named", "regex", "ebnf", "logprobs"]

#: Every kind of constraint, in the order of reports, as a request would say it.
KINDS: Final[dict[Kind, str]] = {
    "json_schema": "json_schema",
    "json_object": "json_object",
    "tool_required": "tool_choice=required",
    "tool_named": "tool_choice=named",
    "regex": "regex",
    "ebnf": "ebnf",
    "logprobs": "logprobs",
}

#: Words that stand for several kinds.
GROUPS: Final[dict[str, tuple[Kind, ...]]] = {
    "tools": ("tool_required", "tool_named"),
    "all": tuple(KINDS),
}

#: Nonces are of these letters: no vowels, so that they are no words, and none that look alike.
LETTERS: Final = "bcdfghjkmnpqrstvwxz"
LENGTH: Final = 10

#: How many different nonces there are.
NONCES: Final = len(LETTERS) ** LENGTH

#: How many of them a schema allows.
ALLOWED: Final = 4

#: One JSON object in so many texts of random printable characters: a brace, a quote or a brace, ..., a brace.
_PRINTABLE: Final = 95
_OBJECT_CHANCE: Final = (1 / _PRINTABLE) * (2 / _PRINTABLE) * (1 / _PRINTABLE)


@attrs.frozen(kw_only=True)
class Probe:
    """One request, before an endpoint gives it its form.

    Attributes:
        kind: What it asks for.
        prompt: What the model reads. It never holds a nonce of the constraint.
        asked: What it asks for, in a few words.
        keeps: Whether an answer is inside the constraint.
        begins: Whether a text may be the beginning of one inside.
        chance: The probability that a text written without regard to the constraint is inside it.
        schema: The JSON schema, for json_schema.
        tools: Names of the tools, each with its parameters' schema.
        tool: The tool that has to be called, for tool_named.
        pattern: The regular expression, for regex.
        grammar: The grammar, for ebnf.
    """

    kind: Kind
    prompt: str
    asked: str
    keeps: Callable[[Answer], bool]
    begins: Callable[[str], bool]
    chance: float
    schema: Mapping[str, Any] | None = None
    tools: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    tool: str = ""
    pattern: str = ""
    grammar: str = ""

    def judge(self, answer: Answer) -> Verdict:
        """Return what an answer says about the constraint."""
        return judge(answer, self.keeps, self._may_go_on)

    def _may_go_on(self, answer: Answer) -> bool:
        return not answer.calls and self.begins(answer.text.lstrip())


def nonce(rng: random.Random) -> str:
    """Return a word that nobody has seen before."""
    return "".join(rng.choices(LETTERS, k=LENGTH))


def make_probe(kind: Kind, rng: random.Random, *, padding: int = 0) -> Probe:
    """Make a probe with fresh nonces.

    Args:
        kind: What to ask for.
        rng: Where the nonces come from.
        padding: How many words of noise stand in front of the prompt. A gateway that routes by the beginning of the
            prompt then has less reason to send it where the last one went.
    """
    probe = _MAKERS[kind](rng)
    # The noise stands first: what differs at its beginning shares no cached prefix with anything.
    noise = " ".join(nonce(rng) for _ in range(1 + padding))
    return attrs.evolve(probe, prompt=f"Reference {noise}. {probe.prompt}")


def _schema_of(allowed: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"k": {"type": "string", "enum": list(allowed)}},
        "required": ["k"],
        "additionalProperties": False,
    }


def _fits(text: str, allowed: tuple[str, ...]) -> bool:
    value = _parsed(text)
    return isinstance(value, dict) and set(value) == {"k"} and value["k"] in allowed


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _word_only(rng: random.Random) -> str:
    return f"Write this word and nothing else: {nonce(rng)}"


def _allowed(rng: random.Random) -> tuple[str, ...]:
    return tuple(nonce(rng) for _ in range(ALLOWED))


def _begins_like_json(text: str) -> bool:
    return text[:1] in ("", "{")


def _json_schema(rng: random.Random) -> Probe:
    allowed = _allowed(rng)
    return Probe(
        kind="json_schema",
        prompt=_word_only(rng),
        asked=f'{{"k": one of {ALLOWED} nonces}}',
        keeps=lambda answer: _fits(answer.text, allowed),
        begins=_begins_like_json,
        chance=ALLOWED / NONCES,
        schema=_schema_of(allowed),
    )


def _json_object(rng: random.Random) -> Probe:
    return Probe(
        kind="json_object",
        prompt=_word_only(rng),
        asked="any JSON object",
        keeps=lambda answer: isinstance(_parsed(answer.text), dict),
        begins=_begins_like_json,
        chance=_OBJECT_CHANCE,
    )


def _tools(rng: random.Random, kind: Kind) -> Probe:
    allowed = _allowed(rng)
    names = [f"tool_{nonce(rng)}" for _ in range(2)]
    may = names if kind == "tool_required" else names[1:]
    what = "one of 2 tools" if kind == "tool_required" else "the second of 2 tools"

    def keeps(answer: Answer) -> bool:
        return bool(answer.calls) and all(c.name in may and _fits(c.arguments, allowed) for c in answer.calls)

    return Probe(
        kind=kind,
        prompt=f"Call no function. {_word_only(rng)}",
        asked=f'a call of {what} with {{"k": one of {ALLOWED} nonces}}',
        keeps=keeps,
        begins=lambda text: text[:1] in ("", "[", "{"),
        chance=ALLOWED / NONCES,
        tools=tuple((name, _schema_of(allowed)) for name in names),
        tool=may[0] if kind == "tool_named" else "",
    )


def _regex(rng: random.Random) -> Probe:
    word = nonce(rng)

    def keeps(answer: Answer) -> bool:
        head, _, tail = answer.text.partition("-")
        return head == word and len(tail) == 2 and tail.isascii() and tail.isdigit()

    return Probe(
        kind="regex",
        prompt=_word_only(rng),
        asked="a nonce, a dash and 2 digits",
        keeps=keeps,
        begins=lambda text: word.startswith(text),
        chance=1 / NONCES,
        pattern=f"{word}-[0-9]{{2}}",
    )


def _ebnf(rng: random.Random) -> Probe:
    words = nonce(rng), nonce(rng)
    accepted = tuple(f"{word}-{end}" for word in words for end in ("one", "two"))
    return Probe(
        kind="ebnf",
        prompt=_word_only(rng),
        asked="one of 2 nonces, a dash, and one or two",
        keeps=lambda answer: answer.text in accepted,
        begins=lambda text: any(whole.startswith(text) for whole in accepted),
        chance=len(words) / NONCES,
        grammar=f'root ::= head "-" tail\nhead ::= "{words[0]}" | "{words[1]}"\ntail ::= "one" | "two"',
    )


def _logprobs(rng: random.Random) -> Probe:
    return Probe(
        kind="logprobs",
        prompt=_word_only(rng),
        asked="the logprob of each token",
        keeps=has_logprobs,
        begins=lambda text: False,
        chance=0.0,  # an engine that computes none has none to send
    )


_MAKERS: Final[dict[Kind, Callable[[random.Random], Probe]]] = {
    "json_schema": _json_schema,
    "json_object": _json_object,
    "tool_required": lambda rng: _tools(rng, "tool_required"),
    "tool_named": lambda rng: _tools(rng, "tool_named"),
    "regex": _regex,
    "ebnf": _ebnf,
    "logprobs": _logprobs,
}
