"""What stands against a launch on this machine, now: looked at before anything is started."""

import contextlib
import errno
import os
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from smgcfg.errors import Finding, error
from smgcfg.launch.run_dir import owned_finding, owner_of, run_dir_findings
from smgcfg.process import Plan, Port, ProcessSpec

#: The longest path a Unix socket can have on Linux, in bytes.
SOCKET_PATH_LIMIT: Final = 107


def host_findings(plan: Plan) -> list[Finding]:
    """Return what stands against launching a plan on this machine.

    That is: a run directory that can not be trusted or is in use, ports that are taken, and by whom, and programs that
    are not there. Nothing is changed.

    Args:
        plan: What would be launched.
    """
    found = run_dir_findings(plan.run_dir)
    if not found and (owner := owner_of(plan.run_dir)) is not None:
        # Its ports are taken for the same reason, which need not be said for each.
        return [owned_finding(plan, owner)]
    for spec in plan.processes:
        found += [_long_path_finding(spec, path) for path in spec.sockets if len(os.fsencode(path)) > SOCKET_PATH_LIMIT]
        found += program_findings(spec)
    return found + port_findings((spec, port) for spec in plan.processes for port in spec.ports)


def _long_path_finding(spec: ProcessSpec, path: str) -> Finding:
    size = len(os.fsencode(path))
    return error(
        "SMG022",
        "launch.run_dir",
        f"{spec.name}: the socket path {path!r} has {size} bytes, at most {SOCKET_PATH_LIMIT} can be bound",
        hint="set [launch] run_dir to a shorter path",
    )


def program_findings(spec: ProcessSpec) -> list[Finding]:
    """Return a finding if the program of a process is not there or can not be run.

    Args:
        spec: The process.
    """
    program = spec.argv[0]
    path = dict(spec.env).get("PATH", os.environ.get("PATH", os.defpath))
    if shutil.which(program, path=path) is not None:
        return []
    if os.sep not in program:
        return [error("SMG032", spec.name, f"the program {program!r} is not on the PATH")]
    problem = "can not be run" if Path(program).exists() else "does not exist"
    return [error("SMG032", spec.name, f"the program {program!r} {problem}")]


def port_findings(ports: Iterable[tuple[ProcessSpec, Port]]) -> list[Finding]:
    """Return a finding for each port that can not be listened on.

    Args:
        ports: The ports with the processes that want them.
    """
    found = []
    for spec, port in ports:
        number = _bind(port)
        if number == 0:
            continue
        what = f"the {port.use} port {port.number} of {spec.name}"
        if number == errno.EADDRINUSE:
            found.append(error("SMG030", spec.name, f"{what} is taken by {owner_of_port(port.number)}"))
        elif number == errno.EADDRNOTAVAIL:
            found.append(error("SMG030", spec.name, f"{what}: {port.host!r} is no address of this machine"))
        else:
            found.append(error("SMG030", spec.name, f"{what} can not be bound: {os.strerror(number).lower()}"))
    return found


def _bind(port: Port) -> int:
    """Return 0 if a port can be bound, else the error's number."""
    family = socket.AF_INET6 if ":" in port.host else socket.AF_INET
    with socket.socket(family) as probe:
        # As every server does: a connection that was closed a moment ago is no obstacle, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.host, port.number))
        except socket.gaierror:
            return errno.EADDRNOTAVAIL
        except OSError as problem:
            return problem.errno or errno.EINVAL
    return 0


def owner_of_port(number: int) -> str:
    """Return who has a TCP port, as "pid 123 (name)" or what else can be said.

    Args:
        number: The port.
    """
    inodes = _inodes(number)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _holds(entry, inodes):
            try:
                name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
            except OSError:
                name = "?"
            return f"pid {entry.name} ({name})"
    return "a process of another user" if inodes else "a process that can not be seen from here"


def _inodes(number: int) -> set[str]:
    """Return the inodes of the sockets bound to a port; of the listening ones if there are any."""
    listening: set[str] = set()
    others: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, _, state, *rest = line.split()
            if int(local.rpartition(":")[2], 16) == number:
                # Fields: sl local remote st tx:rx tr:when retrnsmt uid timeout inode; 0A is LISTEN.
                (listening if state == "0A" else others).add(rest[5])
    return (listening or others) - {"0"}


def _holds(process: Path, inodes: set[str]) -> bool:
    """Return whether a process has one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    try:
        descriptors = os.listdir(process / "fd")
    except OSError:
        return False
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            if os.readlink(process / "fd" / descriptor) in wanted:
                return True
    return False
