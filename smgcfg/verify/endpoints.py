"""How each endpoint of a gateway spells a constraint, and how its answers are read.

What an endpoint carries was measured with smg 1.13.0 in front of an engine that enforces everything:

| kind            | /v1/chat/completions | /v1/completions | /v1/responses | /v1/messages    |
|-----------------|----------------------|-----------------|---------------|-----------------|
| json_schema     | yes                  | `json_schema`   | yes           | refused, 400    |
| json_object     | yes                  | as a schema     | yes           | -               |
| tool_required   | yes                  | -               | yes           | yes, `any`      |
| tool_named      | yes                  | -               | yes           | yes, `tool`     |
| regex, ebnf     | yes                  | yes             | refused, 400  | dropped         |
| logprobs        | yes                  | dropped         | dropped       | -               |

"Dropped" is accepted and left out without a word, whatever the engine does, as is `response_format` in /v1/completions.
What an API has in its own standard and the gateway drops is asked for all the same, and reported as not supported.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs

from smgcfg.verify.answers import Answer, Call
from smgcfg.verify.probes import Kind, Probe

Fields = dict[str, Any]


@attrs.frozen(kw_only=True)
class Endpoint:
    """One endpoint that generates text.

    Attributes:
        path: Its path.
        kinds: The constraints that it can be asked for.
        dropped: Those of them that smg 1.13.0 accepts and drops.
        fields: The request for a probe, but for what all endpoints share.
        most: The name of the field for the most tokens to write.
        seeded: Whether it takes a seed.
        read: Reads a whole answer.
        read_events: Reads a streamed answer.
    """

    path: str
    kinds: tuple[Kind, ...]
    dropped: tuple[Kind, ...] = ()
    fields: Callable[[Probe], Fields]
    most: str = "max_tokens"
    seeded: bool = True
    read: Callable[[Mapping[str, Any]], Answer]
    read_events: Callable[[Iterable[Mapping[str, Any]]], Answer]

    def request(self, probe: Probe, *, model: str, stream: bool, temperature: float, seed: int, most: int) -> Fields:
        """Return the body of a request.

        Args:
            probe: What to ask for.
            model: The model's public name.
            stream: Whether to have the answer in pieces.
            temperature: 0 for the likeliest tokens.
            seed: For endpoints that take one.
            most: The most tokens to write.
        """
        body = {"model": model, "stream": stream, "temperature": temperature, self.most: most, **self.fields(probe)}
        return {**body, "seed": seed} if self.seeded else body


def plain_request(model: str, prompt: str) -> Fields:
    """Return the body of a chat request without any constraint, answered by a single token."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": model, "messages": messages, "stream": False, "temperature": 0.0, "max_tokens": 1}


class Malformed(ValueError):
    """An answer that is not of the endpoint's form."""


# --- /v1/chat/completions --------------------------------------------------------------------------------------------


def _chat_fields(probe: Probe) -> Fields:
    return {"messages": _messages(probe), **_chat_constraint(probe)}


def _messages(probe: Probe) -> list[Fields]:
    return [{"role": "user", "content": probe.prompt}]


def _chat_constraint(probe: Probe) -> Fields:
    match probe.kind:
        case "json_schema":
            schema = {"name": "probe", "schema": probe.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "tool_required":
            return {"tools": _chat_tools(probe), "tool_choice": "required", "parallel_tool_calls": False}
        case "tool_named":
            return {"tools": _chat_tools(probe), "tool_choice": {"type": "function", "function": {"name": probe.tool}}}
        case "regex":
            return {"regex": probe.pattern}
        case "ebnf":
            return {"ebnf": probe.grammar}
        case "logprobs":
            return {"logprobs": True}


def _chat_tools(probe: Probe) -> list[Fields]:
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in probe.tools]


