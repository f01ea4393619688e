"""Starts, watches and stops the processes of a plan: a state machine that never waits.

Call `step()` whenever something may have happened, at the latest at `wake_at`. Every step takes in what the spawner and
the prober report, does what follows from it, and returns what is worth telling. What follows from a death is decided in
`policy`; everything else is here.

A process is *ended* once its program is, and *gone* once nothing that it started is left either. A launch goes through
its phases in order: new, starting, up, stopping, stopped.
"""

import math
import signal
from collections.abc import Callable
from typing import Final, Literal

from smgcfg.launch import events, policy
from smgcfg.launch.child import Child
from smgcfg.launch.effects import (
    Answer,
    Check,
    Clock,
    Exited,
    GatewayView,
    Gone,
    NotStarted,
    Prober,
    Report,
    Spawner,
    Started,
    WorkerView,
)
from smgcfg.launch.events import Event
from smgcfg.process import Plan

Phase = Literal["new", "starting", "up", "stopping", "stopped"]

#: Questions while starting: at most so often, and less often the longer it takes, so that readiness is seen within a
#: twentieth of the time that it took; in seconds.
ASK_SOONEST: Final = 0.05
ASK_LATEST: Final = 1.0
ASK_SHARE: Final = 0.05

#: A killed process is gone in milliseconds. One that is still there is killed again every KILL_AGAIN seconds, and after
#: KILL_PATIENCE seconds it hangs in the kernel or is not ours to kill: the launch ends without it and says so.
KILL_AGAIN: Final = 2.0
KILL_PATIENCE: Final = 10.0


