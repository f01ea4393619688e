"""Who runs but does not respond, on a machine that only pretends."""

from collections import Counter
from collections.abc import Iterator

import pytest
from launch.trials import Trial, small_plan

from smgcfg.launch import events
from smgcfg.launch.effects import Load, Loads, Probed
from smgcfg.testing.machine import FakeMachine

AFTER = 8.0


def up(count: int = 2, *, zmq: int = 0, **launch: object) -> Trial:
    """Return a trial whose launch is up."""
    trial = Trial(small_plan(count, zmq=zmq, **{"unhealthy_after": AFTER, **launch}))
    trial.bring_up()
    return trial


def test_engine_that_hangs_is_replaced_though_the_gateway_takes_it_for_ready() -> None:
    """A zmq engine that gives no token for so long is killed, its death told, and a new one started."""
    trial = up(3, zmq=3)
    trial.machine.processes["chat-1"].hung = True
    pid = trial.machine.processes["chat-1"].pid
    trial.run(AFTER - 0.1)
    assert trial.of(events.Hung) == []
    trial.run(AFTER / 4 + 0.2)
    (hung,) = trial.of(events.Hung)
    assert hung == events.Hung("chat-1", pid, "no token, though asked for one", pytest.approx(AFTER), 1, 0.0)
    assert trial.did("kill") == ["chat-1"]
    assert [type(e).__name__ for e in trial.told[-2:]] == ["Hung", "Stopped"]
    assert trial.machine.messenger.told == ["chat-1"]
    trial.run(1.0)
    trial.load("chat-1")
    trial.run(3 * AFTER)
    assert trial.did("start")[4:] == ["chat-1"]
    assert trial.supervisor.children["chat-1"].state == "ready"


def test_idle_workers_are_left_alone() -> None:
    """Workers that answer their probes are never held to be hung, however long nobody else asks them anything."""
    trial = up(3, zmq=2)
    trial.run(50 * AFTER)
    assert trial.told[-1:] == trial.of(events.LaunchReady)
    assert trial.did("kill") == []


def test_zero_is_off() -> None:
    """With unhealthy_after = 0 nobody is asked anything once the launch is ready."""
    trial = up(zmq=2, unhealthy_after=0.0)
    trial.machine.processes["chat-1"].hung = True
    assert trial.supervisor.wake_at == float("inf")
    assert trial.run(1000.0) == []


def test_worker_that_wakes_up_in_time_is_kept() -> None:
    """Any answer clears a worker, and the time begins anew."""
    trial = up(zmq=2)
    for _ in range(3):
        trial.machine.processes["chat-1"].hung = True
        trial.run(AFTER - 1.0)
        trial.machine.processes["chat-1"].hung = False
        trial.run(AFTER)
    assert trial.of(events.Hung) == []


def test_worker_that_falls_out_of_the_gateways_view_is_replaced() -> None:
    """A worker over http that the gateway holds for unhealthy is told of, and replaced when it does not recover."""
    trial = up()
    trial.machine.become_ready("chat-0", False)
    trial.run(AFTER - 1.0)
    assert [(e.name, e.seen) for e in trial.of(events.Unwell)] == [("chat-0", "the gateway lists it as 'pending'")]
    assert trial.of(events.Unwell)[0].patience == pytest.approx(AFTER / 2, abs=0.1)
    trial.run(4.0)
    assert [(e.name, e.seen) for e in trial.of(events.Hung)] == [("chat-0", "the gateway lists it as 'pending'")]
    trial.load("chat-0")
    trial.run(1.0)
    assert trial.of(events.Ready)[-1].name == "chat-0"


def test_worker_that_recovers_is_kept() -> None:
    """What was told to be unwell is told to be well; what lasts but a moment is not told at all."""
    trial = up()
    trial.machine.become_ready("chat-0", False)
    trial.run(AFTER * 0.9)
    trial.load("chat-0")
    trial.run(AFTER)
    assert [event.name for event in trial.of(events.Well)] == ["chat-0"]
    trial.machine.become_ready("chat-0", False)
    trial.run(3.0)
    trial.load("chat-0")
    trial.run(AFTER)
    assert len(trial.of(events.Unwell)) == len(trial.of(events.Well)) == 1
    assert trial.of(events.Hung) == []


