"""How the connection between a gateway and its zmq workers comes back, on a machine that only pretends."""

from launch.trials import DRAIN, GRACE, TIMEOUT, up

from smgcfg.launch import events
from smgcfg.launch.revival import ASKED_WITHIN, DRAIN_SLACK

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
