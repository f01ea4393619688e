"""Which processes run but do not respond.

That a worker fell out of the gateway's view, or that the gateway does not answer, is simply seen. But the gateway takes
a zmq engine that hangs for ready, whatever happens (smg 1.13.0). So every worker is asked for one token from time to
time, through the gateway. The gateway chooses whom a probe goes to and says so at once (`x-smg-routed-worker-id` of a
stream), long before the worker answers; probes of random text reach all workers after a few tries, whatever the policy.

One that loads can not be asked anything, and has the time that a model takes to load. But one that is held by a signal
(SIGSTOP) does not load, and is found out by its state.

A worker is suspected from the first probe on that it was given and has not answered, until a token comes. One that has
requests to answer may not be given probes: it is suspected as long as none of these is over. A worker that reports
another load than before has worked in any case, if only for others than us.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Final

from smgcfg.launch import events
from smgcfg.launch.child import Child
from smgcfg.launch.effects import Load, Loads, Probed, Prober, Routed, Spawner
from smgcfg.launch.events import Event
from smgcfg.process import Plan

#: Rounds of probes: four in the time after which a worker is replaced, but one in so many seconds at least and at most.
ROUND_LATEST: Final = 30.0
ROUND_SOONEST: Final = 0.1

#: How old what a worker reports of its load may be, in seconds: the gateway asks for it so often (smg 1.13.0).
REPORT_AGE: Final = 10.0

#: How often the gateway is asked for its view, in seconds.
VIEW_EVERY: Final = 2.0

#: What is seen of a process that is stopped.
HELD: Final = "it is held by a signal, as SIGSTOP"

#: What lasts shorter is not worth telling, in seconds: a busy gateway may miss a question.
TOLD_AFTER: Final = 5.0


class Probe:
    """A probe that is open.

    Attributes:
        sent: When it was sent.
        name: The worker that it was given to, or None.
    """

    def __init__(self, sent: float) -> None:
        self.sent = sent
        self.name: str | None = None


class Health:
    """Watches the processes of a launch.

    Args:
        plan: What is launched.
        children: Its processes.
        spawner: Runs them.
        prober: Asks the gateway.
        tell: Takes what is worth telling.
    """

    def __init__(
        self,
        plan: Plan,
        children: Mapping[str, Child],
        spawner: Spawner,
        prober: Prober,
        tell: Callable[[Event], None],
    ) -> None:
        self._after = plan.settings.unhealthy_after
        self._every = min(max(self._after / 4, ROUND_SOONEST), ROUND_LATEST)
        self._gateway = children[plan.gateway.name]
        self._workers = [children[spec.name] for spec in plan.workers]
        self._names = {spec.ready.url: spec.name for spec in plan.workers}
        self._children = children
        self._spawner = spawner
        self._prober = prober
        self._tell = tell
        self._numbers = count(1)
        self._open: dict[int, Probe] = {}
        self._suspected: dict[str, float] = {}
        self._busy: dict[str, float] = {}
        self._loads: dict[str, Load] = {}
        self._reached: set[str] = set()
        self._tries = 0
        self._round_at = math.inf
        self._asks = False
        self._refused = False
        self._told: set[str] = set()

    @property
    def view_every(self) -> float:
        """How often the gateway is to be asked for its view, in seconds; never is infinity."""
        return min(VIEW_EVERY, self._every) if self._after else math.inf

    def watch(self, now: float) -> None:
        """Begin to watch what loads."""
        if self._after:
            self._round_at = now + self._every

    def ask(self) -> None:
        """Begin to ask for tokens, too, as the launch is up."""
        self._asks = True

    def wake_at(self, now: float) -> float:
        """Return when `look` wants to be called at the latest."""
        if not self._after:
            return math.inf
        moments = [child.unwell_at for child in self._children.values() if child.unwell_at is not None]
        moments += [*self._suspected.values(), *self._busy.values()]
        ends = [moment + wait for moment in moments for wait in (self._after, self._told_after)]
        # What is due and could not be done waits for something else to happen.
        return min([self._round_at, *(end for end in ends if end > now)])

    def look(self, now: float) -> list[tuple[Child, str, float]]:
        """Ask what is to be asked, and return who does not respond, with what is seen of it and for how long.

        Args:
            now: The time.
        """
        if not self._after:
            return []
        self._tell_of_unwell(now)
        if now >= self._round_at:
            self._round_at = now + self._every
            self._look_at_what_loads(now)
            if self._asks:
                self._begin_round(now)
        found = [
            (child, _seen(child), now - child.unwell_at)
            for child in self._children.values()
            if child.runs and child.unwell_at is not None and now - child.unwell_at >= self._after
        ]
        # A gateway that does not respond can not vouch for anybody.
        if self._gateway.state != "ready" or self._gateway.unwell_at is not None:
            return [item for item in found if item[0] is self._gateway or item[0].state == "starting"]
        return found + [
            (self._children[name], seen, now - since)
            for name, (since, seen) in self._held_against().items()
            if now - since >= self._after and self._children[name].state == "ready"
        ]

    def _held_against(self) -> dict[str, tuple[float, str]]:
        busy = {name: (since, "none of its requests gets on") for name, since in self._busy.items()}
        return busy | {name: (since, "no token, though asked for one") for name, since in self._suspected.items()}

    def unwell(self, child: Child, now: float) -> None:
        """Note that a process does not seem to be well: it was ready and is not any more, or is held while it loads."""
        if child.unwell_at is None:
            child.unwell_at = now

    def well(self, child: Child, now: float) -> None:
        """Note that a process is well."""
        if child.unwell_at is not None and child.spec.name in self._told and child.pid is not None:
            self._tell(events.Well(child.spec.name, child.pid, now - child.unwell_at))
        self._told.discard(child.spec.name)
        child.unwell_at = None

    def forget(self, child: Child) -> None:
        """Forget what was held against a process: it is no longer there."""
        name = child.spec.name
        self._clear(name)
        self._loads.pop(name, None)
        self._told.discard(name)
        child.unwell_at = None
        # All probes with the gateway, which took them.
        self._give_up([n for n, probe in self._open.items() if probe.name == name or child is self._gateway])

    def hear(self, answer: Loads | Routed | Probed, now: float) -> None:
        """Take an answer."""
        match answer:
            case Loads():
                for load in answer.loads:
                    if load.url in self._names:
                        self._weigh(self._names[load.url], load, now)
                self._send(now)
            case Routed() if answer.number in self._open:
                probe = self._open[answer.number]
                probe.name = self._names.get(answer.url)
                if probe.name is not None:
                    self._reached.add(probe.name)
                    self._suspected.setdefault(probe.name, probe.sent)
                self._send(now)
            case Probed() if answer.number in self._open:
                self._take_end(self._open.pop(answer.number), answer)
                self._send(now)

    def _take_end(self, probe: Probe, answer: Probed) -> None:
        if answer.outcome == "answered":
            self._clear(probe.name)
            # An engine that answers and has forgotten an earlier probe is no less alive for it.
            self._give_up(
                [n for n, other in self._open.items() if other.name == probe.name and other.sent < probe.sent]
            )
        elif answer.outcome == "refused":
            self._tries = 0
            if not self._refused:
                self._refused = True
                self._tell(events.ProbeRefused(answer.problem))
        elif probe.name is None:
            self._tries = 0  # there is nobody to learn anything about

    def _weigh(self, name: str, load: Load, now: float) -> None:
        """Take in what a worker has to do, and whether it gets on with it."""
        before = self._loads.get(name, load)
        self._loads[name] = load
        if before.report and load.report != before.report:
            self._take_old_sign(name, now - REPORT_AGE)
        if not load.busy or load.done != before.done:
            self._busy.pop(name, None)
        if load.busy:
            self._busy.setdefault(name, now)

    def _clear(self, name: str | None) -> None:
        """Take a sign of life."""
        if name is not None:
            self._reached.add(name)
            self._suspected.pop(name, None)
            self._busy.pop(name, None)

    def _take_old_sign(self, name: str, at: float) -> None:
        """Take a sign of life that may be from an earlier moment: what is held against a worker begins there."""
        self._reached.add(name)
        for held in (self._suspected, self._busy):
            if name in held:
                held[name] = max(held[name], at)

    def _look_at_what_loads(self, now: float) -> None:
        for name, child in self._children.items():
            if child.state != "starting" or child.pid is None:
                continue
            if self._spawner.is_held(name):
                self.unwell(child, now)
            else:
                self.well(child, now)

    def _begin_round(self, now: float) -> None:
        self._give_up([number for number, probe in self._open.items() if now - probe.sent >= self._after])
        self._reached = set()
        # A worker that has not answered the last one may have lost it: worth a try or two, and not as many as the rest.
        asked = {probe.name for probe in self._open.values()}
        self._tries = 2 * len(_names(self._workers) - asked) + 2
        if self._gateway.state == "ready":
            self._prober.ask_loads()

    def _give_up(self, numbers: list[int]) -> None:
        for number in numbers:
            self._prober.give_up(number)
            del self._open[number]

    def _send(self, now: float) -> None:
        """Send a probe, if somebody is left to reach in this round and none is on its way to nobody knows whom."""
        waiting = any(probe.name is None for probe in self._open.values())
        left = _names(child for child in self._workers if child.state == "ready" and child.unwell_at is None)
        if self._tries > 0 and left - self._reached and not waiting and self._gateway.state == "ready":
            self._tries -= 1
            number = next(self._numbers)
            self._open[number] = Probe(now)
            self._prober.probe(number)

    @property
    def _told_after(self) -> float:
        return min(TOLD_AFTER, self._after / 2)

    def _tell_of_unwell(self, now: float) -> None:
        for name, child in self._children.items():
            if child.unwell_at is None or name in self._told or not child.runs or child.pid is None:
                continue
            lasted = now - child.unwell_at
            if lasted >= self._told_after:
                self._told.add(name)
                self._tell(events.Unwell(name, child.pid, _seen(child), self._after - lasted))


def _seen(child: Child) -> str:
    return HELD if child.state == "starting" else child.seen


def _names(children: Iterable[Child]) -> set[str]:
    return {child.spec.name for child in children}
