"""The connection between the real gateway and its zmq workers, through deaths on either side."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from launch.launcher import Launcher, launcher_of
from launch.plans import Marked, until
from launch.real import Traffic, chat, standin_plan
from launch.test_recovery import again, alive

from smgcfg.launch.host import messenger_findings
from smgcfg.launch.revival import DROPPED_WITHIN
from smgcfg.launch.state import read_state
from smgcfg.standin.settings import LOAD_SECONDS


def order_of(launcher: Launcher, *patterns: str) -> list[str]:
    """Return some patterns in the order in which the launcher first said them."""
    return sorted(patterns, key=launcher.said_at)


@pytest.mark.parametrize(
    ("pool", "engine"), [("replicas = 2", ""), ("replicas = 2", "data_parallel_size = 2")], ids=["single", "grouped"]
)
def test_killed_engine_is_replaced_behind_a_gateway_that_goes_on(
    short_dir: Path, marked: Marked, pool: str, engine: str
) -> None:
    """After kill -9 of an engine no request fails for longer than a moment, and both workers soon serve again."""
    plan = standin_plan(short_dir, marked, pool, engine)
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        gateway, other, victim = (launcher.pid(name) for name in ("gateway", "chat-0", "chat-1"))
        with Traffic(plan.url) as traffic:
            time.sleep(0.5)
            os.kill(victim, signal.SIGKILL)
            killed = time.monotonic()
            again(launcher, "chat-1")
            ready = time.monotonic()
            assert until(lambda: len(traffic.workers(ready)) == 2, 5.0)
        assert ready - killed < 8.0
        assert launcher.said_at("DIED") - killed < 1.0
        assert traffic.failed(killed + 1.0) == []
        assert traffic.longest_silence(killed) < 2.0
        assert alive(gateway)
        assert alive(other)
        launcher.says(r"^chat-1   ready again \d\.\d s  pid \d+, chat-0 kept serving$")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert "gateway  restarting" not in launcher.text
    assert not Path(plan.run_dir).exists()


def test_killed_engine_that_nobody_used(short_dir: Path, marked: Marked) -> None:
    """An engine that is killed while idle, again and again, is back each time, and the gateway is not touched."""
    plan = standin_plan(short_dir, marked, "", "", restart_backoff_max=0.1)
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        pid = launcher.pid("chat-0")
        for count in range(1, 4):
            os.kill(pid, signal.SIGKILL)
            assert until(lambda count=count: launcher.text.count("ready again") == count, 10.0)
            assert chat(plan.url)
            pid = int(launcher.text.rpartition(" pid ")[2].split()[0].rstrip(","))
        assert alive(launcher.pid("gateway"))
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_engine_that_is_told_to_end_by_somebody_else(short_dir: Path, marked: Marked) -> None:
    """An engine that says goodbye itself is replaced without a second word that would kill its successor."""
    plan = standin_plan(short_dir, marked, "replicas = 2")
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        os.kill(launcher.pid("chat-1"), signal.SIGTERM)
        again(launcher, "chat-1")
        with Traffic(plan.url) as traffic:
            began = time.monotonic()
            assert until(lambda: len(traffic.workers(began)) == 2, 5.0)
            time.sleep(1.5)
        assert traffic.failed() == []
        launcher.says(r"^chat-1   DIED pid \d+ exit code 0 after")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_engine_that_is_held_is_replaced(short_dir: Path, marked: Marked) -> None:
    """An engine under SIGSTOP, which the gateway takes for ready, is found out, killed and replaced."""
    plan = standin_plan(short_dir, marked, "replicas = 2", unhealthy_after=2.0)
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        pid = launcher.pid("chat-1")
        os.kill(pid, signal.SIGSTOP)
        held = time.monotonic()
        new = again(launcher, "chat-1")
        launcher.says(
            rf"^chat-1   HANGS pid {pid} for 2\.\d s: no token, though asked for one; killed\."
            r" Restart 1 of 5 in 10 min, now$"
        )
        assert 2.0 < launcher.said_at("HANGS") - held < 5.0
        assert not alive(pid)
        with Traffic(plan.url) as traffic:
            began = time.monotonic()
            assert until(lambda: len(traffic.workers(began)) == 2, 5.0)
            time.sleep(3.0)  # and is not held for hung again
        assert traffic.failed() == []
        assert alive(new)
        assert launcher.text.count("HANGS") == 1
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_engine_that_is_held_while_it_loads_is_replaced(
    short_dir: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine under SIGSTOP that was restarted and is not ready yet does not get all the time it has to load."""
    monkeypatch.setenv(LOAD_SECONDS, "1.0")
    plan = standin_plan(short_dir, marked, "replicas = 2", unhealthy_after=2.0)
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        victim, gateway = launcher.pid("chat-1"), launcher.pid("gateway")
        os.kill(victim, signal.SIGKILL)
        launcher.says(r"^chat-1   DIED(.*\n)*chat-1  \| standin: loading")
        state = read_state(plan.run_dir)
        assert state is not None
        (pid,) = (one["pid"] for one in state["processes"] if one["name"] == "chat-1")
        os.kill(pid, signal.SIGSTOP)
        again(launcher, "chat-1")
        held = "it is held by a signal, as SIGSTOP"
        launcher.says(rf"^chat-1   HANGS pid {pid} for 2\.\d s: {held}; killed\. Restart 2 of 5 in 10 min, in 1\.0 s$")
        assert launcher.said_at("HANGS") - launcher.said_at("DIED") < 5.0
        assert alive(gateway)
        assert chat(plan.url)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_gateway_that_is_killed(short_dir: Path, marked: Marked) -> None:
    """With the gateway its zmq workers are replaced: they stop, it starts, they start, and requests are answered."""
    plan = standin_plan(short_dir, marked, "replicas = 2")
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        os.kill(launcher.pid("gateway"), signal.SIGKILL)
        again(launcher, "chat-0")
        again(launcher, "chat-1")
        launcher.says(r"^gateway  DIED pid \d+ SIGKILL .*\. Restart 1 of 5 in 10 min, now$")
        launcher.says(r"^gateway  its zmq workers restart with it: chat-0, chat-1$")
        expected = ["^gateway +up again", "^chat-0 +ready again"]
        assert order_of(launcher, "^chat-0 +stopped", *expected) == ["^chat-0 +stopped", *expected]
        assert order_of(launcher, "^chat-1 +stopped", *expected) == ["^chat-1 +stopped", *expected]
        assert chat(plan.url)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert not Path(plan.run_dir).exists()