def _read_chat(body: Mapping[str, Any]) -> Answer:
    choice = _first(body.get("choices"))
    message = choice.get("message") or {}
    calls = [_call(call.get("function") or {}) for call in message.get("tool_calls") or ()]
    return _answer(message.get("content"), calls, choice.get("finish_reason"), _logprobs(choice))


def _read_chat_events(events: Iterable[Mapping[str, Any]]) -> Answer:
    text: list[str] = []
    calls: dict[int, list[str]] = {}
    logprobs: list[float] | None = None
    finish = None
    for event in events:
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or "")
            finish = choice.get("finish_reason") or finish
            if (more := _logprobs(choice)) is not None:
                logprobs = [*(logprobs or ()), *more]
            for part in delta.get("tool_calls") or ():
                call = calls.setdefault(part.get("index", 0), ["", ""])
                function = part.get("function") or {}
                call[0] += function.get("name") or ""
                call[1] += function.get("arguments") or ""
    return _answer("".join(text), [Call(*call) for call in calls.values()], finish, logprobs)


def _logprobs(choice: Mapping[str, Any]) -> list[float] | None:
    content = (choice.get("logprobs") or {}).get("content")
    return None if content is None else [float(item["logprob"]) for item in content]


# --- /v1/completions -------------------------------------------------------------------------------------------------


def _completion_fields(probe: Probe) -> Fields:
    constraint: dict[Kind, Fields] = {
        # Both reach the engine by smg's own field only.
        "json_schema": {"json_schema": json.dumps(probe.schema)},
        "json_object": {"json_schema": '{"type":"object"}'},
        "regex": {"regex": probe.pattern},
        "ebnf": {"ebnf": probe.grammar},
        "logprobs": {"logprobs": 1},
    }
    return {"prompt": probe.prompt, **constraint[probe.kind]}


def _read_completion(body: Mapping[str, Any]) -> Answer:
    return _read_completion_events([body])


def _read_completion_events(events: Iterable[Mapping[str, Any]]) -> Answer:
    text: list[str] = []
    logprobs: list[float] | None = None
    finish = None
    for event in events:
        for choice in event.get("choices") or ():
            text.append(choice.get("text") or "")
            finish = choice.get("finish_reason") or finish
            values = (choice.get("logprobs") or {}).get("token_logprobs")
            if values is not None:
                # The first token of an echoed prompt has none.
                logprobs = [*(logprobs or ()), *(float(value) for value in values if value is not None)]
    return _answer("".join(text), [], finish, logprobs)


# --- /v1/responses ---------------------------------------------------------------------------------------------------


def _response_fields(probe: Probe) -> Fields:
    body: Fields = {"input": probe.prompt, "store": False}
    tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in probe.tools]
    constraint: dict[Kind, Fields] = {
        "json_schema": {
            "text": {"format": {"type": "json_schema", "name": "probe", "schema": probe.schema, "strict": True}}
        },
        "json_object": {"text": {"format": {"type": "json_object"}}},
        "tool_required": {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False},
        "tool_named": {"tools": tools, "tool_choice": {"type": "function", "name": probe.tool}},
        "logprobs": {"include": ["message.output_text.logprobs"]},
    }
    return {**body, **constraint[probe.kind]}


def _read_response(body: Mapping[str, Any]) -> Answer:
    text: list[str] = []
    calls: list[Call] = []
    logprobs: list[float] | None = None
    for item in body.get("output") or ():
        if item.get("type") == "function_call":
            calls.append(_call(item))
        for part in item.get("content") or () if item.get("type") == "message" else ():
            text.append(part.get("text") or "")
            if part.get("logprobs"):
                logprobs = [*(logprobs or ()), *(float(entry["logprob"]) for entry in part["logprobs"])]
    cut = (body.get("incomplete_details") or {}).get("reason") == "max_output_tokens"
    answer = _answer("".join(text), calls, body.get("status"), logprobs)
    problem = (body.get("error") or {}).get("message") or ("failed" if body.get("status") == "failed" else "")
    return attrs.evolve(answer, cut=cut, problem=str(problem))


