"""What follows when a process fails: the one place that decides it."""

from typing import Final

from smgcfg.launch.child import Child
from smgcfg.launch.effects import Exit
from smgcfg.process import LaunchSettings, Role
from smgcfg.value import Value

#: The first restart comes at once, the second after so many seconds, every further one after twice as many.
FIRST_DELAY: Final = 1.0


class Failure(Value):
    """What the policy may look at.

    Attributes:
        name: The process that failed.
        role: What it is.
        exit: How it ended.
        launch_was_ready: Whether the launch had been ready before.
        restarts: Since how many seconds each of its earlier failures is past that it was started again after.
        in_a_row: How many of these there were since it was last stable.
    """

    name: str
    role: Role
    exit: Exit
    launch_was_ready: bool
    restarts: tuple[float, ...] = ()
    in_a_row: int = 0


class End(Value):
    """Stop everything that is left.

    Attributes:
        exit_code: What the launcher exits with.
        spent: Whether it is for want of restarts.
    """

    exit_code: int
    spent: bool = False


class Restart(Value):
    """Start the process again.

    Attributes:
        number: Which restart in the window this is, from 1.
        delay: In how many seconds.
    """

    number: int
    delay: float


def failure_of(child: Child, how: Exit, now: float, launch_was_ready: bool, settings: LaunchSettings) -> Failure:
    """Return the failure of a process, as the policy looks at it.

    Args:
        child: The process.
        how: How it ended.
        now: The time.
        launch_was_ready: Whether the launch had been ready before.
        settings: Say what is stable.
    """
    stable = child.ready_at is not None and now - child.ready_at >= settings.stable_after
    ages = tuple(now - at for at in child.failures)
    return Failure(child.spec.name, child.spec.role, how, launch_was_ready, ages, 0 if stable else child.in_a_row)


def decide(failure: Failure, settings: LaunchSettings) -> End | Restart:
    """Return what follows from a failure.

    A launch that has never been ready ends: whatever is wrong is wrong with what was started. Later on the process is
    started again as long as the settings allow, and then the launch ends with its exit code.

    Args:
        failure: Who failed, when and how.
        settings: What the operator wants.
    """
    if settings.restart == "never" or not failure.launch_was_ready:
        return End(failure.exit.code)
    used = sum(age < settings.restart_window for age in failure.restarts)
    if used >= settings.restart_budget:
        return End(failure.exit.code, spent=True)
    # The exponent is bounded, as a budget may be large, and a power larger.
    doubled = FIRST_DELAY * 2 ** min(failure.in_a_row - 1, 30) if failure.in_a_row else 0.0
    return Restart(used + 1, min(doubled, settings.restart_backoff_max))
