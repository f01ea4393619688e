"""Processes that are left to the launcher, as to PID 1 of a container."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from launch.launcher import launcher_of
from launch.operating import Home, smgcfg
from launch.plans import Marked, fake_launch, until

from smgcfg.launch.reaping import reap_all_but

#: Leaves orphans to whoever they are left to, and becomes the program behind it.
LEAVING = """
import os, subprocess, sys
subprocess.run(["sh", "-c", "sleep 0.5 & sleep 0.7 &"])
os.execv(sys.argv[1], sys.argv[1:])
"""

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
    plan = fake_launch(tmp_path / "run", marked, [])
    with launcher_of(plan, marked, tmp_path, before, reap=True) as launcher:
        launcher.says("^READY")
        time.sleep(0.8)
        assert until(lambda: not zombies_of(launcher.process.pid))
        os.kill(launcher.pid("chat-0"), signal.SIGSEGV)
        launcher.says("^chat-0   DIED pid .* SIGSEGV")
        launcher.signal(signal.SIGTERM)
        launcher.ends()


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


def test_the_first_process_of_a_container(home: Home) -> None:
    """As PID 1 it leaves no zombie, stops on SIGTERM, and is seen from outside, where its number means another one."""
    if os.getuid() == 0 and not subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode:
        before = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", LEAVING]
    else:
        # Who may make no container leaves orphans to a process that asks for them.
        before = [sys.executable, "-c", ADOPTING]
    plan = home.plan(["--say", "hello"])
    with launcher_of(plan, home.marked, home.path, before, reap=True) as launcher:
        launcher.says("^READY")
        time.sleep(0.8)
        told = smgcfg("status", home.name)
        assert (told.code, told.err) == (0, "")
        owner = int((home.run_dir / "launcher.lock").read_text().split()[0])
        assert owner == 1 or before[1] == "-c"
        assert until(lambda: not zombies_of(launcher.process.pid))
        assert until(lambda: not any(map(zombies_of, home.marked.left())))
        assert smgcfg("stop", home.name).code == 0
        assert launcher.ends() == 0
