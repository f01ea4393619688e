"""Plans of small launches, the real programs in them, and what is left behind."""

import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from e2e.ports import Ports, free_port

from smgcfg.launch.spawn import marked
from smgcfg.process import LaunchSettings, Plan, Port, ProcessSpec, Readiness, Secret

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")
SMG = Path(sysconfig.get_path("scripts"), "smg")

#: The name of an environment entry that everything a test starts carries, whatever becomes of its parents.
MARK = "SMGCFG_TEST_MARK"

API_KEY = "key-of-the-test"


def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait until a condition holds, and return its value; the last one when it never did."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return value


class Marked:
    """Everything one test starts.

    Attributes:
        token: What marks it.
        env: The environment entry that does.
    """

    def __init__(self) -> None:
        self.token = uuid.uuid4().hex
        self.env = ((MARK, self.token),)
        self._ports: list[Ports] = []

    def ports(self) -> Ports:
        """Return the ports of a deployment, which nobody else gets until `close`."""
        self._ports.append(Ports())
        return self._ports[-1]

    def close(self) -> None:
        """Let go of the ports."""
        for ports in self._ports:
            ports.close()

    def left(self) -> list[int]:
        """Return the processes that are there."""
        return marked(f"{MARK}={self.token}")


def fake(*options: str) -> tuple[str, ...]:
    """Return the command of a fake worker."""
    return (sys.executable, "-I", "-S", str(FAKE_WORKER), *options)


def process(name: str, argv: Sequence[str], url: str, *, timeout: float = 20.0, **more: Any) -> ProcessSpec:
    """Return a process that is ready when its URL answers."""
    role = "gateway" if name == "gateway" else "worker"
    ready = Readiness(seen_by="http", url=url, timeout=timeout)
    return ProcessSpec(name=name, role=role, argv=tuple(argv), ready=ready, **more)


def plan_of(
    run_dir: Path, gateway: ProcessSpec, workers: Sequence[ProcessSpec], api_key: str | None = None, **launch: Any
) -> Plan:
    """Return a plan of processes; further settings are those of `[launch]`."""
    return Plan(
        name="trial",
        run_dir=str(run_dir),
        url=gateway.ready.url.removesuffix("/liveness"),
        model="fake",
        gateway=gateway,
        workers=tuple(workers),
        settings=LaunchSettings(**{"grace": 2.0, **launch}),
        api_key=api_key,
        request_key=api_key,
    )


def fake_launch(run_dir: Path, marked: Marked, *workers: Sequence[str], **launch: Any) -> Plan:
    """Return a plan of fake workers, and of a fake gateway that is one, too.

    Args:
        run_dir: The run directory.
        marked: What the processes are marked with.
        workers: The options of each worker; one with `--http` in them is not given a port.
        launch: Settings of `[launch]`.
    """
    specs = []
    for index, options in enumerate([[], *workers]):
        port = free_port()
        argv = fake("--http", str(port), *options)
        specs.append(
            process(
                f"chat-{index - 1}" if index else "gateway",
                argv,
                f"http://127.0.0.1:{port}/liveness",
                env=marked.env,
                stop_order=1 if index else 0,
                ports=(Port(port, "127.0.0.1", "worker" if index else "gateway"),),
            )
        )
    return plan_of(run_dir, specs[0], specs[1:], **launch)


def real_launch(
    run_dir: Path, marked: Marked, *workers: Sequence[str], gateway: Sequence[str] = (), **launch: Any
) -> Plan:
    """Return a plan of fake workers behind the real gateway, which wants an API key.

    Args:
        run_dir: The run directory.
        marked: What the processes are marked with.
        workers: The options of each worker.
        gateway: Further words for the gateway.
        launch: Settings of `[launch]`.
    """
    specs = []
    for index, options in enumerate(workers):
        port = free_port()
        specs.append(
            ProcessSpec(
                name=f"chat-{index}",
                role="worker",
                argv=fake("--http", str(port), *options),
                env=marked.env,
                ready=Readiness(seen_by="gateway", url=f"http://127.0.0.1:{port}", timeout=20.0),
                stop_order=1,
                ports=(Port(port, "127.0.0.1", "worker"),),
            )
        )
    port, metrics = free_port(), free_port()
    argv = [str(SMG), "launch", "--host", "127.0.0.1", "--port", str(port), "--backend", "vllm", "--model-path", "fake"]
    argv += ["--policy", "round_robin", "--health-check-interval-secs", "1", "--disable-tokenizer-autoload"]
    # By default the gateway looks for a worker that is not there yet only every 30 s (smg 1.13.0).
    argv += ["--disable-retries", "--disable-circuit-breaker", "--worker-startup-check-interval", "1"]
    argv += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics)]
    argv += ["--worker-urls", *(spec.ready.url for spec in specs), *gateway, "--api-key", API_KEY]
    front = process(
        "gateway",
        argv,
        f"http://127.0.0.1:{port}/liveness",
        env=marked.env,
        secrets=(Secret(len(argv) - 1, 0, "API_KEY"),),
        ports=(Port(port, "127.0.0.1", "gateway"), Port(metrics, "127.0.0.1", "metrics")),
    )
    return plan_of(run_dir, front, specs, API_KEY, **{"grace": 10.0, **launch})
