"""A launch inside a program."""

import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from launch.plans import Marked, fake_launch, until

from smgcfg.errors import ConfigError, LaunchError
from smgcfg.launch import Launch


def test_block(tmp_path: Path, marked: Marked) -> None:
    """In the block everything runs and has an address; after it nothing is left, and nobody's signals were touched."""
    handlers = [signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)]
    plan = fake_launch(tmp_path / "run", marked, [], ["--grandchild"])
    out = io.StringIO()
    with Launch(plan, out=out) as launch:
        assert launch.exit_code is None
        launch.wait_ready()
        assert launch.url == plan.url
        assert {launch.pid(name) for name in ("gateway", "chat-0", "chat-1")} <= set(marked.left())
        with pytest.raises(KeyError):
            launch.pid("chat-2")
    assert launch.exit_code == 0
    assert marked.left() == []
    assert [signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)] == handlers
    assert out.getvalue().startswith("trial: starting 2 workers")
    assert out.getvalue().endswith("trial: stopped\n")


def test_chatty_worker_needs_no_attention(tmp_path: Path, marked: Marked) -> None:
    """Output is read while the program does something else, though it goes nowhere."""
    with Launch(fake_launch(tmp_path / "run", marked, ["--chatty"])) as launch:
        launch.wait_ready()
        io_of = Path(f"/proc/{launch.pid('chat-0')}/io")
        before = io_of.read_text()
        time.sleep(0.2)
        assert io_of.read_text() != before


def test_nothing_stays_open(tmp_path: Path, marked: Marked) -> None:
    """A program that launches again and again has as many descriptors and threads afterwards as before."""

    def held() -> tuple[int, int]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    plan = fake_launch(tmp_path / "run", marked, [])
    before = held()
    for _ in range(3):
        with Launch(plan) as launch:
            launch.wait_ready()
    assert held() == before


def test_failure_is_raised_with_its_cause(tmp_path: Path, marked: Marked) -> None:
    """Whoever waits for a launch that fails gets an error with the name, the exit code and the last lines."""
    dying = ["--answer-after", "60", "--say", "out of memory", "--after", "0.3", "--exit", "7"]
    with Launch(fake_launch(tmp_path / "run", marked, [], dying)) as launch:
        with pytest.raises(LaunchError, match=r"chat-1   DIED pid \d+ exit code 7[^\0]*out of memory") as error:
            launch.wait_ready()
        assert error.value.exit_code == 7
        assert launch.wait() == 7
    assert launch.exit_code == 7


def test_death_later_is_in_the_exit_code(tmp_path: Path, marked: Marked) -> None:
    """A launch that ends by itself after it was ready can be waited for."""
    with Launch(fake_launch(tmp_path / "run", marked, [], restart="never")) as launch:
        launch.wait_ready()
        os.kill(launch.pid("chat-0"), signal.SIGKILL)
        assert launch.wait() == 137


def test_host_that_is_not_fit(tmp_path: Path, marked: Marked) -> None:
    """What stands against a launch is raised on entering; a second launch of the same plan is such a thing."""
    plan = fake_launch(tmp_path / "run", marked, [])
    with Launch(plan) as first:
        first.wait_ready()
        with pytest.raises(ConfigError, match=f"launched already, by pid {os.getpid()}"), Launch(plan):
            pass


def test_kill_takes_no_time(tmp_path: Path, marked: Marked) -> None:
    """A launch that is killed gives nobody the grace."""
    with Launch(fake_launch(tmp_path / "run", marked, ["--ignore-term", "--child"], grace=30.0)) as launch:
        launch.wait_ready()
        before = time.monotonic()
        assert launch.kill() == 0
        assert time.monotonic() - before < 2.0


def test_stop_is_the_same_however_often(tmp_path: Path, marked: Marked) -> None:
    """Stopping twice, from two threads at once, and after the end, is stopping once."""
    with Launch(fake_launch(tmp_path / "run", marked, [])) as launch:
        launch.wait_ready()
        threads = [threading.Thread(target=launch.stop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert launch.stop() == 0
    with pytest.raises(LaunchError, match="trial was stopped"):
        launch.wait_ready()


def test_exception_in_the_block_stops_everything(tmp_path: Path, marked: Marked) -> None:
    """A program that fails in the block, or is interrupted before everything is ready, leaves nothing."""
    with pytest.raises(KeyboardInterrupt), Launch(fake_launch(tmp_path / "run", marked, ["--answer-after", "60"])):
        raise KeyboardInterrupt
    assert marked.left() == []


PROGRAM = """
import os, pickle, sys
from smgcfg.launch import Launch
launch = Launch(pickle.load(open(sys.argv[1], "rb")))
launch.__enter__()
launch.wait_ready()
print("ready", flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["kill", "end"])
def test_program_that_ends_in_the_block(tmp_path: Path, marked: Marked, how: str) -> None:
    """A program that is killed, or just ends without leaving the block, takes the launch with it."""
    import pickle

    (tmp_path / "plan").write_bytes(pickle.dumps(fake_launch(tmp_path / "run", marked, ["--grandchild"])))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path / "plan"), how]
    ended = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=20, check=False)
    assert ended.stdout == "ready\n", ended.stderr
    assert until(lambda: not marked.left(), 3.0)