def test_gateway_that_hangs_is_replaced_and_blames_nobody_else() -> None:
    """A gateway that does not answer is killed, and its workers, of whom it says nothing, are not held for hung."""
    trial = up(3, zmq=2)
    trial.machine.processes["gateway"].hung = True
    trial.run(AFTER + 3.0)
    assert [(e.name, e.seen) for e in trial.of(events.Hung)] == [("gateway", "connection refused")]
    assert trial.did("kill") == ["gateway"]
    assert trial.did("stop") == ["chat-0", "chat-1"]
    trial.load("gateway")
    trial.run(1.0)
    trial.load()
    trial.run(1.0)
    assert all(child.state == "ready" for child in trial.supervisor.children.values())


def test_hung_worker_ends_the_launch_where_nothing_is_restarted() -> None:
    """With restart = "never" a worker that hangs is a failure like any other."""
    trial = up(zmq=2, restart="never")
    trial.machine.processes["chat-1"].hung = True
    trial.run(3 * AFTER)
    assert [event.restart for event in trial.of(events.Hung)] == [0]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


def test_worker_that_is_held_while_it_loads_is_replaced() -> None:
    """A process that is stopped does not load: it is told of and replaced long before its time to load is over."""
    trial = up(zmq=2)
    trial.machine.die("chat-0", -9)
    trial.run(1.0)
    trial.machine.processes["chat-0"].held = True
    trial.run(1.5 * AFTER)
    seen = "it is held by a signal, as SIGSTOP"
    assert [(e.name, e.seen) for e in trial.of(events.Unwell)] == [("chat-0", seen)]
    assert [(e.name, e.seen, e.restart, e.delay) for e in trial.of(events.Hung)] == [("chat-0", seen, 2, 1.0)]
    trial.load("chat-0")
    trial.run(1.0)
    assert trial.supervisor.children["chat-0"].state == "ready"
    assert trial.did("start").count("gateway") == 1


def test_worker_that_goes_on_to_load_is_kept() -> None:
    """A worker that is woken in time has all of its time to load, and is told to be well once it goes on."""
    trial = up()
    trial.machine.die("chat-0", -9)
    trial.run(1.0)
    for _ in range(2):
        trial.machine.processes["chat-0"].held = True
        trial.run(AFTER - 1.0)
        trial.machine.processes["chat-0"].held = False
        trial.run(AFTER / 4)
    trial.load("chat-0")
    trial.run(2 * AFTER)
    assert [e.name for e in trial.of(events.Well)] == ["chat-0", "chat-0"]
    assert trial.of(events.Hung) == []


@pytest.mark.parametrize("name", ["gateway", "chat-1"])
def test_launch_whose_process_is_held_before_it_was_up_ends(name: str) -> None:
    """A process that is stopped while the launch starts is a failure like any other at that time."""
    trial = Trial(small_plan(zmq=1, unhealthy_after=AFTER))
    trial.settle()
    trial.machine.processes[name].held = True
    trial.run(2 * AFTER)
    assert [(event.name, event.restart) for event in trial.of(events.Hung)] == [(name, 0)]
    assert (trial.supervisor.phase, trial.supervisor.exit_code) == ("stopped", 1)


class Reporting(FakeMachine):
    """A machine whose gateway tells what its workers have to do.

    Attributes:
        working: The workers whose own reports change.
        loaded: The workers that have requests to answer.
        done: How many of these are over, by worker.
    """

    def __init__(self) -> None:
        super().__init__()
        self.working: set[str] = set()
        self.loaded: set[str] = set()
        self.done: Counter[str] = Counter()
        prober = self.prober
        prober.ask_loads = lambda: prober._answers.append(Loads(tuple(self._loads())))  # type: ignore[method-assign]

    def _loads(self) -> Iterator[Load]:
        for name, process in self.processes.items():
            if process.spec.role == "worker":
                report = str(self.time) if name in self.working else "0"
                yield Load(process.spec.ready.url, report, name in self.loaded, self.done[name])


