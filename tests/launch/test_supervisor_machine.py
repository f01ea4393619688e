"""Laws of the supervisor that hold whatever happens, in whatever order."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from launch.test_supervisor import GRACE, TIMEOUT, Trial, small_plan

from smgcfg.launch import events
from smgcfg.launch.supervisor import KILL_PATIENCE

Names = st.sampled_from(["gateway", "chat-0", "chat-1", "chat-2"])
Statuses = st.sampled_from([0, 1, 7, 255, -6, -9, -11, -15])


class Launches(RuleBasedStateMachine):
    """A launch to which anything happens. That no name has two processes, the machine itself asserts."""

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial(small_plan(3))
        self.machine = self.trial.machine
        self.supervisor = self.trial.supervisor
        self.died: Counter[str] = Counter()
        self.signals = 0
        self.stuck: set[str] = set()

    @initialize(up=st.booleans(), missing=st.sets(Names, max_size=1))
    def start(self, up: bool, missing: set[str]) -> None:
        """Start everything, up to the point where it serves or on a machine that may lack a program."""
        if up:
            self.trial.bring_up()
        else:
            self.machine.missing |= missing
            self.trial.step()

    @rule(seconds=st.sampled_from([0.0, 0.05, 0.5, GRACE, TIMEOUT / 2]))
    def time_goes_by(self, seconds: float) -> None:
        """Let the supervisor work."""
        self.trial.step(seconds)

    @rule(name=Names, ready=st.booleans())
    def readiness_changes(self, name: str, ready: bool) -> None:
        """Have a process become ready, or no longer be."""
        if name in self.machine.processes:
            self.machine.become_ready(name, ready)

    @rule(name=Names, how=st.sampled_from(["deaf", "stuck", "leftovers"]))
    def process_turns_bad(self, name: str, how: str) -> None:
        """Have a process ignore signals, hang in the kernel, or start something that outlives it."""
        if name in self.machine.processes and self.machine.processes[name].runs:
            setattr(self.machine.processes[name], how, True)
            self.stuck |= {name} if how == "stuck" else set()

    @rule(name=Names, status=Statuses)
    def process_dies(self, name: str, status: int) -> None:
        """Have a program end by itself."""
        process = self.machine.processes.get(name)
        if process is None or not process.runs:
            return
        self.machine.die(name, status)
        child = self.supervisor.children[name]
        if child.stop_asked is None and child.state != "gone":
            self.died[name] += 1

    @rule(name=Names)
    def leftovers_end(self, name: str) -> None:
        """Have what a dead program left behind end, as its guard sees to."""
        process = self.machine.processes.get(name)
        if process is not None and not process.runs:
            self.machine.clean(name)

    @rule(signum=st.sampled_from([1, 2, 3, 15]))
    def signal_comes(self, signum: int) -> None:
        """Send the launcher a signal."""
        self.signals += 1
        self.supervisor.interrupt(signum)

    @precondition(lambda self: self.supervisor.phase in ("starting", "up"))
    @rule()
    def stop_is_asked(self) -> None:
        """Have the owner stop the launch."""
        self.supervisor.stop()

    @invariant()
    def nothing_is_alive_after_stop(self) -> None:
        """A launch that stopped left nothing but what it named as left behind."""
        if self.supervisor.phase == "stopped":
            named = {event.name for event in self.trial.of(events.LeftBehind)}
            assert self.machine.alive <= named <= self.stuck
            assert isinstance(self.trial.told[-1], events.LaunchStopped)

    @invariant()
    def nothing_is_started_twice(self) -> None:
        """Without a restart policy, every process is started once."""
        assert all(count == 1 for count in Counter(self.trial.did("start")).values())

    @invariant()
    def orders_are_kept(self) -> None:
        """A worker is asked to end while the gateway is there only if the gateway was killed, or everything was."""
        for action in self.machine.history:
            if action.verb == "stop" and action.name != "gateway" and "gateway" in action.alive:
                killed = [a for a in self.machine.history if (a.verb, a.name) == ("kill", "gateway")]
                assert killed
                assert killed[0].time <= action.time

    @invariant()
    def nobody_is_killed_early(self) -> None:
        """Killing needs a reason: a grace that is over, a second signal, or a gateway that serves nobody."""
        for index, action in enumerate(self.machine.history):
            if action.verb != "kill":
                continue
            before = self.machine.history[:index]
            asked = [a.time for a in before if (a.verb, a.name) == ("stop", action.name)]
            over = bool(asked) and action.time >= asked[0] + GRACE
            again = any((a.verb, a.name) == ("kill", action.name) for a in before)
            idle_gateway = action.name == "gateway" and not asked
            assert over or again or idle_gateway or self.signals >= 2

    def teardown(self) -> None:
        """Stop the launch: it ends within its bound, and every death was told exactly once."""
        self.supervisor.stop()
        for _ in range(2):
            for seconds in (0.0, GRACE, *[KILL_PATIENCE / 10] * 11):
                self.trial.step(seconds)
        assert self.supervisor.phase == "stopped"
        for name in [name for name in self.machine.alive if self.machine.processes[name].runs]:
            self.machine.die(name, -9)
        assert self.trial.step() == []
        self.nothing_is_alive_after_stop()
        told = Counter(event.name for event in self.trial.of(events.Died))
        assert told == self.died
        stops = self.trial.of(events.StopBegan)
        assert len(stops) == 1
        assert len(self.trial.of(events.LaunchStopped)) == 1
        assert (self.supervisor.exit_code == 0) == (stops[0].reason == "asked")


Launches.TestCase.settings = settings(max_examples=300, stateful_step_count=30)
TestLaunches = Launches.TestCase
