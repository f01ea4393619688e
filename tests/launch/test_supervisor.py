"""The supervisor's rules, on a machine that only pretends."""

from pathlib import Path

import pytest
from launch.plans import plan_of, process
from launch.trials import GRACE, TIMEOUT, Trial, small_plan, worker

from smgcfg.launch import events, policy
from smgcfg.launch.effects import Exit
from smgcfg.launch.stopping import KILL_PATIENCE
from smgcfg.launch.supervisor import Supervisor
from smgcfg.process import LaunchSettings
from smgcfg.testing.machine import FakeMachine


def test_everything_starts_in_one_step() -> None:
    """Gateway and workers are started together, without waiting for one another."""
    trial = Trial()
    trial.step()
    assert trial.machine.alive == {"gateway", "chat-0", "chat-1"}


def test_start_order_is_kept() -> None:
    """What has a lower start order is started earlier."""
    plan = plan_of(Path("/run/trial"), small_plan().gateway, [worker(0, start_order=2), worker(1, start_order=-1)])
    trial = Trial(plan)
    trial.step()
    assert trial.did("start") == ["chat-1", "gateway", "chat-0"]


def test_ready_is_what_the_gateway_sees() -> None:
    """The launch is ready when the gateway answers and lists every worker as healthy, and not before."""
    trial = Trial()
    trial.settle()
    trial.machine.become_ready("chat-0")
    trial.machine.become_ready("chat-1")
    assert trial.settle(5.0) == []
    trial.machine.become_ready("gateway")
    told = trial.settle(1.0)
    assert [type(event) for event in told] == [events.Ready] * 3 + [events.LaunchReady]
    assert trial.supervisor.phase == "up"


def test_one_worker_is_not_all() -> None:
    """A gateway that would answer with the first worker does not make the launch ready."""
    trial = Trial()
    trial.settle()
    for name in ("gateway", "chat-0"):
        trial.machine.become_ready(name)
    trial.settle(1.0)
    assert trial.supervisor.phase == "starting"
    assert [event.name for event in trial.of(events.Ready)] == ["gateway", "chat-0"]


def test_worker_that_falls_out_again_has_to_come_back() -> None:
    """A worker that the gateway loses while others start is waited for again, within its own time."""
    trial = Trial()
    trial.settle()
    for name in ("gateway", "chat-0"):
        trial.machine.become_ready(name)
    trial.settle(1.0)
    trial.machine.become_ready("chat-0", False)
    trial.settle(1.0)
    trial.machine.become_ready("chat-1")
    trial.settle(1.0)
    assert trial.supervisor.phase == "starting"
    trial.settle(TIMEOUT)
    assert [event.name for event in trial.of(events.StartTimedOut)] == ["chat-0"]


def test_questions_get_rarer() -> None:
    """The supervisor asks often at first, and no more often than once a second when a start takes long."""
    trial = Trial()
    trial.step()
    assert trial.supervisor.wake_at == pytest.approx(0.05)
    trial.step(15.0)
    assert trial.supervisor.wake_at - trial.machine.time == pytest.approx(0.75)
    trial = Trial(plan_of(Path("/run"), process("gateway", ["smg"], "http://h/", timeout=9999), []))
    trial.step()
    trial.step(1000.0)
    assert trial.supervisor.wake_at - trial.machine.time == pytest.approx(1.0)


@pytest.mark.parametrize(("status", "code"), [(7, 7), (0, 1), (-9, 137), (-15, 143)])
def test_death_while_starting_ends_the_launch_at_once(status: int, code: int) -> None:
    """A worker that dies early is reported with what it said, and everything is stopped in the same step."""
    trial = Trial()
    trial.settle()
    trial.machine.die("chat-1", status, "out of memory")
    died, began, *_ = trial.step()
    assert died == events.Died("chat-1", 1003, Exit(status), pytest.approx(0.2), False, ("out of memory",))
    assert began == events.StopBegan("chat-1", draining=False, kill_next=False)
    trial.settle()
    assert trial.supervisor.phase == "stopped"
    assert trial.supervisor.exit_code == code
    assert trial.machine.alive == set()


