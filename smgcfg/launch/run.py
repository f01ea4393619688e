"""Launches a plan on this machine and stays with it until it has stopped."""

import math
import os
import selectors
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Literal, TextIO

from smgcfg.errors import ConfigError, Finding, LaunchError, error, errors_in, reason_of
from smgcfg.launch.console import Console
from smgcfg.launch.effects import Check
from smgcfg.launch.events import Event
from smgcfg.launch.holdings import Holdings
from smgcfg.launch.host import host_findings
from smgcfg.launch.json_lines import JsonLines
from smgcfg.launch.keeping import Keeper, Kept
from smgcfg.launch.limits import raise_limit
from smgcfg.launch.listeners import HostSockets
from smgcfg.launch.notices import ZmqMessenger
from smgcfg.launch.notify import Notifier
from smgcfg.launch.outside import Outside
from smgcfg.launch.probe import HttpProber, Place
from smgcfg.launch.progress import Progress
from smgcfg.launch.reaping import reap_all_but
from smgcfg.launch.run_dir import RunDir
from smgcfg.launch.signals import signals_to
from smgcfg.launch.spawn import GuardedSpawner
from smgcfg.launch.supervisor import Supervisor
from smgcfg.process import Plan

#: How a launch is shown: lines for people, or a JSON object in each.
LogFormat = Literal["text", "json"]


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
        log_format: Lines for people, or a JSON object in each, which then all go to `out`.
        outside: What `Outside` takes beyond the launch itself.
    """

    def __init__(
        self,
        plan: Plan,
        out: TextIO,
        err: TextIO,
        watch: Callable[[list[Event]], None] = lambda _: None,
        check: Check | None = None,
        *,
        log_format: LogFormat = "text",
        **outside: Any,
    ) -> None:
        self.selector = selectors.DefaultSelector()
        self._name = plan.name
        self._watch = watch
        self._clock = MonotonicClock()
        self._out = Console(out, self.selector)
        one_terminal = self._out.terminal and err.isatty()
        self._err = self._out if err is out or one_terminal else Console(err, self.selector)
        settings = plan.settings
        self._spawner = GuardedSpawner(
            self.selector, self._take_line, grace=settings.grace, own_sessions=settings.own_sessions
        )
        self._prober = HttpProber(Place.of(plan), self.selector)
        self._messenger = ZmqMessenger(self.selector)
        self._progress: Progress | JsonLines
        if log_format == "json":
            self._progress = JsonLines(plan, self._out)
        else:
            self._progress = Progress(plan, self._out, self._err, self._spawner.last_line)
        self.supervisor = Supervisor(
            plan,
            clock=self._clock,
            spawner=self._spawner,
            prober=self._prober,
            messenger=self._messenger,
            sockets=HostSockets(plan, self._spawner.tree),
            check=check,
        )
        self._outside = Outside(
            plan, self.supervisor, self.selector, self._spawner.last_lines, self._progress.note, **outside
        )

    def run(self, held: Sequence[Kept], warnings: Iterable[Finding] = ()) -> int:
        """Run the launch until it has stopped, and return its exit code; nothing of it is left then.

        Args:
            held: What the launch holds, to be looked after.
            warnings: What to say first.
        """
        self._progress.begin()
        for line in "\n".join(map(str, warnings)).splitlines():
            self._progress.note(line)
        self._outside.open()
        keeper = Keeper(self._name, (*held, self._outside), self._progress.note)
        try:
            while (exit_code := self._turn(keeper)) is None:
                pass
        finally:
            self._prober.close()
            self._spawner.close()
            self._messenger.close()
            self._outside.close()
        return exit_code

    def reap(self) -> None:
        """Collect the processes that were left to this one and have ended; its own children are the spawner's."""
        reap_all_but(self._spawner.guards)

    def _turn(self, keeper: Keeper) -> int | None:
        """Do what is to be done now, and wait until there is more; return the exit code once it has stopped."""
        told = self.supervisor.step()
        # Whoever asks because of what was said, as that the launch is ready, is told the same.
        next_turn = self._outside.turn(told)
        self._progress.tell(told)
        self._watch(told)
        next_tick = self._progress.tick(self.supervisor, self._clock.now())
        if self.supervisor.phase == "stopped":
            return self.supervisor.exit_code
        next_one = min(next_tick, next_turn, keeper.tick(self._clock.now()))
        wake_at = min(self.supervisor.wake_at, self._spawner.wake_at, self._prober.wake_at, next_one)
        patience = None if wake_at == math.inf else max(0.0, wake_at - self._clock.now())
        for key, mask in self.selector.select(patience):
            # A call may have closed what a later event of the same round is about.
            if self.selector.get_map().get(key.fd) is key:
                key.data(mask)
        return None

    def _take_line(self, name: str, stream: str, text: str) -> None:
        self._progress.output(name, stream, text)
        self._outside.line(name, stream, text)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        if self._err is not self._out:
            self._err.close()
        self.selector.close()


