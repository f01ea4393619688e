"""The last look before a launch is ready: on a machine that pretends, and in real launches."""

import re

import pytest
from e2e.deployment import new_place, serving
from launch.plans import until
from launch.trials import small_plan
from verify.deployments import IGNORE, pool

from smgcfg.launch import events
from smgcfg.launch.effects import Checked
from smgcfg.launch.events import Event
from smgcfg.launch.supervisor import Supervisor
from smgcfg.testing.machine import FakeMachine
from smgcfg.verify.gateway import Target
from smgcfg.verify.launch_check import LaunchCheck, Mode
from smgcfg.verify.promises import Promises, Setting


class Look:
    """A last look that finds what the test says, when it says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.found: Checked | None = None

    def poll(self) -> Checked | None:
        """Return what was found."""
        self.asked += 1
        return self.found


class Trial:
    """A launch of one worker with a last look, on a machine that pretends."""

    def __init__(self) -> None:
        self.machine, self.look = FakeMachine(), Look()
        self.supervisor = Supervisor(small_plan(1), **self.machine.effects, check=self.look)
        self.told: list[Event] = []

    def settle(self) -> None:
        """Step until nothing more follows from what happened so far."""
        for _ in range(8):
            self.machine.advance(0.1)
            self.told += self.supervisor.step()

    def all_ready(self) -> None:
        """Have everything become ready."""
        self.settle()
        for name in ("gateway", "chat-0"):
            self.machine.become_ready(name)
            self.settle()

    def told_of(self, kind: type) -> list[Event]:
        """Return the events of a kind."""
        return [event for event in self.told if isinstance(event, kind)]


def test_look_is_taken_when_all_are_ready() -> None:
    """Nobody looks before everything is ready, and the launch is not ready before the look is over."""
    trial = Trial()
    trial.settle()
    assert trial.look.asked == 0
    trial.all_ready()
    assert trial.look.asked > 1
    assert trial.supervisor.phase == "starting"
    assert trial.supervisor.wake_at <= trial.machine.time + 0.1
    trial.look.found = Checked(True, ("chat-0 ok",))
    trial.settle()
    assert trial.supervisor.phase == "up"
    assert [*trial.told_of(events.Checked), *trial.told_of(events.LaunchReady)] == trial.told[-2:]


def test_broken_promise_stops_the_launch() -> None:
    """A look that finds the launch unfit says why, and the launch stops with exit code 1 without having been ready."""
    trial = Trial()
    trial.all_ready()
    trial.look.found = Checked(False, ("BROKEN",))
    trial.settle()
    assert trial.supervisor.phase == "stopped"
    assert trial.supervisor.exit_code == 1
    assert trial.told_of(events.Checked) == [events.Checked(("BROKEN",))]
    assert trial.told_of(events.LaunchReady) == []


def test_death_while_looking() -> None:
    """A worker that dies meanwhile ends the launch as any that dies before it is ready does."""
    trial = Trial()
    trial.all_ready()
    trial.machine.die("chat-0", 3, "out of memory")
    trial.settle()
    assert trial.supervisor.phase == "stopped"
    assert trial.supervisor.exit_code == 3
    assert trial.told_of(events.Checked) == []


@pytest.mark.parametrize(("mode", "ok"), [("warn", True), ("require", False)])
def test_look_without_an_answer(mode: Mode, ok: bool) -> None:
    """A gateway that does not answer leaves the launch unverified: said in both modes, and fit in one."""
    promises = Promises(settings={"chat-0": (Setting(kinds=("regex",), kept=True, words="x", where="default"),)})
    look = LaunchCheck(Target(url="http://127.0.0.1:1"), promises, mode)
    found = until(look.poll)
    assert found.ok is ok
    assert found.lines[0] == "NOT VERIFIED: no gateway at http://127.0.0.1:1: connection refused"
    assert found.lines[-1].endswith(f': launch.verify is "{mode}"')


BROKEN = pool("lax", IGNORE)


def test_launch_that_keeps_its_promises() -> None:
    """A launch says that each worker keeps every promise, and then that it is ready."""
    with new_place() as place, serving(place, place.base, "--stand-in") as serve:
        serve.ready()
        lines = [line for line in serve.out.splitlines() if " | " not in line]
        assert re.fullmatch(r"verify   demo-0 ok \(7 of 7 promises, \d+\.\d s\)", lines[-2])
        assert serve.stop() == 143


@pytest.mark.parametrize("words", [[], ["--verify", "--set", "launch.verify=off"]])
def test_launch_that_breaks_a_promise(words: list[str]) -> None:
    """By default with stand-ins, and with `--verify` always, a broken promise is explained and nothing goes ready."""
    with new_place() as place:
        overlay = place.file("overlay", BROKEN)
        with serving(place, place.base, overlay, "--stand-in", *words) as serve:
            assert serve.wait() == 1
            assert "verify   BROKEN 7 of 14 promises" in serve.out
            assert "verify   cause: lax-0 is set to run --grammar-backend none" in serve.out
            assert 'not going ready: launch.verify is "require"' in serve.out
            assert "READY" not in serve.out


@pytest.mark.parametrize(("mode", "said"), [("warn", True), ("off", False)])
def test_launch_that_goes_ready_all_the_same(mode: str, said: bool) -> None:
    """With `warn` a broken promise is said and the launch goes ready; with `off` nobody looks."""
    with new_place() as place:
        overlay = place.file("overlay", f'launch.verify = "{mode}"\n{BROKEN}')
        with serving(place, place.base, overlay, "--stand-in") as serve:
            serve.ready()
            assert ("verify   BROKEN 7 of 14 promises" in serve.out) is said, serve.out
            assert ('going ready all the same: launch.verify is "warn"' in serve.out) is said
            assert ("verify  " in serve.out) is said
            assert serve.stop() == 143
