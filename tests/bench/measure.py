"""Measuring: the CPU time of whole processes and of calls, interleaved so that a busy machine is busy for all alike."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A line of a table.

    Attributes:
        name: What was measured.
        figures: The figures, as text.
        limit: The limit, as text; empty where there is none.
        kept: Whether the limit is kept.
    """

    name: str
    figures: tuple[str, ...]
    limit: str = ""
    kept: bool = True


def table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table as text, with a mark at every limit that is missed."""
    lines = [(title, *heads, "limit", "")]
    lines += [(row.name, *row.figures, row.limit, "" if row.kept else "MISSED") for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for first, *others in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        text.append("  ".join([f"{first:{widths[0]}}", *cells]).rstrip())
    text.insert(1, "-" * max(map(len, text)))
    return "\n".join(text)


def processes(
    commands: Mapping[str, Sequence[str]], rounds: int, environment: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Run commands, one after the other, round after round.

    Args:
        commands: What to run, by name.
        rounds: How often to run each.
        environment: What is set on top of this process's environment, without what that says to Python.

    Returns:
        The median of each command's CPU time, user and system, in seconds.

    Raises:
        RuntimeError: A command failed.
    """
    # What is set for this process, as to write no bytecode, is not what an operator has.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | dict(environment or {})
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            taken = _process_time(command, env)
            if number:  # the first round fills the caches
                times[name].append(taken)
    return {name: statistics.median(values) for name, values in times.items()}


def _process_time(command: Sequence[str], env: Mapping[str, str]) -> float:
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]}: exit code {process.returncode}\n{said.decode()[-2000:]}")
    return used.ru_utime + used.ru_stime


def calls(jobs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Run calls, one after the other, round after round.

    Args:
        jobs: What to call, by name.
        rounds: How often to measure each.

    Returns:
        The median of each call's CPU time, in seconds, once everything it imports is there.
    """
    repeats = {}
    for name, job in jobs.items():
        job()
        started = time.process_time()
        job()
        # The clock ticks in steps: a measurement has to last for many of them.
        repeats[name] = max(1, round(0.02 / max(time.process_time() - started, 1e-6)))
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            started = time.process_time()
            for _ in range(repeats[name]):
                job()
            times[name].append((time.process_time() - started) / repeats[name])
    return {name: statistics.median(values) for name, values in times.items()}


def python(*words: str) -> list[str]:
    """Return a command of this interpreter."""
    return [sys.executable, *words]
