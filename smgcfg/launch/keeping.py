"""Looks after what a launch has in shared directories: cleaners of /tmp remove what is old, and people what they see.

A launch whose lock, state file or control socket is gone runs on, but no command finds it any more.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from smgcfg.errors import ConfigError, reason_of

#: How often to look, in seconds.
LOOK_EVERY: Final = 2.0


class Kept(Protocol):
    """What can be made anew."""

    def keep(self) -> bool:
        """Make anew what is missing, and return whether anything was.

        Raises:
            ConfigError: Its place can not be used any more.
            OSError: It can not be made.
        """


class Keeper:
    """Looks after some things, one after the other.

    Args:
        name: The deployment's name.
        kept: The things; what stands in a directory comes behind it.
        say: Says something about the launch as a whole.
    """

    def __init__(self, name: str, kept: Sequence[Kept], say: Callable[[str], None]) -> None:
        self._name = name
        self._kept = kept
        self._say = say
        self._look_at = -math.inf
        self._problem = ""

    def tick(self, now: float) -> float:
        """Look if it is time to, and return when to look again.

        Args:
            now: The time, on the monotonic clock.
        """
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            self._look()
        return self._look_at

    def _look(self) -> None:
        missing, problem = False, ""
        try:
            for one in self._kept:
                missing |= one.keep()
        except ConfigError as refused:
            problem = refused.findings[0].message
        except OSError as failure:
            problem = reason_of(failure)
        if problem and problem != self._problem:
            self._say(f"{self._name}: what was removed of its run directory or locks can not be made anew: {problem}")
        elif missing and not problem:
            self._say(f"{self._name}: somebody removed its run directory, locks, or what is in them; made anew")
        self._problem = problem
