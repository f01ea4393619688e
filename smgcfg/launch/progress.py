"""Shows how a launch goes: a line for what happened, and on a terminal a status line for what is under way."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from smgcfg.launch.console import Console
from smgcfg.launch.events import Event
from smgcfg.launch.supervisor import Supervisor
from smgcfg.launch.wording import Wording
from smgcfg.process import Plan

#: How often it is said what is under way, in seconds: in lines, and on a terminal.
LINE_EVERY: Final = 15.0
STATUS_EVERY: Final = 0.25

#: On a terminal there is one line for all: each process has it for so many turns.
TURNS_EACH: Final = 8

_SPINNER: Final = "|/-\\"


class Progress:
    """Shows one launch.

    Args:
        plan: What is launched.
        out: Where the launcher's own lines and the processes' standard output go.
        err: Where the processes' standard error goes; `out` itself when both are one terminal.
        last_line: Returns the last thing a process said.
    """

    def __init__(self, plan: Plan, out: Console, err: Console, last_line: Callable[[str], str]) -> None:
        self._wording = Wording(plan)
        self._out = out
        self._streams = {"out": out, "err": err}
        self._last_line = last_line
        self._every = STATUS_EVERY if out.terminal else LINE_EVERY
        self._next = math.inf
        self._turn = 0

    def output(self, name: str, stream: str, text: str) -> None:
        """Pass on a line that a process printed."""
        self._streams[stream].line(self._wording.output(name, text))

    def begin(self) -> None:
        """Say that the launch begins."""
        self._out.line(self._wording.begin())

    def note(self, text: str) -> None:
        """Say something about the launch as a whole."""
        self._out.line(text)

    def tell(self, events: Iterable[Event]) -> None:
        """Say what happened."""
        for event in events:
            for line in self._wording.lines(event):
                self._out.line(line)

    def tick(self, supervisor: Supervisor, now: float) -> float:
        """Say what is under way if it is time to, and return when to call again.

        Args:
            supervisor: The launch.
            now: The time, on the supervisor's clock.
        """
        settled = all(child.state == "ready" for child in supervisor.children.values())
        if supervisor.phase == "stopped" or (supervisor.phase == "up" and settled):
            self._out.status("")
            self._next = math.inf
        elif self._next == math.inf:
            self._next = now + self._every
        elif now >= self._next:
            self._next = now + self._every
            self._show(self._under_way(supervisor, now))
        return self._next

    def _under_way(self, supervisor: Supervisor, now: float) -> list[str]:
        lines = (
            self._wording.under_way(child, supervisor.phase, now, self._last_line(name))
            for name, child in supervisor.children.items()
        )
        return [line for line in lines if line]

    def _show(self, lines: list[str]) -> None:
        if self._out.terminal and lines:
            self._turn += 1
            line = lines[self._turn // TURNS_EACH % len(lines)]
            self._out.status(f"{_SPINNER[self._turn % len(_SPINNER)]} {line}")
        elif not self._out.terminal:
            for line in lines:
                self._out.line(line)
