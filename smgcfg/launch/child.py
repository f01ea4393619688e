"""A process of a launch, and how it is doing."""

import math
from typing import Literal

from smgcfg.process import ProcessSpec

State = Literal["waiting", "starting", "ready", "stopping", "ended", "gone"]


class Child:
    """A process of the plan and how it is doing.

    Attributes:
        spec: What the plan says about it.
        state: Where it is in its life.
        pid: Its process id, once known.
        started: When it was started.
        stop_asked: When it was asked to end, or None.
        killed: When it was first killed, or None.
        kill_again: When it is killed the next time.
        seen: What was last seen of it from outside.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.state: State = "waiting"
        self.pid: int | None = None
        self.started = 0.0
        self.stop_asked: float | None = None
        self.killed: float | None = None
        self.kill_again = math.inf
        self.seen = ""

    @property
    def there(self) -> bool:
        """Whether something of it may be running."""
        return self.state not in ("waiting", "gone")
