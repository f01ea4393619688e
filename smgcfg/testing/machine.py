"""A machine that only pretends: its time stands until it is moved on, and its processes do as they are told.

machine = FakeMachine()
supervisor = Supervisor(plan, **machine.effects)
supervisor.step()
machine.become_ready("gateway")
machine.advance(1.0)
supervisor.step()
"""

from collections.abc import Sequence
from typing import Any

from smgcfg.launch.effects import (
    Answer,
    Exit,
    Exited,
    GatewayView,
    Gone,
    NotStarted,
    Report,
    Started,
    WorkerView,
)
from smgcfg.process import ProcessSpec
from smgcfg.testing.wire import FakeMessenger, FakeProber, FakeSockets, FakeWire
from smgcfg.value import Value

#: What a program that is asked to end exits with, unless a test says otherwise: SIGTERM's default action.
TERMINATED = -15
KILLED = -9


class FakeProcess:
    """A process that pretends.

    Attributes:
        spec: What it was started as.
        pid: Its process id.
        runs: Whether its program runs.
        leftovers: Whether something it started would be there without it.
        ready: Whether it answers, or the gateway would list it as healthy.
        deaf: Whether it ignores being asked to end.
        hung: Whether it does nothing at all any more.
        held: Whether it does nothing because it is stopped, as by SIGSTOP.
        stuck: Whether not even killing ends it.
    """

    def __init__(self, spec: ProcessSpec, pid: int) -> None:
        self.spec = spec
        self.pid = pid
        self.runs = True
        self.leftovers = False
        self.ready = False
        self.deaf = False
        self.hung = False
        self.held = False
        self.stuck = False

    @property
    def serves(self) -> bool:
        """Whether it does its work."""
        return self.runs and self.ready and not self.hung and not self.held


class Action(Value):
    """Something that was done to a process.

    Attributes:
        time: When, on the machine's clock.
        verb: "start", "stop" or "kill".
        name: The process.
        alive: Which processes were there at that moment.
    """

    time: float
    verb: str
    name: str
    alive: frozenset[str]


