"""How processes come back, on a machine that only pretends."""

import pytest
from launch.trials import DRAIN, GRACE, TIMEOUT, Trial, small_plan, up

from smgcfg.launch import events
from smgcfg.launch.effects import Exit
from smgcfg.launch.revival import DRAIN_SLACK
from smgcfg.launch.stopping import KILL_PATIENCE


def test_worker_that_dies_is_started_again() -> None:
    """A death after the launch was ready costs one worker its place for a while, and nobody else anything."""
    trial, since = up()
    pids = {name: process.pid for name, process in trial.machine.processes.items()}
    trial.machine.die("chat-0", -9, "so far so good")
    told = trial.settle(30.0)
    assert told == [
        events.Died("chat-0", pids["chat-0"], Exit(-9), pytest.approx(30.4), True, ("so far so good",), 1, 0.0)
    ]
    trial.load("chat-0")
    assert trial.settle(5.0) == [events.Ready("chat-0", 1004, pytest.approx(5.2, abs=0.1), True, ("chat-1",))]
    assert trial.done(since) == ["start chat-0"]
    assert trial.supervisor.phase == "up"
    assert {name: process.pid for name, process in trial.machine.processes.items()} == {**pids, "chat-0": 1004}


def test_old_one_is_gone_before_the_new_one_starts() -> None:
    """What a dead program left behind is waited for: its ports and GPUs are not free before."""
    trial, since = up()
    trial.machine.processes["chat-0"].leftovers = True
    trial.machine.die("chat-0", -11)
    trial.settle(1.0)
    assert trial.done(since) == []
    trial.machine.clean("chat-0")
    trial.settle()
    assert trial.done(since) == ["start chat-0"]


def test_leftovers_that_can_not_be_killed_end_the_launch() -> None:
    """A place that can not be cleared can not be filled: the launch ends, and says who is left."""
    trial, _ = up()
    trial.machine.processes["chat-0"].leftovers = True
    trial.machine.processes["chat-0"].stuck = True
    trial.machine.die("chat-0", -11)
    trial.run(3 * KILL_PATIENCE)
    assert [event.name for event in trial.of(events.LeftBehind)] == ["chat-0"]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


def test_crash_loop_ends_with_the_workers_code() -> None:
    """A worker that dies again and again is started at once, after 1, 2, 4 ... s, and then the launch ends."""
    trial, since = up(restart_budget=4)
    began = trial.machine.time
    for _ in range(4):
        trial.machine.die("chat-0", 7)
        while "chat-0" not in trial.machine.processes:
            trial.run(0.05)
    trial.machine.die("chat-0", 9)
    trial.settle()
    starts = [a.time - began for a in trial.machine.history[since:] if (a.verb, a.name) == ("start", "chat-0")]
    assert starts == pytest.approx([0.0, 1.0, 3.0, 7.0], abs=0.5)
    assert [(event.restart, event.delay) for event in trial.of(events.Died)] == [(1, 0), (2, 1), (3, 2), (4, 4), (0, 0)]
    assert trial.of(events.BudgetSpent) == [events.BudgetSpent("chat-0", 4, 600.0)]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 9)
    assert trial.machine.alive == frozenset()


def test_budget_is_each_process_own() -> None:
    """One worker's restarts do not count against another's."""
    trial, _ = up(restart_budget=1)
    for name in ("chat-0", "chat-1", "gateway"):
        trial.machine.die(name, 1)
        trial.settle()
    assert [event.restart for event in trial.of(events.Died)] == [1, 1, 1]
    assert trial.supervisor.phase == "up"


def test_stable_worker_has_its_restart_at_once() -> None:
    """After stable_after seconds of service a worker waits no longer than the first time."""
    trial, _ = up(stable_after=300.0)
    for delay, lived in ((0.0, 10.0), (1.0, 10.0), (2.0, 301.0), (0.0, 10.0)):
        trial.machine.die("chat-0", 1)
        trial.step()
        assert trial.of(events.Died)[-1].delay == delay
        trial.run(delay + 0.5)
        trial.load("chat-0")
        trial.run(lived)


