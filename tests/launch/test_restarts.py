"""How processes come back, on a machine that only pretends."""

import pytest
from launch.trials import DRAIN, GRACE, TIMEOUT, Trial, small_plan

from smgcfg.launch import events
from smgcfg.launch.effects import Exit
from smgcfg.launch.revival import ASKED_WITHIN, DRAIN_SLACK
from smgcfg.launch.stopping import KILL_PATIENCE


def up(count: int = 2, *, zmq: int = 0, **launch: object) -> tuple[Trial, int]:
    """Return a trial whose launch is up, and how much was done to its processes until then."""
    trial = Trial(small_plan(count, zmq=zmq, **launch))
    trial.bring_up()
    return trial, len(trial.machine.history)


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


# --- zmq workers -----------------------------------------------------------------------------------------------------


def test_killed_engine_is_healed_without_touching_the_gateway() -> None:
    """The gateway is told of the death once nothing is left of the engine, and only then a new one is started."""
    trial, since = up(3, zmq=3)
    trial.machine.processes["chat-1"].leftovers = True
    trial.machine.die("chat-1", -9)
    trial.run(1.0)
    assert trial.machine.messenger.told == []
    trial.machine.clean("chat-1")
    trial.run(1.0)
    assert trial.machine.messenger.told == ["chat-1"]
    trial.load("chat-1")
    trial.run(3.0)
    assert trial.done(since) == ["start chat-1"]
    assert trial.of(events.Ready)[-1].kept == ("chat-0", "chat-2")


def test_engine_that_said_goodbye_needs_no_notice() -> None:
    """A second notice would kill the next engine: none is sent when the gateway let go of the socket by itself."""
    trial, _ = up(zmq=2)
    trial.machine.die("chat-1", 0)
    trial.machine.wire.say_goodbye(trial.machine, "chat-1")
    trial.run(0.2)
    trial.load("chat-1")
    trial.run(3.0)
    assert trial.machine.messenger.told == []
    assert trial.of(events.Ready)[-1].name == "chat-1"


def test_engine_that_dies_before_it_was_seen_ready() -> None:
    """The gateway knows whether it had registered: if so it is told of the death, and if not that would do harm."""
    trial, _ = up(zmq=2)
    trial.machine.die("chat-1", -9)
    trial.run(3.0)
    trial.load("chat-1")
    trial.machine.die("chat-1", -9)
    trial.run(2.0)
    assert trial.machine.messenger.told == ["chat-1", "chat-1"]
    trial.run(3.0)
    trial.machine.die("chat-1", -9)
    trial.run(3.0)
    trial.load("chat-1")
    trial.run(1.0)
    assert trial.machine.messenger.told == ["chat-1", "chat-1"]
    assert trial.of(events.Ready)[-1].name == "chat-1"


ALL_ANEW = [
    "stop gateway",
    "stop chat-0",
    "start gateway",
    "start chat-0",
    "start chat-1",
]


def test_gateway_is_replaced_where_no_notice_can_be_sent() -> None:
    """The gateway finishes its requests, the engines stop, the gateway starts, the engines start; others go on."""
    trial, since = up(3, zmq=2)
    trial.machine.messenger.missing = "pyzmq is not installed"
    trial.machine.processes["gateway"].deaf = True
    trial.machine.die("chat-1", -9)
    trial.run(1.0)
    assert trial.done(since) == ["stop gateway"]
    trial.machine.die("gateway", 0)
    trial.settle()
    trial.load("gateway")
    trial.settle()
    assert trial.done(since) == ALL_ANEW
    reason = "chat-1's death can not be told to it: pyzmq is not installed"
    assert trial.of(events.RestartBegan) == [events.RestartBegan("gateway", reason, ("chat-0", "chat-1"))]
    trial.load()
    trial.run(1.0)
    assert [e.name for e in trial.of(events.Ready)[4:]] == ["gateway", "chat-2", "chat-0", "chat-1"]
    assert [e.restart for e in trial.of(events.Died)] == [1]  # it cost nobody else anything of the budget


