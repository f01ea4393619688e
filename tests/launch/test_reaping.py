"""Processes that are left to the launcher, as to PID 1 of a container."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch, until

from smgcfg.launch.reaping import reap_all_but

#: Makes itself what orphans below it are left to, leaves one, and becomes the program behind it.
ADOPTING = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(["sh", "-c", "sleep 0.5 & sleep 0.7 &"])
os.execv(sys.argv[1], sys.argv[1:])
"""


def zombies_of(parent: int) -> list[int]:
    """Return the children of a process that have ended and that nobody has waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z" and int(above) == parent:
                    found.append(int(entry.name))
    return found


def test_orphans_are_collected(tmp_path: Path, marked: Marked) -> None:
    """What is left to the launcher leaves no zombie, and the exit codes of its own children are not lost over it."""
    before = [sys.executable, "-c", ADOPTING]
    plan = fake_launch(tmp_path / "run", marked, ["--after", "2.5", "--exit", "7"])
    with launcher_of(plan, marked, tmp_path, before, reap=True) as launcher:
        launcher.says("^READY")
        time.sleep(0.8)
        assert until(lambda: not zombies_of(launcher.process.pid))
        assert zombies_of(launcher.process.pid) == []
        assert launcher.ends() == 7
    launcher.says("^chat-0   DIED pid .* exit code 7")


def test_own_children_are_left_alone() -> None:
    """Of several children that have ended only those are collected that nobody else waits for."""
    own = [subprocess.Popen(["sh", "-c", f"exit {code}"]) for code in (3, 4)]
    others = [os.spawnvp(os.P_NOWAIT, "sh", ["sh", "-c", "exit 5"]) for _ in range(3)]
    alive = subprocess.Popen(["sleep", "60"])
    try:
        assert until(lambda: len(zombies_of(os.getpid())) >= 5)
        reap_all_but({process.pid for process in own})
        assert [process.wait() for process in own] == [3, 4]
        assert set(others).isdisjoint(zombies_of(os.getpid()))
        assert alive.poll() is None
    finally:
        alive.send_signal(signal.SIGKILL)
        alive.wait()
