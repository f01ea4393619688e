"""What an operator reads."""

import pytest
from launch.trials import small_plan

from smgcfg.environment import Environment
from smgcfg.launch import events
from smgcfg.launch.child import Child
from smgcfg.launch.effects import Exit
from smgcfg.launch.events import Event
from smgcfg.launch.wording import Wording, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (0.31, "0.3 s"),
        (9.94, "9.9 s"),
        (9.99, "10s"),
        (41.2, "41s"),
        (59.6, "1m"),
        (72, "1m12s"),
        (1800, "30m"),
        (3599.9, "1h00m"),
        (21_720, "6h02m"),
        (260_000, "72h13m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """A duration is written as people say it, no more exact than it matters."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (events.Ready("gateway", 4711, 0.31), ["gateway  up 0.3 s  pid 4711"]),
        (events.Ready("chat-0", 4712, 91.0), ["chat-0   ready 1m31s  pid 4712"]),
        (
            events.LaunchReady(91.0),
            ["READY http://127.0.0.1:8080   model fake   stop: Ctrl-C   status: smgcfg status /run/trial"],
        ),
        (events.Ready("gateway", 4711, 0.31, True, ("chat-0",)), ["gateway  up again 0.3 s  pid 4711"]),
        (
            events.Ready("chat-1", 4713, 82.0, True, ("chat-0",)),
            ["chat-1   ready again 1m22s  pid 4713, chat-0 kept serving"],
        ),
        (
            events.Ready("chat-1", 4713, 82.0, True, ("a", "b", "c", "d")),
            ["chat-1   ready again 1m22s  pid 4713, 4 others kept serving"],
        ),
        (events.Checked(("chat-0 ok", "chat-1 ok")), ["verify   chat-0 ok", "verify   chat-1 ok"]),
        (
            events.Died("chat-1", 4713, Exit(-9), 21720.0, True, ("one", "two")),
            [
                "chat-1   DIED pid 4713 SIGKILL after 6h02m (GPU 2,3), cause not known",
                "  its last 2 lines:",
                "    one",
                "    two",
            ],
        ),
        (
            events.Died("chat-0", 4712, Exit(7), 3.0, False, ("boom",)),
            ["chat-0   DIED pid 4712 exit code 7 after 3.0 s, before it was ready", "  its last line:", "    boom"],
        ),
        (
            events.Died("chat-0", 4712, Exit(None), 3.0, True, ()),
            ["chat-0   DIED pid 4712 exit code not known after 3.0 s", "  it printed nothing"],
        ),
        (
            events.Died("chat-1", 4713, Exit(-9), 21720.0, True, ("one",), 1, 0.0),
            [
                "chat-1   DIED pid 4713 SIGKILL after 6h02m (GPU 2,3), cause not known. Restart 1 of 5 in 10 min, now",
                "  its last line:",
                "    one",
            ],
        ),
        (events.StartFailed("chat-0", "no"), ["chat-0   NOT STARTED: no"]),
        (
            events.StartFailed("chat-0", "no", 3, 2.0),
            ["chat-0   NOT STARTED: no. Restart 3 of 5 in 10 min, in 2.0 s"],
        ),
        (
            events.PortTaken("chat-0", 4712, "the worker port 31000 is listened on by pid 7 (nc)"),
            ["chat-0   NOT ITSELF pid 4712: the worker port 31000 is listened on by pid 7 (nc)"],
        ),
        (
            events.Hung("chat-1", 4713, "no token, though asked for one", 120.0, 1, 0.0),
            [
                "chat-1   HANGS pid 4713 for 2m: no token, though asked for one; killed (GPU 2,3)."
                " Restart 1 of 5 in 10 min, now"
            ],
        ),
        (
            events.Unwell("chat-0", 4712, "the gateway lists it as 'not_ready'", 115.0),
            ["chat-0   unwell pid 4712: the gateway lists it as 'not_ready'; replaced in 1m55s if it stays so"],
        ),
        (events.Well("chat-0", 4712, 30.0), ["chat-0   well again after 30s  pid 4712"]),
        (
            events.ProbeRefused("HTTP 401"),
            ["trial: the gateway takes no probes (HTTP 401): an engine that hangs may go unseen"],
        ),
        (events.BudgetSpent("chat-0", 5, 600.0), ["chat-0   no restart left: 5 in 10 min were made"]),
        (events.RestartBegan("chat-0", "asked"), ["chat-0   restarting"]),
        (
            events.RestartBegan("gateway", "it does not let go of chat-1", ("chat-0", "chat-1")),
            ["gateway  restarting: it does not let go of chat-1; its zmq workers restart with it: chat-0, chat-1"],
        ),
        (events.RestartBegan("gateway", "", ("chat-0",)), ["gateway  its zmq workers restart with it: chat-0"]),
        (
            events.StartTimedOut("chat-0", 4712, 1800.0, "the gateway lists it as 'pending'"),
            ["chat-0   NOT READY pid 4712 within 30m: the gateway lists it as 'pending'"],
        ),
        (events.StartTimedOut("chat-0", None, 1800.0, ""), ["chat-0   NOT READY within 30m"]),
        (
            events.KeyRefused("HTTP 401"),
            ["trial: the gateway does not list its workers for this API key (HTTP 401)"],
        ),
        (
            events.StopBegan("SIGINT", draining=True, kill_next=True),
            [
                "trial: SIGINT: stopping, the gateway finishes its requests first; "
                "another signal kills everything at once"
            ],
        ),
        (events.StopBegan("chat-0", draining=False, kill_next=False), ["trial: stopping because of chat-0"]),
        (events.StopBegan("asked", draining=False, kill_next=False), ["trial: stopping"]),
        (
            events.StopRepeated("SIGTERM"),
            ["trial: SIGTERM: stopping already; another signal kills everything at once"],
        ),
        (events.KillBegan("chat-0", 4712, "grace", 2.0), ["chat-0   still there after 2.0 s, killed"]),
        (events.KillBegan("chat-0", 4712, "hurry", 0.0), ["chat-0   killed"]),
        (events.Stopped("chat-0", 4712, Exit(-15), 0.2), ["chat-0   stopped 0.2 s  SIGTERM"]),
        (events.LeftBehind("chat-0", 4712), ["chat-0   LEFT BEHIND pid 4712: it can not be killed"]),
        (events.LaunchStopped(0, "asked"), ["trial: stopped"]),
        (events.LaunchStopped(143, "SIGTERM"), ["trial: stopped"]),
        (events.LaunchStopped(2, "chat-0", Exit(2)), ["trial: stopped with exit code 2, that of chat-0"]),
        (events.LaunchStopped(137, "chat-0", Exit(-9)), ["trial: stopped with exit code 137, as SIGKILL ended chat-0"]),
        (events.LaunchStopped(1, "chat-0", Exit(0)), ["trial: stopped with exit code 1, as chat-0 ended with 0"]),
        (events.LaunchStopped(1, "chat-0", Exit(None)), ["trial: stopped with exit code 1, because of chat-0"]),
        (events.LaunchStopped(1, "a broken promise"), ["trial: stopped with exit code 1, because of a broken promise"]),
    ],
)
def test_events(event: Event, lines: list[str]) -> None:
    """Every event is said in lines that name the process, what happened, and nothing that is not known."""
    plan = small_plan()
    workers = (plan.workers[0], plan.workers[1].evolve(gpus=("2", "3")))
    assert list(Wording(plan.evolve(workers=workers)).lines(event)) == lines