def test_gateway_that_does_not_hear_is_replaced() -> None:
    """A notice that could not be pushed leads to a new gateway."""
    trial, since = up(2, zmq=2)
    trial.machine.messenger.problem = "no connection in 0.5 s"
    trial.machine.die("chat-1", -9)
    trial.settle()
    trial.load("gateway")
    trial.settle()
    assert trial.done(since) == ALL_ANEW
    assert trial.of(events.RestartBegan)[0].reason == "chat-1's death could not be told to it: no connection in 0.5 s"


def test_gateway_that_says_nothing_is_replaced() -> None:
    """An engine whose state nobody knows does not wait for ever for a gateway that does not say it."""
    trial, since = up(2, zmq=2, unhealthy_after=0.0)
    trial.machine.die("chat-1", -9)
    trial.run(3.0)
    trial.machine.processes["gateway"].hung = True
    trial.machine.die("chat-1", -9)
    trial.run(ASKED_WITHIN - 1.0)
    assert trial.done(since)[-1] == "start chat-1"
    trial.run(2.0 + DRAIN + DRAIN_SLACK)
    assert trial.done(since)[1:5] == ["stop gateway", "kill gateway", "stop chat-0", "start gateway"]


def test_engine_that_does_not_get_through_has_the_gateway_replaced_once() -> None:
    """A start over zmq that takes too long may be the gateway's fault: it is replaced once, and not each time."""
    trial, since = up(2, zmq=2)
    trial.machine.die("chat-1", -9)
    trial.run(TIMEOUT + 1.0)
    trial.load("gateway")
    trial.run(1.0)
    trial.load("chat-0")
    assert [event.reason for event in trial.of(events.RestartBegan)] == ["chat-1 did not get through to it"]
    trial.run(2 * TIMEOUT + 5.0)
    assert len(trial.of(events.StartTimedOut)) == 3
    assert len(trial.of(events.RestartBegan)) == 1
    assert trial.done(since).count("start gateway") == 1


# --- the gateway -----------------------------------------------------------------------------------------------------


def test_gateway_that_dies_takes_its_zmq_workers_along() -> None:
    """No engine of the old gateway is there when the new one starts; workers over http keep running."""
    trial, since = up(3, zmq=2)
    pid = trial.machine.processes["chat-2"].pid
    trial.machine.processes["chat-0"].deaf = True
    trial.machine.die("gateway", -9)
    trial.run(GRACE - 0.5)
    assert trial.done(since) == ["stop chat-0", "stop chat-1"]
    trial.run(1.0)
    assert trial.done(since)[2:] == ["kill chat-0", "start gateway"]
    trial.load("gateway")
    trial.run(0.5)
    assert trial.done(since)[4:] == ["start chat-0", "start chat-1"]
    trial.load()
    trial.run(1.0)
    assert all(child.state == "ready" for child in trial.supervisor.children.values())
    assert trial.machine.processes["chat-2"].pid == pid
    assert [event.others for event in trial.of(events.RestartBegan)] == [("chat-0", "chat-1")]
    assert [event.name for event in trial.of(events.Died)] == ["gateway"]


def test_gateway_of_http_workers_restarts_alone() -> None:
    """Workers that need nothing of the gateway are not touched, and are ready again when the new one sees them."""
    trial, since = up(2)
    trial.machine.die("gateway", 101)
    trial.run(1.0)
    trial.load("gateway")
    trial.run(1.0)
    assert trial.done(since) == ["start gateway"]
    assert [event.name for event in trial.of(events.Ready)[3:]] == ["gateway", "chat-0", "chat-1"]


def test_gateway_and_worker_that_die_together() -> None:
    """Two deaths at once are healed as one: nothing is told to a gateway that is gone."""
    trial, since = up(2, zmq=2)
    trial.machine.die("chat-1", -9)
    trial.machine.die("gateway", -9)
    trial.run(0.5)
    trial.load("gateway")
    trial.run(0.5)
    assert trial.done(since) == ALL_ANEW[1:]
    assert trial.machine.messenger.told == []


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
