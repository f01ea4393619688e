"""A machine that only pretends: its time stands until it is moved on, and its processes do as they are told.

machine = FakeMachine()
supervisor = Supervisor(plan, clock=machine.clock, spawner=machine.spawner, prober=machine.prober)
supervisor.step()
machine.become_ready("gateway")
machine.advance(1.0)
supervisor.step()
"""

from collections.abc import Sequence

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
        stuck: Whether not even killing ends it.
    """

    def __init__(self, spec: ProcessSpec, pid: int) -> None:
        self.spec = spec
        self.pid = pid
        self.runs = True
        self.leftovers = False
        self.ready = False
        self.deaf = False
        self.stuck = False


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
        clock: The clock to inject.
        spawner: The spawner to inject.
        prober: The prober to inject.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self.processes: dict[str, FakeProcess] = {}
        self.history: list[Action] = []
        self.missing: set[str] = set()
        self.refuses_key = False
        self.clock = _FakeClock(self)
        self.spawner = _FakeSpawner(self)
        self.prober = _FakeProber(self)
        self._pids = iter(range(1001, 1_000_000))

    @property
    def alive(self) -> frozenset[str]:
        """The names of the processes of which something is there."""
        return frozenset(self.processes)

    def advance(self, seconds: float) -> None:
        """Let time go by.

        Args:
            seconds: How much.
        """
        self.time += seconds

    def become_ready(self, name: str, ready: bool = True) -> None:
        """Have a process answer, or the gateway see it as healthy; or no more.

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
        self.spawner.reports.append(Started(spec.name, self.processes[spec.name].pid))

    def end(self, name: str, verb: str, status: int) -> None:
        """Ask a process to end, or kill it; called by the spawner."""
        self._note(verb, name)
        process = self.processes.get(name)
        if process is None or process.stuck or (verb == "stop" and process.deaf):
            return
        process.leftovers = False
        if process.runs:
            self.die(name, status)
        else:
            self.clean(name)

    def view(self) -> GatewayView:
        """Return what the gateway says."""
        gateway = next((p for p in self.processes.values() if p.spec.role == "gateway"), None)
        if gateway is None or not gateway.runs or not gateway.ready:
            return GatewayView(False, problem="connection refused")
        workers = [p for p in self.processes.values() if p.spec.role == "worker"]
        views = tuple(WorkerView(p.spec.ready.url, p.ready, "ready" if p.ready else "pending") for p in workers)
        ready = any(p.ready for p in workers)
        if self.refuses_key:
            return GatewayView(ready, problem="HTTP 401", refused=True)
        return GatewayView(ready, views)

    def answer(self, url: str) -> Answer:
        """Return whether a URL answers."""
        ok = any(p.ready and p.runs for p in self.processes.values() if p.spec.ready.url == url)
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

    def poll(self) -> Sequence[Report]:
        reports, self.reports = self.reports, []
        return reports


class _FakeProber:
    def __init__(self, machine: FakeMachine) -> None:
        self._machine = machine
        self._asked: list[str | None] = []

    def ask_gateway(self) -> None:
        if None not in self._asked:
            self._asked.append(None)

    def ask(self, url: str) -> None:
        if url not in self._asked:
            self._asked.append(url)

    def poll(self) -> Sequence[GatewayView | Answer]:
        asked, self._asked = self._asked, []
        return [self._machine.view() if url is None else self._machine.answer(url) for url in asked]
