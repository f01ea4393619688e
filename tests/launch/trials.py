"""A supervisor on a machine that only pretends, and plans for it."""

from pathlib import Path

from launch.plans import plan_of, process

from smgcfg.launch.events import Event
from smgcfg.launch.supervisor import Supervisor
from smgcfg.process import DeathNotice, Plan, ProcessSpec, Readiness
from smgcfg.testing.machine import FakeMachine

GRACE = 2.0
DRAIN = 4.0
TIMEOUT = 20.0


def worker(index: int, *, zmq: bool = False, **more: object) -> ProcessSpec:
    """Return a worker that the gateway has to see: over http, or over zmq."""
    name = f"chat-{index}"
    if zmq:
        url = f"ipc:///run/engine-{index}"
        more["death_notice"] = DeathNotice(f"/run/engine-{index}-out.sock", b"DEAD", 20000 + index)
    else:
        url = f"http://127.0.0.1:{31000 + index}"
    ready = Readiness(seen_by="gateway", url=url, timeout=TIMEOUT)
    return ProcessSpec(name=name, role="worker", argv=("engine",), ready=ready, stop_order=1, **more)


def small_plan(count: int = 2, *, zmq: int = 0, **launch: object) -> Plan:
    """Return a plan of a gateway and some workers, the first few over zmq; further settings are those of `[launch]`."""
    gateway = process("gateway", ["smg"], "http://127.0.0.1:8080/liveness", timeout=TIMEOUT)
    workers = [worker(index, zmq=index < zmq) for index in range(count)]
    return plan_of(Path("/run/trial"), gateway, workers, grace=GRACE, drain_timeout=DRAIN, **launch)


class Trial:
    """A supervisor on a fake machine.

    Attributes:
        told: All it has told.
        told_at: When it told each of that, on the machine's clock.
    """

    def __init__(self, plan: Plan | None = None, *, machine: FakeMachine | None = None) -> None:
        self.machine = machine or FakeMachine()
        self.plan = plan or small_plan()
        self.supervisor = Supervisor(self.plan, **self.machine.effects)
        self.told: list[Event] = []
        self.told_at: list[float] = []

    def step(self, seconds: float = 0.0) -> list[Event]:
        """Let time go by, step, and return what was told."""
        self.machine.advance(seconds)
        told = self.supervisor.step()
        self.told += told
        self.told_at += [self.machine.time] * len(told)
        return told

    def settle(self, seconds: float = 0.0) -> list[Event]:
        """Step until nothing more follows from what happened so far, and return what was told."""
        told = self.step(seconds)
        for _ in range(4):
            told += self.step(0.05)
        return told

    def run(self, seconds: float) -> list[Event]:
        """Step as the launcher does for so long, whenever the supervisor wants to, and return what was told."""
        told, end, idle = self.step(), self.machine.time + seconds, 0
        while (left := end - self.machine.time) > 0:
            wait = self.supervisor.wake_at - self.machine.time
            idle = 0 if wait > 0 or self.machine.busy else idle + 1
            assert idle < 5, "woken again and again for nothing"
            told += self.step(min(0.001 if self.machine.busy else max(wait, 0.001), left))
        return told

    def bring_up(self) -> None:
        """Have everything become ready."""
        self.settle()
        self.load()
        self.settle()
        assert self.supervisor.phase == "up"

    def load(self, *names: str) -> None:
        """Have processes become ready, all that are there if none is named."""
        for name in names or self.machine.alive:
            self.machine.become_ready(name)

    def of(self, kind: type[Event]) -> list[Event]:
        """Return what was told of one kind."""
        return [event for event in self.told if isinstance(event, kind)]

    def did(self, verb: str) -> list[str]:
        """Return to whom something was done, in order."""
        return [action.name for action in self.machine.history if action.verb == verb]

    def done(self, since: int = 0) -> list[str]:
        """Return what was done to whom, in order, as "start chat-0"."""
        return [f"{action.verb} {action.name}" for action in self.machine.history[since:]]


def up(count: int = 2, *, zmq: int = 0, **launch: object) -> tuple[Trial, int]:
    """Return a trial whose launch is up, and how much was done to its processes until then."""
    trial = Trial(small_plan(count, zmq=zmq, **launch))
    trial.bring_up()
    return trial, len(trial.machine.history)
