"""What the supervisor tells whoever watches a launch."""

from typing import Literal

from smgcfg.launch.effects import Exit
from smgcfg.value import Value


class Ready(Value):
    """A process became ready.

    Attributes:
        name: The process.
        pid: Its process id.
        after: Seconds since it was started.
        again: Whether the launch had been ready before.
        kept: The workers that were ready all the while, if it was.
    """

    name: str
    pid: int
    after: float
    again: bool = False
    kept: tuple[str, ...] = ()


class LaunchReady(Value):
    """Every process is ready and the gateway answers.

    Attributes:
        after: Seconds since the launch began.
    """

    after: float


class Checked(Value):
    """Every process is ready, and a last look was taken at the whole.

    Attributes:
        lines: What was found.
    """

    lines: tuple[str, ...]


class Died(Value):
    """A process ended without being asked to.

    Attributes:
        name: The process.
        pid: Its process id.
        exit: How it ended.
        after: Seconds since it was started.
        was_ready: Whether it had become ready.
        last_lines: The last lines it printed, oldest first.
        restart: Which restart in the window follows, from 1; 0 when none does.
        delay: In how many seconds.
    """

    name: str
    pid: int
    exit: Exit
    after: float
    was_ready: bool
    last_lines: tuple[str, ...]
    restart: int = 0
    delay: float = 0.0


class StartFailed(Value):
    """A program could not be run at all.

    Attributes:
        name: The process.
        reason: Why.
        restart: Which restart in the window follows, from 1; 0 when none does.
        delay: In how many seconds.
    """

    name: str
    reason: str
    restart: int = 0
    delay: float = 0.0


class StartTimedOut(Value):
    """A process was not ready within its time.

    Attributes:
        name: The process.
        pid: Its process id, or None while it is not known.
        timeout: The time it had, in seconds.
        seen: What was last seen of it: the gateway's word, or why the gateway could not be asked.
        restart: Which restart in the window follows, from 1; 0 when none does.
        delay: In how many seconds.
    """

    name: str
    pid: int | None
    timeout: float
    seen: str
    restart: int = 0
    delay: float = 0.0


class PortTaken(Value):
    """Somebody else listens on a port of a process, and answers in its place.

    Attributes:
        name: The process.
        pid: Its process id.
        owner: Who listens, and where.
        restart: Which restart in the window follows, from 1; 0 when none does.
        delay: In how many seconds.
    """

    name: str
    pid: int
    owner: str
    restart: int = 0
    delay: float = 0.0


class Hung(Value):
    """A process runs and does not respond: it is killed.

    Attributes:
        name: The process.
        pid: Its process id.
        seen: What was seen of it last.
        after: For how many seconds.
        restart: Which restart in the window follows, from 1; 0 when none does.
        delay: In how many seconds.
    """

    name: str
    pid: int
    seen: str
    after: float
    restart: int = 0
    delay: float = 0.0


class Unwell(Value):
    """A process that was ready does not seem to be any more, or one that loads is held by a signal.

    Attributes:
        name: The process.
        pid: Its process id.
        seen: What is seen of it.
        patience: In how many seconds it is replaced unless it recovers.
    """

    name: str
    pid: int
    seen: str
    patience: float


class Well(Value):
    """A process that did not seem to be well is, after all.

    Attributes:
        name: The process.
        pid: Its process id.
        after: How long it did not, in seconds.
    """

    name: str
    pid: int
    after: float


class ProbeRefused(Value):
    """The gateway does not take the requests that tell a worker that hangs from one that is idle.

    Attributes:
        problem: What it says.
    """

    problem: str


class BudgetSpent(Value):
    """A process failed once more than it may be started again.

    Attributes:
        name: The process.
        budget: How often it was.
        window: Within how many seconds.
    """

    name: str
    budget: int
    window: float


class RestartBegan(Value):
    """A process is replaced, for another reason than its own failure, or others are together with it.

    Attributes:
        name: The process.
        reason: Why; "asked" when its owner wants it.
        others: The workers whose connection to the gateway does not outlive it, so that they are replaced, too.
    """

    name: str
    reason: str
    others: tuple[str, ...] = ()


class KeyRefused(Value):
    """The gateway does not tell its view with the API key of the plan."""

    problem: str


class StopBegan(Value):
    """The launch is being stopped.

    Attributes:
        reason: Why: "SIGTERM", "asked", or the name of the process that failed.
        draining: Whether the gateway finishes its requests first.
        kill_next: Whether a further signal kills at once, which is worth saying to whoever sent one.
    """

    reason: str
    draining: bool
    kill_next: bool


class StopRepeated(Value):
    """A signal came while the launch was being stopped for another reason; the next one kills at once."""

    reason: str


class KillBegan(Value):
    """A process is killed.

    Attributes:
        name: The process.
        pid: Its process id, or None while it is not known.
        reason: Why: "grace" when its time is over, "hurry" when a second signal came.
        after: Seconds since it was asked to end; 0 when it was not.
    """

    name: str
    pid: int | None
    reason: Literal["grace", "hurry"]
    after: float


class Stopped(Value):
    """A process ended after it was asked to.

    Attributes:
        name: The process.
        pid: Its process id.
        exit: How it ended.
        after: Seconds since it was asked.
    """

    name: str
    pid: int
    exit: Exit
    after: float


class LeftBehind(Value):
    """A process is still there though it was killed: it hangs in the kernel or belongs to somebody else."""

    name: str
    pid: int | None


class LaunchStopped(Value):
    """Nothing of the launch is left.

    Attributes:
        exit_code: What the launcher exits with.
        reason: Why it was stopped, as in `StopBegan`.
        exit: How the process ended that was the reason; None where the reason was another.
    """

    exit_code: int
    reason: str
    exit: Exit | None = None


Event = (
    Ready
    | LaunchReady
    | Checked
    | Died
    | StartFailed
    | StartTimedOut
    | PortTaken
    | Hung
    | Unwell
    | Well
    | ProbeRefused
    | BudgetSpent
    | RestartBegan
    | KeyRefused
    | StopBegan
    | StopRepeated
    | KillBegan
    | Stopped
    | LeftBehind
    | LaunchStopped
)

#: The failures of a process that a restart may follow.
Failed = Died | StartFailed | StartTimedOut | PortTaken | Hung

#: The events that say what went wrong.
Failure = Failed | KeyRefused | LeftBehind
