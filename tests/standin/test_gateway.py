"""The stand-in behind the real smg gateway, asked by the openai client."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from standin.processes import Process, RealGateway, deployment, standin, wait_until

ON = ("--grammar-backend", "xgrammar", "--enable-output-logprobs")
MESSAGES = [{"role": "user", "content": "héllo"}]
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "weather", "schema": WEATHER}}
NAMED = {"type": "function", "function": {"name": "get_weather"}}

Deployment = tuple[RealGateway, Process]


@pytest.fixture(scope="module")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment with a grammar backend and logprobs."""
    with deployment(tmp_path_factory.mktemp("on"), *ON) as pair:
        yield pair


@pytest.fixture(scope="module")
def unenforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment as TokenSpeed starts by itself: no grammar backend, no logprobs."""
    with deployment(tmp_path_factory.mktemp("off"), "--grammar-backend", "none") as pair:
        yield pair


@pytest.fixture
def client(enforced: Deployment) -> openai.OpenAI:
    """A client of the deployment that enforces."""
    return enforced[0].client


def ask(client: openai.OpenAI, **fields: Any) -> Any:
    """Send a chat request."""
    return client.chat.completions.create(model="tiny", messages=MESSAGES, **fields)


def streamed(client: openai.OpenAI, **fields: Any) -> tuple[str, dict[int, list[str]], str | None, int]:
    """Send a streaming chat request; return content, tool calls, finish reason and number of chunks."""
    content, calls, reason, chunks = "", {}, None, 0
    for chunk in ask(client, stream=True, **fields):
        chunks += 1
        for choice in chunk.choices:
            content += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(part.index, ["", ""])
                call[0] += part.function.name or ""
                call[1] += part.function.arguments or ""
    return content, calls, reason, chunks


def is_weather(text: str) -> bool:
    """Whether a text is JSON that obeys the schema of these tests."""
    value = json.loads(text)
    return set(value) == {"city", "days"} and isinstance(value["city"], str) and isinstance(value["days"], int)


def are_calls(calls: list[tuple[str, str]]) -> bool:
    """Whether there are tool calls, and each one's arguments obey its tool."""
    return bool(calls) and all(
        is_weather(arguments) if name == "get_weather" else isinstance(json.loads(arguments), dict)
        for name, arguments in calls
    )


def calls_of(response: Any) -> list[tuple[str, str]]:
    """Return the names and arguments of an answer's tool calls."""
    return [(call.function.name, call.function.arguments) for call in response.choices[0].message.tool_calls or ()]


def test_the_gateway_lists_the_public_name(client: openai.OpenAI) -> None:
    """The model is served under the gateway's name for it."""
    assert [model.id for model in client.models.list()] == ["tiny"]


def test_free_text(client: openai.OpenAI) -> None:
    """A free answer is the same each time, streamed or not, and the counts of tokens are right."""
    response = ask(client)
    text = response.choices[0].message.content
    assert response.choices[0].finish_reason == "stop"
    assert response.usage.completion_tokens == len(text) + 1
    # Template and tokenizer: one token per byte, one per special token.
    assert response.usage.prompt_tokens == len("user\nhéllo".encode()) + 2 + len("\n") + 1 + len("assistant\n")
    assert streamed(client)[0] == text
    assert ask(client, seed=7).choices[0].message.content != text


def test_choices_differ_by_seed(client: openai.OpenAI) -> None:
    """Several choices of one request are different texts."""
    choices = ask(client, n=3, seed=1).choices
    assert len({choice.message.content for choice in choices}) == 3


def test_limits_and_stops(client: openai.OpenAI) -> None:
    """max_tokens cuts an answer; a stop string ends it, of one token or of several."""
    whole = ask(client).choices[0].message.content
    cut = ask(client, max_tokens=5)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == (whole[:5], "length")
    for stop in (whole[10], whole[10:13]):
        stopped = ask(client, stop=[stop])
        assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == (
            whole[: whole.index(stop)],
            "stop",
        )


