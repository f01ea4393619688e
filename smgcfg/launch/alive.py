"""Whether a process is still the one that was meant: numbers of processes are used again, their starts are not."""

import os
from pathlib import Path


def start_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the machine did; None when it is not there or a zombie.

    Args:
        pid: Its process id.
    """
    try:
        # The name in parentheses may hold anything. Behind it: the state first, the start as the 20th field (proc(5)).
        fields = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else int(fields[19])


def namespace() -> str:
    """Return which numbering of processes this one lives in: a container has its own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def is_alive(pid: object, started: object) -> bool:
    """Return whether the process that had this number and this start is still there.

    Args:
        pid: Its process id.
        started: What `start_of` said of it.
    """
    return isinstance(pid, int) and started is not None and start_of(pid) == started
