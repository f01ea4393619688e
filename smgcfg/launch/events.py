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
    """

    name: str
    pid: int
    after: float


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
    """

    name: str
    pid: int
    exit: Exit
    after: float
    was_ready: bool
    last_lines: tuple[str, ...]


class StartFailed(Value):
    """A program could not be run at all."""

    name: str
    reason: str


class StartTimedOut(Value):
    """A process was not ready within its time.

    Attributes:
        name: The process.
        pid: Its process id, or None while it is not known.
        timeout: The time it had, in seconds.
        seen: What was last seen of it: the gateway's word, or why the gateway could not be asked.
    """

    name: str
    pid: int | None
    timeout: float
    seen: str


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
    """

    name: str
    pid: int | None
    reason: Literal["grace", "hurry"]


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
    """

    exit_code: int


Event = (
    Ready
    | LaunchReady
    | Checked
    | Died
    | StartFailed
    | StartTimedOut
    | KeyRefused
    | StopBegan
    | StopRepeated
    | KillBegan
    | Stopped
    | LeftBehind
    | LaunchStopped
)

#: The events that say what went wrong.
Failure = Died | StartFailed | StartTimedOut | KeyRefused | LeftBehind
