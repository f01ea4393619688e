"""Requests of every kind from the openai client, and what became of each."""

import functools
import random
import time
from typing import Final, Literal

import attrs
import httpx
import openai
from e2e.asking import PROMISES, Promise, ask, client_of
from launch.clients import Clients

PLAIN: Final = Promise(
    "plain", {"max_tokens": 64}, lambda answer: bool(answer.content) and answer.reason in ("stop", "length")
)

#: Everything that is asked for.
KINDS: Final = (PLAIN, *PROMISES)

#: How many requests are under way at once.
THREADS: Final = 6

#: The pause of each thread between two requests, in seconds: there is load, and two cores are enough.
PAUSE: Final = 0.05

Verdict = Literal["kept", "wrong", "failed"]


@attrs.frozen
class Outcome:
    """What became of one request.

    Attributes:
        kind: What was asked for.
        streamed: Whether as a stream.
        began: When it was sent, on the monotonic clock.
        worker: The URL of the worker that the gateway gave it to, or empty.
        verdict: "kept": the answer is whole and has what was asked for. "failed": the client was told so, by HTTP or
            by the end of the connection, or sees that the answer has no end. "wrong": the client takes it for an
            answer, and it is none.
        cause: Why it failed, or the answer that is wrong.
    """

    kind: str
    streamed: bool
    began: float
    worker: str
    verdict: Verdict
    cause: str = ""


class Traffic(Clients):
    """Requests that are sent one after another as long as the context lasts, by several threads.

    Args:
        url: The gateway.
        seed: What the choice of requests follows from.

    Attributes:
        outcomes: What became of each, in the order in which they ended.
    """

    def __init__(self, url: str, seed: int) -> None:
        super().__init__([functools.partial(self._run, f"{seed}-{n}") for n in range(THREADS)])
        self.outcomes: list[Outcome] = []
        self._url = url

    def workers(self, since: float) -> set[str]:
        """Return which workers have answered requests that were sent since a moment."""
        latest = self.outcomes[-1000:]
        return {outcome.worker for outcome in latest if outcome.began >= since and outcome.verdict == "kept"}

    def _run(self, seed: str) -> None:
        choice = random.Random(seed)
        with client_of(self._url) as client:
            worker = _Routed(client)
            while not self.over.wait(PAUSE):
                promise, streamed = choice.choice(KINDS), choice.random() < 0.5
                began = time.monotonic()
                verdict, cause = _judged(client, promise, streamed, choice)
                self.outcomes.append(Outcome(promise.name, streamed, began, worker.take(), verdict, cause))


class _Routed:
    """Hears from which worker each answer comes.

    Args:
        client: Whose answers.
    """

    def __init__(self, client: openai.OpenAI) -> None:
        self._worker = ""
        client._client.event_hooks["response"].append(self._hear)

    def _hear(self, response: httpx.Response) -> None:
        self._worker = response.headers.get("x-smg-routed-worker-id", "")

    def take(self) -> str:
        """Return where the last answer came from, or empty if there was none."""
        worker, self._worker = self._worker, ""
        return worker


def _judged(client: openai.OpenAI, promise: Promise, streamed: bool, choice: random.Random) -> tuple[Verdict, str]:
    """Send a request, and return what became of it.

    Args:
        client: Whom to ask.
        promise: What to ask for.
        streamed: Whether as a stream.
        choice: Draws the text, which decides the stand-in's answer.
    """
    messages = [{"role": "user", "content": f"{choice.getrandbits(64):x}"}]
    try:
        answer = ask(client, {**promise.fields, "messages": messages}, streamed=streamed)
    except (openai.APIError, httpx.HTTPError) as error:
        return "failed", _cause(error)
    if streamed and answer.reason is None:
        return "failed", "a stream without an end"
    return ("kept", "") if promise.kept(answer) else ("wrong", str(answer))


def _cause(error: openai.APIError | httpx.HTTPError) -> str:
    match error:
        case openai.APIStatusError():
            return f"HTTP {error.status_code} {error.code}"
        case openai.APITimeoutError():
            return "no answer in time"
        case openai.APIConnectionError():
            return f"no connection: {type(error.__cause__).__name__}"
        case openai.APIError():
            return f"an error in the stream: {error.message}"
        case _:
            return f"a stream that breaks: {type(error).__name__}"
