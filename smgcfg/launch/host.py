"""What stands against a launch on this machine, now: looked at before anything is started."""

import errno
import os
import socket
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

from smgcfg.errors import Finding, error, warning
from smgcfg.launch.contents import content_findings
from smgcfg.launch.holdings import gpu_findings, lock_finding, moving
from smgcfg.launch.limits import limit_findings
from smgcfg.launch.listeners import owner_of_port
from smgcfg.launch.programs import program_findings
from smgcfg.launch.run_dir import owned_finding, owner_of, run_dir_findings
from smgcfg.process import Plan, Port, ProcessSpec

#: The longest path a Unix socket can have on Linux, in bytes.
SOCKET_PATH_LIMIT: Final = 107


def host_findings(plan: Plan) -> list[Finding]:
    """Return what stands against launching a plan on this machine.

    That is: a run directory that can not be trusted, is in use, or holds what is none of ours in our places; ports and
    GPUs that are taken, and by whom; programs that can not be run; a limit that is too low; and what it takes to
    replace a zmq worker. Nothing is changed.

    Args:
        plan: What would be launched.
    """
    found = run_dir_findings(plan.run_dir)
    if not found and (owner := owner_of(plan.run_dir)) is not None:
        # Its ports are taken for the same reason, which need not be said for each.
        return [owned_finding(plan, owner)]
    if not found:
        found += content_findings(plan)
    found += limit_findings(plan)
    for spec in plan.processes:
        found += [_long_path_finding(spec, path) for path in spec.sockets if len(os.fsencode(path)) > SOCKET_PATH_LIMIT]
        found += program_findings(spec)
    found += [*messenger_findings(plan), *gpu_findings(plan)]
    return found + port_findings((spec, port) for spec in plan.processes for port in spec.ports)


def _long_path_finding(spec: ProcessSpec, path: str) -> Finding:
    size = len(os.fsencode(path))
    return error(
        "SMG022",
        "launch.run_dir",
        f"{spec.name}: the socket path {path!r} has {size} bytes, at most {SOCKET_PATH_LIMIT} can be bound",
        hint="set [launch] run_dir to a shorter path",
    )


def missing_package() -> str:
    """Return what is missing to tell a gateway of the death of a zmq worker, or empty."""
    return "" if find_spec("zmq") is not None else "pyzmq is not installed"


def messenger_findings(plan: Plan) -> list[Finding]:
    """Return a finding if a zmq worker that is killed could not be replaced alone.

    Args:
        plan: What would be launched.
    """
    if plan.settings.restart == "never" or all(spec.death_notice is None for spec in plan.workers):
        return []
    missing = missing_package()
    if not missing:
        return []
    message = f"{missing}: for each zmq worker that is killed, the gateway and all others are restarted, too"
    return [warning("SMG032", "launch.restart", message, hint="pip install 'smgcfg[zmq]'")]


def port_findings(ports: Iterable[tuple[ProcessSpec, Port]]) -> list[Finding]:
    """Return a finding for each port that can not be listened on.

    Args:
        ports: The ports with the processes that want them.
    """
    found = []
    for spec, port in ports:
        held = lock_finding(spec, port)
        if held is not None:
            found.append(held)
            continue
        number = _bind(port)
        if number == 0:
            continue
        what = f"the {port.use} port {port.number} of {spec.name}"
        if number == errno.EADDRINUSE:
            found.append(
                error("SMG030", spec.name, f"{what} is taken by {owner_of_port(port.number)}", hint=moving(port))
            )
        elif number == errno.EADDRNOTAVAIL:
            found.append(error("SMG030", spec.name, f"{what}: {port.host!r} is no address of this machine"))
        else:
            found.append(error("SMG030", spec.name, f"{what} can not be bound: {os.strerror(number).lower()}"))
    return found


def _bind(port: Port) -> int:
    """Return 0 if a port can be bound, else the error's number."""
    family = socket.AF_INET6 if ":" in port.host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            # As every server does: a connection that was closed a moment ago is no obstacle, a listener is.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((port.host, port.number))
    except socket.gaierror:
        return errno.EADDRNOTAVAIL
    except OSError as problem:
        return problem.errno or errno.EINVAL
    return 0
