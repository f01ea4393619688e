"""Which processes are ready: asks them and the gateway, and believes only what is about the process that runs now."""

import math
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from smgcfg.launch.child import Child
from smgcfg.launch.effects import Answer, GatewayView, Prober, Sockets, WorkerView
from smgcfg.process import Plan

#: Questions while something starts: at most so often, and less often the longer it takes, so that readiness is seen
#: within a twentieth of the time that it took; in seconds.
ASK_SOONEST: Final = 0.05
ASK_LATEST: Final = 1.0
ASK_SHARE: Final = 0.05


class Readiness:
    """Finds out which processes of a launch are ready.

    Attributes:
        serves: Whether the gateway would answer requests, as far as is known.
    """

    def __init__(self, plan: Plan, children: Mapping[str, Child], prober: Prober, sockets: Sockets) -> None:
        self._children = children
        self._gateway = children[plan.gateway.name]
        self._check = plan.settings.check_listeners
        self._prober = prober
        self._sockets = sockets
        self.serves = False

    def ask(self) -> None:
        """Ask about everything that is not ready yet, and the gateway about all."""
        for child in self._children.values():
            if child.state == "starting" and child.spec.ready.seen_by == "http":
                self._prober.ask(child.spec.ready.url)
        # A gateway that does not answer at all need not be asked for its view.
        if self._gateway.state == "ready":
            self._prober.ask_gateway()

    def pace(self, now: float) -> float:
        """Return in how many seconds to ask again because of processes that start; never is infinity."""
        begins = [child.watched_from for child in self._children.values() if child.state == "starting"]
        return pace(now - min(begins)) if begins else math.inf

    def judge(self, answer: Answer | GatewayView) -> Iterator[tuple[Child, bool]]:
        """Take an answer, and yield the processes that it says something about, with whether they seem to be ready.

        One that can not become ready for a stranger does as well: `stranger` tells it from one that is.

        Args:
            answer: The answer.
        """
        if isinstance(answer, Answer):
            for child in self._seen_by("http"):
                if child.spec.ready.url == answer.url and child.state == "starting":
                    child.seen = answer.problem
                    yield child, (answer.ok and self._is_itself(child)) or self._is_barred(child)
            return
        self.serves = answer.ready
        if self._gateway.state == "ready" and answer.asked:
            self._gateway.seen = answer.problem
            yield self._gateway, not answer.problem
        views = {view.url: view for view in answer.workers}
        for child in self._seen_by("gateway"):
            view = views.get(child.spec.ready.url)
            child.seen = _seen(answer, view)
            if not answer.problem:
                well = view is not None and view.healthy and self._is_itself(child)
                yield child, well or self._is_barred(child)

    def stranger(self, child: Child) -> str:
        """Return who else listens on a port of a process, or where its engines are to register; or empty."""
        if not self._check:
            return ""
        found = [who for _, who in self._sockets.listeners(child.spec.name).foreign]
        notice = child.spec.death_notice
        if notice is not None:
            foreign = self._sockets.listeners(self._gateway.spec.name).foreign
            found += [who for port, who in foreign if port == notice.handshake]
        return found[0] if found else ""

    def _is_barred(self, child: Child) -> bool:
        """Whether a process that starts can not become ready, as somebody else is where it, or its gateway, listens."""
        return child.state == "starting" and bool(self.stranger(child))

    def _seen_by(self, seen_by: str) -> list[Child]:
        children = self._children.values()
        return [c for c in children if c.runs and c.pid is not None and c.spec.ready.seen_by == seen_by]

    def _is_itself(self, child: Child) -> bool:
        """Whether an answer is the process's own: the gateway takes a dead worker for alive a while, or for good."""
        if child.state == "ready":
            return True
        notice = child.spec.death_notice
        if notice is not None:
            if child.socket is None:
                return True
            # The gateway bound the socket anew, and no longer waits for somebody to register at it.
            at = self._sockets.at(notice.socket)
            return at is not None and at != child.socket and not self._sockets.is_listening(notice.handshake)
        if not self._check:
            return True
        return urlsplit(child.spec.ready.url).port in {None, *self._sockets.listeners(child.spec.name).own}


def pace(waited: float) -> float:
    """Return in how many seconds to ask again about something that was waited for so long, in seconds."""
    return min(max(ASK_SOONEST, waited * ASK_SHARE), ASK_LATEST)


def _seen(view: GatewayView, worker: WorkerView | None) -> str:
    """Return what a view of the gateway says about one worker, for a message."""
    if view.problem:
        return f"the gateway could not be asked: {view.problem}"
    if worker is None:
        return "the gateway does not list it"
    return f"the gateway lists it as {worker.status!r}"
