"""Answers written in this process by the stand-in's own writers: free ones, and ones that obey a constraint."""

import json
import random
from typing import Any

from smgcfg.standin.grammar import Constraint, GrammarLibrary
from smgcfg.standin.tokenizer import EOS_ID
from smgcfg.standin.writer import ConstrainedWriter, FreeWriter, Writer
from smgcfg.verify.answers import Answer, Call
from smgcfg.verify.probes import Probe

#: The most tokens of an answer, as `smgcfg verify` asks for.
LIMIT = 256


def free_text(rng: random.Random) -> str:
    """Return what an engine writes that takes no notice of constraints."""
    return _written(FreeWriter(rng))


def free_answers(probe: Probe, rng: random.Random) -> list[Answer]:
    """Return the answers that a gateway makes of free text for a probe: as text, and as what a named tool got."""
    text = free_text(rng)
    plain = Answer(status=200, text=text, finish="stop")
    if probe.kind != "tool_named":
        return [plain]
    # smg 1.13.0 puts whatever a stream brings into the arguments of the named tool.
    return [plain, Answer(status=200, calls=(Call(probe.tool, text),), finish="tool_calls")]


def obedient_answer(probe: Probe, grammars: GrammarLibrary, rng: random.Random) -> Answer:
    """Return the answer that a gateway makes of text that obeys the probe's constraint."""
    match probe.kind:
        case "logprobs":
            return Answer(status=200, text=free_text(rng), finish="length", cut=True, logprobs=(-0.5, -1.25))
        case "tool_required" | "tool_named":
            name, schema = rng.choice(probe.tools) if probe.kind == "tool_required" else probe.tools[1]
            call = Call(name, _under(_schema(schema), grammars, rng))
            return Answer(status=200, calls=(call,), finish="tool_calls")
        case "json_schema":
            constraint = _schema(probe.schema)
        case "json_object":
            constraint = _schema({"type": "object"})
        case "regex":
            constraint = Constraint("regex", probe.pattern)
        case "ebnf":
            constraint = Constraint("ebnf", probe.grammar)
    return Answer(status=200, text=_under(constraint, grammars, rng), finish="stop")


def _schema(schema: Any) -> Constraint:
    return Constraint("json_schema", json.dumps(schema))


def _under(constraint: Constraint, grammars: GrammarLibrary, rng: random.Random) -> str:
    return _written(ConstrainedWriter(rng, grammars.start(constraint)))


def _written(writer: Writer) -> str:
    tokens: list[int] = []
    while len(tokens) < LIMIT and EOS_ID not in tokens:
        tokens += writer.more(len(tokens), LIMIT)
    return bytes(token for token in tokens if token != EOS_ID).decode()
