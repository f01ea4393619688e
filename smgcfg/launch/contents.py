"""What is in a run directory before a launch: what stands in the place of something of ours has to be just that."""

import os
import stat
from typing import Final

from smgcfg.errors import Finding, error
from smgcfg.launch import control, state
from smgcfg.launch.run_dir import LOCK
from smgcfg.process import Plan

_KINDS: Final = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a FIFO",
}


def content_findings(plan: Plan) -> list[Finding]:
    """Return a finding for each place of a launch in its run directory that something else has taken.

    Args:
        plan: What would be launched.
    """
    found = [
        *(
            _misplaced(os.path.join(plan.run_dir, name), stat.S_IFREG, "file")
            for name in (LOCK, state.NAME, state.FRESH)
        ),
        *(_misplaced(path, stat.S_IFSOCK, "socket") for path in _sockets(plan)),
    ]
    if not any(found) and not state.is_replaceable(plan.run_dir):
        found.append(_finding(os.path.join(plan.run_dir, state.NAME), "is no state file of a launch"))
    return [finding for finding in found if finding is not None]


def _sockets(plan: Plan) -> list[str]:
    return [os.path.join(plan.run_dir, control.NAME), *(path for spec in plan.processes for path in spec.sockets)]


def _misplaced(path: str, kind: int, what: str) -> Finding | None:
    try:
        found = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return None  # nothing is there, or the directory itself is not: that is found elsewhere
    return None if found == kind else _finding(path, f"is {_KINDS.get(found, 'a device')}, where a launch has a {what}")


def _finding(path: str, message: str) -> Finding:
    return error("SMG031", "launch.run_dir", f"{path!r} {message}", hint="remove it, or set [launch] run_dir")