def _read_response_events(events: Iterable[Mapping[str, Any]]) -> Answer:
    last = None
    for event in events:
        # The last event holds the whole answer; the pieces are what a client shows meanwhile.
        if event.get("type") in ("response.completed", "response.incomplete", "response.failed"):
            last = event.get("response")
    if last is None:
        raise Malformed("the stream ended without response.completed")
    return _read_response(last)


# --- /v1/messages ----------------------------------------------------------------------------------------------------


def _message_fields(probe: Probe) -> Fields:
    required = {"type": "any", "disable_parallel_tool_use": True}
    choice = required if probe.kind == "tool_required" else {"type": "tool", "name": probe.tool}
    tools = [{"name": name, "input_schema": schema} for name, schema in probe.tools]
    return {"messages": _messages(probe), "tools": tools, "tool_choice": choice}


def _read_message(body: Mapping[str, Any]) -> Answer:
    blocks = body.get("content") or ()
    text = "".join(block.get("text") or "" for block in blocks if block.get("type") == "text")
    calls = [Call(str(b.get("name")), json.dumps(b.get("input"))) for b in blocks if b.get("type") == "tool_use"]
    return _answer(text, calls, body.get("stop_reason"), None)


def _read_message_events(events: Iterable[Mapping[str, Any]]) -> Answer:
    text: list[str] = []
    calls: dict[int, list[str]] = {}
    finish = None
    for event in events:
        index = event.get("index", 0)
        delta = event.get("delta") or {}
        block = event.get("content_block") or {}
        if event.get("type") == "content_block_start" and block.get("type") == "tool_use":
            calls[index] = [str(block.get("name")), ""]
        elif event.get("type") == "content_block_delta" and delta.get("type") == "input_json_delta":
            calls.setdefault(index, ["", ""])[1] += delta.get("partial_json") or ""
        elif event.get("type") == "content_block_delta":
            text.append(delta.get("text") or "")
        elif event.get("type") == "message_delta":
            finish = delta.get("stop_reason") or finish
    return _answer("".join(text), [Call(*call) for call in calls.values()], finish, None)


# --- what they share -------------------------------------------------------------------------------------------------

_CUT: Final = ("length", "max_tokens")


def _answer(text: object, calls: Iterable[Call], finish: object, logprobs: Iterable[float] | None) -> Answer:
    return Answer(
        status=200,
        text=str(text or ""),
        calls=tuple(calls),
        finish=str(finish or ""),
        cut=finish in _CUT,
        logprobs=None if logprobs is None else tuple(logprobs),
    )


def _first(choices: object) -> Mapping[str, Any]:
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("an answer without choices")
    return choices[0]


def _call(function: Mapping[str, Any]) -> Call:
    return Call(str(function.get("name") or ""), str(function.get("arguments") or ""))


ENDPOINTS: Final = (
    Endpoint(
        path="/v1/chat/completions",
        kinds=("json_schema", "json_object", "tool_required", "tool_named", "regex", "ebnf", "logprobs"),
        fields=_chat_fields,
        read=_read_chat,
        read_events=_read_chat_events,
    ),
    Endpoint(
        path="/v1/completions",
        kinds=("json_schema", "json_object", "regex", "ebnf", "logprobs"),
        dropped=("logprobs",),
        fields=_completion_fields,
        read=_read_completion,
        read_events=_read_completion_events,
    ),
    Endpoint(
        path="/v1/responses",
        kinds=("json_schema", "json_object", "tool_required", "tool_named", "logprobs"),
        dropped=("logprobs",),
        fields=_response_fields,
        most="max_output_tokens",
        seeded=False,
        read=_read_response,
        read_events=_read_response_events,
    ),
    Endpoint(
        path="/v1/messages",
        kinds=("tool_required", "tool_named"),
        fields=_message_fields,
        read=_read_message,
        read_events=_read_message_events,
    ),
)
CHAT: Final = ENDPOINTS[0]
