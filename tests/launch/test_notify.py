"""What systemd is told, over a real datagram socket."""

import math
import os
import re
import signal
import socket
import time
import uuid
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch

from smgcfg.launch.notify import Notifier


def received(manager: socket.socket, until: str, seconds: float = 15.0) -> list[str]:
    """Return what was told, up to a message that begins with something."""
    told: list[str] = []
    manager.settimeout(seconds)
    while not told or not told[-1].startswith(until):
        told.append(manager.recv(4096).decode())
    return told


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_a_service(tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    """A service is ready when all of it is, shows life meanwhile, and says that it stops; its processes say nothing."""
    name = f"smgcfg-test-{uuid.uuid4().hex}"
    address = f"\0{name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else address)
        monkeypatch.setenv("WATCHDOG_USEC", "400000")
        plan = fake_launch(tmp_path / "run", marked, ["--answer-after", "0.5"], [])
        with launcher_of(plan, marked, tmp_path) as launcher:
            starting = received(manager, "READY=1")
            assert f"STATUS=starting: 0 of 2 workers ready, {plan.url}" in starting
            assert starting.count("READY=1") == 1
            assert f"STATUS=up: 2 of 2 workers ready, {plan.url}" in received(manager, "STATUS=up")
            received(manager, "WATCHDOG=1")
            began = time.monotonic()
            for _ in range(5):
                received(manager, "WATCHDOG=1")
            assert 0.5 < time.monotonic() - began < 5 * 0.4  # each of the five within its time
            environ = Path(f"/proc/{launcher.pid('chat-0')}/environ").read_bytes()
            assert b"NOTIFY_SOCKET" not in environ
            assert b"WATCHDOG_USEC" not in environ
            launcher.signal(signal.SIGTERM)
            received(manager, "STOPPING=1")
            assert launcher.ends() == 143


def test_a_service_manager_that_is_gone(tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that nobody listens on is no reason not to serve."""
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    with launcher_of(fake_launch(tmp_path / "run", marked, []), marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


@pytest.mark.parametrize(
    ("environ", "watched"),
    [
        ({}, False),
        ({"WATCHDOG_USEC": "1000000"}, False),
        ({"NOTIFY_SOCKET": "/nobody", "WATCHDOG_USEC": "1000000"}, True),
        ({"NOTIFY_SOCKET": "/nobody", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": str(os.getpid())}, True),
        ({"NOTIFY_SOCKET": "/nobody", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}, False),
        ({"NOTIFY_SOCKET": "/nobody", "WATCHDOG_USEC": "soon"}, False),
        ({"NOTIFY_SOCKET": "relative", "WATCHDOG_USEC": "1000000"}, False),
    ],
)
def test_when_life_is_shown(environ: dict[str, str], watched: bool) -> None:
    """At half the time that the manager gives, if it watches this process; the variables are used up."""
    notifier = Notifier(environ)
    assert environ == {}
    assert notifier.tick(100.0) == (100.5 if watched else math.inf)
    assert notifier.tick(100.2) == (100.5 if watched else math.inf)
    assert notifier.tick(101.0) == (101.5 if watched else math.inf)
    notifier.close()


def test_the_unit_of_the_readme() -> None:
    """The unit file in the README gives a launch the time that its own settings do, and leaves its processes to it."""
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    unit = readme.partition("```ini\n")[2].partition("```")[0]
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
    assert settings["Type"] == "notify"
    assert settings["KillMode"] == "mixed"
    assert settings["TimeoutStartSec"] == "infinity"
    assert float(settings["TimeoutStopSec"]) > 2 * 30.0
    assert float(settings["WatchdogSec"]) >= 10
    assert settings["ExecStart"].endswith(" serve /etc/smgcfg/chat-prod.toml")