def reporting(**launch: object) -> tuple[Trial, Reporting]:
    """Return a trial whose launch is up, on a machine whose gateway tells what workers have to do."""
    machine = Reporting()
    trial = Trial(small_plan(2, zmq=2, **{"unhealthy_after": AFTER, **launch}), machine=machine)
    trial.bring_up()
    return trial, machine


def test_busy_engine_is_not_a_hung_one() -> None:
    """An engine whose queue is so long that probes wait for ever shows by its own report that it works."""
    trial, machine = reporting(unhealthy_after=5 * AFTER)
    machine.processes["chat-1"].hung = True
    machine.working.add("chat-1")
    machine.loaded.add("chat-1")
    trial.run(50 * AFTER)
    assert trial.of(events.Hung) == []
    machine.working.clear()
    trial.run(10 * AFTER)
    assert [event.name for event in trial.of(events.Hung)] == ["chat-1"]


def test_report_from_before_it_hung_does_not_help_an_engine() -> None:
    """The gateway may hear of a load only seconds later, when the engine that had it hangs already."""
    trial, machine = reporting()
    machine.processes["chat-1"].hung = True
    machine.loaded.add("chat-1")
    trial.run(AFTER / 2)
    machine.working.add("chat-1")
    trial.run(AFTER * 0.8)
    assert [event.name for event in trial.of(events.Hung)] == ["chat-1"]


def test_engine_that_probes_do_not_reach() -> None:
    """A worker that is spared all new requests, probes too, hangs if those that it has do not come to an end."""
    trial, machine = reporting()
    machine.loaded.add("chat-1")
    machine.prober.avoided.add(machine.processes["chat-1"].spec.ready.url)
    for _ in range(20):
        machine.done["chat-1"] += 1
        trial.run(AFTER / 2)
    assert trial.of(events.Hung) == []
    trial.run(2 * AFTER)
    assert [(e.name, e.seen) for e in trial.of(events.Hung)] == [("chat-1", "none of its requests gets on")]


def test_requests_that_are_given_up_are_no_sign_of_life() -> None:
    """That clients of a hung engine lose patience does not help it when probes are not answered either."""
    trial, machine = reporting()
    machine.loaded.add("chat-1")
    machine.processes["chat-1"].hung = True
    for _ in range(12):
        machine.done["chat-1"] += 1
        trial.run(AFTER / 8)
    assert [event.name for event in trial.of(events.Hung)] == ["chat-1"]


def test_gateway_that_takes_no_probes_is_told_of_once() -> None:
    """Where probes are refused, as without a key for requests, that is said, and nobody is held for hung."""
    trial = up(zmq=2)
    prober = trial.machine.prober
    prober.probe = lambda number: prober._answers.append(Probed(number, "refused", "HTTP 401"))  # type: ignore[method-assign]
    trial.machine.processes["chat-1"].hung = True
    trial.run(10 * AFTER)
    assert trial.of(events.ProbeRefused) == [events.ProbeRefused("HTTP 401")]
    assert trial.of(events.Hung) == []


def test_probes_are_few() -> None:
    """Idle workers are asked for about one token each in a quarter of the time after which they would be replaced."""
    trial = up(4, zmq=4)
    sent = []
    prober, probe = trial.machine.prober, trial.machine.prober.probe
    prober.probe = lambda number: (sent.append(number), probe(number))[1]  # type: ignore[func-returns-value,method-assign]
    trial.run(25 * AFTER)
    assert 4 * 4 * 24 <= len(sent) <= 4 * 4 * 25 * 1.5


def test_engine_that_forgot_a_request_is_not_a_hung_one() -> None:
    """A probe that never ends says nothing about an engine that answers the next one."""
    trial = up(1, zmq=1)
    trial.machine.processes["chat-0"].hung = True
    trial.run(AFTER * 0.7)
    trial.machine.prober._given.clear()
    trial.machine.processes["chat-0"].hung = False
    trial.run(5 * AFTER)
    assert trial.of(events.Hung) == []