def check_host(plan: Plan) -> list[Finding]:
    """Raise if a plan can not be launched on this machine, and return what is to be said if it can.

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
    return findings


@contextmanager
def refusals(plan: Plan) -> Iterator[None]:
    """Make a report of what the system refuses the launcher itself, where nothing else can be done about it.

    Args:
        plan: What is launched: its guards have stopped it by then.

    Raises:
        LaunchError: On leaving, in place of an OSError.
    """
    try:
        yield
    except OSError as problem:
        raise LaunchError(f"{plan.name}: the launcher can not go on: {reason_of(problem)}") from problem


def serve(
    plan: Plan,
    *,
    out: TextIO | None = None,
    err: TextIO | None = None,
    check: Check | None = None,
    log_format: LogFormat = "text",
    access: Mapping[str, Any] | None = None,
    given: Callable[[], Mapping[str, Any]] | None = None,
    reap: bool = False,
) -> int:
    """Launch a plan and stay with it until it has stopped; for the main thread, whose signals it takes meanwhile.

    Args:
        plan: What to launch; it has no errors.
        out: Where lines go; standard output by default.
        err: Where the processes' standard error goes; standard error by default.
        check: Takes a last look before the launch is ready, or None.
        log_format: Lines for people, or a JSON object in each, which then all go to `out`.
        access: What other commands may ask for over the control socket, as JSON has it.
        given: Returns what each process was given, which they may ask for too.
        reap: Collect processes that were left to this one, as PID 1 has to: for a process with no other children.

    Returns:
        The exit code: 0 when it was stopped through its control socket, 128 plus the number of the signal that stopped
        it, or on a failure that of the process that failed (128 plus a signal's number, 1 where there is none).

    Raises:
        ConfigError: The machine is not fit for the plan; nothing was started.
        LaunchError: The system refuses what the launcher itself can not do without; nothing is left.
    """
    _open_standard_streams()
    warnings = check_host(plan)
    raise_limit(plan)
    with (
        refusals(plan),
        closing(Notifier(os.environ)) as notifier,
        Session(
            plan,
            out or _standard(sys.stdout, 1),
            err or _standard(sys.stderr, 2),
            check=check,
            log_format=log_format,
            notifier=notifier,
            access=access,
            given=given,
            keep_failure=True,
        ) as session,
        signals_to(session.supervisor.interrupt, session.selector, session.reap if reap else None),
        RunDir(plan) as run_dir,
        Holdings(plan) as holdings,
    ):
        return session.run((run_dir, holdings), warnings)


def _open_standard_streams() -> None:
    """Give the numbers of the standard streams to nothing else, should the program have been started without them."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


def _standard(stream: TextIO | None, fd: int) -> TextIO:
    return open(fd, "w", encoding="utf-8", closefd=False) if stream is None else stream
