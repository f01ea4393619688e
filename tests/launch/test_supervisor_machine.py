"""Laws of the supervisor that hold whatever happens, in whatever order."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from launch.trials import DRAIN, GRACE, TIMEOUT, Trial, small_plan

from smgcfg.launch import events
from smgcfg.launch.revival import DRAIN_SLACK
from smgcfg.launch.stopping import KILL_PATIENCE

BUDGET = 2
WINDOW = 60.0
UNHEALTHY = 8.0

Names = st.sampled_from(["gateway", "chat-0", "chat-1", "chat-2"])
Statuses = st.sampled_from([0, 1, 7, 255, -6, -9, -11, -15])

#: The events that say that a process failed, each of which may lead to a restart.
FAILURES = (events.Died, events.StartFailed, events.StartTimedOut, events.PortTaken, events.Hung)


#: The events that say that the program of a process ended.
ENDS = (events.Died, events.Stopped)


class Launches(RuleBasedStateMachine):
    """A launch to which anything happens: a gateway, two workers over zmq, one over http.

    That no name has two processes, that no engine outlives its gateway's end, and that nobody is declared dead who
    lives, or to a gateway that waits for the next, the machine itself asserts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.signals = 0
        self.asked: set[str] = set()
        self.died: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()
        self.stuck: set[str] = set()

    @initialize(
        up=st.booleans(),
        missing=st.sets(Names, max_size=1),
        restart=st.sampled_from(["on-failure", "on-failure", "never"]),
        mute=st.sampled_from(["", "", "pyzmq is not installed"]),
    )
    def start(self, up: bool, missing: set[str], restart: str, mute: str) -> None:
        """Start everything, up to the point where it serves or on a machine that may lack a program."""
        launch = {"restart_budget": BUDGET, "restart_window": WINDOW, "unhealthy_after": UNHEALTHY}
        self.trial = Trial(small_plan(3, zmq=2, restart=restart, **launch))
        self.machine = self.trial.machine
        self.supervisor = self.trial.supervisor
        self.machine.messenger.missing = mute
        if up:
            self.trial.bring_up()
        else:
            self.machine.missing |= missing
            self.trial.step()

    @rule(seconds=st.sampled_from([0.0, 0.05, 0.5, GRACE, UNHEALTHY, TIMEOUT / 2]))
    def time_goes_by(self, seconds: float) -> None:
        """Let the supervisor work at one moment."""
        self.trial.step(seconds)

    @rule(seconds=st.sampled_from([0.5, 3.0, UNHEALTHY, TIMEOUT, WINDOW]))
    def supervisor_works(self, seconds: float) -> None:
        """Let the supervisor work for a while."""
        self.trial.run(seconds)

    @rule()
    def everything_loads(self) -> None:
        """Have whatever is there become ready."""
        for name, process in self.machine.processes.items():
            if process.runs:
                self.machine.become_ready(name)

    @rule(name=Names, ready=st.booleans())
    def readiness_changes(self, name: str, ready: bool) -> None:
        """Have a process become ready, or no longer be."""
        if name in self.machine.processes:
            self.machine.become_ready(name, ready)

    @rule(name=Names, how=st.sampled_from(["deaf", "stuck", "leftovers", "hung", "held"]))
    def process_turns_bad(self, name: str, how: str) -> None:
        """Have a process ignore signals, hang in the kernel, by itself or held, or start what outlives it."""
        if name in self.machine.processes and self.machine.processes[name].runs:
            setattr(self.machine.processes[name], how, True)
            self.stuck |= {name} if how == "stuck" else set()

    @rule(name=Names, status=Statuses, goodbye=st.booleans())
    def process_dies(self, name: str, status: int, goodbye: bool) -> None:
        """Have a program end by itself, with or without a word to the gateway."""
        process = self.machine.processes.get(name)
        if process is None or not process.runs:
            return
        self.machine.die(name, status)
        if goodbye:
            self.machine.wire.say_goodbye(self.machine, name)
        child = self.supervisor.children[name]
        if child.state == "gone":
            self.given_up[name] += 1
        elif child.stop_asked is None:
            self.died[name] += 1

    @rule(name=Names)
    def leftovers_end(self, name: str) -> None:
        """Have what a dead program left behind end, as its guard sees to."""
        process = self.machine.processes.get(name)
        if process is not None and not process.runs:
            self.machine.clean(name)

    @rule(name=Names, there=st.booleans())
    def port_is_taken(self, name: str, there: bool) -> None:
        """Have somebody else listen on a port of a process, or no more."""
        self.machine.strangers.pop(name, None)
        if there:
            self.machine.strangers[name] = "port 1 is listened on by pid 7 (nc)"

    @rule(problem=st.sampled_from(["", "no connection"]))
    def messenger_fails(self, problem: str) -> None:
        """Have death notices not arrive, or arrive again."""
        self.machine.messenger.problem = problem

    @rule(signum=st.sampled_from([1, 2, 3, 15]))
    def signal_comes(self, signum: int) -> None:
        """Send the launcher a signal."""
        self.signals += 1
        self.supervisor.interrupt(signum)

    @rule(name=Names)
    def restart_is_asked(self, name: str) -> None:
        """Have the owner restart a process."""
        if self.supervisor.restart(name):
            self.asked.add(name)

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
    def every_start_has_its_reason(self) -> None:
        """A process is started once, and again for each failure that said so, each wish, and with its gateway."""
        starts = Counter(self.trial.did("start"))
        failed = Counter(e.name for kind in FAILURES for e in self.trial.of(kind) if e.restart)
        began = self.trial.of(events.RestartBegan)
        for name, count in starts.items():
            together = sum(name in event.others for event in began)
            wished = sum(event.name == name and bool(event.reason) for event in began)
            assert count <= 1 + failed[name] + wished + together

    @invariant()
    def budget_is_kept(self) -> None:
        """No process is restarted for its failures more often than the budget allows in any window."""
        assert all(len(child.failures) <= BUDGET for child in self.supervisor.children.values())
        times: dict[str, list[float]] = {}
        for event, at in zip(self.trial.told, self.trial.told_at, strict=True):
            if isinstance(event, FAILURES) and event.restart:
                assert event.restart <= BUDGET
                times.setdefault(event.name, []).append(at)
        for of_one in times.values():
            assert all(later - at >= WINDOW for at, later in zip(of_one, of_one[BUDGET:], strict=False))

    @invariant()
    def no_end_is_told_twice(self) -> None:
        """Whether a process died or was stopped, that is told once."""
        ends = Counter(event.pid for kind in ENDS for event in self.trial.of(kind))
        assert all(count == 1 for count in ends.values())

    @invariant()
    def nothing_starts_once_the_launch_stops(self) -> None:
        """What is being stopped, or was never ready, is not started again."""
        if self.supervisor.phase in ("new", "starting"):
            assert all(count == 1 for count in Counter(self.trial.did("start")).values())
        if self.supervisor.phase in ("stopping", "stopped"):
            counts = len(self.trial.did("start"))
            assert getattr(self, "starts_at_stop", counts) == counts
            self.starts_at_stop = counts

    @invariant()
    def orders_are_kept(self) -> None:
        """A worker is asked to end beside a gateway that serves only to be replaced alone."""
        wishes = {name for name in self.asked if name != "gateway"}
        for action in self.machine.history:
            if action.verb == "stop" and action.name != "gateway" and "gateway" in action.alive:
                before = [a for a in self.machine.history if a.time <= action.time and a.name == "gateway"]
                gateway_dead = any(a.verb == "kill" for a in before) or self.died["gateway"]
                assert gateway_dead or action.name in wishes

    @invariant()
    def nobody_is_killed_early(self) -> None:
        """Killing needs a reason: a grace that is over, a second signal, a failure, or a gateway that serves nobody."""
        failed = {e.name for kind in FAILURES for e in self.trial.of(kind)}
        for index, action in enumerate(self.machine.history):
            if action.verb != "kill":
                continue
            own = [a for a in self.machine.history[:index] if a.name == action.name]
            life = own[max(at for at, a in enumerate(own) if a.verb == "start") :]
            asked = [a.time for a in life if a.verb == "stop"]
            grace = DRAIN + DRAIN_SLACK if action.name == "gateway" else GRACE
            over = bool(asked) and action.time >= asked[0] + grace
            again = any(a.verb == "kill" for a in life)
            idle_gateway = action.name == "gateway" and not asked
            assert over or again or idle_gateway or action.name in failed or self.signals >= 2

    def teardown(self) -> None:
        """Stop the launch: it ends within its bound, and every death was told exactly once."""
        if not hasattr(self, "trial"):
            return
        self.supervisor.stop()
        self.trial.run(2 * GRACE + DRAIN + DRAIN_SLACK + 3 * KILL_PATIENCE)
        assert self.supervisor.phase == "stopped"
        for name in [name for name in self.machine.alive if self.machine.processes[name].runs]:
            self.machine.die(name, -9)
            self.given_up[name] += 1
        assert self.trial.step() == []
        self.nothing_is_alive_after_stop()
        told = Counter(event.name for event in self.trial.of(events.Died))
        assert told == self.died
        # Each life has one end: told, as a death or a stop; or given up, and told as what was left behind.
        ends = Counter(e.name for kind in (*ENDS, events.StartFailed) for e in self.trial.of(kind))
        assert ends + self.given_up == Counter(self.trial.did("start"))
        stops = self.trial.of(events.StopBegan)
        assert len(stops) == 1
        assert len(self.trial.of(events.LaunchStopped)) == 1
        assert (self.supervisor.exit_code == 0) == (stops[0].reason == "asked")


Launches.TestCase.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
TestLaunches = Launches.TestCase
