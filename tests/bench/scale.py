"""Plans of many workers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from measure import Row, calls, table

from smgcfg import Environment, load, plan

_HERE: Final = Environment(uid=1000, python="python3")

#: The most that a plan may take, in seconds, by transport and number of workers.
_LIMITS: Final[Mapping[tuple[str, int], float]] = {("grpc", 10_000): 1.0, ("zmq", 200): 0.1}

_SIZES: Final = (("grpc", 1_000), ("grpc", 2_000), ("grpc", 5_000), ("grpc", 10_000), ("zmq", 50), ("zmq", 200))


def run(folder: Path, rounds: int) -> str:
    """Measure, and return the table.

    Args:
        folder: Where files may be written.
        rounds: How often to make each plan.
    """
    jobs = {size: _job(folder, *size) for size in _SIZES}
    times = calls({f"{transport} {count}": job for (transport, count), job in jobs.items()}, rounds)
    rows = []
    for (transport, count), taken in zip(_SIZES, times.values(), strict=True):
        limit = _LIMITS.get((transport, count))
        kept = limit is None or taken <= limit
        figures = (f"{taken * 1e3:.1f} ms", f"{taken / count * 1e6:.1f} us")
        rows.append(Row(f"{count} {transport} workers", figures, "" if limit is None else f"{limit} s", kept))
    return table("load and plan, CPU time", ("median", "a worker"), rows)


def _job(folder: Path, transport: str, count: int) -> Callable[[], Any]:
    file = folder / f"{transport}-{count}.toml"
    text = f'[pools.many]\nbackend = "tokenspeed"\ntransport = "{transport}"\nmodel = "m"\nreplicas = {count}\n'

    file.write_text(text)

    def job() -> None:
        planned = plan(load(file), _HERE)
        assert planned.plan is not None, planned.findings
        assert len(planned.plan.workers) == count

    return job
