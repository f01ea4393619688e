"""What a launch survives: real processes, fake workers, a fake gateway."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest
from launch.launcher import Launcher, launcher_of
from launch.plans import Marked, fake_launch, until
from launch.test_serve import SEEN_WITHIN

from smgcfg.launch import Launch
from smgcfg.launch.client import NoAnswer, asked


def again(launcher: Launcher, name: str) -> int:
    """Wait until a process is ready again, and return its new pid."""
    return int(launcher.says(rf"^{name} +(?:up|ready) again .* pid (\d+)").group(1))


def alive(pid: int) -> bool:
    """Return whether a process runs."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSEGV])
def test_one_of_two_workers_is_replaced(tmp_path: Path, marked: Marked, signum: signal.Signals) -> None:
    """A death is said within a second, with what follows from it, and costs the others nothing."""
    plan = fake_launch(tmp_path / "run", marked, ["--child", "--grandchild"], ["--say", "serving"])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        first, second, gateway = (launcher.pid(name) for name in ("chat-0", "chat-1", "gateway"))
        count = len(marked.left())
        os.kill(second, signum)
        killed = time.monotonic()
        assert again(launcher, "chat-1") != second
        launcher.says(
            rf"^chat-1   DIED pid {second} {signum.name} after .*\. Restart 1 of 5 in 10 min, now\n"
            r"  its last line:\n    serving$"
        )
        assert launcher.said_at("DIED") - killed < SEEN_WITHIN
        launcher.says(r"^chat-1   ready again \d\.\d s  pid \d+, chat-0 kept serving$")
        assert alive(first)
        assert alive(gateway)
        assert until(lambda: len(marked.left()) == count)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert launcher.text.count("DIED") == 1
    assert marked.left() == []


