"""The run directory of a launch: private to its user, owned by one launcher for as long as it lives."""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from smgcfg.endpoint import is_socket_name
from smgcfg.errors import ConfigError, Finding, error, reason_of
from smgcfg.launch.locks import holder_of, is_at, take_lock
from smgcfg.process import Plan

LOCK: Final = "launcher.lock"

#: What stands in the lock behind the process id if a launch made the directory: such a one goes with the last launch.
_MADE: Final = "made"


def run_dir_findings(path: str) -> list[Finding]:
    """Return what stands against using a run directory that exists; one that does not exist can be made.

    Args:
        path: The directory.
    """
    parent = Path(path).parent
    try:
        # Whoever may rename the directory can put another in its place.
        above = parent.stat()
        if above.st_uid not in (0, os.getuid()) or _writable_by_all(above):
            hint = "set [launch] run_dir to a place below a directory of your own"
            return [_finding(f"{str(parent)!r} lets others replace the run directory", hint)]
        return _private_findings(path, os.lstat(path))
    except FileNotFoundError:
        return []
    except OSError as problem:
        return [_finding(f"{path!r} can not be looked at: {reason_of(problem)}")]


def _writable_by_all(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX


def _private_findings(path: str, status: os.stat_result) -> list[Finding]:
    if not stat.S_ISDIR(status.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no directory"
        return [_finding(f"{path!r} is {kind}, not a real directory", "remove it, or set [launch] run_dir")]
    if status.st_uid != os.getuid():
        return [_finding(f"{path!r} belongs to uid {status.st_uid}, not to us (uid {os.getuid()})")]
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        return [_finding(f"{path!r} is open to others (mode {mode:04o})", f"chmod 700 {path}")]
    return []


def owner_of(path: str) -> int | None:
    """Return the process id of the launcher that holds a run directory, 0 when it is not known, None when none does.

    Args:
        path: The directory.
    """
    text = holder_of(Path(path, LOCK))
    if text is None:
        return None
    pid = text.partition(" ")[0]
    return int(pid) if pid.isdecimal() else 0


def owned_finding(plan: Plan, owner: int) -> Finding:
    """Return the finding that somebody else launched this plan.

    Args:
        plan: The plan.
        owner: The process id of the launcher, 0 when it is not known.
    """
    who = f"pid {owner}" if owner else "another process"
    return _finding(f"{plan.name!r} is launched already, by {who}", "stop that one, or give this one another name")


class RunDir:
    """A run directory, held by this launcher as long as the context lasts.

    Made with mode 0700 where it does not exist, and removed in the end if a launch made it. Sockets that were left by a
    launcher which is dead are removed, also those of workers that this plan does not have.

    Args:
        plan: Whose directory it is.

    Raises:
        ConfigError: On entering, when the directory can not be used, or another launcher holds it.
    """

    def __init__(self, plan: Plan) -> None:
        self.path = plan.run_dir
        self._plan = plan
        self._made = False
        self._place = Path(plan.run_dir, LOCK)
        self._sockets = tuple(socket for spec in plan.processes for socket in spec.sockets)

    def __enter__(self) -> "RunDir":
        findings = run_dir_findings(self.path)
        if findings:
            raise ConfigError(findings)
        try:
            self._lock = self._take()
        except OSError as problem:
            raise ConfigError([_finding(f"{self.path!r} can not be made ready: {reason_of(problem)}")]) from None
        remove_sockets({*self._sockets, *_left_in(self.path)})
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the sockets, and the directory if a launch made it and it is empty, and let others have it."""
        # Where somebody removed our lock, it may be that of another launch by now.
        if is_at(self._place, os.fstat(self._lock)) or not self._place.exists():
            remove_sockets(self._sockets)
            with contextlib.suppress(OSError):
                if not self._made:
                    self._place.unlink()
                elif self._is_empty():  # else the lock tells the next launch who made the directory
                    self._place.unlink(missing_ok=True)
                    os.rmdir(self.path)
        os.close(self._lock)

    def keep(self) -> bool:
        """Make the directory and its lock anew where somebody removed them, as cleaners of /tmp do.

        Returns:
            Whether they were missing.

        Raises:
            ConfigError: The directory can not be used any more, or another launcher holds it now.
            OSError: It can not be made.
        """
        if is_at(self._place, os.fstat(self._lock)):
            return False
        findings = run_dir_findings(self.path)
        if findings:
            raise ConfigError(findings)
        fresh = self._take(patience=0.0)
        os.close(self._lock)
        self._lock = fresh
        return True

    def _take(self, **patience: float) -> int:
        fd = take_lock(self._place, self._text, self._prepare, **patience)
        if fd is None:
            raise ConfigError([owned_finding(self._plan, owner_of(self.path) or 0)])
        return fd

    def _is_empty(self) -> bool:
        try:
            return set(os.listdir(self.path)) <= {LOCK}
        except OSError:
            return True  # there is no descriptor left to look with: it is tried

    def _prepare(self) -> None:
        self._made |= make_private(self.path)

    def _text(self, before: str) -> str:
        self._made |= before.endswith(f" {_MADE}")
        return f"{os.getpid()} {_MADE}" if self._made else str(os.getpid())


def make_private(path: str) -> bool:
    """Make a directory, and those above it that do not exist, with mode 0700.

    Args:
        path: The directory.

    Returns:
        Whether it did not exist.

    Raises:
        OSError: It can not be made.
    """
    missing = [place for place in (Path(path), *Path(path).parents) if not place.exists()]
    made = False
    for place in reversed(missing):
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            made = False  # somebody was faster
        else:
            made = True
    return made


def _left_in(path: str) -> list[str]:
    """Return what has the name of a worker's socket in a run directory, which has one launcher at a time."""
    with contextlib.suppress(OSError):
        return [os.path.join(path, name) for name in os.listdir(path) if is_socket_name(name)]
    return []


def remove_sockets(paths: Iterable[str]) -> None:
    """Remove sockets that nobody needs any more; anything else at these paths is left alone.

    Args:
        paths: Where the sockets are.
    """
    for path in paths:
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)


def _finding(message: str, hint: str = "") -> Finding:
    return error("SMG031", "launch.run_dir", message, hint=hint)
