"""How many files a launcher may have open at once, and how many it needs, which is known before anything starts."""

import contextlib
import os
import resource
from typing import Final

from smgcfg.errors import Finding, error
from smgcfg.launch.control import CONNECTIONS
from smgcfg.process import Plan

#: Descriptors for the socket to a process's guard and for its two streams.
_PER_PROCESS: Final = 3

#: Descriptors for all else: the loop, the run directory, those who ask over the control socket, the questions to the
#: gateway and what is read for a moment. Measured without anybody who asks: 23 at most until a launch is ready, and 31
#: while four zmq workers are replaced at once.
_AROUND: Final = CONNECTIONS + 40


def descriptors(plan: Plan) -> int:
    """Return how many descriptors a launcher needs beside those that are open in its process.

    Args:
        plan: What would be launched.
    """
    processes = len(plan.processes)
    logs = processes + 1 if plan.settings.log_dir is not None else 0
    ports = {port.number for spec in plan.processes for port in spec.ports}
    gpus = {gpu for spec in plan.processes for gpu in spec.gpus}
    return _AROUND + _PER_PROCESS * processes + logs + len(ports) + len(gpus)


def limit_findings(plan: Plan) -> list[Finding]:
    """Return a finding if this process may not have as many files open as a launch needs.

    Args:
        plan: What would be launched.
    """
    wanted, (_, hard) = _wanted(plan), resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or wanted <= hard:
        return []
    message = (
        f"a launch of {len(plan.processes)} processes takes {wanted} open files, and no more than {hard} are allowed"
    )
    hint = f"ulimit -n {wanted} as root, LimitNOFILE={wanted} in a unit of systemd"
    return [error("SMG034", "ulimit -n", message, hint=hint)]


def raise_limit(plan: Plan) -> None:
    """Allow this process as many open files as a launch needs, where the hard limit lets it.

    What it starts inherits the limit: it is no larger than it has to be, as programs that call select(2) rely on one
    of 1024.

    Args:
        plan: What is launched.
    """
    wanted, (soft, hard) = _wanted(plan), resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )


def _wanted(plan: Plan) -> int:
    opened = 0
    with contextlib.suppress(OSError):  # with none left to look: then the rest alone is more than is allowed
        opened = len(os.listdir("/proc/self/fd"))
    return opened + descriptors(plan)
