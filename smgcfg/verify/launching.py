"""Verifies a launch whose processes are all ready, before it is said to be: less is asked than of a running one."""

from typing import Final

from smgcfg.verify import render
from smgcfg.verify.endpoints import CHAT
from smgcfg.verify.gateway import Target
from smgcfg.verify.promises import Promises
from smgcfg.verify.report import Report
from smgcfg.verify.run import Limits, verify

#: One round: the second finds nothing that the first does not, unless an engine enforces only now and then.
LIMITS: Final = Limits(deadline=60.0, in_flight=8, rounds=1)

#: How often a launch is asked when all that is wrong is a worker of which no answer was seen: a gateway that has just
#: come up may leave one out for a moment, and that is no broken promise.
TRIES: Final = 3


def verify_launch(target: Target, promises: Promises, *, limits: Limits = LIMITS) -> Report:
    """Ask a launch for what it promises, streamed and not, of every worker.

    Only chat requests are sent: whether an engine enforces does not hang on the endpoint.

    Args:
        target: Its gateway.
        promises: What its settings promise.
        limits: The bounds.

    Raises:
        Unreachable: The gateway does not answer.
        ConfigError: The gateway does not take the request.
    """
    for _ in range(TRIES - 1):
        report = verify(target, promises.kinds, limits=limits, endpoints=(CHAT,))
        if {cell.verdict for _, _, cell in report.broken} != {"not_reached"}:
            return promises.note(promises.explain(report))
    return promises.note(promises.explain(verify(target, promises.kinds, limits=limits, endpoints=(CHAT,))))


def summary(report: Report) -> list[str]:
    """Return what to say of a launch: one line when all is well, else what is broken and why."""
    total = len(report.promises)
    if report.ok:
        names = ", ".join(f"{worker.name} ok" for worker in report.workers)
        return [f"{names} ({total} of {total} promises, {report.seconds:.1f} s)"]
    return [f"BROKEN {len(report.broken)} of {total} promises ({report.seconds:.1f} s)", *render.details(report)]
