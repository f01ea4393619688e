"""What a launch has in shared directories is made anew when somebody removes it."""

import contextlib
import os
import shutil
import signal
import stat
from pathlib import Path

import pytest
from e2e.ports import free_port
from launch.operating import Home, smgcfg
from launch.plans import plan_of, process, until
from launch.test_recovery import again

from smgcfg.errors import ConfigError
from smgcfg.launch.holdings import Holdings, lock_of
from smgcfg.launch.keeping import LOOK_EVERY, Keeper
from smgcfg.launch.locks import holder_of
from smgcfg.launch.run_dir import LOCK, RunDir, owner_of
from smgcfg.launch.state import FRESH, NAME
from smgcfg.process import Plan, Port


def plan_in(run_dir: Path, *ports: int) -> Plan:
    """Return a plan with a run directory and ports."""
    gateway = process("gateway", ["smg"], "http://h/", ports=tuple(Port(one, "127.0.0.1", "gateway") for one in ports))
    return plan_of(run_dir, gateway, [])


@pytest.mark.parametrize("what", [".", "state.json", "control.sock", LOCK])
def test_a_launch_is_found_again(home: Home, what: str) -> None:
    """Whatever is removed of the run directory, that is said, and the launch is found, asked and stopped as before."""
    with home.up(home.plan([])) as launcher:
        before = (home.run_dir / what).stat()
        if what == ".":
            shutil.rmtree(home.run_dir)
        else:
            (home.run_dir / what).unlink()
        launcher.says("somebody removed its run directory, locks, or what is in them; made anew", LOOK_EVERY + 5.0)
        assert not os.path.samestat(before, (home.run_dir / what).stat())
        assert owner_of(str(home.run_dir)) == launcher.process.pid
        assert smgcfg("status", home.name).code == 0
        assert smgcfg("stop", home.name).code == 0
        assert launcher.ends() == 0
    assert not home.run_dir.exists()


def test_a_state_file_that_somebody_replaced(home: Home) -> None:
    """What stands in the place of the state file and is not what was written gives way to it."""
    with home.up(home.plan([])):
        (home.run_dir / "state.json").unlink()
        (home.run_dir / "state.json").write_text("{}")
        assert smgcfg("status", home.name).code == 4
        assert until(lambda: smgcfg("status", home.name).code == 0, LOOK_EVERY + 5.0)


def test_a_state_file_that_can_not_be_written(home: Home) -> None:
    """While it can not be written `status` says what the launcher knows, and the file follows when it can."""
    with home.up(home.plan([])) as launcher:
        (home.run_dir / FRESH).mkdir()
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        pid = again(launcher, "chat-0")
        launcher.says("the state file can not be written: is a directory$")
        assert until(lambda: f" {pid} " in smgcfg("status", home.name).out)
        assert f'"pid":{pid},' not in (home.run_dir / NAME).read_text()
        (home.run_dir / FRESH).rmdir()
        assert until(lambda: f'"pid":{pid},' in (home.run_dir / NAME).read_text(), LOOK_EVERY + 5.0)
        assert "made anew" not in launcher.text


def test_a_directory_that_can_not_be_used_any_more(tmp_path: Path) -> None:
    """A directory that was removed is made anew, private; one that somebody else made, open to others, is refused."""
    path = tmp_path / "run"
    with RunDir(plan_in(path)) as held:
        assert not held.keep()
        shutil.rmtree(path)
        assert held.keep()
        assert owner_of(str(path)) == os.getpid()
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        shutil.rmtree(path)
        path.mkdir()
        path.chmod(0o755)
        with pytest.raises(ConfigError, match="open to others"):
            held.keep()
        path.chmod(0o700)
    assert not path.exists()


def test_a_directory_that_is_that_of_another_launch_by_now(tmp_path: Path) -> None:
    """Whoever lost its directory to another launch neither takes it back nor removes anything in it."""
    path = tmp_path / "run"
    with contextlib.ExitStack() as second:
        with RunDir(plan_in(path)) as first:
            (path / LOCK).unlink()
            second.enter_context(RunDir(plan_in(path)))
            with pytest.raises(ConfigError, match="is launched already"):
                first.keep()
        assert owner_of(str(path)) == os.getpid()


def test_locks_of_ports(tmp_path: Path) -> None:
    """A lock that was removed is made anew; one that another launch has taken by now is left to it, in the end too."""
    mine, theirs = free_port(), free_port()
    with Holdings(plan_in(tmp_path, theirs).evolve(name="theirs")) as others:
        lock_of(theirs).unlink()
        with Holdings(plan_in(tmp_path, mine, theirs)) as ours:
            assert not ours.keep()
            lock_of(mine).unlink()
            assert ours.keep()
            assert holder_of(lock_of(mine)) == f"'trial', pid {os.getpid()}"
            assert not others.keep()
            assert holder_of(lock_of(theirs)) == f"'trial', pid {os.getpid()}"
        assert not lock_of(mine).exists()


def test_what_is_said() -> None:
    """A problem is said once as long as it lasts, that something was made anew each time, and nothing otherwise."""
    comes = [False, True, OSError(28, "No space left on device"), OSError(28, "No space left on device"), True, True]
    told: list[str] = []

    class Thing:
        def keep(self) -> bool:
            """Do what comes."""
            found = comes.pop(0)
            if isinstance(found, OSError):
                raise found
            return found

    keeper = Keeper("chat", [Thing()], told.append)
    for turn in range(6):
        assert keeper.tick(turn * LOOK_EVERY) == (turn + 1) * LOOK_EVERY
        keeper.tick((turn + 0.5) * LOOK_EVERY)
    assert [text.rpartition("; ")[2].rpartition(": ")[2] for text in told] == [
        *("made anew", "no space left on device", "made anew", "made anew"),
    ]