@pytest.mark.parametrize("seed", range(3))
def test_json_schema(client: openai.OpenAI, seed: int) -> None:
    """response_format json_schema is obeyed, streamed or not."""
    response = ask(client, response_format=SCHEMA, seed=seed)
    assert is_weather(response.choices[0].message.content)
    assert response.choices[0].finish_reason == "stop"
    assert streamed(client, response_format=SCHEMA, seed=seed)[0] == response.choices[0].message.content


def test_json_object(client: openai.OpenAI) -> None:
    """response_format json_object gives an object."""
    response = ask(client, response_format={"type": "json_object"})
    assert isinstance(json.loads(response.choices[0].message.content), dict)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_tool_calls(client: openai.OpenAI, choice: Any, seed: int) -> None:
    """A required and a named tool are called with arguments that obey, streamed or not."""
    response = ask(client, tools=TOOLS, tool_choice=choice, seed=seed)
    assert are_calls(calls_of(response))
    _, calls, reason, _ = streamed(client, tools=TOOLS, tool_choice=choice, seed=seed)
    assert reason == "tool_calls"
    assert are_calls([(name, arguments) for name, arguments in calls.values()])
    if choice is NAMED:
        assert {name for name, _ in calls_of(response)} == {"get_weather"}


def test_regex_and_ebnf(client: openai.OpenAI) -> None:
    """smg's own constraints, a regex and a grammar, are obeyed."""
    code = ask(client, extra_body={"regex": "^[A-Z]{3}-[0-9]{4}$"}).choices[0].message.content
    assert re.fullmatch("[A-Z]{3}-[0-9]{4}", code)
    word = ask(client, extra_body={"ebnf": 'root ::= "yes" | "no"'}).choices[0].message.content
    assert word in ("yes", "no")


def test_logprobs(client: openai.OpenAI) -> None:
    """Each token of the text comes with its log probability."""
    choice = ask(client, logprobs=True, max_tokens=8).choices[0]
    assert "".join(item.token for item in choice.logprobs.content) == choice.message.content
    assert all(item.logprob <= 0 for item in choice.logprobs.content)


def test_what_the_library_rejects_is_aborted(enforced: Deployment) -> None:
    """A constraint that can not be enforced is an abort without text, and its cause is in the engine's log."""
    gateway, engine = enforced
    response = ask(gateway.client, extra_body={"regex": "("})
    assert (response.choices[0].message.content, response.choices[0].finish_reason) == (None, "abort")
    engine.says("regex: ")


def test_other_interfaces_reach_the_engine(enforced: Deployment) -> None:
    """Plain completions are answered, too."""
    response = enforced[0].client.completions.create(model="tiny", prompt="ab", max_tokens=4)
    assert (len(response.choices[0].text), response.usage.prompt_tokens) == (4, 2)


def test_many_requests_at_once(client: openai.OpenAI) -> None:
    """Sixty-four mixed requests at once all come back right."""
    kinds: list[tuple[dict[str, Any], Callable[[Any], bool]]] = [
        ({}, lambda answer: len(answer.choices[0].message.content) >= 20),
        ({"response_format": SCHEMA}, lambda answer: is_weather(answer.choices[0].message.content)),
        ({"tools": TOOLS, "tool_choice": "required"}, lambda answer: are_calls(calls_of(answer))),
        ({"extra_body": {"regex": "[ab]{3}"}}, lambda answer: len(answer.choices[0].message.content) == 3),
    ]

    def right(number: int) -> bool:
        fields, check = kinds[number % 4]
        return check(ask(client, seed=number, **fields))

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(right, range(64)))


