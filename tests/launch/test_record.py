"""What is known of a launch over time, from how its processes are at each moment."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from launch.plans import Marked, fake_launch

from smgcfg.launch import events
from smgcfg.launch.alive import is_alive, start_of
from smgcfg.launch.child import Child
from smgcfg.launch.effects import Exit
from smgcfg.launch.record import Record


class Watched:
    """A launch of a gateway and one worker that a test moves by hand, and the record of it."""

    def __init__(self, tmp_path: Path) -> None:
        plan = fake_launch(tmp_path, Marked(), [])
        self.time = 1000.0
        self.record = Record(plan, lambda _: ("its last line",), lambda: self.time)
        self.children = {spec.name: Child(spec) for spec in plan.processes}
        self.worker = self.children["chat-0"]
        self.phase = "starting"

    def take(self, *told: Any, after: float = 1.0) -> bool:
        """Let time go by and have the record look."""
        self.time += after
        return self.record.take(told, SimpleNamespace(children=self.children, phase=self.phase))  # type: ignore[arg-type]

    @property
    def known(self) -> dict[str, Any]:
        """What is known of the worker."""
        return next(one for one in self.record.data()["processes"] if one["name"] == "chat-0")


def test_a_life_with_a_death(tmp_path: Path) -> None:
    """A worker starts, is ready, dies, and comes back: the states, since when, its pid, its restarts, its last exit."""
    watched = Watched(tmp_path)
    worker = watched.worker
    assert watched.take()
    assert (watched.known["state"], watched.known["pid"], watched.known["restarts"]) == ("starting", None, 0)
    worker.state, worker.started, worker.pid = "starting", 5.0, os.getpid()
    assert watched.take()
    assert (watched.known["pid"], watched.known["started"]) == (os.getpid(), start_of(os.getpid()))
    worker.state, watched.phase = "ready", "up"
    assert watched.take()
    assert (watched.known["state"], watched.known["since"]) == ("ready", 1003.0)
    assert watched.record.count("ready") == 1
    assert not watched.take(after=60.0)
    assert watched.known["since"] == 1003.0
    worker.state = "ended"
    assert watched.take(events.Died("chat-0", os.getpid(), Exit(-9), 61.0, True, ("out of memory",)))
    assert (watched.known["state"], watched.known["pid"], watched.known["restarts"]) == ("restarting", None, 0)
    exit_of_it = {"how": "SIGKILL", "status": -9, "at": 1064.0, "asked": False, "lines": ["out of memory"]}
    assert watched.known["last_exit"] == exit_of_it
    worker.state, worker.started, worker.pid = "starting", 70.0, None
    assert not watched.take()
    assert (watched.known["state"], watched.known["restarts"]) == ("restarting", 1)
    worker.state, worker.pid = "ready", os.getppid()
    assert watched.take()
    assert (watched.known["state"], watched.known["restarts"]) == ("ready", 1)
    assert watched.known["last_exit"] == exit_of_it


def test_a_stop(tmp_path: Path) -> None:
    """While a launch is stopped a worker stays ready until it is asked, is stopping then, and down once it is gone."""
    watched = Watched(tmp_path)
    worker = watched.worker
    worker.state, worker.started, worker.pid, watched.phase = "ready", 5.0, os.getpid(), "up"
    watched.take()
    watched.phase = "stopping"
    assert watched.take(events.StopBegan("asked", True, False))
    assert watched.known["state"] == "ready"
    worker.state, worker.stop_asked = "stopping", 9.0
    assert watched.take()
    assert watched.known["state"] == "stopping"
    worker.state = "ended"
    watched.take(events.Stopped("chat-0", os.getpid(), Exit(0), 0.1))
    assert watched.known["state"] == "stopping"
    worker.state = "gone"
    watched.take()
    assert (watched.known["state"], watched.known["pid"]) == ("down", None)
    assert watched.known["last_exit"] == {
        "how": "exit code 0",
        "status": 0,
        "at": 1004.0,
        "asked": True,
        "lines": ["its last line"],
    }
    watched.phase = "stopped"
    assert watched.take(events.LaunchStopped(0, "asked"))
    assert (watched.record.data()["reason"], watched.record.data()["exit_code"]) == ("asked", 0)


def test_who_is_alive() -> None:
    """A process is the one that was meant only with the start that it had, and a number of nobody is not alive."""
    started = start_of(os.getpid())
    assert started is not None
    assert is_alive(os.getpid(), started)
    assert not is_alive(os.getpid(), started + 1)
    assert not is_alive(os.getpid(), None)
    assert not is_alive(None, None)
    child = os.spawnvp(os.P_NOWAIT, "true", ["true"])
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert start_of(child) is None  # a zombie
    os.waitpid(child, 0)
    assert start_of(child) is None
