"""Launches that an operator looks at and gives orders to, with the commands for that."""

import contextlib
import io
import os
import signal
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from launch.launcher import Launcher, launcher_of
from launch.plans import Marked, fake_launch

from smgcfg.cli import main
from smgcfg.process import Plan
from smgcfg.value import Value


class Said(Value):
    """What a command line of smgcfg came to.

    Attributes:
        code: The exit code.
        out: Standard output.
        err: Standard error.
    """

    code: int
    out: str
    err: str


class Home:
    """A runtime directory of its own, which the commands of this process look into.

    Args:
        path: Where.
        marked: What the processes are marked with.
    """

    def __init__(self, path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
        self.path = path
        self.marked = marked
        # No other launch has it, in whichever of the usual places.
        self.name = f"trial-{uuid.uuid4().hex[:8]}"
        self.run_dir = path / f"smgcfg-{os.getuid()}" / self.name

    def plan(self, *workers: Sequence[str], **settings: Any) -> Plan:
        """Return a plan of fake workers behind a fake gateway, to be launched here."""
        plan = fake_launch(self.run_dir, self.marked, *workers)
        return plan.evolve(name=self.name, settings=plan.settings.evolve(**settings))

    @contextlib.contextmanager
    def up(self, plan: Plan) -> Iterator[Launcher]:
        """A launch that is ready, and is stopped in the end if it has not ended."""
        with launcher_of(plan, self.marked, self.path) as launcher:
            launcher.says("^READY")
            yield launcher
            if launcher.process.poll() is None:
                launcher.signal(signal.SIGTERM)
                assert launcher.ends() == 143


def smgcfg(*words: str) -> Said:
    """Run a command line of smgcfg in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return Said(code, out.getvalue(), err.getvalue())


def command(*words: str) -> list[str]:
    """Return the command of smgcfg as a process of its own."""
    return [sys.executable, "-m", "smgcfg", *words]
