"""Collects processes that were left to this one: what PID 1 of a container owes to everybody in it."""

import contextlib
import os
from collections.abc import Container, Iterator
from pathlib import Path


def reap_all_but(own: Container[int]) -> None:
    """Collect every child that has ended, except some.

    Args:
        own: The children that somebody else waits for.
    """
    # There is no child, or none that can be told from ours, for want of a descriptor: the next end is a next chance.
    with contextlib.suppress(OSError):
        # Only looked at first: to wait for any of them would take the exit codes of our own, too.
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in own:
                break
            os.waitpid(ended.si_pid, os.WNOHANG)
        else:
            return
        # One of ours stands in front, and the look shows only that one, for as long as nobody has waited for it.
        for pid in _ended_children():
            if pid not in own:
                os.waitpid(pid, os.WNOHANG)


def _ended_children() -> Iterator[int]:
    own = str(os.getpid()).encode()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                state, parent = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state == b"Z" and parent == own:
                    yield int(entry)
