"""Starts processes again, each as soon as what it needs is there.

A worker over http or grpc needs nothing. The connection of a zmq worker to the gateway is made anew when either of the
two is, and only in this order (smg 1.13.0): the gateway has to learn of the death of the old engine, before a new one
can register; and no engine of an old gateway may be there when a new one starts, as its last word would be taken for
that of its successor. An engine that was killed can not say that it is dead: then we do, with its death notice. Where
that fails, the gateway is replaced, and with it every zmq worker.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from smgcfg.launch import events
from smgcfg.launch.child import Child
from smgcfg.launch.effects import GatewayView, Messenger, Prober, Sockets, Spawner, Told
from smgcfg.launch.events import Event
from smgcfg.launch.readiness import ASK_SOONEST
from smgcfg.launch.stopping import Stopper
from smgcfg.process import Plan

#: How long the gateway may take to drop the socket of a dead engine after it was told, in seconds: measured 0.01.
TAKEN_WITHIN: Final = 5.0

#: How long to ask the gateway how it sees a worker before it is replaced for not saying, in seconds.
ASKED_WITHIN: Final = 10.0

#: How long a socket may be missing before its engine ends, in seconds: the gateway drops that of an engine which says
#: goodbye a moment before the end is seen; what is missing for longer was removed by somebody, as a cleaner of /tmp.
DROPPED_WITHIN: Final = 1.0

#: What the gateway has beyond its time to finish requests: it ends by itself then (smg 1.13.0), in seconds.
DRAIN_SLACK: Final = 2.0


class Revival:
    """Brings the processes of a launch back.

    Args:
        plan: What is launched.
        children: Its processes.
        spawner: Starts them.
        prober: Asks the gateway.
        messenger: Tells it of deaths.
        sockets: Shows what is bound.
        stopper: Ends processes.
        tell: Takes what is worth telling.
    """

    def __init__(
        self,
        plan: Plan,
        children: Mapping[str, Child],
        *,
        spawner: Spawner,
        prober: Prober,
        messenger: Messenger,
        sockets: Sockets,
        stopper: Stopper,
        tell: Callable[[Event], None],
    ) -> None:
        self._settings = plan.settings
        self._in_order = sorted(children.values(), key=lambda child: child.spec.start_order)
        self._gateway = children[plan.gateway.name]
        self._tied = [child for child in children.values() if child.tied]
        self._children = children
        self._spawner = spawner
        self._prober = prober
        self._messenger = messenger
        self._sockets = sockets
        self._stopper = stopper
        self._tell = tell
        self._announced = False

    def start(self, child: Child, now: float) -> None:
        """Start a process."""
        child.begin(now)
        self._spawner.start(child.spec)

    def start_all(self, now: float) -> None:
        """Start everything, in order."""
        for child in self._in_order:
            self.start(child, now)

    def tend(self, now: float) -> None:
        """Do what is due."""
        if self._gateway.state in ("ended", "gone", "waiting"):
            self._take_along(now)
        for child in self._tied:
            if child.state == "ready":
                self._watch(child, now)
            elif child.state == "waiting" and self._is_open(self._gateway):
                self._mend(child, now)
        for child in self._in_order:
            if child.state == "waiting" and now >= child.start_at and self._may_start(child):
                if child is self._gateway:
                    self._begin_anew(now)
                self.start(child, now)

    def wake_at(self, now: float) -> float:
        """Return when `tend` wants to be called at the latest."""
        result = math.inf
        for child in self._in_order:
            if child.state == "waiting" and child.returns:
                # Past its time it waits for something else, which is either reported or looked for.
                looked_for = child.link in ("asked", "told")
                result = min(result, child.start_at if now < child.start_at else math.inf)
                result = min(result, now + ASK_SOONEST if looked_for else math.inf)
        return result

    def note(self, child: Child) -> None:
        """Note that a process became ready."""
        if child.spec.death_notice is not None:
            child.socket = self._sockets.at(child.spec.death_notice.socket)

    def lose(self, child: Child, now: float) -> None:
        """Note that the program of a process ended."""
        if child.tied:
            cut = child.unbound_at is not None and now - child.unbound_at >= DROPPED_WITHIN
            child.link = ("cut" if cut else "broken") if self._gateway.runs else "open"
            if child.ready_at is None:
                child.socket = None

    def hear(self, view: GatewayView, now: float) -> None:
        """Take in how the gateway sees workers of which nobody knows whether they had registered."""
        healthy = {worker.url for worker in view.workers if worker.healthy}
        for child in self._tied:
            if child.link != "asked" or view.problem:
                continue
            assert child.spec.death_notice is not None
            child.socket = self._sockets.at(child.spec.death_notice.socket)
            if child.spec.ready.url in healthy and child.socket is not None:
                self._say_it_is_dead(child, now)
            else:
                child.link, child.socket = "open", None

    def take(self, told: Told, now: float) -> None:
        """Take in what became of a death notice."""
        child = self._children[told.name]
        if child.link != "telling":
            return
        child.link, child.link_until = "told", now + TAKEN_WITHIN
        if told.problem and not self._is_dropped(child):
            self.replace_gateway(f"{told.name}'s death could not be told to it: {told.problem}", now)

    def replace_gateway(self, reason: str, now: float) -> None:
        """Stop the gateway as at the end of a launch, to start it again with every worker that is tied to it.

        Args:
            reason: Why.
            now: The time.
        """
        if not self._gateway.runs:
            return
        self._tell(events.RestartBegan(self._gateway.spec.name, reason, tuple(c.spec.name for c in self._tied)))
        self._announced = True
        self._gateway.start_at = now
        self._stopper.ask(self._gateway, now, self._settings.drain_timeout + DRAIN_SLACK)

    def _take_along(self, now: float) -> None:
        """Stop the workers whose connection did not outlive the gateway, to start them again with the next one."""
        left = [child for child in self._tied if child.runs]
        if left and not self._announced:
            self._tell(events.RestartBegan(self._gateway.spec.name, "", tuple(child.spec.name for child in left)))
            self._announced = True
        for child in left:
            child.start_at = now
            self._stopper.ask(child, now, self._settings.grace)

    def _begin_anew(self, now: float) -> None:
        """Forget what was between the old gateway and the workers: the new one has to see each of them."""
        self._announced = False
        for child in self._children.values():
            if child.tied:
                child.link, child.socket = "open", None
            elif child.runs and child.spec.ready.seen_by == "gateway":
                child.state, child.watched_from, child.unwell_at = "starting", now, None

    def _may_start(self, child: Child) -> bool:
        if child is self._gateway:
            return not any(other.there for other in self._tied)
        return not child.tied or (child.link == "open" and self._is_open(self._gateway))

    @staticmethod
    def _is_open(gateway: Child) -> bool:
        return gateway.state == "ready" and gateway.runs

    # --- the gateway's side of a zmq worker --------------------------------------------------------------------------

    def _watch(self, child: Child, now: float) -> None:
        """Look whether the gateway's socket of a worker that is ready is there: by it a death would be told."""
        assert child.spec.death_notice is not None
        if child.socket is None or self._sockets.at(child.spec.death_notice.socket) is not None:
            child.unbound_at = None
        elif child.unbound_at is None:
            child.unbound_at = now

    def _mend(self, child: Child, now: float) -> None:
        """Do the next step to have the gateway wait for a new engine."""
        if child.link == "cut":
            self.replace_gateway(f"{child.spec.name}'s death can not be told to it: somebody removed its socket", now)
        elif child.link == "broken" and child.socket is None:
            child.link, child.link_until = "asked", now + ASKED_WITHIN
        elif child.link in ("broken", "told") and self._is_dropped(child):
            child.link = "open"
        elif child.link == "broken":
            self._say_it_is_dead(child, now)
        elif child.link in ("asked", "told") and now >= child.link_until:
            verb = "say how it sees" if child.link == "asked" else "let go of"
            self.replace_gateway(f"it does not {verb} {child.spec.name}", now)
        if child.link == "asked":
            self._prober.ask_gateway()

    def _say_it_is_dead(self, child: Child, now: float) -> None:
        assert child.spec.death_notice is not None
        name, missing = child.spec.name, self._messenger.missing
        if missing:
            self.replace_gateway(f"{name}'s death can not be told to it: {missing}", now)
        else:
            child.link = "telling"
            self._messenger.tell(name, child.spec.death_notice)

    def _is_dropped(self, child: Child) -> bool:
        """Whether the gateway let go of the socket of the dead engine: it knows of the death, whoever told it."""
        assert child.spec.death_notice is not None
        return self._sockets.at(child.spec.death_notice.socket) != child.socket
