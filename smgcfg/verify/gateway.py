"""What a gateway tells of itself, and one answer of it: models, workers, counters, chat."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from smgcfg.errors import ConfigError, SmgcfgError, error
from smgcfg.verify.answers import Answer
from smgcfg.verify.endpoints import Endpoint, Fields, Malformed
from smgcfg.verify.http import Client, Reply, events

#: How long a question that generates nothing may take, in seconds.
QUICK: Final = 5.0

#: The header of an answer that names the worker that wrote it (smg 1.13.0; not in /v1/responses, not in smg 1.10.1).
ROUTED: Final = "x-smg-routed-worker-id"

#: The gateway's counter of what each worker was sent (smg 1.10.1 and 1.13.0).
COUNTER: Final = re.compile(r'^smg_worker_requests_total\{.*?worker="([^"]*)".*\} (\S+)$', re.MULTILINE)


class Unreachable(SmgcfgError):
    """There is no gateway to ask: nothing is said about any promise."""

    exit_code = 3


@attrs.frozen(kw_only=True)
class Target:
    """Which gateway to ask.

    Attributes:
        url: Where it answers, with neither a path of the API nor a slash at the end.
        model: The model's public name; None for the only one that is served.
        api_key: The key of requests, or None.
        workers_key: The key with which the gateway lists its workers, or None for the same one.
        metrics_url: Where it shows its counters, or None where that is not known.
        insecure: Do not check its certificate.
        names: What to call the workers, by URL; those that are absent are called by their URL.
    """

    url: str
    model: str | None = None
    api_key: str | None = attrs.field(default=None, repr=False)
    workers_key: str | None = attrs.field(default=None, repr=False)
    metrics_url: str | None = None
    insecure: bool = False
    names: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Worker:
    """A worker behind the gateway.

    Attributes:
        name: What to call it.
        url: Its URL as the gateway knows it.
        problem: Why no answer of it can be had, or empty.
    """

    name: str
    url: str
    problem: str = ""


@attrs.frozen(kw_only=True)
class Listing:
    """The workers that a gateway lists for a model.

    Attributes:
        workers: The workers; None where the gateway does not tell.
        problem: Why it does not tell, or empty.
    """

    workers: tuple[Worker, ...] | None
    problem: str = ""


class Gateway:
    """A gateway that is there.

    Args:
        target: Which one.
        quick: How long a question that generates nothing may take, in seconds.
    """

    def __init__(self, target: Target, *, quick: float = QUICK) -> None:
        self.target = target
        self._quick = quick
        self._client = Client(target.url, insecure=target.insecure)
        self._metrics = None if target.metrics_url is None else Client(target.metrics_url, insecure=target.insecure)

    def model(self) -> str:
        """Return the public name of the model to ask for.

        Raises:
            Unreachable: Nobody answers, or no model is served.
            ConfigError: Several models are served and none was chosen.
        """
        reply = self._client.get("/v1/models", headers=_bearer(self.target.api_key), timeout=self._quick)
        if not reply.status or reply.problem:
            hint = "; --insecure asks without checking it" if "certificate" in reply.problem else ""
            raise Unreachable(f"no gateway at {self.target.url}: {reply.problem}{hint}")
        if reply.status in (401, 403):
            raise _refused(self.target, reply.status)
        listed = reply.json()
        if reply.status != 200 or not isinstance(listed, dict) or not isinstance(listed.get("data"), list):
            raise Unreachable(f"no gateway at {self.target.url}: /v1/models answers {reply.status} without a list")
        names = [str(entry.get("id")) for entry in listed["data"] if isinstance(entry, dict)]
        if self.target.model is not None:
            return self.target.model
        if not names:
            raise Unreachable(f"{self.target.url} serves no model yet")
        if len(names) > 1:
            message = f"{self.target.url} serves {len(names)} models: {', '.join(names)}"
            raise ConfigError([error("SMG011", "--model", message, hint="say which with --model NAME")])
        return names[0]

    def workers(self, model: str) -> Listing:
        """Return the workers that the gateway lists for a model."""
        key = self.target.workers_key or self.target.api_key
        reply = self._client.get("/workers", headers=_bearer(key), timeout=self._quick)
        listed = reply.json()
        if reply.status != 200 or not isinstance(listed, dict) or not isinstance(listed.get("workers"), list):
            return Listing(workers=None, problem=reply.problem or f"/workers answers {reply.status}")
        entries = [entry for entry in listed["workers"] if isinstance(entry, dict)]
        # An alias of the whole gateway stands in no worker's entry: then any of them may be asked.
        entries = [entry for entry in entries if _serves(entry, model)] or entries
        urls = [str(entry.get("url")) for entry in entries]
        names = names_of(urls, self.target.names)
        workers = tuple(
            Worker(name=names[url], url=url, problem=_trouble(entry)) for url, entry in zip(urls, entries, strict=True)
        )
        return Listing(workers=workers)

    def counters(self) -> dict[str, float] | None:
        """Return how many requests each worker was sent so far, by URL; None where the gateway does not tell."""
        if self._metrics is None:
            return None
        reply = self._metrics.get("/metrics", timeout=self._quick)
        if reply.status != 200 or reply.problem:
            return None
        counts: dict[str, float] = {}
        for url, text in COUNTER.findall(reply.body.decode("utf-8", "replace")):
            counts[url] = counts.get(url, 0.0) + float(text)
        return counts

    def ask(
        self, endpoint: Endpoint, body: Fields, *, headers: Mapping[str, str], timeout: float
    ) -> tuple[Answer, bool]:
        """Send a request that generates text.

        Args:
            endpoint: Where to.
            body: The request.
            headers: Headers beside the key.
            timeout: How long the whole answer may take, in seconds.

        Returns:
            The answer, and whether there is none because the time was over.
        """
        every = {**_bearer(self.target.api_key), **headers}
        reply = self._client.post(endpoint.path, body, headers=every, timeout=timeout)
        answer = attrs.evolve(
            _read(endpoint, reply, stream=bool(body.get("stream"))),
            status=reply.status,
            worker=reply.headers.get(ROUTED),
            seconds=reply.seconds,
        )
        return self._without_key(answer), reply.silent

    def _without_key(self, answer: Answer) -> Answer:
        """Return an answer that does not repeat our key to whoever reads the report."""
        key = self.target.api_key
        if key is None or key not in answer.problem:
            return answer
        return attrs.evolve(answer, problem=answer.problem.replace(key, "***"))


def _read(endpoint: Endpoint, reply: Reply, *, stream: bool) -> Answer:
    if reply.problem:
        return Answer(problem=reply.problem)
    if reply.status != 200:
        return Answer(problem=_message(reply.json()) or _text(reply.body), code=_code(reply))
    try:
        if not stream:
            body = reply.json()
            if not isinstance(body, dict):
                raise Malformed("an answer that is no JSON object")
            return endpoint.read(body)
        if "text/event-stream" not in reply.headers.get("content-type", ""):
            raise Malformed(f"a stream was asked for, {reply.headers.get('content-type', 'nothing')} came")
        parsed = [json.loads(text) for text in events(reply.body) if text != "[DONE]"]
        failed = next((event for event in parsed if event.get("error")), None)
        return Answer(problem=_message(failed) or "error event") if failed else endpoint.read_events(parsed)
    except Malformed as problem:
        return Answer(problem=str(problem))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as problem:
        # The form of an answer is checked by reading it: what is not of the endpoint's form fails somewhere on the way.
        return Answer(problem=f"an answer of another form ({type(problem).__name__})")


def _message(body: object) -> str:
    """Return the words of an error in any of the forms that APIs use."""
    if not isinstance(body, dict):
        return ""
    inner = body.get("error", body)
    message = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return str(message or "")


def _text(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace").strip() or "no reason given"


def _code(reply: Reply) -> str:
    body: Any = reply.json()
    inner = body.get("error") if isinstance(body, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    return str(reply.headers.get("x-smg-error-code") or code or "")


def _refused(target: Target, status: int) -> ConfigError:
    if target.api_key is None:
        message, hint = f"{target.url} wants an API key ({status})", "name its variable: --api-key-env NAME"
    else:
        message, hint = f"{target.url} does not take this API key ({status})", ""
    return ConfigError([error("SMG040", "--api-key-env", message, hint=hint)])


def refusal(target: Target, answer: Answer) -> ConfigError | None:
    """Return the error that a plain request was answered with, where it is the caller's to mend, else None.

    Args:
        target: Who was asked.
        answer: The answer to a request without any constraint.
    """
    if answer.status in (401, 403):
        return _refused(target, answer.status)
    if answer.status == 404 and answer.code == "model_not_found":
        return ConfigError([error("SMG040", "--model", f"{target.url} does not serve it: {answer.problem}")])
    return None


def _bearer(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _serves(entry: Mapping[str, Any], model: str) -> bool:
    cards = [card for card in entry.get("models") or () if isinstance(card, dict)]
    names = {entry.get("model_id"), *(card.get("id") for card in cards)}
    names |= {alias for card in cards for alias in card.get("aliases") or ()}
    return model in names


def _trouble(entry: Mapping[str, Any]) -> str:
    return "" if entry.get("is_healthy") is True else f"the gateway lists it as {entry.get('status', 'unhealthy')}"


def names_of(urls: list[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return what to call workers: their known names, else the last part of their URLs where that tells them apart."""
    short = {url: url.rstrip("/").rpartition("/")[2] for url in urls}
    unique = len(set(short.values())) == len(set(urls))
    return {url: known.get(url) or (short[url] if unique else url) for url in urls}