def test_gateway_that_serves_nobody_is_not_waited_for() -> None:
    """A gateway without a ready worker has no requests to finish: it is killed, while workers may end in order."""
    trial = Trial()
    trial.settle()
    trial.machine.become_ready("gateway")
    trial.settle()
    trial.supervisor.interrupt(15)
    trial.step()
    assert trial.did("kill") == ["gateway"]
    assert trial.did("stop") == ["chat-0", "chat-1"]


def test_gateway_that_serves_is_drained_even_if_the_launch_was_never_ready() -> None:
    """One ready worker may have requests: the gateway finishes them though another worker ended the launch."""
    trial = Trial()
    trial.settle()
    trial.machine.become_ready("gateway")
    trial.machine.become_ready("chat-0")
    trial.settle()
    trial.machine.processes["gateway"].deaf = True
    trial.machine.die("chat-1", 3)
    trial.settle()
    assert trial.machine.alive == {"gateway", "chat-0"}
    assert trial.did("stop") == ["gateway"]


def test_death_after_ready_ends_the_launch_with_its_code() -> None:
    """A death later on is told once, with its cause, and ends the launch cleanly with the worker's own exit code."""
    trial = Trial(small_plan(restart="never"))
    trial.bring_up()
    trial.machine.die("chat-0", 7, "cuda error")
    trial.settle(30.0)
    assert trial.of(events.Died) == [
        events.Died("chat-0", 1002, Exit(7), pytest.approx(30.4), True, ("cuda error",)),
    ]
    assert trial.supervisor.exit_code == 7
    assert trial.did("stop") == ["gateway", "chat-1"]


def test_policy_is_asked_what_follows() -> None:
    """What follows from a death is the policy's to say, who learns who died, how, and whether the launch was ready."""
    asked = []

    def decide(failure: policy.Failure, settings: LaunchSettings) -> policy.End:
        asked.append((failure, settings))
        return policy.End(42)

    machine, plan = FakeMachine(), small_plan()
    supervisor = Supervisor(plan, **machine.effects, decide=decide)
    supervisor.step()
    machine.die("gateway", 1)
    supervisor.step()
    assert asked == [(policy.Failure("gateway", "gateway", Exit(1), False), plan.settings)]
    assert supervisor.exit_code == 42


def test_two_deaths_are_two_reports_and_one_exit_code() -> None:
    """Each death is told, and the first decides the exit code."""
    trial = Trial(small_plan(restart="never"))
    trial.bring_up()
    trial.machine.die("chat-1", 5)
    trial.machine.die("chat-0", 6)
    trial.settle()
    assert [event.name for event in trial.of(events.Died)] == ["chat-1", "chat-0"]
    assert trial.supervisor.exit_code == 5


def test_program_that_is_missing_ends_the_launch() -> None:
    """A program that can not be run is a failure of the launch, with exit code 1, and leaves nothing."""
    trial = Trial()
    trial.machine.missing.add("chat-1")
    trial.settle()
    assert trial.of(events.StartFailed) == [events.StartFailed("chat-1", "no such file or directory")]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


def test_start_has_a_time() -> None:
    """A process that is not ready in its time ends the launch, and what the gateway last said of it is told."""
    trial = Trial()
    trial.settle()
    trial.machine.become_ready("gateway")
    trial.machine.become_ready("chat-0")
    trial.settle(TIMEOUT - 1.0)
    assert trial.supervisor.phase == "starting"
    trial.settle(1.0)
    assert trial.of(events.StartTimedOut) == [
        events.StartTimedOut("chat-1", 1003, TIMEOUT, "the gateway lists it as 'pending'")
    ]
    assert trial.supervisor.exit_code == 1


def test_refused_key_ends_the_launch() -> None:
    """A gateway that will not tell is a failure at once, and not after the whole startup time."""
    trial = Trial()
    trial.settle()
    trial.machine.become_ready("gateway")
    trial.machine.refuses_key = True
    trial.settle()
    assert trial.of(events.KeyRefused) == [events.KeyRefused("HTTP 401")]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


