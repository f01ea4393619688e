"""Kills of workers that nobody announced, and how long it takes until everything serves again."""

import json
import os
import random
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import attrs
from e2e.deployment import Place
from launch.plans import until
from soak.resources import Identity, seen_at
from soak.traffic import Traffic

from smgcfg.launch.alive import is_alive
from smgcfg.launch.state import read_state

SIGNALS: Final = (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP)

#: From one full service to the next kill, in seconds.
PAUSE: Final = (0.5, 3.0)

#: How often a second worker is killed while the first is on its way back, and how much later at most, in seconds.
DOUBLED: Final = 0.3
SECOND_WITHIN: Final = 1.5

#: How long a kill may be felt on a machine that has much else to do, in seconds.
PATIENCE: Final = 45.0


@attrs.frozen
class Kill:
    """One kill.

    Attributes:
        kind: The signal.
        name: The worker.
        pid: Its process.
        started: The start of that process, as its launcher knows it.
        at: When, on the monotonic clock.
    """

    kind: signal.Signals
    name: str
    pid: int
    started: int
    at: float

    @property
    def over(self) -> bool:
        """Whether the process is gone."""
        return not is_alive(self.pid, self.started)


class Killer:
    """Kills workers of a launch, one or two at a time, and waits for full service each time.

    Args:
        place: Where the launch is.
        launcher: Its launcher.
        traffic: Its requests.
        seed: What its choices follow from.

    Attributes:
        kills: What was killed.
        longest: The longest time from a kill to full service, by the kinds of the one or two kills.
        seen: The processes that the launch has had.
    """

    def __init__(self, place: Place, launcher: int, traffic: Traffic, seed: int) -> None:
        self.kills: list[Kill] = []
        self.longest: dict[str, float] = {}
        self.seen: set[Identity] = set()
        self._place = place
        self._launcher = launcher
        self._traffic = traffic
        self._choice = random.Random(seed)
        self._next = self._choice.sample(SIGNALS, len(SIGNALS))

    @property
    def counts(self) -> Counter[str]:
        """How many kills of each kind there were."""
        return Counter(kill.kind.name for kill in self.kills)

    def processes(self) -> dict[str, dict[str, Any]]:
        """Return the processes of the launch as its state file has them, by name."""
        state = read_state(str(self._place.run_dir))
        assert state is not None
        return {one["name"]: one for one in state["processes"]}

    def strike(self) -> None:
        """Kill a worker, and now and then another one, or its successor, a moment later; wait for full service."""
        kills = [self._kill()]
        if self._choice.random() < DOUBLED:
            time.sleep(self._choice.uniform(0, SECOND_WITHIN))
            kills.append(self._kill())
        self.kills += kills
        took = self._full_service(kills) - kills[0].at
        kind = kills[0].kind.name if len(kills) == 1 else "two at once"
        self.longest[kind] = max(took, self.longest.get(kind, 0.0))
        self.seen |= seen_at(self._place, self._launcher)
        time.sleep(self._choice.uniform(*PAUSE))

    def _kill(self) -> Kill:
        """Kill a worker, whatever it is about to do."""
        kind = self._next.pop() if self._next else self._choice.choice(SIGNALS)
        there = until(self._workers, PATIENCE)
        one = self._choice.choice(there)
        self.seen |= seen_at(self._place, self._launcher)
        os.kill(one["pid"], kind)
        return Kill(kind, one["name"], one["pid"], one["started"], time.monotonic())

    def _workers(self) -> list[dict[str, Any]]:
        """Return the workers that are alive."""
        workers = [one for one in self.processes().values() if one["role"] == "worker"]
        return [one for one in workers if is_alive(one["pid"], one["started"])]

    def _full_service(self, kills: list[Kill]) -> float:
        """Wait until all workers serve: ready for the gateway, and each has answered since the killed ones are gone."""
        patience = Patience()
        patience.wait(lambda: all(kill.over for kill in kills), f"gone: {kills}")
        urls = {one["url"] for one in self.processes().values() if one["role"] == "worker"}
        gone = time.monotonic()
        patience.wait(lambda: self._traffic.workers(gone) >= urls, f"answers from {urls}")
        patience.wait(lambda: self._healthy() >= urls, f"ready in the gateway's view: {urls}")
        return time.monotonic()

    def _healthy(self) -> set[str]:
        """Return the workers that are ready in the gateway's view."""
        with urllib.request.urlopen(f"{self._place.url}/workers", timeout=PATIENCE) as answer:
            return {one["url"] for one in json.load(answer)["workers"] if one["is_healthy"]}


class Patience:
    """A bound on several waits together."""

    def __init__(self) -> None:
        self._until = time.monotonic() + PATIENCE

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds.

        Args:
            condition: The condition.
            what: What it is, for when it never does.
        """
        assert until(condition, self._until - time.monotonic()), f"not {what} within {PATIENCE:g} s"
