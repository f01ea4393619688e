"""What follows from a failure."""

import pytest

from smgcfg.launch.child import Child
from smgcfg.launch.effects import Exit
from smgcfg.launch.policy import End, Failure, Restart, decide, failure_of
from smgcfg.process import LaunchSettings, ProcessSpec, Readiness

SETTINGS = LaunchSettings(restart_budget=3, restart_window=600.0, restart_backoff_max=5.0, stable_after=300.0)


def failure(status: int | None = 7, *, up: bool = True, ages: tuple[float, ...] = (), in_a_row: int = 0) -> Failure:
    """Return a failure of a worker."""
    return Failure("chat-0", "worker", Exit(status), up, ages, in_a_row)


@pytest.mark.parametrize(("status", "code"), [(7, 7), (0, 1), (-9, 137), (-15, 143), (None, 1)])
def test_failure_before_the_launch_was_ready_ends_it(status: int | None, code: int) -> None:
    """What never worked is not tried again; the exit code is the process's own, and never 0."""
    assert decide(failure(status, up=False), SETTINGS) == End(code)


def test_never_means_never() -> None:
    """Without restarts every failure ends the launch."""
    assert decide(failure(), SETTINGS.evolve(restart="never")) == End(7)


@pytest.mark.parametrize(("in_a_row", "delay"), [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (5000, 5.0)])
def test_waits_grow(in_a_row: int, delay: float) -> None:
    """The first restart comes at once, the next after 1 s, each further one after twice as long, up to a limit."""
    assert decide(failure(in_a_row=in_a_row), SETTINGS) == Restart(1, delay)


def test_budget_counts_what_lies_in_the_window() -> None:
    """The failure after the last restart of the window ends the launch with its exit code; older restarts are free."""
    assert decide(failure(ages=(9999.0, 600.0, 599.0, 1.0)), SETTINGS) == Restart(3, 0.0)
    assert decide(failure(-9, ages=(599.0, 300.0, 1.0)), SETTINGS) == End(137, spent=True)


@pytest.mark.parametrize(("ready_for", "in_a_row"), [(None, 4), (299.0, 4), (300.0, 0)])
def test_stable_process_starts_anew(ready_for: float | None, in_a_row: int) -> None:
    """A process that was ready for long enough waits no longer than one that fails for the first time."""
    ready = Readiness(seen_by="http", url="http://127.0.0.1:1/", timeout=1.0)
    child = Child(ProcessSpec(name="chat-0", role="worker", argv=("engine",), ready=ready))
    child.in_a_row, child.failures = 4, [990.0, 999.0]
    child.ready_at = None if ready_for is None else 1000.0 - ready_for
    expected = Failure("chat-0", "worker", Exit(1), True, (10.0, 1.0), in_a_row)
    assert failure_of(child, Exit(1), 1000.0, True, SETTINGS) == expected
