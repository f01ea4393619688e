"""The run directory: private, owned by one, and left clean."""

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path

import pytest
from launch.plans import plan_of, process

from smgcfg.endpoint import Endpoint
from smgcfg.errors import ConfigError
from smgcfg.launch.run_dir import LOCK, RunDir, owner_of, run_dir_findings
from smgcfg.process import Plan


def plan_in(run_dir: Path, *sockets: Path) -> Plan:
    """Return a plan with a run directory and sockets."""
    gateway = process("gateway", ["smg"], "http://h/", sockets=tuple(map(str, sockets)))
    return plan_of(run_dir, gateway, [])


def bind(path: Path) -> None:
    """Leave a socket at a path, as a process that was killed does."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def test_made_private_and_gone_after(tmp_path: Path) -> None:
    """The directory and those above it are made for us alone, and nothing of a launch is left in it, nor itself."""
    path = tmp_path / "smgcfg-0" / "trial"
    with RunDir(plan_in(path, path / "a.sock")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert owner_of(str(path)) == os.getpid()
        bind(path / "a.sock")
    assert not path.exists()
    assert path.parent.exists()


def test_directory_that_an_operator_made_stays(tmp_path: Path) -> None:
    """A directory that was there before a launch is there after it, with what was in it, were it nothing."""
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    for names in ([], ["notes.txt"]):
        for name in names:
            (path / name).write_text("mine")
        with RunDir(plan_in(path)):
            pass
        assert [place.name for place in path.iterdir()] == names


def test_directory_that_a_launch_made_goes_with_the_last(tmp_path: Path) -> None:
    """A directory that could not be removed, as something was in it, is removed by the next launch that can."""
    path = tmp_path / "run"
    for kept in (["notes.txt"], ["notes.txt"], []):
        with RunDir(plan_in(path)):
            (path / "notes.txt").write_text("mine")
            assert owner_of(str(path)) == os.getpid()
            if not kept:
                (path / "notes.txt").unlink()
        assert path.exists() == bool(kept)
        assert owner_of(str(path)) is None


def test_only_own_sockets_are_removed(tmp_path: Path) -> None:
    """Sockets of the plan are removed before a launch and after it; whatever else is there is left alone."""
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    ours, file, foreign = path / "ours.sock", path / "file.sock", path / "foreign.sock"
    bind(ours)
    bind(foreign)
    file.write_text("no socket")
    with RunDir(plan_in(path, ours, file)):
        assert not ours.exists()
        bind(ours)
    assert sorted(place.name for place in path.iterdir()) == ["file.sock", "foreign.sock"]


def test_sockets_of_workers_that_are_no_more(tmp_path: Path) -> None:
    """What a dead launcher of other ports left is removed: by its name, if it is a socket; nothing else is touched."""
    path = tmp_path / "run"
    left = Endpoint("zmq", "127.0.0.1", 31007, str(path)).sockets
    near = ("engine-x-in.sock", "engine-31007-in.sock.bak", "my-engine-31007-in.sock", "control.sock")
    path.mkdir(mode=0o700)
    for place in (*left, *(path / name for name in near)):
        bind(Path(place))
    (path / "engine-31008-in.sock").write_text("no socket")
    (path / "below").mkdir()
    bind(path / "below" / "engine-31007-in.sock")
    with RunDir(plan_in(path, path / "engine-31000-in.sock")):
        kept = {place.relative_to(path).as_posix() for place in path.rglob("*")} - {LOCK, "below"}
        assert kept == {*near, "engine-31008-in.sock", "below/engine-31007-in.sock"}


def test_sockets_of_a_launcher_that_lives(tmp_path: Path) -> None:
    """Whoever does not get the lock removes nothing."""
    path = tmp_path / "run"
    with RunDir(plan_in(path)):
        bind(path / "engine-31007-in.sock")
        with pytest.raises(ConfigError), RunDir(plan_in(path)):
            pass
        assert (path / "engine-31007-in.sock").is_socket()


def test_second_owner_is_told_of_the_first(tmp_path: Path) -> None:
    """A second launch of a name is refused with the first one's pid, and does not disturb it."""
    plan = plan_in(tmp_path / "run", tmp_path / "run" / "a.sock")
    with RunDir(plan):
        bind(tmp_path / "run" / "a.sock")
        with pytest.raises(ConfigError, match=f"'trial' is launched already, by pid {os.getpid()}"), RunDir(plan):
            pass
        assert (tmp_path / "run" / "a.sock").exists()
        assert owner_of(plan.run_dir) == os.getpid()
    with RunDir(plan):
        pass


