"""Shows how a launch goes to programs: one JSON object in a line for everything that happens."""

import math
import re
import time
from collections.abc import Iterable
from typing import Any

from smgcfg.launch.console import Console
from smgcfg.launch.effects import Exit
from smgcfg.launch.events import Event
from smgcfg.launch.supervisor import Supervisor
from smgcfg.launch.times import stamp
from smgcfg.process import Plan


class JsonLines:
    """Shows one launch, as `Progress` does for people.

    Every object has `time`. What a process printed has `process`, `stream` ("out", "err") and `text`; what happened has
    `event`, `process` where it is about one, and what the class of that name in `events` has.

    Args:
        plan: What is launched.
        out: Where everything goes.
    """

    def __init__(self, plan: Plan, out: Console) -> None:
        self._plan = plan
        self._out = out

    def output(self, name: str, stream: str, text: str) -> None:
        """Pass on a line that a process printed."""
        self._write({"process": name, "stream": stream, "text": text})

    def begin(self) -> None:
        """Say that the launch begins."""
        plan = self._plan
        names = [spec.name for spec in plan.processes]
        self._write({"event": "launch_began", "name": plan.name, "run_dir": plan.run_dir, "processes": names})

    def note(self, text: str) -> None:
        """Say something about the launch as a whole."""
        self._write({"event": "note", "text": text})

    def tell(self, events: Iterable[Event]) -> None:
        """Say what happened."""
        for event in events:
            self._write(event_data(event))

    def tick(self, _supervisor: Supervisor, _now: float) -> float:
        """Say nothing about what is under way: a program can count by itself."""
        return math.inf

    def _write(self, data: dict[str, Any]) -> None:
        import json

        self._out.line(json.dumps({"time": stamp(time.time()), **data}, ensure_ascii=False))


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as JSON shows it, its class's name in lower case with underscores.

    Args:
        event: What happened.
    """
    data: dict[str, Any] = {"event": re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()}
    for key, value in vars(event).items():
        if isinstance(value, Exit):
            data |= {"exit": str(value), "status": value.status}
        else:
            data["process" if key == "name" else key] = value
    return data
