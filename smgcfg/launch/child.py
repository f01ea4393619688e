"""A process of a launch, and how it is doing."""

import math
from collections.abc import Hashable
from typing import Literal

from smgcfg.process import ProcessSpec

State = Literal["waiting", "starting", "ready", "stopping", "ended", "gone"]


class Child:
    """A process of the plan and how it is doing: over all of its lives, and in the present one.

    Attributes:
        spec: What the plan says about it.
        state: Where it is in its life.
        lives: How often it was started.
        start_at: When it is started the next time, once it is gone; never is infinity.
        failures: When it failed and was to be started again.
        in_a_row: How many of these failures there were since it was last stable.
        pid: Its process id, once known.
        started: When it was started.
        watched_from: Since when it is waited for to become ready.
        ready_at: When it became ready in this life, or None.
        unwell_at: Since when it does not seem to be ready any more, or None.
        stop_asked: When it was asked to end, or None.
        kill_at: When it is killed, unless it has ended by then.
        killed: When it was first killed, or None.
        kill_again: When it is killed the next time.
        seen: What was last seen of it from outside.
        link: How the gateway's side of a zmq worker is.
        link_until: Until when that may stay as it is.
        socket: What tells the gateway's socket of the last life that was ready from later ones; None where none is.
        unbound_at: Since when that socket is missing though this life is ready, or None.
        escalated: Whether the gateway was replaced because this one did not get through to it.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.lives = 0
        self.failures: list[float] = []
        self.in_a_row = 0
        self.link: Link = "open"
        self.link_until = math.inf
        self.socket: Hashable = None
        self.escalated = False
        self._reset("waiting")

    def _reset(self, state: State) -> None:
        self.state: State = state
        self.start_at = math.inf
        self.pid: int | None = None
        self.started = 0.0
        self.watched_from = 0.0
        self.ready_at: float | None = None
        self.unwell_at: float | None = None
        self.unbound_at: float | None = None
        self.stop_asked: float | None = None
        self.kill_at = math.inf
        self.killed: float | None = None
        self.kill_again = math.inf
        self.seen = ""

    def begin(self, now: float) -> None:
        """Note that it is started."""
        self._reset("starting")
        self.started = self.watched_from = now
        self.lives += 1

    @property
    def there(self) -> bool:
        """Whether something of it may be running."""
        return self.state not in ("waiting", "gone")

    @property
    def runs(self) -> bool:
        """Whether it is running, and nobody wants it to end."""
        return self.state in ("starting", "ready") and self.stop_asked is None

    @property
    def returns(self) -> bool:
        """Whether it is started again."""
        return self.start_at < math.inf

    @property
    def tied(self) -> bool:
        """Whether its connection to the gateway has to be made anew when either of the two is."""
        return self.spec.death_notice is not None


#: How the gateway's side of a zmq worker is once its engine has ended. open: it waits for the next engine, or nobody
#: knows better; broken: it may take the dead engine for one that is alive; cut: it does, and nobody can tell it, as its
#: socket was removed; asked: its view is awaited; telling: the death notice is on its way; told: it has to take the
#: notice in.
Link = Literal["open", "broken", "cut", "asked", "telling", "told"]
