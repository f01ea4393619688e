"""What is known of a launch over time: since when each process is as it is, how often it started, how it ended."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from smgcfg.launch import events
from smgcfg.launch.alive import namespace, start_of
from smgcfg.launch.child import Child
from smgcfg.launch.events import Event
from smgcfg.launch.state import FORMAT
from smgcfg.launch.supervisor import Supervisor
from smgcfg.process import Plan, ProcessSpec

#: The last lines of a process that runs are cut here, in characters: the file is written at every change.
TAIL_WIDTH: Final = 500

State = Literal["starting", "ready", "restarting", "stopping", "down"]


class Record:
    """What is known of one launch.

    Args:
        plan: What is launched.
        last_lines: Returns the last lines of a process that runs.
        wall: Tells the time, in seconds since 1970.
    """

    def __init__(
        self, plan: Plan, last_lines: Callable[[str], tuple[str, ...]], wall: Callable[[], float] = time.time
    ) -> None:
        self._plan = plan
        self._last_lines = last_lines
        self._wall = wall
        self._began = wall()
        self._phase = "new"
        self._reason: str | None = None
        self._exit_code: int | None = None
        self._known = {spec.name: _Known(spec, self._began) for spec in plan.processes}
        self._launcher = {"pid": os.getpid(), "started": start_of(os.getpid()), "namespace": namespace()}

    def take(self, told: Sequence[Event], supervisor: Supervisor) -> bool:
        """Take in what happened and how everything is now, and return whether anything of it is new.

        Args:
            told: What the supervisor told.
            supervisor: The launch.
        """
        now = self._wall()
        for event in told:
            self._take_event(event, now)
        # All of them, as each takes in what is new of it.
        changed = [known.look(supervisor.children[name], supervisor.phase, now) for name, known in self._known.items()]
        new_phase, self._phase = self._phase != supervisor.phase, supervisor.phase
        return any(changed) or new_phase or bool(told)

    def last_exit(self, name: str) -> dict[str, Any] | None:
        """Return how a process ended the last time, as it stands in the state file, or None when it never did."""
        return self._known[name].last_exit

    def count(self, state: State) -> int:
        """Return how many workers are in a state."""
        return sum(known.state == state for known in self._known.values() if known.spec.role == "worker")

    def data(self) -> dict[str, Any]:
        """Return the content of the state file."""
        plan = self._plan
        return {
            "format": FORMAT,
            "name": plan.name,
            "run_dir": plan.run_dir,
            "url": plan.url,
            "model": plan.model,
            "launcher": self._launcher,
            "phase": self._phase,
            "began": self._began,
            "written": self._wall(),
            "reason": self._reason,
            "exit_code": self._exit_code,
            "budget": plan.settings.restart_budget,
            "window": plan.settings.restart_window,
            "processes": [
                known.data(plan.url if known.spec is plan.gateway else known.spec.ready.url, self._last_lines(name))
                for name, known in self._known.items()
            ],
        }

    def _take_event(self, event: Event, now: float) -> None:
        if isinstance(event, events.Failed) and event.restart:
            known, window = self._known[event.name], self._plan.settings.restart_window
            known.failures = [at for at in known.failures if now - at < window] + [now]
        match event:
            case events.Died() | events.Stopped():
                died = isinstance(event, events.Died)
                self._known[event.name].last_exit = {
                    "how": str(event.exit),
                    "status": event.exit.status,
                    "at": now,
                    "asked": not died,
                    "lines": list(event.last_lines if isinstance(event, events.Died) else self._last_lines(event.name)),
                }
            case events.StopBegan():
                self._reason = event.reason
            case events.LaunchStopped():
                self._exit_code = event.exit_code


class _Known:
    """What is known of one process."""

    def __init__(self, spec: ProcessSpec, now: float) -> None:
        self.spec = spec
        self.state: State = "starting"
        self.last_exit: dict[str, Any] | None = None
        self.failures: list[float] = []
        self._since = now
        self._starts = 0
        self._started_at: float | None = None
        self._pid: int | None = None
        self._started: int | None = None

    def look(self, child: Child, phase: str, now: float) -> bool:
        """Take in how the process is, and return whether that is new."""
        if child.state != "waiting" and child.started != self._started_at:
            self._started_at = child.started
            self._starts += 1
        pid = child.pid if child.there and child.state != "ended" else None
        state = self._word(child, phase)
        if (pid, state) == (self._pid, self.state):
            return False
        if pid != self._pid:
            self._pid, self._started = pid, None if pid is None else start_of(pid)
        if state != self.state:
            self.state, self._since = state, now
        return True

    def _word(self, child: Child, phase: str) -> State:
        if child.state == "ready":
            return "ready"
        leaving = child.state in ("stopping", "ended", "gone")
        if phase in ("stopping", "stopped") and (leaving or not child.there):
            return "stopping" if child.there else "down"
        # Outside of a stop whoever leaves is to come back.
        return "restarting" if leaving or self._starts > 1 else "starting"

    def data(self, url: str, last_lines: tuple[str, ...]) -> dict[str, Any]:
        """Return what the state file says of it."""
        return {
            "name": self.spec.name,
            "role": self.spec.role,
            "url": url,
            "gpus": list(self.spec.gpus),
            "seen_by": self.spec.ready.seen_by,
            "state": self.state,
            "since": self._since,
            "pid": self._pid,
            "started": self._started,
            "restarts": max(0, self._starts - 1),
            "failures": self.failures,
            "last_exit": self.last_exit,
            "last_lines": [line[:TAIL_WIDTH] for line in last_lines],
        }
