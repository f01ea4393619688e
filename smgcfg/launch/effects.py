"""What the supervisor needs of the world, and what the world reports to it.

The supervisor is a plain state machine. Time, processes and questions to the gateway reach it only through the
protocols of this module, so that all of its rules can be tested with a fake machine and no sleeping.
"""

import signal
from collections.abc import Hashable, Sequence
from typing import Literal, Protocol

from smgcfg.process import DeathNotice, ProcessSpec
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
        asked: Whether it was asked: a problem of ours is not held against it.
    """

    ready: bool
    workers: tuple[WorkerView, ...] = ()
    problem: str = ""
    refused: bool = False
    asked: bool = True


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


class Load(Value):
    """What a worker has to do, as the gateway knows it.

    Attributes:
        url: The worker's URL.
        report: What the worker last said of its load: a text that changes while it works, or empty if it says nothing.
        busy: Whether it has requests to answer, or is spared them for not answering.
        done: How many requests are over, answered or given up.
    """

    url: str
    report: str
    busy: bool
    done: int


class Loads(Value):
    """What the workers have to do, as far as the gateway tells."""

    loads: tuple[Load, ...]


class Routed(Value):
    """The gateway gave a probe to a worker.

    Attributes:
        number: The probe.
        url: The worker's URL.
    """

    number: int
    url: str


class Probed(Value):
    """A probe is over.

    Attributes:
        number: The probe.
        outcome: "answered" when a token came; "failed" when the gateway said that none would; "refused" when it takes
            no such request at all; "lost" when it did not answer.
        problem: What came instead of a token, or empty.
    """

    number: int
    outcome: Literal["answered", "failed", "refused", "lost"]
    problem: str = ""


ProberAnswer = GatewayView | Answer | Loads | Routed | Probed


class Told(Value):
    """A death notice was pushed, or could not be.

    Attributes:
        name: The worker that died.
        problem: Why it could not be pushed, or empty.
    """

    name: str
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

    def is_held(self, name: str) -> bool:
        """Return whether a process, or something it started, is stopped by a signal: it does nothing until SIGCONT."""

    def poll(self) -> Sequence[Report]:
        """Return what happened since the last call, in order."""


class Prober(Protocol):
    """Something that asks over HTTP. No method waits, and every question is answered within a bound."""

    def ask_gateway(self) -> None:
        """Ask the gateway for its view, unless a question to it is open."""

    def ask(self, url: str) -> None:
        """Ask whether a URL answers 200, unless that question is open."""

    def ask_loads(self) -> None:
        """Ask the gateway what the workers have to do, unless that question is open."""

    def probe(self, number: int) -> None:
        """Have the gateway ask some worker for one token: `Routed` follows once it has chosen one, then `Probed`.

        Nothing bounds how long a worker may take: whoever asked gives up.
        """

    def give_up(self, number: int) -> None:
        """Let go of a probe, if it is open: nothing follows of it any more."""

    def poll(self) -> Sequence[ProberAnswer]:
        """Return the answers since the last call."""


class Messenger(Protocol):
    """Something that speaks to the gateway on behalf of the dead. No method waits."""

    @property
    def missing(self) -> str:
        """Why it can say nothing at all, or empty."""

    def tell(self, name: str, notice: DeathNotice) -> None:
        """Push the death notice of a worker: `Told` follows within a bound."""

    def poll(self) -> Sequence[Told]:
        """Return what became of the notices since the last call."""


class Listeners(Value):
    """Who listens on the ports of a process.

    Attributes:
        own: The ports on which the process listens, or something it started.
        foreign: Ports on which somebody else does, each with who that is, for a message.
    """

    own: frozenset[int]
    foreign: tuple[tuple[int, str], ...] = ()


class Sockets(Protocol):
    """What is bound on this machine, now."""

    def listeners(self, name: str) -> Listeners:
        """Return who listens on the ports of a process that runs."""

    def is_listening(self, port: int) -> bool:
        """Return whether anybody listens on a TCP port."""

    def at(self, path: str) -> Hashable:
        """Return what tells the Unix socket at a path from any other that is bound there; None where there is none."""


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
