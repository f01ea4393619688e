"""`smgcfg watch`: verify a running gateway again and again, so that an alert can be set on it."""

import sys
import time
from collections.abc import Sequence

from smgcfg.cli.report import show
from smgcfg.cli.verify import POSITIVE, Asked, positive, read_target, target_parser
from smgcfg.verify.gateway import Unreachable
from smgcfg.verify.metrics import Metrics
from smgcfg.verify.report import Report

_USAGE = "smgcfg watch URL | NAME | FILE... [--interval SECONDS] [--listen [HOST:]PORT] [--print-metrics]"

_DESCRIPTION = """\
Verify a running gateway again and again: a line for each time, everything whenever something changes,
and metrics for Prometheus. Ends with Ctrl-C, or after --count times."""

_EXIT_CODES = """\
exit codes: 130 after Ctrl-C; 2 bad input; 4 no such launch; after --count times those of the last:
0 everything promised is enforced; 1 it is not; 3 there is no gateway to ask"""


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "watch" first.

    Returns:
        As `smgcfg verify` would for the last time.
    """
    parser = target_parser("watch", _DESCRIPTION, _USAGE, _EXIT_CODES)
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=positive,
        wanted=POSITIVE,
        default=60.0,
        help="seconds from start to start: 60",
    )
    parser.add_argument("--count", metavar="N", type=int, help="end after so many times")
    parser.add_argument("--listen", metavar="[HOST:]PORT", help="show metrics there; the host is 127.0.0.1")
    parser.add_argument("--print-metrics", action="store_true", help="print the metrics each time")
    asked, options = read_target(parser, argv)
    metrics = Metrics(asked.target.url) if options.listen is not None or options.print_metrics else None
    if options.listen is not None and metrics is not None:
        host, _, port = options.listen.rpartition(":")
        if not port.isdecimal() or not 0 < int(port) < 65536:
            parser.error(f"--listen: expected [HOST:]PORT, got {options.listen!r}")
        metrics.expose(host.strip("[]") or "127.0.0.1", int(port))
    return _watch(asked, metrics, options.interval, options.count, print_metrics=options.print_metrics)


def _watch(asked: Asked, metrics: Metrics | None, interval: float, count: int | None, *, print_metrics: bool) -> int:
    before: object = None
    number, due = 0, time.monotonic()
    while True:
        number, due = number + 1, due + interval
        report, problem = _ask(asked)
        if metrics is not None:
            metrics.take(report)
        state = _state(report)
        show("\n".join(_lines(report, problem, changed=state != before)), sys.stdout)
        sys.stdout.flush()
        if print_metrics and metrics is not None:
            print(metrics.text(), end="", flush=True)
        before = state
        if number == count:
            return Unreachable.exit_code if report is None else report.exit_code
        # A verification that took longer than the interval is followed by the next at once, not by all that were due.
        due = max(due, time.monotonic())
        time.sleep(due - time.monotonic() if due > time.monotonic() else 0)


def _ask(asked: Asked) -> tuple[Report | None, str]:
    try:
        return asked.report(), ""
    except Unreachable as nobody:
        return None, str(nobody)


def _state(report: Report | None) -> object:
    """Return what has to change for everything to be printed anew."""
    return None if report is None else tuple((kind, column, cell.verdict) for kind, column, cell in report.promises)


def _lines(report: Report | None, problem: str, *, changed: bool) -> list[str]:
    from smgcfg.verify import render

    now = time.strftime("%Y-%m-%d %H:%M:%S")
    if report is None:
        return [f"{now}  UNREACHABLE  {problem}"]
    lines = render.table(report).splitlines()
    return [f"{now}  {lines[-1]}", *(f"  {line}" for line in lines[:-1] if changed)]
