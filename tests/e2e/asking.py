"""What is asked of a gateway, and whether an answer keeps what was asked for."""

import json
import re
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import openai
from standin.schemas import valid

#: How long an answer may take on a busy machine, in seconds.
TIMEOUT: Final = 30.0

MESSAGES: Final = [{"role": "user", "content": "Wie wird das Wetter in Zürich?"}]

WEATHER: Final = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "days", "unit"],
    "additionalProperties": False,
}

CLOCK: Final = {
    "type": "object",
    "properties": {"zone": {"type": "string"}},
    "required": ["zone"],
    "additionalProperties": False,
}

TOOLS: Final = [
    {"type": "function", "function": {"name": "get_weather", "description": "Forecast", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "get_time", "description": "Time", "parameters": CLOCK}},
]
PARAMETERS: Final = {"get_weather": WEATHER, "get_time": CLOCK}


def client_of(url: str, key: str = "none") -> openai.OpenAI:
    """Return a client of a gateway.

    Args:
        url: The gateway's URL.
        key: The API key.
    """
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=TIMEOUT)


@attrs.frozen
class Answer:
    """What came back, streamed or not.

    Attributes:
        content: The text, or None.
        calls: Names and arguments of the tool calls.
        reason: Why it ended.
        logprobs: Tokens and their log probabilities, or None.
    """

    content: str | None
    calls: tuple[tuple[str, str], ...]
    reason: str | None
    logprobs: tuple[tuple[str, float], ...] | None

    @property
    def aborted(self) -> bool:
        """Whether it is what TokenSpeed 0.1.1 gives for a request that it can not serve: nothing, with HTTP 200."""
        return self == Answer(None, (), "abort", None)


def ask(client: openai.OpenAI, fields: dict[str, Any], *, streamed: bool = False, model: str = "public") -> Answer:
    """Send a chat request.

    Args:
        client: Whom to ask.
        fields: What to ask for; messages are added if there are none.
        streamed: Whether to have the answer in pieces, which are put together here.
        model: The model's name.
    """
    request = {"model": model, "messages": MESSAGES, **fields}
    if streamed:
        return _streamed(client, request)
    choice = client.chat.completions.create(**request).choices[0]
    message = choice.message
    calls = tuple((call.function.name, call.function.arguments) for call in message.tool_calls or ())
    return Answer(message.content, calls, choice.finish_reason, _logprobs(choice))


def _streamed(client: openai.OpenAI, request: dict[str, Any]) -> Answer:
    content: list[str] = []
    calls: dict[int, list[str]] = {}
    logprobs: list[tuple[str, float]] = []
    reason = None
    for chunk in client.chat.completions.create(stream=True, **request):
        for choice in chunk.choices:
            content.append(choice.delta.content or "")
            reason = choice.finish_reason or reason
            logprobs += _logprobs(choice) or ()
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(part.index, ["", ""])
                call[0] += part.function.name or ""
                call[1] += part.function.arguments or ""
    whole = tuple((name, arguments) for name, arguments in calls.values())
    return Answer("".join(content) or None, whole, reason, tuple(logprobs) or None)


def _logprobs(choice: Any) -> tuple[tuple[str, float], ...] | None:
    if choice.logprobs is None or choice.logprobs.content is None:
        return None
    return tuple((item.token, item.logprob) for item in choice.logprobs.content)


@attrs.frozen
class Promise:
    """Something that a client may ask for.

    Attributes:
        name: What to call it.
        fields: What the request says.
        kept: Whether an answer has it.
    """

    name: str
    fields: dict[str, Any]
    kept: Callable[[Answer], bool]


def _is_json(text: str | None, schema: dict[str, Any]) -> bool:
    try:
        return text is not None and valid(json.loads(text), schema)
    except ValueError:
        return False


def _is_called(answer: Answer, names: Sequence[str]) -> bool:
    return (
        answer.content is None
        and answer.reason == "tool_calls"
        and bool(answer.calls)
        and all(name in names and _is_json(arguments, PARAMETERS[name]) for name, arguments in answer.calls)
    )


def _has_logprobs(answer: Answer) -> bool:
    if answer.logprobs is None:
        return False
    tokens = "".join(token for token, _ in answer.logprobs)
    return tokens == answer.content and all(logprob <= 0 for _, logprob in answer.logprobs)


CONSTRAINTS: Final = (
    Promise(
        "json_schema",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "weather", "schema": WEATHER}}},
        lambda answer: answer.reason == "stop" and _is_json(answer.content, WEATHER),
    ),
    Promise(
        "json_object",
        {"response_format": {"type": "json_object"}},
        lambda answer: answer.reason == "stop" and _is_json(answer.content, {"type": "object"}),
    ),
    Promise(
        "tool_required", {"tools": TOOLS, "tool_choice": "required"}, lambda answer: _is_called(answer, [*PARAMETERS])
    ),
    Promise(
        "tool_named",
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        lambda answer: _is_called(answer, ["get_weather"]),
    ),
    Promise(
        "regex",
        {"extra_body": {"regex": "[A-Z]{3}-[0-9]{4}"}},
        lambda answer: re.fullmatch("[A-Z]{3}-[0-9]{4}", answer.content or "") is not None,
    ),
    Promise(
        "ebnf",
        {"extra_body": {"ebnf": 'root ::= answer "!"\nanswer ::= "yes" | "no"'}},
        lambda answer: answer.content in ("yes!", "no!"),
    ),
)

SCHEMA: Final = CONSTRAINTS[0]

LOGPROBS: Final = Promise("logprobs", {"logprobs": True, "max_tokens": 8}, _has_logprobs)

PROMISES: Final = (*CONSTRAINTS, LOGPROBS)


def answers(url: str) -> bool:
    """Return whether a deployment answers a constrained request as it should.

    Args:
        url: The gateway's URL.
    """
    with client_of(url) as client:
        return SCHEMA.kept(ask(client, SCHEMA.fields))


def is_ready(url: str) -> bool:
    """Return whether a gateway says that it is ready.

    Args:
        url: The gateway's URL.
    """
    try:
        with urllib.request.urlopen(f"{url}/readiness", timeout=TIMEOUT):
            return True
    except OSError:
        return False