def test_worker_with_children_is_replaced_whole(tmp_path: Path, marked: Marked) -> None:
    """Everything that a dead worker had started is gone before the next one starts, whichever session it is in."""
    plan = fake_launch(tmp_path / "run", marked, ["--child", "--grandchild", "--ignore-term"])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        until(lambda: len(marked.left()) == 7)
        before = set(marked.left())
        assert len(before) == 7  # the launcher, two guards, the gateway, the worker, its child and grandchild
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        again(launcher, "chat-0")
        assert until(lambda: len(marked.left()) == 7)
        assert len(before & set(marked.left())) == 3  # the launcher, the gateway and its guard
        launcher.signal(signal.SIGTERM)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_guard_that_is_killed_costs_one_worker_its_place(tmp_path: Path, marked: Marked) -> None:
    """kill -9 of a guard takes its worker with it, all of it, and a new worker takes the place."""
    plan = fake_launch(tmp_path / "run", marked, ["--child", "--grandchild", "--ignore-term"], [])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        until(lambda: len(marked.left()) == 9)
        before = set(marked.left())
        guard = int(Path(f"/proc/{launcher.pid('chat-0')}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guard, signal.SIGKILL)
        again(launcher, "chat-0")
        assert until(lambda: len(marked.left()) == 9)
        assert len(before & set(marked.left())) == 5  # all but the guard, the worker and what that had started
        launcher.signal(signal.SIGTERM)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_gateway_that_is_killed_is_replaced_alone(tmp_path: Path, marked: Marked) -> None:
    """Workers that the gateway reaches over http keep running while it is replaced."""
    plan = fake_launch(tmp_path / "run", marked, [], [])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        workers = [launcher.pid(name) for name in ("chat-0", "chat-1")]
        os.kill(launcher.pid("gateway"), signal.SIGKILL)
        again(launcher, "gateway")
        assert all(map(alive, workers))
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_gateway_that_is_held_is_replaced(tmp_path: Path, marked: Marked) -> None:
    """A gateway under SIGSTOP does not answer: it is said to be unwell, then killed, and replaced."""
    plan = fake_launch(tmp_path / "run", marked, [], unhealthy_after=1.5)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        pid = launcher.pid("gateway")
        os.kill(pid, signal.SIGSTOP)
        again(launcher, "gateway")
        launcher.says(rf"^gateway  unwell pid {pid}: no answer in 2 s; replaced in \d\.\d s if it stays so$")
        launcher.says(
            rf"^gateway  HANGS pid {pid} for \d\.\d s: no answer in 2 s; killed\. Restart 1 of 5 in 10 min, now$"
        )
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_crash_loop_ends_with_the_workers_own_code(tmp_path: Path, marked: Marked) -> None:
    """A worker that dies at every start is tried as often as the budget says; then all is stopped, with its code."""
    plan = fake_launch(
        tmp_path / "run",
        marked,
        ["--once", str(tmp_path / "once")],
        [],
        restart_budget=3,
        restart_backoff_max=0.3,
    )
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        assert launcher.ends() == 7
    assert marked.left() == []
    launcher.says(r"^chat-0   DIED .* SIGKILL .*\. Restart 1 of 3 in 10 min, now$")
    launcher.says(r"^chat-0   DIED .* exit code 7 .*, before it was ready\. Restart 2 of 3 in 10 min, in 0\.3 s$")
    launcher.says(r"^chat-0   DIED .* exit code 7 .*, before it was ready\. Restart 3 of 3 in 10 min, in 0\.3 s$")
    launcher.says(r"^chat-0   DIED .* exit code 7 .*, before it was ready$")
    launcher.says(r"^chat-0   no restart left: 3 in 10 min were made\ntrial: stopping because of chat-0, ")
    assert launcher.text.count("DIED") == 4


def test_restart_on_request(tmp_path: Path, marked: Marked) -> None:
    """A worker is stopped in order and replaced when the launch is asked to, and once only while that goes on."""
    plan = fake_launch(tmp_path / "run", marked, [], ["--ignore-term"], grace=1.0)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        with asked(plan.run_dir, {"do": "restart", "process": "chat-1"}) as answers:
            assert next(answers) == {"ok": True}
        launcher.says("^chat-1  . TERM")
        with (
            pytest.raises(NoAnswer, match="chat-1 is not up: it is being started or stopped"),
            asked(plan.run_dir, {"do": "restart", "process": "chat-1"}),
        ):
            pass
        again(launcher, "chat-1")
        launcher.says(r"^chat-1   restarting\n(.*\n)*chat-1   still there after 1\.0 s, killed\n")
        assert "DIED" not in launcher.text
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


EXITS = [
    ("asked over the control socket", [], 0),
    ("SIGTERM", [], 143),
    ("SIGINT", [], 130),
    ("SIGHUP", [], 129),
    ("SIGQUIT", [], 131),
    ("a worker's exit code", ["--after", "4", "--exit", "3"], 3),
    ("a worker that was killed", [], 137),
    ("a port that is taken", [], 2),
]


@pytest.mark.parametrize(("how", "worker", "code"), EXITS, ids=[how for how, _, _ in EXITS])
def test_exit_codes(tmp_path: Path, marked: Marked, how: str, worker: list[str], code: int) -> None:
    """The exit code says why a launch ended: on request, by a signal, over a process's failure, or never begun."""
    plan = fake_launch(tmp_path / "run", marked, worker, restart="never")
    if how == "a port that is taken":
        with socket.create_server(("127.0.0.1", plan.workers[0].ports[0].number)):
            with launcher_of(plan, marked, tmp_path) as launcher:
                assert launcher.ends() == code
            return
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        if how == "asked over the control socket":
            with asked(plan.run_dir, {"do": "stop"}) as answers:
                assert next(answers) == {"ok": True}
        elif how.startswith("SIG"):
            launcher.signal(signal.Signals[how])
        elif how == "a worker that was killed":
            os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        assert launcher.ends() == code


def test_library_that_stops_a_launch(tmp_path: Path, marked: Marked) -> None:
    """A launch that its program stops has the exit code 0, whatever it survived before."""
    with Launch(fake_launch(tmp_path / "run", marked, [])) as launch:
        launch.wait_ready()
        pid = launch.pid("chat-0")
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: launch.pid("chat-0") != pid)
    assert launch.exit_code == 0