@pytest.mark.parametrize("parser", ["mistral", "kimik2", "kimi_k3"])
def test_parsers_with_structural_tags(parser: str, tmp_path: Path) -> None:
    """The parsers that ask for structural tags get tool calls that obey, streamed or not."""
    with deployment(tmp_path, *ON, gateway_flags=["--tool-call-parser", parser]) as (gateway, _):
        for choice in ("required", NAMED):
            for seed in range(3):
                fields = {"tools": TOOLS, "tool_choice": choice, "seed": seed}
                assert are_calls(calls_of(ask(gateway.client, **fields)))
                calls = streamed(gateway.client, **fields)[1]
                assert are_calls([(name, arguments) for name, arguments in calls.values()])


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": SCHEMA},
        {"tools": TOOLS, "tool_choice": "required"},
        {"extra_body": {"regex": "a"}},
        {"extra_body": {"ebnf": 'root ::= "a"'}},
        {"logprobs": True},
    ],
)
def test_without_a_backend_constraints_abort(unenforced: Deployment, fields: dict[str, Any]) -> None:
    """Without grammar backend and logprobs the client gets HTTP 200, no text and the finish reason abort."""
    response = ask(unenforced[0].client, **fields)
    assert (response.choices[0].message.content, response.choices[0].finish_reason) == (None, "abort")
    assert calls_of(response) == []
    assert response.usage.completion_tokens == 0


def test_ignored_constraints(tmp_path: Path) -> None:
    """Told to ignore constraints, the engine gives free text to a client that required a tool."""
    with deployment(tmp_path, SMGCFG_STANDIN_UNSUPPORTED="ignore") as (gateway, _):
        free = ask(gateway.client).choices[0].message.content
        response = ask(gateway.client, response_format=SCHEMA)
        assert (response.choices[0].message.content, response.choices[0].finish_reason) == (free, "stop")
        assert calls_of(ask(gateway.client, tools=TOOLS, tool_choice="required")) == []


def test_a_client_that_leaves(tmp_path: Path) -> None:
    """A client that hangs up in the middle of its stream frees the engine for the next one."""
    with deployment(tmp_path, "--max-num-seqs", "1", SMGCFG_STANDIN_STEP_SECONDS="0.002") as (gateway, _):
        body = {"model": "tiny", "messages": MESSAGES, "stream": True, "ignore_eos": True, "max_tokens": 30000}
        url = f"{gateway.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, timeout=10) as response:
            assert next(response.iter_lines())
        # The answer of the one who left would take a minute; there is one seat.
        started = time.monotonic()
        assert ask(gateway.client, max_tokens=2).usage.completion_tokens == 2
        assert time.monotonic() - started < 10


def test_ranks_behind_one_worker(tmp_path: Path) -> None:
    """A grouped worker is ready when both ranks are, spreads its requests, and goes down with one death notice."""
    with deployment(tmp_path, *ON, "--data-parallel-size", "2", gateway_flags=["--zmq-engine-count", "2"]) as pair:
        gateway, engine = pair
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda seed: ask(gateway.client, response_format=SCHEMA, seed=seed), range(8)))
        assert all(is_weather(answer.choices[0].message.content) for answer in answers)
        assert "engine 1: registered" in engine.output
        assert engine.stop() == 0
        wait_until(lambda: not gateway.ready(), "the gateway has noticed")


def test_death_and_return(tmp_path: Path) -> None:
    """On SIGTERM the gateway fails what is in flight, notices, and takes a new engine in."""
    with deployment(tmp_path, SMGCFG_STANDIN_STEP_SECONDS="0.002") as (gateway, engine):
        stream = ask(gateway.client, stream=True, extra_body={"ignore_eos": True}, max_tokens=30000)
        next(stream)
        assert engine.stop(signal.SIGTERM) == 0
        with pytest.raises(openai.APIError):
            list(stream)
        wait_until(lambda: not gateway.ready(), "the gateway has noticed")
        with standin(gateway.handshake_port, tmp_path / "again.log"):
            wait_until(gateway.ready, "the gateway has a new engine")
            assert ask(gateway.client, max_tokens=3).usage.completion_tokens == 3
