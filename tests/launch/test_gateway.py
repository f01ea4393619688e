"""The launcher with the real gateway: what ready means, and that stopping loses no request."""

import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import API_KEY, MARK, Marked, free_port, real_launch, until

from smgcfg import load, plan
from smgcfg.environment import Environment
from smgcfg.launch import Launch
from smgcfg.process import Plan
from smgcfg.standin.deploy import model_dir, with_standins, write_model


def chat(url: str, key: str = API_KEY) -> str:
    """Ask the gateway for a chat completion, and return the answer's text."""
    body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": "hello"}]}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def test_ready_means_that_every_worker_answers(tmp_path: Path, marked: Marked) -> None:
    """READY comes when the gateway sees all workers, the late one too, and then each of them answers.

    The gateway wants a key, which the launcher has, and shows nowhere; the launcher stays small.
    """
    trial = real_launch(tmp_path / "run", marked, [], ["--answer-after", "1.5"], gateway=FAST_STOP)
    with launcher_of(trial, marked, tmp_path) as launcher:
        launcher.says("^READY")
        assert launcher.said_at("^chat-1 +ready") - launcher.said_at("^chat-0 +ready") > 0.5
        assert {chat(trial.url) for _ in range(4)} == {f"pid {launcher.pid(f'chat-{index}')}" for index in range(2)}
        status = Path(f"/proc/{launcher.process.pid}/status").read_text()
        assert int(status.partition("VmHWM:")[2].split()[0]) < 40 * 1024
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert API_KEY not in launcher.text


def test_stop_finishes_requests(tmp_path: Path, marked: Marked) -> None:
    """A request under way when the launch is stopped is answered; the worker is stopped after the gateway."""
    trial = real_launch(tmp_path / "run", marked, ["--slow", "2"])
    answers: list[str] = []
    with launcher_of(trial, marked, tmp_path) as launcher:
        launcher.says("^READY")
        asking = threading.Thread(target=lambda: answers.append(chat(trial.url)))
        asking.start()
        time.sleep(0.5)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        asking.join()
        assert answers == [f"pid {launcher.pid('chat-0')}"]
        assert launcher.said_at("^gateway +stopped") <= launcher.said_at("^chat-0 +stopped")


def test_idle_stop_takes_what_the_gateway_takes(tmp_path: Path, marked: Marked) -> None:
    """The real gateway keeps its port open for 5 s when it stops (smg 1.13.0); the launcher adds next to nothing."""
    with launcher_of(real_launch(tmp_path / "run", marked, []), marked, tmp_path) as launcher:
        launcher.says("^READY")
        sent = launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert 4.5 < time.monotonic() - sent < 7.0


def test_gateway_that_refuses_the_key(tmp_path: Path, marked: Marked) -> None:
    """A plan without the gateway's key fails at once and says why, instead of waiting for the startup time."""
    trial = real_launch(tmp_path / "run", marked, []).evolve(api_key="another")
    with launcher_of(trial, marked, tmp_path) as launcher:
        assert launcher.ends() == 1
    launcher.says(r"^trial: the gateway does not list its workers for this API key \(HTTP 401\)$")


def test_worker_that_dies_before_the_gateway_answers(tmp_path: Path, marked: Marked) -> None:
    """A gateway that serves nobody yet does not hold up the end of a failed start."""
    trial = real_launch(tmp_path / "run", marked, ["--answer-after", "60", "--exit", "3", "--after", "1"])
    with launcher_of(trial, marked, tmp_path) as launcher:
        launcher.says("DIED")
        assert launcher.ends() == 3
        assert time.monotonic() - launcher.said_at("DIED") < 2.0  # and not the 5 s of a gateway that drains


#: In-flight requests have one second to end, so that an idle stop takes half of one (smg 1.13.0).
FAST_STOP = ("--shutdown-grace-period-secs", "1")

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


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory with a short name, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="t-") as path:
        yield Path(path)


def standin_plan(directory: Path, marked: Marked, pool: str = "", engine: str = "") -> Plan:
    """Return the plan of a deployment file, with stand-ins in place of its engines."""
    ports = {"port": free_port(), "metrics": free_port()}
    pool = f"{pool}\nport = {free_port()}"
    text = DEPLOYMENT.format(pool=pool, engine=engine, mark=MARK, token=marked.token, key=API_KEY, **ports)
    (directory / "trial.toml").write_text(text)
    environment = Environment(uid=os.getuid(), python=sys.executable, xdg_runtime_dir=str(directory))
    write_model(model_dir(environment), lambda _: [])
    planned = plan(with_standins(load(directory / "trial.toml"), environment), environment)
    assert planned.plan is not None, planned.findings
    return planned.plan


@pytest.mark.parametrize(
    ("pool", "engine", "names"),
    [("replicas = 2", "", ["chat-0", "chat-1"]), ("", "data_parallel_size = 2", ["chat-0"])],
    ids=["two workers", "one worker of two engines"],
)
def test_engines_over_zmq(short_dir: Path, marked: Marked, pool: str, engine: str, names: list[str]) -> None:
    """Stand-in engines behind the real gateway become ready, answer, and stop without leaving a socket."""
    trial = standin_plan(short_dir, marked, pool, engine)
    sockets = [Path(path) for spec in trial.processes for path in spec.sockets]
    with Launch(trial) as launch:
        launch.wait_ready()
        pids = [launch.pid(name) for name in ("gateway", *names)]
        assert len(sockets) == 2 * len(names)
        assert all(path.is_socket() for path in sockets)
        assert chat(launch.url)
    assert launch.exit_code == 0
    # The gateway gives itself another title, and with it wipes its mark: it is looked for by its number.
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert not Path(trial.run_dir).exists()


def test_engine_that_is_killed_over_zmq(short_dir: Path, marked: Marked) -> None:
    """The gateway never notices a killed engine over zmq; the launcher does, within a second, and says so."""
    trial = standin_plan(short_dir, marked, "replicas = 2")
    trial = trial.evolve(settings=trial.settings.evolve(restart="never"))
    out = io.StringIO()
    with Launch(trial, out=out) as launch:
        launch.wait_ready()
        os.kill(launch.pid("chat-1"), signal.SIGKILL)
        assert until(lambda: "DIED" in out.getvalue(), 1.0)
        assert launch.wait() == 137
    assert "chat-1   DIED pid" in out.getvalue()
    assert not Path(trial.run_dir).exists()
