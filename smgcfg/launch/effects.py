"""What the supervisor needs of the world, and what the world reports to it.

The supervisor is a plain state machine. Time, processes and questions to the gateway reach it only through the
protocols of this module, so that all of its rules can be tested with a fake machine and no sleeping.
"""

import signal
from collections.abc import Sequence
from typing import Protocol

from smgcfg.process import ProcessSpec
from smgcfg.value import Value


class Exit(Value):
    """How a process ended.

    Attributes:
        status: The exit code; minus the signal's number when a signal ended it; None when nobody could learn it.
    """

    status: int | None

    @property
    def code(self) -> int:
        """What the launcher exits with on behalf of this process: never 0, as nobody asked the process to end."""
        if self.status is None:
            return 1
        if self.status < 0:
            return 128 - self.status
        return self.status or 1

    def __str__(self) -> str:
        if self.status is None:
            return "exit code not known"
        if self.status >= 0:
            return f"exit code {self.status}"
        try:
            return signal.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"


# --- reports: from the spawner to the supervisor ---------------------------------------------------------------------


class Started(Value):
    """The program runs."""

    name: str
    pid: int


class NotStarted(Value):
    """The program could not be run; there is no process."""

    name: str
    reason: str


class Exited(Value):
    """The program ended. What it started may still be there until `Gone` is reported.

    Attributes:
        name: The process's name in the plan.
        pid: Its process id.
        exit: How it ended.
        last_lines: The last lines it printed, oldest first.
    """

    name: str
    pid: int
    exit: Exit
    last_lines: tuple[str, ...] = ()


class Gone(Value):
    """Nothing is left of the process: neither the program nor anything it started."""

    name: str


Report = Started | NotStarted | Exited | Gone


# --- answers: from the prober to the supervisor ----------------------------------------------------------------------


class WorkerView(Value):
    """A worker as the gateway sees it.

    Attributes:
        url: The worker's URL as it was given to the gateway.
        healthy: Whether the gateway would send it requests.
        status: The gateway's own word: "pending", "ready", "not_ready", "failed".
    """

    url: str
    healthy: bool
    status: str


class GatewayView(Value):
    """What the gateway says about itself and its workers.

    Attributes:
        ready: Whether it would answer requests.
        workers: The workers it knows.
        problem: Why it could not be asked, or empty.
        refused: Whether it wants another API key than the plan's.
    """

    ready: bool
    workers: tuple[WorkerView, ...] = ()
    problem: str = ""
    refused: bool = False


class Answer(Value):
    """Whether a URL answered 200.

    Attributes:
        url: The URL.
        ok: Whether the answer was 200.
        problem: What came instead, or empty.
    """

    url: str
    ok: bool
    problem: str = ""


# --- the protocols ---------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Something that knows the time."""

    def now(self) -> float:
        """Return seconds since some fixed moment; never runs backwards."""


class Spawner(Protocol):
    """Something that runs processes. No method waits; what became of a call is reported by `poll`."""

    def start(self, spec: ProcessSpec) -> None:
        """Start a process: `Started` or `NotStarted` follows."""

    def stop(self, name: str) -> None:
        """Ask a process to end (SIGTERM): `Exited`, then `Gone` follow if it obeys."""

    def kill(self, name: str) -> None:
        """End a process and all it started (SIGKILL): `Exited`, if not yet reported, and `Gone` follow."""

    def poll(self) -> Sequence[Report]:
        """Return what happened since the last call, in order."""


class Prober(Protocol):
    """Something that asks over HTTP. No method waits, and every question is answered within a bound."""

    def ask_gateway(self) -> None:
        """Ask the gateway for its view, unless a question to it is open."""

    def ask(self, url: str) -> None:
        """Ask whether a URL answers 200, unless that question is open."""

    def poll(self) -> Sequence[GatewayView | Answer]:
        """Return the answers since the last call."""


class Checked(Value):
    """What a last look at a launch found.

    Attributes:
        ok: Whether the launch may go ready.
        lines: What there is to say about it.
    """

    ok: bool
    lines: tuple[str, ...]


class Check(Protocol):
    """A last look at a launch whose processes are all ready, before it is said to be. No method waits."""

    def poll(self) -> Checked | None:
        """Begin when called for the first time; return what was found once that is known."""
