"""Starts, watches, restarts and stops the processes of a plan: a state machine that never waits.

Call `step()` whenever something may have happened, at the latest at `wake_at`: it takes in what its helpers report,
does what follows, and returns what is worth telling. A process is *ended* once its program is, and *gone* once nothing
that it started is left. The phases: new, starting, up (once everything was ready), stopping, stopped.
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
    Exit,
    Exited,
    GatewayView,
    Gone,
    Messenger,
    NotStarted,
    Prober,
    ProberAnswer,
    Report,
    Sockets,
    Spawner,
    Started,
)
from smgcfg.launch.events import Event
from smgcfg.launch.health import Health
from smgcfg.launch.readiness import ASK_SOONEST, Readiness, pace
from smgcfg.launch.revival import DRAIN_SLACK, Revival
from smgcfg.launch.stopping import KILL_PATIENCE, Stopper
from smgcfg.process import LaunchSettings, Plan

Phase = Literal["new", "starting", "up", "stopping", "stopped"]

#: How a launch is asked for something by its owner.
ASKED: Final = "asked"


class Supervisor:
    """The state machine of one launch.

    Args:
        plan: What to run.
        clock: Tells the time.
        spawner: Runs processes.
        prober: Asks the gateway.
        messenger: Tells the gateway of deaths.
        sockets: Shows what is bound.
        decide: What follows from a failure.
        check: Takes a last look before the launch is ready, or None.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        clock: Clock,
        spawner: Spawner,
        prober: Prober,
        messenger: Messenger,
        sockets: Sockets,
        decide: Callable[[policy.Failure, LaunchSettings], policy.End | policy.Restart] = policy.decide,
        check: Check | None = None,
    ) -> None:
        self.plan = plan
        self.phase: Phase = "new"
        self.exit_code: int | None = None
        self.children = {spec.name: Child(spec) for spec in plan.processes}
        self._gateway = self.children[plan.gateway.name]
        self._clock = clock
        self._spawner = spawner
        self._prober = prober
        self._messenger = messenger
        self._decide = decide
        self._check = check
        self._events: list[Event] = []
        self._wanted: list[Child] = []
        self._began = 0.0
        self._ask_at = math.inf
        self._was_up = False
        self._draining = False
        self._signals = 0
        self._hurry = False
        self._end: events.LaunchStopped | None = None
        self._stopper = Stopper(spawner, self._tell)
        self._readiness = Readiness(plan, self.children, prober, sockets)
        self._health = Health(plan, self.children, spawner, prober, self._tell)
        self._revival = Revival(
            plan,
            self.children,
            spawner=spawner,
            prober=prober,
            messenger=messenger,
            sockets=sockets,
            stopper=self._stopper,
            tell=self._tell,
        )

    @property
    def wake_at(self) -> float:
        """When `step` wants to be called at the latest, on the clock's time; never is infinity."""
        now = self._clock.now()
        if self.phase == "new":
            return now
        stops = [self._stopper.wake_at(child) for child in self.children.values()]
        if self.phase in ("starting", "up"):
            ends = [c.watched_from + c.spec.ready.timeout for c in self.children.values() if c.state == "starting"]
            return min([self._ask_at, self._revival.wake_at(now), self._health.wake_at(now), *ends, *stops])
        return min([*stops, *([now] if self.phase == "stopping" and not self._alive() else [])])

    def step(self) -> list[Event]:
        """Take in what happened, act on it, and return what is worth telling, in order."""
        now = self._clock.now()
        if self.phase == "new":
            self.phase = "starting"
            self._began = self._ask_at = now
            self._revival.start_all(now)
            self._health.watch(now)
        for report in self._spawner.poll():
            self._take(report, now)
        for told in self._messenger.poll():
            self._revival.take(told, now)
        for answer in self._prober.poll():
            self._hear(answer, now)
        if self.phase == "starting":
            self._look_whether_up(now)
        if self.phase in ("starting", "up"):
            self._tend(now)
        if self.phase == "stopping":
            self._go_on_stopping(now)
        told_now, self._events = self._events, []
        return told_now

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
        self._begin_stop(ASKED, 0)

    def kill(self) -> None:
        """Stop the launch without giving anybody time."""
        self._begin_stop(ASKED, 0)
        self._hurry = True

    def restart(self, name: str) -> bool:
        """Replace a process because its owner asks for it, which counts as no failure.

        With the gateway go the workers whose connection does not outlive it.

        Args:
            name: The process.

        Returns:
            Whether it will be: not while the launch starts or stops, nor while the process is being stopped.
        """
        child = self.children[name]
        if self.phase != "up" or not (child.runs or child.state == "waiting"):
            return False
        self._wanted.append(child)
        return True

    # --- while it runs -----------------------------------------------------------------------------------------------

    def _look_whether_up(self, now: float) -> None:
        if any(child.state == "starting" for child in self.children.values()):
            return
        by_gateway = any(child.spec.ready.seen_by == "gateway" for child in self.children.values())
        if (not by_gateway or self._readiness.serves) and self._looked_over(now):
            self.phase = "up"
            self._was_up = True
            self._health.ask()
            self._tell(events.LaunchReady(now - self._began))

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

    def _tend(self, now: float) -> None:
        for child in self.children.values():
            if child.state == "starting" and now >= child.watched_from + child.spec.ready.timeout:
                self._time_out(child, now)
            if self._stopper.mind(child, now):
                # With something of the old one there, a new one can not be started.
                self._begin_stop(child.spec.name, 1)
        for child, seen, lasted in self._health.look(now):
            assert child.pid is not None
            hung = (child.spec.name, child.pid, seen, lasted)
            self._replace(child, now, lambda *then, hung=hung: events.Hung(*hung, *then))
        if self.phase == "stopping":
            return
        self._restart_wanted(now)
        self._revival.tend(now)
        if now >= self._ask_at:
            self._readiness.ask()
            self._ask_at = math.inf
        since = self._health.view_every if self.phase == "up" else pace(now - self._began)
        self._ask_at = min(self._ask_at, now + min(since, self._readiness.pace(now)))

    def _restart_wanted(self, now: float) -> None:
        """Do what `restart` was asked for, now that it is known who has died meanwhile."""
        wanted, self._wanted = self._wanted, []
        for child in wanted:
            if child.state == "waiting":
                child.start_at = min(child.start_at, now)
            elif child is self._gateway:
                self._revival.replace_gateway(ASKED, now)
            elif child.runs:
                self._tell(events.RestartBegan(child.spec.name, ASKED))
                child.start_at = now
                self._stopper.ask(child, now, self.plan.settings.grace)

    def _time_out(self, child: Child, now: float) -> None:
        timeout, seen = child.spec.ready.timeout, child.seen
        name, pid = child.spec.name, child.pid
        escalates = child.tied and child.lives > 1 and not child.escalated
        self._replace(child, now, lambda *then: events.StartTimedOut(name, pid, timeout, seen, *then))
        if escalates and self.phase == "up":
            # It may well be the gateway that does not let it in: worth one try, and not one after each.
            child.escalated = True
            self._revival.replace_gateway(f"{name} did not get through to it", now)

    def _hear(self, answer: ProberAnswer, now: float) -> None:
        if self.phase not in ("starting", "up"):
            return
        if not isinstance(answer, Answer | GatewayView):
            self._health.hear(answer, now)
            return
        if isinstance(answer, GatewayView):
            if answer.refused and self.phase == "starting":
                self._tell(events.KeyRefused(answer.problem))
                self._begin_stop(self._gateway.spec.name, 1)
                return
            self._revival.hear(answer, now)
        for child, ready in self._readiness.judge(answer):
            if ready:
                self._health.well(child, now)
                if child.state == "starting":
                    self._become_ready(child, now)
            elif child.state == "ready" and self.phase == "up":
                self._health.unwell(child, now)
            elif child.state == "ready" and child is not self._gateway:
                child.state = "starting"  # a worker that fell out again has to come back within its own time

    def _become_ready(self, child: Child, now: float) -> None:
        name, pid = child.spec.name, child.pid
        assert pid is not None
        stranger = self._readiness.stranger(child)
        if stranger:
            self._replace(child, now, lambda *then: events.PortTaken(name, pid, stranger, *then))
            return
        child.state, child.ready_at, child.escalated = "ready", now, False
        self._revival.note(child)
        # Whoever waits for this one, as the workers wait for the gateway, is asked about at once.
        self._ask_at = now
        workers = (self.children[spec.name] for spec in self.plan.workers if spec.name != name)
        kept = tuple(w.spec.name for w in workers if w.ready_at is not None and w.ready_at <= child.started)
        self._tell(events.Ready(name, pid, now - child.watched_from, self._was_up, kept if self._was_up else ()))

    # --- reports and failures ----------------------------------------------------------------------------------------

    def _take(self, report: Report, now: float) -> None:
        child = self.children[report.name]
        if child.state == "gone":
            return  # it was given up, and ended after all
        match report:
            case Started():
                child.pid = report.pid
            case NotStarted():
                child.state = "gone"
                name, reason = report.name, report.reason
                self._fail(child, now, Exit(None), lambda *then: events.StartFailed(name, reason, *then))
                self._leave(child)
            case Exited():
                self._take_exit(child, report, now)
            case Gone():
                self._leave(child)

    def _leave(self, child: Child) -> None:
        """Note that nothing is left of a process."""
        child.state = "waiting" if child.returns and self.phase in ("starting", "up") else "gone"

    def _take_exit(self, child: Child, report: Exited, now: float) -> None:
        was_ready = child.ready_at is not None
        child.state = "ended"
        self._revival.lose(child, now)
        self._health.forget(child)
        if child is self._gateway:
            self._readiness.serves = False
        if child.stop_asked is not None:
            self._tell(events.Stopped(report.name, report.pid, report.exit, now - child.stop_asked))
            return
        child.kill_at = now + KILL_PATIENCE
        told = (report.name, report.pid, report.exit, now - child.started, was_ready, report.last_lines)
        self._fail(child, now, report.exit, lambda *then: events.Died(*told, *then))

    def _replace(self, child: Child, now: float, event: Callable[[int, float], Event]) -> None:
        """Kill a process that has failed without ending."""
        self._fail(child, now, Exit(None), event)
        if self.phase in ("starting", "up"):
            self._stopper.kill(child, now)

    def _fail(self, child: Child, now: float, exit_: Exit, event: Callable[[int, float], Event]) -> None:
        """Decide what follows from a failure, and tell it.

        Args:
            child: Who failed.
            now: The time.
            exit_: How it ended.
            event: Makes the event, of the number and the delay of the restart that follows.
        """
        if self.phase not in ("starting", "up"):
            self._tell(event(0, 0.0))
            return
        settings = self.plan.settings
        failure = policy.failure_of(child, exit_, now, self._was_up, settings)
        decision = self._decide(failure, settings)
        if isinstance(decision, policy.End):
            self._tell(event(0, 0.0))
            if decision.spent:
                self._tell(events.BudgetSpent(child.spec.name, settings.restart_budget, settings.restart_window))
            self._begin_stop(child.spec.name, decision.exit_code, exit_)
            return
        self._tell(event(decision.number, decision.delay))
        child.failures = [*(at for at in child.failures if now - at < settings.restart_window), now]
        child.in_a_row = failure.in_a_row + 1
        child.start_at = now + decision.delay

    def _begin_stop(self, reason: str, exit_code: int, how: Exit | None = None, *, kill_next: bool = False) -> None:
        """Stop the launch, unless it is being stopped: the first reason decides the exit code."""
        if self.phase in ("stopping", "stopped"):
            return
        # Only a gateway that answered requests has some to finish; any other would just hold its port open for a while.
        gateway = self._gateway
        served = gateway.ready_at is not None and gateway.state in ("ready", "stopping") and gateway.killed is None
        self._draining = served and (self._was_up or self._readiness.serves)
        self.phase = "stopping"
        self.exit_code = exit_code
        self._end = events.LaunchStopped(exit_code, reason, how)
        self._tell(events.StopBegan(reason, self._draining, kill_next))

    def _alive(self) -> list[Child]:
        return [child for child in self.children.values() if child.there]

    def _go_on_stopping(self, now: float) -> None:
        for child in self.children.values():
            self._stopper.mind(child, now)
        there = self._alive()
        first = min((child.spec.stop_order for child in there), default=0)
        for child in there:
            if self._hurry:
                self._stopper.kill(child, now, "hurry")
            elif child.spec.stop_order == first or not self._draining:
                self._ask_to_stop(child, now)
        if not there:
            self.phase = "stopped"
            assert self._end is not None
            self._tell(self._end)

    def _ask_to_stop(self, child: Child, now: float) -> None:
        if child is not self._gateway:
            self._stopper.ask(child, now, self.plan.settings.grace)
        elif self._draining:
            self._stopper.ask(child, now, self.plan.settings.drain_timeout + DRAIN_SLACK)
        elif child.stop_asked is None:
            self._stopper.kill(child, now)

    def _tell(self, event: Event) -> None:
        self._events.append(event)