def test_stop_goes_gateway_first() -> None:
    """Workers are asked to end only when nothing is left of the gateway."""
    trial = Trial()
    trial.bring_up()
    trial.machine.processes["gateway"].deaf = True
    trial.supervisor.interrupt(2)
    trial.settle(1.0)
    assert trial.did("stop") == ["gateway"]
    trial.machine.die("gateway", 0)
    trial.settle()
    assert trial.did("stop") == ["gateway", "chat-0", "chat-1"]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 130)


def test_what_a_process_left_behind_is_waited_for() -> None:
    """The next in order is stopped when nothing is left of those before it, and not when their programs have ended."""
    trial = Trial()
    trial.bring_up()
    trial.machine.processes["gateway"].leftovers = True
    trial.machine.processes["gateway"].deaf = True
    trial.supervisor.stop()
    trial.settle()
    trial.machine.die("gateway", 0)
    trial.settle()
    assert trial.did("stop") == ["gateway"]
    trial.machine.clean("gateway")
    trial.settle()
    assert trial.did("stop") == ["gateway", "chat-0", "chat-1"]


def test_grace_then_kill() -> None:
    """A process that does not end when asked is killed when its grace is over, and not before."""
    trial = Trial()
    trial.bring_up()
    trial.machine.processes["chat-0"].deaf = True
    trial.supervisor.stop()
    trial.settle()
    trial.step(GRACE - 0.2)
    assert trial.did("kill") == []
    assert trial.supervisor.wake_at == pytest.approx(trial.machine.history[-1].time + GRACE)
    trial.step(0.2)
    assert trial.did("kill") == ["chat-0"]
    trial.settle()
    assert trial.of(events.KillBegan) == [events.KillBegan("chat-0", 1002, "grace", pytest.approx(GRACE, abs=0.2))]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 0)


def test_second_signal_kills_at_once() -> None:
    """The first signal says what a second one does; the second kills everything; the code is that of the first."""
    trial = Trial()
    trial.bring_up()
    for process_ in trial.machine.processes.values():
        process_.deaf = True
    trial.supervisor.interrupt(2)
    assert trial.step() == [events.StopBegan("SIGINT", draining=True, kill_next=True)]
    trial.supervisor.interrupt(15)
    trial.settle()
    assert sorted(trial.did("kill")) == ["chat-0", "chat-1", "gateway"]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 130)


def test_signal_during_another_stop_warns_first() -> None:
    """Who interrupts a stop that has another cause is told what one more does, and the cause decides the code."""
    trial = Trial(small_plan(restart="never"))
    trial.bring_up()
    trial.machine.processes["gateway"].deaf = True
    trial.machine.die("chat-0", 7)
    trial.step()
    trial.supervisor.interrupt(2)
    assert events.StopRepeated("SIGINT") in trial.step()
    assert trial.did("kill") == []
    trial.supervisor.interrupt(2)
    trial.settle()
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 7)


def test_what_can_not_be_killed_is_left_and_told() -> None:
    """A process that outlives being killed does not hold the launcher for ever, and is named."""
    trial = Trial()
    trial.bring_up()
    trial.machine.processes["chat-1"].stuck = True
    trial.supervisor.kill()
    trial.settle()
    trial.settle(KILL_PATIENCE - 1.0)
    assert trial.supervisor.phase == "stopping"
    trial.settle(1.0)
    assert trial.of(events.LeftBehind) == [events.LeftBehind("chat-1", 1003)]
    assert trial.did("kill").count("chat-1") > 1
    assert trial.supervisor.phase == "stopped"


def test_stop_before_anything_started() -> None:
    """A launch that is stopped before its first step starts nothing."""
    trial = Trial()
    trial.supervisor.interrupt(15)
    trial.step()
    assert trial.machine.history == []
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 143)


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (7, "exit code 7", 7),
        (0, "exit code 0", 1),
        (-9, "SIGKILL", 137),
        (-64, "SIGRTMAX", 192),
        (-50, "signal 50", 178),
        (None, "exit code not known", 1),
    ],
)
def test_exit_in_words_and_as_code(status: int | None, text: str, code: int) -> None:
    """An end is named by its code or signal, and never counts as success."""
    assert (str(Exit(status)), Exit(status).code) == (text, code)
