"""What processes hold, and what a launch has left behind."""

import os
from collections.abc import Iterable
from pathlib import Path

import attrs
from e2e.deployment import Place

from smgcfg.launch.alive import is_alive, start_of
from smgcfg.launch.guard import descendants

#: A process and its start, as `smgcfg.launch.alive` tells it from a later one of the same number.
Identity = tuple[int, int]


@attrs.frozen
class Usage:
    """What some processes hold together.

    Attributes:
        processes: How many there are.
        descriptors: Open file descriptors.
        resident: Resident memory, in MiB.
    """

    processes: int
    descriptors: int
    resident: float

    def __str__(self) -> str:
        each = f"{self.processes} with " if self.processes > 1 else ""
        return f"{each}{self.descriptors} descriptors, {self.resident:.1f} MiB"


def usage_of(pids: Iterable[int]) -> Usage:
    """Return what processes hold.

    Args:
        pids: The processes.
    """
    pids = list(pids)
    descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return Usage(len(pids), descriptors, pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20))


def children_of(pid: int) -> list[int]:
    """Return the children of a process, those that ended and were not collected, too.

    Args:
        pid: The process.
    """
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for children in lists for child in children.read_text().split()]


def seen_at(place: Place, launcher: int) -> set[Identity]:
    """Return the processes of a launch that are there, the launcher itself among them.

    Args:
        place: Where the launch is.
        launcher: Its launcher.
    """
    pids = {launcher, *descendants(launcher), *place.marked.left()}
    return {(pid, start) for pid in pids if (start := start_of(pid)) is not None}


def left_of(place: Place, seen: set[Identity]) -> tuple[list[int], list[str]]:
    """Return the processes and sockets that a launch has left.

    The mark in the environment does not find the gateway, which writes its title over it.

    Args:
        place: Where the launch was.
        seen: Processes that it had.
    """
    processes = {*place.marked.left(), *(pid for pid, started in seen if is_alive(pid, started))}
    bound = {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if str(place.home) in line}
    return sorted(processes), sorted({*place.sockets, *bound})