class Supervisor:
    """The state machine of one launch.

    Args:
        plan: What to run.
        clock: Tells the time.
        spawner: Runs processes.
        prober: Asks the gateway.
        decide: What follows from a death.
        check: Takes a last look before the launch is ready, or None.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        clock: Clock,
        spawner: Spawner,
        prober: Prober,
        decide: Callable[[policy.Death], policy.End] = policy.decide,
        check: Check | None = None,
    ) -> None:
        self.plan = plan
        self.phase: Phase = "new"
        self.exit_code: int | None = None
        self.children = {spec.name: Child(spec) for spec in plan.processes}
        self._clock = clock
        self._spawner = spawner
        self._prober = prober
        self._decide = decide
        self._check = check
        self._events: list[Event] = []
        self._began = 0.0
        self._ask_at = math.inf
        self._gateway_ready = False
        self._was_up = False
        self._draining = False
        self._signals = 0
        self._hurry = False

    @property
    def wake_at(self) -> float:
        """When `step` wants to be called at the latest, on the clock's time; never is infinity."""
        if self.phase == "new":
            return self._clock.now()
        if self.phase == "starting":
            deadlines = [c.started + c.spec.ready.timeout for c in self.children.values() if c.state == "starting"]
            return min([self._ask_at, *deadlines])
        if self.phase == "stopping":
            return min((self._patience_ends(child) for child in self.children.values() if child.there), default=0.0)
        return math.inf

    def step(self) -> list[Event]:
        """Take in what happened, act on it, and return what is worth telling, in order."""
        now = self._clock.now()
        if self.phase == "new":
            self._start_all(now)
        for report in self._spawner.poll():
            self._take(report, now)
        for answer in self._prober.poll():
            self._hear(answer, now)
        if self.phase == "starting":
            self._watch_start(now)
        if self.phase == "stopping":
            self._go_on_stopping(now)
        told, self._events = self._events, []
        return told

    def interrupt(self, signum: int) -> None:
        """Take a signal: the first stops the launch, and one that comes when it was already said so kills at once.

        Args:
            signum: The signal's number.
        """
        if self.phase == "stopped":
            return
        self._signals += 1
        name = signal.Signals(signum).name
        if self.phase != "stopping":
            self._begin_stop(name, 128 + signum, kill_next=True)
        elif self._signals == 1:
            self._tell(events.StopRepeated(name))
        else:
            self._hurry = True

    def stop(self) -> None:
        """Stop the launch because its owner asks for it: the exit code is 0."""
        self._begin_stop("asked", 0)

    def kill(self) -> None:
        """Stop the launch without giving anybody time."""
        self._begin_stop("asked", 0)
        self._hurry = True

    # --- starting ----------------------------------------------------------------------------------------------------

    def _start_all(self, now: float) -> None:
        self.phase = "starting"
        self._began = self._ask_at = now
        for child in sorted(self.children.values(), key=lambda child: child.spec.start_order):
            self._start(child, now)

    def _start(self, child: Child, now: float) -> None:
        child.state = "starting"
        child.started = now
        self._spawner.start(child.spec)

    def _watch_start(self, now: float) -> None:
        starting = [child for child in self.children.values() if child.state == "starting"]
        by_gateway = any(child.spec.ready.seen_by == "gateway" for child in self.children.values())
        if not starting and (self._gateway_ready or not by_gateway):
            if not self._looked_over(now):
                return
            self.phase = "up"
            self._was_up = True
            self._tell(events.LaunchReady(now - self._began))
            return
        for child in starting:
            if now >= child.started + child.spec.ready.timeout:
                self._tell(events.StartTimedOut(child.spec.name, child.pid, child.spec.ready.timeout, child.seen))
                self._begin_stop(child.spec.name, 1)
                return
        if now >= self._ask_at:
            self._ask(starting)
            self._ask_at = now + min(max(ASK_SOONEST, (now - self._began) * ASK_SHARE), ASK_LATEST)

    def _looked_over(self, now: float) -> bool:
        """Whether the last look was taken and found the launch fit to be ready; if it did not, stop the launch."""
        if self._check is None:
            return True
        found = self._check.poll()
        if found is None:
            self._ask_at = now + ASK_SOONEST
            return False
        self._check = None
        self._tell(events.Checked(found.lines))
        if not found.ok:
            self._begin_stop("a broken promise", 1)
        return found.ok

    def _ask(self, starting: list[Child]) -> None:
        for child in starting:
            if child.spec.ready.seen_by == "http":
                self._prober.ask(child.spec.ready.url)
        # A gateway that does not answer at all need not be asked for its view.
        if self.children[self.plan.gateway.name].state == "ready":
            self._prober.ask_gateway()

    def _hear(self, answer: GatewayView | Answer, now: float) -> None:
        if self.phase != "starting":
            return
        if isinstance(answer, Answer):
            for child in self._running("http"):
                if child.spec.ready.url == answer.url:
                    child.seen = answer.problem
                    if answer.ok:
                        self._become_ready(child, now)
            return
        self._gateway_ready = answer.ready
        if answer.refused:
            self._tell(events.KeyRefused(answer.problem))
            self._begin_stop(self.plan.gateway.name, 1)
            return
        views = {view.url: view for view in answer.workers}
        for child in self._running("gateway"):
            view = views.get(child.spec.ready.url)
            child.seen = _seen(answer, view)
            if view is not None and view.healthy:
                self._become_ready(child, now)
            elif child.state == "ready":
                child.state = "starting"  # a worker that fell out again has to come back within its own time

    def _running(self, seen_by: str) -> list[Child]:
        return [
            child
            for child in self.children.values()
            if child.state in ("starting", "ready") and child.pid is not None and child.spec.ready.seen_by == seen_by
        ]

    def _become_ready(self, child: Child, now: float) -> None:
        if child.state == "ready" or child.pid is None:
            return
        child.state = "ready"
        # Whoever waits for this one, as the workers wait for the gateway, is asked about at once.
        self._ask_at = now
        self._tell(events.Ready(child.spec.name, child.pid, now - child.started))

    # --- reports -----------------------------------------------------------------------------------------------------

    def _take(self, report: Report, now: float) -> None:
        child = self.children[report.name]
        if child.state == "gone":
            return  # it was given up, and ended after all
        match report:
            case Started():
                child.pid = report.pid
            case NotStarted():
                child.state = "gone"
                self._tell(events.StartFailed(report.name, report.reason))
                self._begin_stop(report.name, 1)
            case Exited():
                self._take_exit(child, report, now)
            case Gone():
                child.state = "gone"

    def _take_exit(self, child: Child, report: Exited, now: float) -> None:
        was, child.state = child.state, "ended"
        if child.stop_asked is not None:
            self._tell(events.Stopped(report.name, report.pid, report.exit, now - child.stop_asked))
            return
        after = now - child.started
        self._tell(events.Died(report.name, report.pid, report.exit, after, was == "ready", report.last_lines))
        death = policy.Death(report.name, child.spec.role, report.exit, self._was_up)
        self._begin_stop(report.name, self._decide(death).exit_code)

    # --- stopping ----------------------------------------------------------------------------------------------------

    def _begin_stop(self, reason: str, exit_code: int, *, kill_next: bool = False) -> None:
        """Stop the launch, unless it is being stopped: the first reason decides the exit code."""
        if self.phase in ("stopping", "stopped"):
            return
        # Only a gateway that answered requests has some to finish; any other would just hold its port open for a while.
        gateway = self.children[self.plan.gateway.name]
        self._draining = (self._was_up or self._gateway_ready) and gateway.state == "ready"
        self.phase = "stopping"
        self.exit_code = exit_code
        self._tell(events.StopBegan(reason, self._draining, kill_next))

    def _go_on_stopping(self, now: float) -> None:
        there = [child for child in self.children.values() if child.there]
        if there and self._hurry:
            for child in there:
                self._kill(child, now, "hurry")
        elif there:
            first = min(child.spec.stop_order for child in there)
            for child in there:
                if child.spec.stop_order == first or not self._draining:
                    self._ask_to_stop(child, now)
        for child in there:
            self._mind(child, now)
        if not any(child.there for child in self.children.values()):
            self.phase = "stopped"
            assert self.exit_code is not None
            self._tell(events.LaunchStopped(self.exit_code))

    def _ask_to_stop(self, child: Child, now: float) -> None:
        if child.stop_asked is not None:
            return
        child.stop_asked = now
        if child.state != "ended":
            child.state = "stopping"
        if child.spec.role == "gateway" and not self._draining:
            child.killed = now
            child.kill_again = now + KILL_AGAIN
            self._spawner.kill(child.spec.name)
        else:
            self._spawner.stop(child.spec.name)

    def _mind(self, child: Child, now: float) -> None:
        """Kill a process that had its time, and give up on one that can not be killed."""
        if child.killed is None:
            if child.stop_asked is not None and now >= child.stop_asked + self.plan.settings.grace:
                self._kill(child, now, "grace")
        elif now >= child.killed + KILL_PATIENCE:
            child.state = "gone"
            self._tell(events.LeftBehind(child.spec.name, child.pid))
        elif now >= child.kill_again:
            child.kill_again = now + KILL_AGAIN
            self._spawner.kill(child.spec.name)

    def _kill(self, child: Child, now: float, reason: Literal["grace", "hurry"]) -> None:
        if child.killed is not None:
            return
        self._tell(events.KillBegan(child.spec.name, child.pid, reason))
        child.stop_asked = now if child.stop_asked is None else child.stop_asked
        child.killed = now
        child.kill_again = now + KILL_AGAIN
        if child.state != "ended":
            child.state = "stopping"
        self._spawner.kill(child.spec.name)

    def _patience_ends(self, child: Child) -> float:
        if child.killed is not None:
            return min(child.kill_again, child.killed + KILL_PATIENCE)
        if child.stop_asked is not None:
            return child.stop_asked + self.plan.settings.grace
        return math.inf

    def _tell(self, event: Event) -> None:
        self._events.append(event)


def _seen(view: GatewayView, worker: WorkerView | None) -> str:
    """Return what a view of the gateway says about one worker, for a message."""
    if view.problem:
        return f"the gateway could not be asked: {view.problem}"
    if worker is None:
        return "the gateway does not list it"
    return f"the gateway lists it as {worker.status!r}"
