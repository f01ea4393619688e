"""Ends processes: asks, kills those that do not obey in time, and gives up on those that can not be killed."""

import math
from collections.abc import Callable
from typing import Final, Literal

from smgcfg.launch import events
from smgcfg.launch.child import Child
from smgcfg.launch.effects import Spawner
from smgcfg.launch.events import Event

#: A killed process is gone in milliseconds. One that is still there is killed again every KILL_AGAIN seconds, and after
#: KILL_PATIENCE seconds it hangs in the kernel or is not ours to kill: it is left, and that is said.
KILL_AGAIN: Final = 2.0
KILL_PATIENCE: Final = 10.0


class Stopper:
    """Ends processes, each in its own time.

    Args:
        spawner: Runs them.
        tell: Takes what is worth telling.
    """

    def __init__(self, spawner: Spawner, tell: Callable[[Event], None]) -> None:
        self._spawner = spawner
        self._tell = tell

    def ask(self, child: Child, now: float, patience: float) -> None:
        """Ask a process to end, unless it was.

        Args:
            child: The process.
            now: The time.
            patience: In how many seconds it is killed if it does not.
        """
        if child.stop_asked is not None:
            return
        self._begin(child, now)
        child.kill_at = now + patience
        self._spawner.stop(child.spec.name)

    def kill(self, child: Child, now: float, reason: Literal["grace", "hurry", ""] = "") -> None:
        """Kill a process, unless it was.

        Args:
            child: The process.
            now: The time.
            reason: Why, as far as that is not told otherwise.
        """
        if child.killed is not None:
            return
        if reason:
            after = 0.0 if child.stop_asked is None else now - child.stop_asked
            self._tell(events.KillBegan(child.spec.name, child.pid, reason, after))
        if child.stop_asked is None:
            self._begin(child, now)
        child.killed = now
        child.kill_again = now + KILL_AGAIN
        self._spawner.kill(child.spec.name)

    def mind(self, child: Child, now: float) -> bool:
        """Kill a process that had its time, and return whether it can not be killed, and counts as gone from now on.

        Args:
            child: The process.
            now: The time.
        """
        if not child.there:
            return False
        if child.killed is None:
            if now >= child.kill_at:
                # What a dead program left behind was not asked anything.
                self.kill(child, now, "" if child.stop_asked is None else "grace")
        elif now >= child.killed + KILL_PATIENCE:
            child.state = "gone"
            self._tell(events.LeftBehind(child.spec.name, child.pid))
            return True
        elif now >= child.kill_again:
            child.kill_again = now + KILL_AGAIN
            self._spawner.kill(child.spec.name)
        return False

    def wake_at(self, child: Child) -> float:
        """Return when `mind` wants to be called for a process at the latest."""
        if not child.there:
            return math.inf
        if child.killed is not None:
            return min(child.kill_again, child.killed + KILL_PATIENCE)
        return child.kill_at

    @staticmethod
    def _begin(child: Child, now: float) -> None:
        child.stop_asked = now
        if child.state != "ended":
            child.state = "stopping"
