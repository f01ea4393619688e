"""Endpoints: requests spell what they ask for, and answers are read whole or in pieces alike."""

import json
import random
from typing import Any

import pytest

from smgcfg.verify.answers import Answer, Call
from smgcfg.verify.endpoints import ENDPOINTS, Endpoint
from smgcfg.verify.probes import make_probe

CHAT, COMPLETIONS, RESPONSES, MESSAGES = ENDPOINTS


def chunk(delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> dict[str, Any]:
    """Return a piece of a streamed chat answer."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}]}


def chat(message: dict[str, Any], finish: str, logprobs: Any = None) -> dict[str, Any]:
    """Return a whole chat answer."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}]}


def call(arguments: str, name: str | None = None) -> dict[str, Any]:
    """Return a tool call, or a piece of one."""
    return {"index": 0, "function": {"arguments": arguments, **({"name": name} if name else {})}}


PROBABLE = {"content": [{"token": "a", "logprob": -0.5}]}
COMPLETED = {"type": "response.completed"}
TOOL_USE = {"type": "tool_use", "name": "f", "input": {"k": "v"}}

RESPONSE = {
    "status": "incomplete",
    "error": None,
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [
        {"type": "reasoning", "content": [{"text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "ab"}]},
        {"type": "function_call", "name": "f", "arguments": "{}"},
    ],
}

#: Per endpoint a whole answer, the same in pieces, and what both say. The forms are those of smg 1.13.0.
SAME: list[tuple[Endpoint, Any, list[Any], Answer]] = [
    (
        CHAT,
        chat({"content": "ab", "tool_calls": None}, "stop"),
        [chunk({"role": "assistant", "content": ""}), chunk({"content": "a"}), chunk({"content": "b"}, "stop")],
        Answer(status=200, text="ab", finish="stop"),
    ),
    (
        CHAT,
        chat({"content": None, "tool_calls": [call('{"k":1}', "f")]}, "tool_calls"),
        [
            chunk({"tool_calls": [call("", "f")]}),
            chunk({"tool_calls": [call('{"k"')]}),
            chunk({"tool_calls": [call(":1}")]}, "tool_calls"),
        ],
        Answer(status=200, calls=(Call("f", '{"k":1}'),), finish="tool_calls"),
    ),
    (CHAT, chat({"content": None}, "abort"), [chunk({}, "abort")], Answer(status=200, finish="abort")),
    (
        CHAT,
        chat({"content": "a"}, "length", PROBABLE),
        [chunk({"content": "a"}, None, PROBABLE), chunk({}, "length")],
        Answer(status=200, text="a", finish="length", cut=True, logprobs=(-0.5,)),
    ),
    (
        COMPLETIONS,
        {"choices": [{"text": "ab", "finish_reason": "stop"}]},
        [{"choices": [{"text": "a"}]}, {"choices": [{"text": "b", "finish_reason": "stop"}]}],
        Answer(status=200, text="ab", finish="stop"),
    ),
    (
        COMPLETIONS,
        {"choices": [{"text": "a", "finish_reason": "length", "logprobs": {"token_logprobs": [None, -1.0]}}]},
        [{"choices": [{"text": "a", "finish_reason": "length", "logprobs": {"token_logprobs": [None, -1.0]}}]}],
        Answer(status=200, text="a", finish="length", cut=True, logprobs=(-1.0,)),
    ),
    (
        RESPONSES,
        RESPONSE,
        [{"type": "response.created"}, {"type": "response.incomplete", "response": RESPONSE}],
        Answer(status=200, text="ab", calls=(Call("f", "{}"),), finish="incomplete", cut=True),
    ),
    (
        RESPONSES,
        {"status": "completed", "output": []},
        [
            {
                **COMPLETED,
                "response": {"status": "completed", "output": [{"type": "message", "content": [{"text": ""}]}]},
            }
        ],
        Answer(status=200, finish="completed"),
    ),
    (
        MESSAGES,
        {"content": [{"type": "text", "text": "a"}, TOOL_USE], "stop_reason": "tool_use"},
        [
            {"type": "message_start", "message": {"content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
            {"type": "content_block_start", "index": 1, "content_block": {**TOOL_USE, "input": {}}},
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"k": '},
            },
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"v"}'}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ],
        Answer(status=200, text="a", calls=(Call("f", '{"k": "v"}'),), finish="tool_use"),
    ),
]


@pytest.mark.parametrize(("endpoint", "whole", "pieces", "answer"), SAME)
def test_whole_and_in_pieces(endpoint: Endpoint, whole: Any, pieces: list[Any], answer: Answer) -> None:
    """An answer says the same whether it comes whole or in pieces."""
    assert endpoint.read(whole) == answer
    assert endpoint.read_events(pieces) == answer


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_requests_carry_the_constraint(endpoint: Endpoint) -> None:
    """Every request is JSON, bounded, and holds every nonce of its constraint."""
    for kind in endpoint.kinds:
        probe = make_probe(kind, random.Random(0))
        body = endpoint.request(probe, model="m", stream=True, temperature=0.0, seed=7, most=99)
        text = json.dumps(body)
        assert (body["model"], body["stream"], body[endpoint.most]) == ("m", True, 99)
        assert ("seed" in body) == endpoint.seeded
        names = [*(name for name, _ in probe.tools), probe.tool]
        for part in (*names, probe.pattern, *probe.grammar.split('"')[1::2], *(_enum(probe.schema) or ())):
            assert part in text


def _enum(schema: Any) -> list[str] | None:
    allowed: list[str] | None = schema["properties"]["k"]["enum"] if schema else None
    return allowed
