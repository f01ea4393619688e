"""Launches with the real gateway: requests to it, and stand-in engines behind it."""

import itertools
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple

from launch.clients import Clients
from launch.plans import API_KEY, MARK, Marked

from smgcfg import load, plan
from smgcfg.environment import Environment
from smgcfg.process import Plan
from smgcfg.standin.deploy import model_dir, with_standins, write_model

DEPLOYMENT = """
[pools.chat]
backend = "tokenspeed"
model = "demo"
served_model_name = "fake"
{pool}
[pools.chat.engine]
{engine}
[pools.chat.env]
{mark} = "{token}"
[gateway]
port = {port}
prometheus_port = {metrics}
shutdown_grace_period_secs = 1
log_level = "warn"
api_key = "{key}"
[gateway.env]
{mark} = "{token}"
"""


def chat(url: str, key: str = API_KEY) -> str:
    """Ask the gateway for a chat completion, and return the answer's text."""
    body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": "hello"}]}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def standin_plan(directory: Path, marked: Marked, pool: str = "", engine: str = "", **launch: Any) -> Plan:
    """Return the plan of a deployment file, with stand-ins in place of its engines.

    Args:
        directory: A directory with a short name.
        marked: What the processes are marked with.
        pool: Further lines of its pool.
        engine: Lines of the engine's settings.
        launch: Settings of `[launch]`.
    """
    ports = marked.ports()
    pool = f"{pool}\nport = {ports.worker}"
    text = DEPLOYMENT.format(
        pool=pool,
        engine=engine,
        mark=MARK,
        token=marked.token,
        key=API_KEY,
        port=ports.gateway,
        metrics=ports.metrics,
    )
    (directory / "trial.toml").write_text(text)
    environment = Environment(uid=os.getuid(), python=sys.executable, xdg_runtime_dir=str(directory))
    write_model(model_dir(environment), lambda _: [])
    planned = plan(with_standins(load(directory / "trial.toml"), environment), environment)
    assert planned.plan is not None, planned.findings
    return planned.plan.evolve(settings=planned.plan.settings.evolve(**launch))


class Answer(NamedTuple):
    """What became of one request.

    Attributes:
        began: When it was sent, on the monotonic clock.
        ended: When its answer had come.
        status: The HTTP status, or 0 when there was no answer.
        worker: The URL of the worker that answered, or empty.
    """

    began: float
    ended: float
    status: int
    worker: str


class Traffic(Clients):
    """Requests that are sent one after another as long as the context lasts, each from its own thread.

    Args:
        url: The gateway.
        threads: How many are under way at once.
    """

    def __init__(self, url: str, threads: int = 3) -> None:
        super().__init__([self._run] * threads)
        self.answers: list[Answer] = []
        self._url = url

    def failed(self, after: float = 0.0) -> list[Answer]:
        """Return the requests that were sent after a moment and came to nothing."""
        return [answer for answer in self.answers if answer.began > after and answer.status != 200]

    def workers(self, after: float) -> set[str]:
        """Return who answered requests that were sent after a moment."""
        return {answer.worker for answer in self.answers if answer.began > after and answer.status == 200}

    def longest_silence(self, after: float) -> float:
        """Return the longest time between two answers since a moment."""
        ends = sorted(answer.ended for answer in self.answers if answer.ended > after and answer.status == 200)
        return max(later - earlier for earlier, later in itertools.pairwise([after, *ends]))

    def _run(self) -> None:
        # Texts differ, as the gateway sends the same one to the same worker.
        body = {"model": "fake", "max_tokens": 4}
        headers = {"content-type": "application/json", "authorization": f"Bearer {API_KEY}"}
        while not self.over.is_set():
            messages = [{"role": "user", "content": uuid.uuid4().hex}]
            data = json.dumps({**body, "messages": messages}).encode()
            request = urllib.request.Request(f"{self._url}/v1/chat/completions", data, headers)
            began, status, worker = time.monotonic(), 0, ""
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    status, worker = answer.status, answer.headers["x-smg-routed-worker-id"]
                    answer.read()
            except urllib.error.HTTPError as failure:
                status = failure.code
            except (OSError, HTTPException):
                pass
            self.answers.append(Answer(began, time.monotonic(), status, worker))
            self.over.wait(0.01)