def test_start_that_fails_again_counts() -> None:
    """Dying while starting, not being ready in time and not being there at all are failures that use up the budget."""
    trial, _ = up(restart_budget=3)
    trial.machine.die("chat-0", 1)
    trial.run(0.5)
    trial.machine.die("chat-0", 3)
    trial.run(1.5)
    trial.run(TIMEOUT)
    trial.machine.missing.add("chat-0")
    trial.run(5.0)
    assert [(e.exit.status, e.was_ready, e.restart) for e in trial.of(events.Died)] == [(1, True, 1), (3, False, 2)]
    assert [event.restart for event in trial.of(events.StartTimedOut)] == [3]
    assert trial.did("kill") == ["chat-0"]
    assert trial.of(events.StartFailed) == [events.StartFailed("chat-0", "no such file or directory")]
    assert trial.supervisor.exit_code == 1


def test_restart_is_not_ready_before_it_is() -> None:
    """The gateway's view of a worker that it has not missed yet is not taken for that of its successor."""
    trial, _ = up()
    trial.machine.die("chat-0", 1)
    trial.run(1.0)
    assert trial.of(events.Ready)[3:] == []
    trial, _ = up(zmq=2)
    trial.machine.die("chat-0", -9)
    trial.run(5.0)
    assert trial.of(events.Ready)[3:] == []
    trial.load("chat-0")
    trial.run(1.0)
    assert [event.name for event in trial.of(events.Ready)[3:]] == ["chat-0"]


# --- strangers -------------------------------------------------------------------------------------------------------


def test_stranger_who_answers_in_place_of_a_process_ends_the_start() -> None:
    """Readiness that is somebody else's is none: the launch ends and names who listens there."""
    trial = Trial()
    trial.machine.strangers["gateway"] = "port 8080 is listened on by pid 77 (python3)"
    trial.settle()
    trial.load()
    trial.settle()
    assert [(e.name, e.owner) for e in trial.of(events.PortTaken)] == [("gateway", trial.machine.strangers["gateway"])]
    assert trial.of(events.Ready) == []
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


def test_stranger_who_came_while_a_worker_was_away() -> None:
    """At a restart a stranger on the port is a failed start, which is not waited out, and is tried again."""
    trial, since = up()
    trial.machine.die("chat-0", 1)
    trial.machine.strangers["chat-0"] = "port 31000 is listened on by pid 77 (python3)"
    trial.run(1.0)
    trial.machine.strangers.clear()
    trial.run(1.5)
    trial.load("chat-0")
    trial.run(1.0)
    assert trial.done(since) == ["start chat-0", "kill chat-0", "start chat-0"]
    assert [event.restart for event in trial.of(events.PortTaken)] == [2]
    assert trial.of(events.Ready)[-1].name == "chat-0"


def test_stranger_where_an_engine_would_register() -> None:
    """Who took a zmq worker's handshake port from the gateway is named at once, and costs nobody else anything."""
    trial, since = up(zmq=2)
    trial.machine.strangers["chat-0"] = "the handshake port 20000 is listened on by pid 77 (python3)"
    trial.run(10.0)
    assert trial.of(events.PortTaken) == []
    trial.machine.die("chat-0", -9)
    trial.run(0.5)
    trial.machine.strangers.clear()
    trial.run(2.0)
    trial.load("chat-0")
    trial.run(1.0)
    assert trial.done(since) == ["start chat-0", "kill chat-0", "start chat-0"]
    assert [event.name for event in trial.of(events.PortTaken)] == ["chat-0"]
    assert trial.of(events.Ready)[-1].name == "chat-0"


def test_strangers_are_not_looked_for_where_nobody_wants_it() -> None:
    """With check_listeners off, as a process that a container engine starts needs it, an answer is an answer."""
    trial = Trial(small_plan(check_listeners=False))
    trial.machine.strangers |= dict.fromkeys(("gateway", "chat-0"), "port 1 is listened on by pid 7 (docker-proxy)")
    trial.bring_up()


