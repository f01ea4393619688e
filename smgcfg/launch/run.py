"""Launches a plan on this machine and stays with it until it has stopped."""

import os
import selectors
import sys
import time
from collections.abc import Callable
from typing import TextIO

from smgcfg.errors import ConfigError, error, errors_in
from smgcfg.launch.console import Console
from smgcfg.launch.effects import Check
from smgcfg.launch.events import Event
from smgcfg.launch.host import host_findings
from smgcfg.launch.probe import HttpProber
from smgcfg.launch.progress import Progress
from smgcfg.launch.run_dir import RunDir
from smgcfg.launch.signals import signals_to
from smgcfg.launch.spawn import GuardedSpawner
from smgcfg.launch.supervisor import Supervisor
from smgcfg.process import Plan


class MonotonicClock:
    """The real time."""

    def now(self) -> float:
        """Return seconds since some fixed moment."""
        return time.monotonic()


class Session:
    """One launch with everything it needs of the machine. A context: leaving it lets go of the streams.

    Args:
        plan: What to launch.
        out: Where lines go.
        err: Where the processes' standard error goes.
        watch: Called with what happened, after it was said.
        check: Takes a last look before the launch is ready, or None.
    """

    def __init__(
        self,
        plan: Plan,
        out: TextIO,
        err: TextIO,
        watch: Callable[[list[Event]], None] = lambda _: None,
        check: Check | None = None,
    ) -> None:
        self.selector = selectors.DefaultSelector()
        self._watch = watch
        self._clock = MonotonicClock()
        self._out = Console(out, self.selector)
        one_terminal = self._out.terminal and err.isatty()
        self._err = self._out if err is out or one_terminal else Console(err, self.selector)
        self._spawner = GuardedSpawner(self.selector, self._take_line, grace=plan.settings.grace)
        self._prober = HttpProber(plan.url, plan.api_key, self.selector)
        self._progress = Progress(plan, self._out, self._err, self._spawner.last_line)
        self.supervisor = Supervisor(plan, clock=self._clock, spawner=self._spawner, prober=self._prober, check=check)

    def run(self) -> int:
        """Run the launch until it has stopped, and return its exit code; nothing of it is left then."""
        self._progress.begin()
        try:
            while (exit_code := self._turn()) is None:
                pass
        finally:
            self._prober.close()
            self._spawner.close()
        return exit_code

    def _turn(self) -> int | None:
        """Do what is to be done now, and wait until there is more; return the exit code once it has stopped."""
        told = self.supervisor.step()
        self._progress.tell(told)
        self._watch(told)
        next_tick = self._progress.tick(self.supervisor, self._clock.now())
        if self.supervisor.phase == "stopped":
            return self.supervisor.exit_code
        wake_at = min(self.supervisor.wake_at, self._prober.wake_at, next_tick)
        patience = None if wake_at == float("inf") else max(0.0, wake_at - self._clock.now())
        for key, mask in self.selector.select(patience):
            # A call may have closed what a later event of the same round is about.
            if self.selector.get_map().get(key.fd) is key:
                key.data(mask)
        return None

    def _take_line(self, name: str, stream: str, text: str) -> None:
        self._progress.output(name, stream, text)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        if self._err is not self._out:
            self._err.close()
        self.selector.close()


def check_host(plan: Plan) -> None:
    """Raise if a plan can not be launched on this machine.

    Args:
        plan: What is to be launched.

    Raises:
        ConfigError: A secret is not read, or what `host_findings` finds, if any of it is an error.
    """
    hint = "read_references(deployment) before planning reads them"
    findings = [
        error("SMG018", spec.name, f"{reference} is not read", hint=hint)
        for spec in plan.processes
        for reference in spec.unread
    ]
    findings = findings or host_findings(plan)
    if errors_in(findings):
        raise ConfigError(findings)


def serve(plan: Plan, *, out: TextIO | None = None, err: TextIO | None = None, check: Check | None = None) -> int:
    """Launch a plan and stay with it until it has stopped; for the main thread, whose signals it takes meanwhile.

    Args:
        plan: What to launch; it has no errors.
        out: Where lines go; standard output by default.
        err: Where the processes' standard error goes; standard error by default.
        check: Takes a last look before the launch is ready, or None.

    Returns:
        The exit code: 128 plus the number of the signal that stopped it, or on a failure that of the process that
        failed (128 plus a signal's number, 1 where there is none).

    Raises:
        ConfigError: The machine is not fit for the plan; nothing was started.
    """
    _open_standard_streams()
    check_host(plan)
    with (
        Session(plan, out or _standard(sys.stdout, 1), err or _standard(sys.stderr, 2), check=check) as session,
        signals_to(session.supervisor.interrupt, session.selector),
        RunDir(plan),
    ):
        return session.run()


def _open_standard_streams() -> None:
    """Give the numbers of the standard streams to nothing else, should the program have been started without them."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


def _standard(stream: TextIO | None, fd: int) -> TextIO:
    return open(fd, "w", encoding="utf-8", closefd=False) if stream is None else stream