def test_how_to_ask_for_the_status() -> None:
    """A launch in one of the usual places is asked for by its name, another by its run directory."""
    home = Environment(uid=7, python="python", xdg_runtime_dir="/run/user/7")
    for run_dir, name in (("/run/user/7/smgcfg-7/trial", "trial"), ("/srv/a b", "'/srv/a b'")):
        (line,) = Wording(small_plan().evolve(run_dir=run_dir), home).lines(events.LaunchReady(1.0))
        assert line.endswith(f"   status: smgcfg status {name}")


def test_every_event_has_words() -> None:
    """No event passes in silence."""
    (samples,) = (mark.args[1] for mark in test_events.pytestmark)  # type: ignore[attr-defined]
    assert {type(event) for event, _ in samples} == set(Event.__args__)


def test_under_way() -> None:
    """While a process loads, it is said how long it has taken, how long it may, and the last thing it said."""
    wording = Wording(small_plan())
    child = Child(small_plan().workers[0])
    child.state, child.pid, child.started = "starting", 4712, 10.0
    assert wording.under_way(child, "starting", 82.0, "Loading 18/48") == (
        'chat-0   loading 1m12s of at most 20s  pid 4712  last line: "Loading 18/48"'
    )
    child.state, child.stop_asked, child.kill_at = "stopping", 80.0, 82.0
    assert wording.under_way(child, "stopping", 81.0, "x") == "chat-0   stopping 1.0 s of at most 2.0 s  pid 4712"
    child.state = "gone"
    assert wording.under_way(child, "stopping", 81.0, "x") == ""
    child.state, child.start_at = "waiting", 85.0
    assert wording.under_way(child, "up", 81.0, "x") == "chat-0   restarts in 4.0 s"
    assert wording.under_way(child, "up", 86.0, "x") == "chat-0   restarts as soon as the gateway is ready for it"
    assert wording.under_way(child, "stopping", 86.0, "x") == ""
