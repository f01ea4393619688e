"""The ports and GPUs of a launch, held as long as its launcher lives: also while a process of it is being replaced.

A lock keeps nobody from a port, but every launch of the same user looks for it, in one directory whatever their
environment. It is below /tmp, as a port is one and the same for all of them, and a runtime directory is not. The lock
of a GPU goes by the name that the plan has for it, which may mean another one elsewhere, as in a container; and two
launches may share a GPU on purpose. So one that is held is no error.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

from smgcfg.errors import ConfigError, Finding, error, reason_of, warning
from smgcfg.launch.locks import holder_of, is_at, take_lock
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


def lock_of_gpu(name: str) -> Path:
    """Return the lock of a GPU.

    Args:
        name: Its number, UUID or MIG name.
    """
    return Path(DIRECTORY.format(uid=os.getuid()), f"gpu-{name.replace('/', '-')}.lock")


def gpu_findings(plan: Plan) -> list[Finding]:
    """Return a warning for each GPU that another launch has, too.

    Args:
        plan: What would be launched.
    """
    hint = "give one of the two other gpus; if they are to share it, each has to leave the other enough memory"
    return [
        warning("SMG035", spec.name, f"GPU {gpu} of {spec.name} is held by {_whom(holder)}", hint=hint)
        for spec in plan.processes
        for gpu in spec.gpus
        if (holder := holder_of(lock_of_gpu(gpu))) is not None
    ]


def lock_finding(spec: ProcessSpec, port: Port) -> Finding | None:
    """Return a finding if another launch holds a port.

    Args:
        spec: The process that wants it.
        port: The port.
    """
    holder = holder_of(lock_of(port.number))
    return None if holder is None else _held(spec, port, holder)


def _held(spec: ProcessSpec, port: Port, holder: str) -> Finding:
    message = f"the {port.use} port {port.number} of {spec.name} is held by {_whom(holder)}"
    return error("SMG030", spec.name, message, hint=moving(port))


#: By what a port is for: the key that moves it.
_MOVED_BY: Final = {
    "gateway": "gateway.port",
    "metrics": "gateway.prometheus_port",
    "worker": "pools.NAME.port",
    "dist": "pools.NAME.port",
    "handshake": "launch.run_dir",
}


def moving(port: Port) -> str:
    """Return how to get around a port that somebody else has, as a hint; empty where no key of ours chose it."""
    return f"stop that one, or set {_MOVED_BY[port.use]}" if port.use in _MOVED_BY else ""


def _whom(holder: str) -> str:
    return f"the launch {holder}" if holder else "another launch"


def _directory_findings() -> list[Finding]:
    found = run_dir_findings(DIRECTORY.format(uid=os.getuid()))
    return [finding.evolve(key="ports", hint="") for finding in found]


class Holdings:
    """The ports of a plan, and its GPUs that nobody else has, held by this launcher as long as the context lasts.

    Args:
        plan: Whose ports they are.

    Raises:
        ConfigError: On entering, when the locks can not be made, or another launcher holds one of the ports.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._held: dict[Path, int] = {}

    def __enter__(self) -> "Holdings":
        findings = _directory_findings()
        for spec in self._plan.processes if not findings else ():
            findings += [finding for port in spec.ports if (finding := self._take(spec, port)) is not None]
        if findings:
            self._release()
            raise ConfigError(findings)
        for path in {lock_of_gpu(name) for spec in self._plan.processes for name in spec.gpus}:
            # One that is held has been warned of, and is not waited for.
            if holder_of(path) is None:
                with contextlib.suppress(OSError):
                    self._lock(path)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def keep(self) -> bool:
        """Make the locks anew that somebody removed, as cleaners of /tmp do.

        Returns:
            Whether any was.

        Raises:
            ConfigError: Their directory can not be used any more.
            OSError: They can not be made.
        """
        missing = [path for path, fd in self._held.items() if not is_at(path, os.fstat(fd))]
        if missing and (findings := _directory_findings()):
            raise ConfigError(findings)
        made = False
        for path in missing:
            gone = self._held[path]
            # One that another launch was faster to take is left to it: whose the port is shows when it is bound.
            if self._lock(path, patience=0.0):
                os.close(gone)
                made = True
        return made

    def _take(self, spec: ProcessSpec, port: Port) -> Finding | None:
        path = lock_of(port.number)
        if path in self._held:
            return None
        try:
            return None if self._lock(path) else _held(spec, port, holder_of(path) or "")
        except OSError as problem:
            message = f"the lock {str(path)!r} of a port can not be made: {reason_of(problem)}"
            return error("SMG030", spec.name, message)

    def _lock(self, path: Path, **patience: float) -> bool:
        """Take a lock, and return whether nobody else has it."""
        who = f"{self._plan.name!r}, pid {os.getpid()}"
        fd = take_lock(path, lambda _: who, lambda: make_private(str(path.parent)), **patience)
        if fd is not None:
            self._held[path] = fd
        return fd is not None

    def _release(self) -> None:
        for path, fd in self._held.items():
            if is_at(path, os.fstat(fd)):
                with contextlib.suppress(OSError):
                    path.unlink()
            os.close(fd)
        self._held.clear()