def test_looking_does_not_hold(tmp_path: Path) -> None:
    """Somebody who keeps asking for the owner keeps nobody from becoming it."""
    plan = plan_in(tmp_path / "run")
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            owner_of(plan.run_dir)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(100):
            with RunDir(plan):
                pass
    finally:
        done.set()
        thread.join()


def test_owners_that_follow_one_another(tmp_path: Path) -> None:
    """However launches come and go at once, no two own the directory at the same time, and each gets its turn."""
    plan = plan_in(tmp_path / "run")
    inside: list[int] = []
    turns: list[int] = []

    def launch(index: int) -> None:
        while turns.count(index) < 20:
            with contextlib.suppress(ConfigError), RunDir(plan):
                inside.append(index)
                assert inside == [index]
                inside.remove(index)
                turns.append(index)

    threads = [threading.Thread(target=launch, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turns) == sorted([*range(3)] * 20)


def test_lock_of_a_dead_owner_is_free(tmp_path: Path) -> None:
    """A lock file that was left behind holds nobody up."""
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / LOCK).write_text("1")
    assert owner_of(str(tmp_path / "run")) is None
    with RunDir(plan_in(tmp_path / "run")):
        assert owner_of(str(tmp_path / "run")) == os.getpid()


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_open_to_others(tmp_path: Path, mode: int) -> None:
    """A directory that others can enter is refused, with what to do."""
    path = tmp_path / "run"
    path.mkdir()
    path.chmod(mode)
    (finding,) = run_dir_findings(str(path))
    assert finding.message == f"{str(path)!r} is open to others (mode {mode:04o})"
    assert finding.hint == f"chmod 700 {path}"
    with pytest.raises(ConfigError, match="open to others"), RunDir(plan_in(path)):
        pass


def test_not_a_real_directory(tmp_path: Path) -> None:
    """A symbolic link to a directory and a file are refused."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch(0o600)
    assert "is a symbolic link" in run_dir_findings(str(tmp_path / "link"))[0].message
    assert "is no directory" in run_dir_findings(str(tmp_path / "file"))[0].message
    assert "can not be looked at: not a directory" in run_dir_findings(str(tmp_path / "file" / "x"))[0].message
    assert run_dir_findings(str(tmp_path / "real")) == []


def test_parent_that_others_can_write(tmp_path: Path) -> None:
    """A parent in which others can put another directory in its place is refused, unless it is sticky as /tmp is."""
    path = tmp_path / "shared" / "run"
    path.mkdir(parents=True, mode=0o700)
    path.parent.chmod(0o777)
    (finding,) = run_dir_findings(str(path))
    assert finding.message == f"{str(path.parent)!r} lets others replace the run directory"
    path.parent.chmod(0o1777)
    assert run_dir_findings(str(path)) == []


def test_foreign_directory(tmp_path: Path) -> None:
    """A directory of another user is refused, with both users."""
    path = Path("/usr")
    if os.getuid() == 0:
        path = tmp_path / "run"
        path.mkdir(mode=0o700)
        os.chown(path, 12345, -1)
    (finding,) = run_dir_findings(str(path))
    assert finding.message == f"{str(path)!r} belongs to uid {path.stat().st_uid}, not to us (uid {os.getuid()})"
