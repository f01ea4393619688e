"""Asks the gateway and its workers over HTTP, all at once and without waiting."""

import math
import os
import re
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from smgcfg.launch.effects import Answer, GatewayView, Load, Loads, Probed, ProberAnswer, Routed, WorkerView
from smgcfg.launch.exchange import TIMEOUT, Exchange, Reply, json_of
from smgcfg.process import Plan
from smgcfg.value import Value

#: The gateway logs every question for its list of workers (smg 1.13.0), and none about its readiness. So the list is
#: asked for when the number of healthy workers has changed, and otherwise no more often than this, in seconds.
LIST_EVERY: Final = 10.0

#: What the gateway's metrics say of each worker (smg 1.13.0): reports of the workers' own, counts of the gateway's, and
#: whether it spares one requests because it does not get on with those that it has.
_METRIC: Final = re.compile(
    rb"^smg_(engine_(?:token_usage|running_requests|waiting_requests|gen_throughput)|worker_(?:requests_total"
    rb'|requests_active|stalled))\{[^}\n]*worker="([^"\n]*)"[^}\n]*\} (\S+)$',
    re.MULTILINE,
)

#: The header of an answer that names the worker it comes from by its URL (smg 1.13.0). A stream has it before a token.
_ROUTED: Final = re.compile(rb"^x-smg-routed-worker-id:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)

#: The first event of a stream that has ended in its line.
_EVENT: Final = re.compile(rb"^data:([^\r\n]*)\r?\n", re.MULTILINE)

#: Refusals that say something of the moment, and nothing of the request.
_NOT_NOW: Final = (408, 409, 425, 429)


class Place(Value):
    """Where to ask, and with which keys.

    Attributes:
        url: Where the gateway answers.
        model: The model to ask for a token.
        metrics_url: Where the gateway shows its metrics, or empty.
        api_key: The key that its list of workers wants, or None.
        request_key: The key that requests want, or None.
    """

    url: str
    model: str = ""
    metrics_url: str = ""
    api_key: str | None = None
    request_key: str | None = None

    @classmethod
    def of(cls, plan: Plan) -> "Place":
        """Return where the gateway of a plan is asked."""
        ports = (port for port in plan.gateway.ports if port.use == "metrics")
        urls = [f"http://{_reached(port.host)}:{port.number}/metrics" for port in ports]
        return cls(plan.url, plan.model, urls[0] if urls else "", plan.api_key, plan.request_key)


class HttpProber:
    """A prober that asks over real sockets.

    Args:
        place: Where to ask.
        selector: Where to hear about sockets.
    """

    def __init__(self, place: Place, selector: selectors.BaseSelector) -> None:
        self._place = place
        self._url = place.url.rstrip("/")
        self._selector = selector
        self._open: dict[str, Exchange] = {}
        self._answers: list[ProberAnswer] = []
        self._healthy: object = None
        self._workers: tuple[WorkerView, ...] = ()
        self._listed_at = -LIST_EVERY

    @property
    def wake_at(self) -> float:
        """When `poll` wants to be called at the latest, on the monotonic clock."""
        return min((exchange.deadline for exchange in self._open.values()), default=math.inf)

    def ask_gateway(self) -> None:
        """Ask the gateway whether it is ready, and which workers it has if that may have changed."""
        if f"{self._url}/workers" not in self._open:
            self._get(f"{self._url}/readiness", {}, self._take_readiness)

    def ask(self, url: str) -> None:
        """Ask whether a URL answers 200."""
        self._get(url, {}, lambda reply: self._answers.append(Answer(url, not reply.trouble, reply.trouble)))

    def ask_loads(self) -> None:
        """Ask the gateway what the workers have to do; a gateway without metrics tells nothing."""
        if self._place.metrics_url:
            self._get(self._place.metrics_url, {}, lambda reply: self._answers.append(_loads(reply)))
        else:
            self._answers.append(Loads(()))

    def probe(self, number: int) -> None:
        """Ask for one token, with a text that no policy sends to the same worker as the one before."""
        import json

        body = {"model": self._place.model, "prompt": os.urandom(8).hex(), "max_tokens": 1, "stream": True}
        probe = _Probe(number, lambda answer: self._answers.append(answer))

        def heard(data: bytes) -> None:
            if probe.hear(data):
                self.give_up(number)

        def done(reply: Reply) -> None:
            self._open.pop(str(number), None)
            probe.end(reply)

        url = f"{self._url}/v1/completions"
        # A token has no bound of its own: an engine that is busy may take its time.
        self._open[str(number)] = Exchange(
            url,
            _bearer(self._place.request_key),
            done,
            self._selector,
            body=json.dumps(body).encode(),
            heard=heard,
            timeout=math.inf,
        )
        self._open[str(number)].start()

    def give_up(self, number: int) -> None:
        """Drop a probe."""
        exchange = self._open.pop(str(number), None)
        if exchange is not None:
            exchange.close()

    def poll(self) -> Sequence[ProberAnswer]:
        """Return the answers since the last call."""
        now = time.monotonic()
        for exchange in [exchange for exchange in self._open.values() if exchange.deadline <= now]:
            exchange.give_up()
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        """Drop every open question."""
        for exchange in self._open.values():
            exchange.close()
        self._open.clear()

    def _get(self, url: str, headers: Mapping[str, str], done: Callable[[Reply], None]) -> None:
        if url in self._open:
            return

        def finish(reply: Reply) -> None:
            self._open.pop(url, None)
            done(reply)

        # Needed to read the answer: loaded while the server that is asked still starts, and not when it answers.
        import http.client  # noqa: F401

        self._open[url] = Exchange(url, headers, finish, self._selector, timeout=TIMEOUT)
        self._open[url].start()

    def _take_readiness(self, reply: Reply) -> None:
        content = json_of(reply.body)
        if reply.status not in (200, 503) or not isinstance(content, dict):
            problem = reply.trouble or "not an answer of the gateway"
            self._answers.append(GatewayView(False, self._workers, problem, asked=reply.asked))
            return
        ready = reply.status == 200
        healthy = content.get("healthy_workers", 0)
        now = time.monotonic()
        if healthy == self._healthy and now < self._listed_at + LIST_EVERY:
            self._answers.append(GatewayView(ready, self._workers))
            return

        def take_list(reply: Reply) -> None:
            content = json_of(reply.body)
            if reply.trouble or not isinstance(content, dict):
                refused = reply.status in (401, 403)
                problem = reply.trouble or "no list"
                self._answers.append(GatewayView(ready, self._workers, problem, refused, reply.asked))
                return
            self._healthy, self._listed_at = healthy, now
            self._workers = tuple(
                WorkerView(str(worker.get("url")), worker.get("is_healthy") is True, str(worker.get("status")))
                for worker in content.get("workers", [])
            )
            self._answers.append(GatewayView(ready, self._workers))

        self._get(f"{self._url}/workers", _bearer(self._place.api_key), take_list)


class _Probe:
    """What is known of one probe.

    Args:
        number: Its number.
        tell: Takes what becomes of it.
    """

    def __init__(self, number: int, tell: Callable[[ProberAnswer], None]) -> None:
        self._number = number
        self._tell = tell
        self._routed = False

    def hear(self, data: bytes) -> bool:
        """Take everything that came so far, and return whether the probe is over."""
        head, end, body = data.partition(b"\r\n\r\n")
        if not end:
            return False
        found = _ROUTED.search(head)
        if found is not None and not self._routed:
            self._routed = True
            self._tell(Routed(self._number, found[1].decode("utf-8", "replace")))
        event = _EVENT.search(body)
        if event is None or not re.match(rb"HTTP/1.[01] 200\b", head):
            return False
        if b'"error"' in event[1] or b'"choices"' not in event[1]:
            self._tell(Probed(self._number, "failed", event[1].strip().decode("utf-8", "replace")[:200]))
        else:
            self._tell(Probed(self._number, "answered"))
        return True

    def end(self, reply: Reply) -> None:
        """Take the end of an answer that had no token in it."""
        if reply.status == 0 or reply.status in _NOT_NOW:
            self._tell(Probed(self._number, "lost", reply.trouble))
        elif 400 <= reply.status < 500:
            self._tell(Probed(self._number, "refused", reply.trouble))
        else:
            self._tell(Probed(self._number, "failed", reply.trouble or "a stream without an event"))


def _loads(reply: Reply) -> Loads:
    found: dict[str, dict[str, list[str]]] = {}
    for metric in _METRIC.finditer(reply.body) if not reply.trouble else ():
        kind, url, value = (part.decode("utf-8", "replace") for part in metric.groups())
        found.setdefault(url, {}).setdefault(kind, []).append(value)
    return Loads(tuple(_load(url, metrics) for url, metrics in found.items()))


def _load(url: str, metrics: dict[str, list[str]]) -> Load:
    total, active, stalled = (
        sum(map(float, metrics.get(f"worker_{name}", ()))) for name in ("requests_total", "requests_active", "stalled")
    )
    report = " ".join(value for kind in sorted(metrics) if kind.startswith("engine_") for value in metrics[kind])
    return Load(url, report, active > 0 or stalled > 0, round(total - active))


def _reached(host: str) -> str:
    """Return where a listener is reached on its own machine, as it stands in a URL."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}
