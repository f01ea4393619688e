"""The launcher as a process of its own, as an operator has it."""

import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from launch.plans import MARK, Marked, until

from smgcfg.process import Plan

SERVE = """
import pickle, sys
from smgcfg.errors import SmgcfgError
from smgcfg.launch.run import serve
try:
    plan, options = pickle.load(open(sys.argv[1], "rb"))
    sys.exit(serve(plan, **options))
except SmgcfgError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


class Launcher:
    """A launcher that runs, and what it has said so far.

    Attributes:
        process: The launcher's process.
        lines: Its output, each line with the time at which it came.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        """All it has said."""
        return "\n".join(line for _, line in self.lines)

    def says(self, pattern: str, seconds: float = 15.0) -> re.Match[str]:
        """Wait until it says something, and return the match."""
        found = until(lambda: re.search(pattern, self.text, re.MULTILINE), seconds)
        assert found, self.text
        return found

    def said_at(self, pattern: str) -> float:
        """Return when it said something."""
        return next(when for when, line in self.lines if re.search(pattern, line))

    def pid(self, name: str) -> int:
        """Wait until a process is ready, and return its pid."""
        return int(self.says(rf"^{name} +(?:up|ready) .* pid (\d+)").group(1))

    def signal(self, signum: int) -> float:
        """Send a signal, and return the time."""
        self.process.send_signal(signum)
        return time.monotonic()

    def ends(self, seconds: float = 15.0) -> int:
        """Wait until it ends, and return its exit code."""
        code = self.process.wait(seconds)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip("\n")))


def command(plan: Plan, marked: Marked, tmp_path: Path, **options: Any) -> tuple[list[str], dict[str, str]]:
    """Return the command of a launcher that serves a plan, and its environment."""
    path = tmp_path / f"{time.monotonic_ns()}.plan"
    path.write_bytes(pickle.dumps((plan, options)))
    env = {**os.environ, MARK: marked.token, "PYTHONPATH": os.pathsep.join(sys.path)}
    return [sys.executable, "-c", SERVE, str(path)], env


def popen(
    plan: Plan, marked: Marked, tmp_path: Path, out: int, before: Sequence[str] = (), **options: Any
) -> subprocess.Popen[str]:
    """Start a launcher that serves a plan, its output and errors going to one place.

    Args:
        plan: The plan.
        marked: What its processes are marked with.
        tmp_path: Where to put the plan.
        out: Where its output goes.
        before: Words in front of its command.
        options: Further arguments of `serve`.
    """
    argv, env = command(plan, marked, tmp_path, **options)
    argv = [*before, *argv]
    return subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, text=True, env=env)


@contextmanager
def launcher_of(
    plan: Plan, marked: Marked, tmp_path: Path, before: Sequence[str] = (), **options: Any
) -> Iterator[Launcher]:
    """A launcher that serves a plan, and is killed if it is there when the context is left."""
    with popen(plan, marked, tmp_path, subprocess.PIPE, before, **options) as process:
        launcher = Launcher(process)
        try:
            yield launcher
        finally:
            process.kill()
            launcher.ends()