# --- asked for -------------------------------------------------------------------------------------------------------


def test_restart_of_a_worker_on_request() -> None:
    """A worker is stopped as at the end of a launch and started again, and that counts as no failure."""
    trial, since = up(zmq=2)
    trial.machine.processes["chat-0"].deaf = True
    assert trial.supervisor.restart("chat-0")
    trial.step()
    assert not trial.supervisor.restart("chat-0")
    trial.run(GRACE + 2.0)
    trial.load("chat-0")
    trial.run(2.0)
    assert trial.done(since) == ["stop chat-0", "kill chat-0", "start chat-0"]
    assert trial.of(events.RestartBegan) == [events.RestartBegan("chat-0", "asked")]
    assert trial.of(events.Died) == []
    assert trial.supervisor.children["chat-0"].failures == []
    assert trial.of(events.Ready)[-1].name == "chat-0"


def test_restart_of_the_gateway_on_request() -> None:
    """The gateway is restarted in the order that its zmq workers need."""
    trial, since = up(3, zmq=1)
    assert trial.supervisor.restart("gateway")
    trial.settle()
    trial.load("gateway")
    trial.settle()
    assert trial.done(since) == ["stop gateway", "stop chat-0", "start gateway", "start chat-0"]


def test_restart_on_request_ends_a_wait() -> None:
    """Who asks for a worker that waits for its next try does not have to wait with it."""
    trial, since = up()
    trial.machine.die("chat-0", 1)
    trial.settle()
    trial.machine.die("chat-0", 1)
    trial.settle()
    assert trial.done(since) == ["start chat-0"]
    assert trial.supervisor.restart("chat-0")
    trial.settle()
    assert trial.done(since) == ["start chat-0", "start chat-0"]


def test_no_restart_of_what_is_not_up() -> None:
    """While a launch starts or stops nothing is restarted."""
    trial = Trial()
    trial.settle()
    assert not trial.supervisor.restart("chat-0")
    trial.load()
    trial.settle()
    trial.supervisor.stop()
    assert not trial.supervisor.restart("chat-0")


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [0.0, 0.1, 0.6, 1.2, 5.0])
def test_stop_while_something_comes_back(when: float) -> None:
    """Wherever a restart stands when the launch is stopped, nothing is started any more and nothing is left."""
    trial, _ = up(3, zmq=2)
    trial.machine.die("chat-0", 1)
    trial.run(0.2)
    trial.machine.die("gateway", 1)
    trial.run(max(when, 0.001))
    trial.supervisor.interrupt(15)
    since = len(trial.machine.history)
    trial.run(2 * GRACE + DRAIN)
    assert "start" not in " ".join(trial.done(since))
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 143)
    assert trial.machine.alive == frozenset()


def test_stop_while_the_gateway_drains_to_be_replaced() -> None:
    """The requests that a gateway finishes before it is replaced are finished as well when the launch is stopped."""
    trial, since = up(2, zmq=1)
    trial.machine.processes["gateway"].deaf = True
    trial.supervisor.restart("gateway")
    trial.run(1.0)
    trial.supervisor.stop()
    trial.run(1.0)
    assert trial.done(since) == ["stop gateway"]
    trial.machine.die("gateway", 0)
    trial.settle()
    assert trial.done(since) == ["stop gateway", "stop chat-0", "stop chat-1"]


def test_drain_is_bounded() -> None:
    """A gateway that does not come to an end is killed a little after the time it has to finish its requests."""
    trial, since = up()
    trial.machine.processes["gateway"].deaf = True
    trial.supervisor.stop()
    began = trial.machine.time
    trial.run(DRAIN + DRAIN_SLACK + 0.1)
    killed = [action.time - began for action in trial.machine.history[since:] if action.verb == "kill"]
    assert killed == pytest.approx([DRAIN + DRAIN_SLACK], abs=0.01)
