"""The launcher with the real gateway: what ready means, and that stopping loses no request."""

import signal
import threading
import time
from http.client import HTTPException
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import API_KEY, Marked, real_launch
from launch.real import chat, standin_plan

from smgcfg.launch import Launch
from smgcfg.launch.revival import DRAIN_SLACK


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


def test_drain_is_bounded(tmp_path: Path, marked: Marked) -> None:
    """A request that takes longer than drain_timeout does not hold up a stop, though the gateway would wait for it."""
    trial = real_launch(tmp_path / "run", marked, ["--slow", "30"], drain_timeout=0.5)
    failures: list[Exception] = []

    def ask() -> None:
        try:
            chat(trial.url)
        except (OSError, HTTPException) as failure:
            failures.append(failure)

    with launcher_of(trial, marked, tmp_path) as launcher:
        launcher.says("^READY")
        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.3)
        sent = launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert 0.5 < time.monotonic() - sent < 0.5 + DRAIN_SLACK + 1.5
        asking.join()
        launcher.says(r"^gateway  still there after 2\.5 s, killed$")
    assert len(failures) == 1


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