def test_engine_whose_socket_was_removed(short_dir: Path, marked: Marked) -> None:
    """An engine that dies after a cleaner emptied the run directory is back soon, as the gateway is replaced for it."""
    plan = standin_plan(short_dir, marked, "replicas = 2")
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        shutil.rmtree(plan.run_dir)
        launcher.says("made anew$")
        time.sleep(DROPPED_WITHIN)
        os.kill(launcher.pid("chat-1"), signal.SIGKILL)
        again(launcher, "chat-1")
        again(launcher, "chat-0")
        reason = "chat-1's death can not be told to it: somebody removed its socket"
        launcher.says(rf"^gateway  restarting: {reason}; its zmq workers restart with it: chat-0, chat-1$")
        assert chat(plan.url)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert not Path(plan.run_dir).exists()


#: Has Python find no pyzmq, and goes on with the words that follow, `-c` and a program.
WITHOUT_ZMQ = "import sys; sys.modules['zmq'] = None; sys.argv[1:] = sys.argv[4:]; exec(sys.orig_argv[5])"


def test_without_pyzmq_the_gateway_is_replaced(short_dir: Path, marked: Marked) -> None:
    """Where no death can be told, an engine's death costs the gateway and the other zmq workers their place, too."""
    plan = standin_plan(short_dir, marked, "replicas = 2")
    assert messenger_findings(plan) == []
    with launcher_of(plan, marked, short_dir, [sys.executable, "-c", WITHOUT_ZMQ]) as launcher:
        launcher.says("^READY")
        launcher.says(
            "^warning SMG032 launch.restart: pyzmq is not installed: .*\n  hint: pip install 'smgcfg\\[zmq\\]'$"
        )
        os.kill(launcher.pid("chat-1"), signal.SIGKILL)
        again(launcher, "chat-1")
        again(launcher, "chat-0")
        reason = "chat-1's death can not be told to it: pyzmq is not installed"
        launcher.says(rf"^gateway  restarting: {reason}; its zmq workers restart with it: chat-0, chat-1$")
        expected = ["^gateway +stopped", "^chat-0 +stopped", "^gateway +up again", "^chat-0 +ready again"]
        assert order_of(launcher, *expected) == expected
        assert chat(plan.url)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_missing_pyzmq_is_found_before_anything_starts(
    short_dir: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning says what a death would cost, and what to install; not where no worker needs it or is restarted."""
    plan = standin_plan(short_dir, marked)
    monkeypatch.setitem(sys.modules, "zmq", None)
    (finding,) = messenger_findings(plan)
    assert (finding.code, finding.severity, finding.hint) == ("SMG032", "warning", "pip install 'smgcfg[zmq]'")
    assert messenger_findings(plan.evolve(settings=plan.settings.evolve(restart="never"))) == []
    assert messenger_findings(plan.evolve(workers=(plan.workers[0].evolve(death_notice=None),))) == []
