"""The ports of a launch, held as long as its launcher lives: also while the process of a port is being replaced.

A lock does not keep others from a port, but every launch of the same user looks for it, in one directory whatever their
environment. It is below /tmp, as a port is one and the same for all of them, and a runtime directory is not.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

from smgcfg.errors import ConfigError, Finding, error, reason_of
from smgcfg.launch.locks import holder_of, take_lock
from smgcfg.launch.run_dir import make_private, run_dir_findings
from smgcfg.process import Plan, Port, ProcessSpec

#: Where the locks of a user are. No deployment can have such a name, nor its run directory.
DIRECTORY: Final = "/tmp/smgcfg-{uid}/.ports"


def lock_of(number: int) -> Path:
    """Return the lock of a port.

    Args:
        number: The port.
    """
    return Path(DIRECTORY.format(uid=os.getuid()), f"{number}.lock")


def lock_finding(spec: ProcessSpec, port: Port) -> Finding | None:
    """Return a finding if another launch holds a port.

    Args:
        spec: The process that wants it.
        port: The port.
    """
    holder = holder_of(lock_of(port.number))
    return None if holder is None else _held(spec, port, holder)


def _held(spec: ProcessSpec, port: Port, holder: str) -> Finding:
    who = f"the launch {holder}" if holder else "another launch"
    return error("SMG030", spec.name, f"the {port.use} port {port.number} of {spec.name} is held by {who}")


class PortLocks:
    """All ports of a plan, held by this launcher as long as the context lasts.

    Args:
        plan: Whose ports they are.

    Raises:
        ConfigError: On entering, when the locks can not be made, or another launcher holds one of them.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._held: dict[Path, int] = {}

    def __enter__(self) -> "PortLocks":
        directory = DIRECTORY.format(uid=os.getuid())
        findings = [finding.evolve(key="ports", hint="") for finding in run_dir_findings(directory)]
        for spec in self._plan.processes if not findings else ():
            findings += [finding for port in spec.ports if (finding := self._take(spec, port)) is not None]
        if findings:
            self._release()
            raise ConfigError(findings)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def _take(self, spec: ProcessSpec, port: Port) -> Finding | None:
        path = lock_of(port.number)
        if path in self._held:
            return None
        try:
            who = f"{self._plan.name!r}, pid {os.getpid()}"
            fd = take_lock(path, lambda _: who, lambda: make_private(str(path.parent)))
        except OSError as problem:
            message = f"the lock {str(path)!r} of a port can not be made: {reason_of(problem)}"
            return error("SMG030", spec.name, message)
        if fd is None:
            return _held(spec, port, holder_of(path) or "")
        self._held[path] = fd
        return None

    def _release(self) -> None:
        for path, fd in self._held.items():
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(fd)
        self._held.clear()