class FakeMachine:
    """Time, processes and a gateway, for tests of whatever is built on the protocols of `smgcfg.launch.effects`.

    Attributes:
        time: Seconds since the machine was made.
        processes: What is there, by name.
        history: What was done to processes, in order.
        missing: The names of processes whose programs can not be run.
        refuses_key: Whether the gateway does not list its workers.
        strangers: Per process who else listens on its port, or where a zmq worker would register.
        wire: What is between the gateway and the zmq workers.
        clock: The clock to inject.
        spawner: The spawner to inject.
        prober: The prober to inject.
        messenger: The messenger to inject.
        sockets: The sockets to inject.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self.processes: dict[str, FakeProcess] = {}
        self.history: list[Action] = []
        self.missing: set[str] = set()
        self.refuses_key = False
        self.strangers: dict[str, str] = {}
        self.wire = FakeWire()
        self.clock = _FakeClock(self)
        self.spawner = _FakeSpawner(self)
        self.prober = FakeProber(self)
        self.messenger = FakeMessenger(self)
        self.sockets = FakeSockets(self)
        self._pids = iter(range(1001, 1_000_000))

    @property
    def effects(self) -> dict[str, Any]:
        """All that a supervisor is given of the machine."""
        names = ("clock", "spawner", "prober", "messenger", "sockets")
        return {name: getattr(self, name) for name in names}

    @property
    def alive(self) -> frozenset[str]:
        """The names of the processes of which something is there."""
        return frozenset(self.processes)

    @property
    def gateway(self) -> FakeProcess | None:
        """The gateway, if it answers."""
        gateway = next((p for p in self.processes.values() if p.spec.role == "gateway"), None)
        return gateway if gateway is not None and gateway.serves else None

    @property
    def busy(self) -> bool:
        """Whether there is something that a supervisor would be woken for."""
        return bool(self.spawner.reports) or self.messenger.busy or self.prober.busy

    def advance(self, seconds: float) -> None:
        """Let time go by.

        Args:
            seconds: How much.
        """
        self.time += seconds

    def become_ready(self, name: str, ready: bool = True) -> None:
        """Have a process answer, or the gateway see it as healthy; or no more.

        A zmq worker registers at the gateway, as soon as that waits for one.

        Args:
            name: The process.
            ready: Whether it is.
        """
        self.processes[name].ready = ready

    def die(self, name: str, status: int, *lines: str) -> None:
        """End a program; what it leaves behind stays until `clean`.

        Args:
            name: The process.
            status: Its exit code, or minus the number of the signal that ended it.
            lines: The last lines it printed.
        """
        process = self.processes[name]
        self.wire.settle(self)
        process.runs = False
        self.spawner.reports.append(Exited(name, process.pid, Exit(status), lines))
        if not process.leftovers:
            self.clean(name)

    def clean(self, name: str) -> None:
        """Take away what an ended program left behind.

        Args:
            name: The process.
        """
        del self.processes[name]
        self.spawner.reports.append(Gone(name))

    def start(self, spec: ProcessSpec) -> None:
        """Start a process; called by the spawner."""
        assert spec.name not in self.processes, f"{spec.name} would be there twice"
        self._note("start", spec.name)
        if spec.name in self.missing:
            self.spawner.reports.append(NotStarted(spec.name, "no such file or directory"))
            return
        self.processes[spec.name] = FakeProcess(spec, next(self._pids))
        self.wire.start(self, spec)
        self.spawner.reports.append(Started(spec.name, self.processes[spec.name].pid))

    def end(self, name: str, verb: str, status: int) -> None:
        """Ask a process to end, or kill it; called by the spawner."""
        self._note(verb, name)
        process = self.processes.get(name)
        if process is None or process.stuck or (verb == "stop" and (process.deaf or process.hung)):
            return
        process.leftovers = False
        if process.runs:
            self.die(name, status)
            if verb == "stop":
                self.wire.say_goodbye(self, name)
        else:
            self.clean(name)

    def view(self) -> GatewayView:
        """Return what the gateway says."""
        if self.gateway is None:
            return GatewayView(False, problem="connection refused")
        self.wire.settle(self)
        specs = [p.spec for p in self.processes.values() if p.spec.role == "worker"]
        specs += [spec for name, spec in self.wire.specs.items() if name not in self.processes]
        views = []
        for spec in specs:
            process = self.processes.get(spec.name)
            well = self.wire.healthy(self, spec.name) if spec.death_notice else process is not None and process.serves
            views.append(WorkerView(spec.ready.url, well, "ready" if well else "pending"))
        ready = any(view.healthy for view in views)
        if self.refuses_key:
            return GatewayView(ready, problem="HTTP 401", refused=True)
        return GatewayView(ready, tuple(views))

    def answer(self, url: str) -> Answer:
        """Return whether a URL answers."""
        ok = any(p.serves for p in self.processes.values() if p.spec.ready.url == url)
        return Answer(url, ok, "" if ok else "connection refused")

    def _note(self, verb: str, name: str) -> None:
        self.history.append(Action(self.time, verb, name, self.alive))


class _FakeClock:
    def __init__(self, machine: FakeMachine) -> None:
        self._machine = machine

    def now(self) -> float:
        return self._machine.time


class _FakeSpawner:
    def __init__(self, machine: FakeMachine) -> None:
        self._machine = machine
        self.reports: list[Report] = []

    def start(self, spec: ProcessSpec) -> None:
        self._machine.start(spec)

    def stop(self, name: str) -> None:
        self._machine.end(name, "stop", TERMINATED)

    def kill(self, name: str) -> None:
        self._machine.end(name, "kill", KILLED)

    def is_held(self, name: str) -> bool:
        return name in self._machine.processes and self._machine.processes[name].held

    def poll(self) -> Sequence[Report]:
        reports, self.reports = self.reports, []
        return reports
