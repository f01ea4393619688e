"""Log files: whole lines, bounded files, and a disk that is full."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch

from smgcfg.launch.log_files import LogFiles
from smgcfg.launch.recent import Line, Recent


def lines_of(path: Path) -> list[str]:
    """Return the texts that stand in a file, without their times."""
    return [line.split(" ", 2)[2] for line in path.read_text().splitlines()]


def test_files_of_a_bounded_size(tmp_path: Path) -> None:
    """Files stay within their size, so many are kept as are wanted, and what is kept is the end, in order and whole."""
    files = LogFiles(str(tmp_path / "logs"), 1000, 2)
    for number in range(200):
        files.add(Line(number, 0.0, "chat-0", "out", f"line {number}"))
    files.add(Line(200, 0.0, "chat-1", "err", "x" * 3000))
    files.close()
    assert sorted(os.listdir(tmp_path / "logs")) == ["chat-0.log", "chat-0.log.1", "chat-0.log.2", "chat-1.log"]
    newest_last = [tmp_path / "logs" / f"chat-0.log{end}" for end in (".2", ".1", "")]
    assert all(path.stat().st_size <= 1000 for path in newest_last)
    assert all(path.stat().st_size > 900 for path in newest_last[:2])
    kept = [line for path in newest_last for line in lines_of(path)]
    assert kept == [f"line {number}" for number in range(200 - len(kept), 200)]
    assert (tmp_path / "logs" / "chat-1.log").read_text() == f"1970-01-01T00:00:00.000Z err {'x' * 3000}\n"
    assert (tmp_path / "logs" / "chat-0.log").stat().st_mode & 0o077 == 0


def test_files_are_gone_on_with(tmp_path: Path) -> None:
    """The next launch writes behind what the last one wrote, and keeps no older file where none is wanted."""
    for text in ("first", "second"):
        files = LogFiles(str(tmp_path), 1000, 0)
        files.add(Line(0, 0.0, "gateway", "out", text))
        files.close()
    assert lines_of(tmp_path / "gateway.log") == ["first", "second"]
    files = LogFiles(str(tmp_path), 100, 0)
    files.add(Line(0, 0.0, "gateway", "out", "y" * 60))
    files.close()
    assert lines_of(tmp_path / "gateway.log") == ["y" * 60]
    assert os.listdir(tmp_path) == ["gateway.log"]


FULL = """
import resource, signal, sys
from smgcfg.launch.log_files import LogFiles
from smgcfg.launch.recent import Line
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def told(files, first, count):
    for number in range(first, first + count):
        files.add(Line(number, 0.0, "chat-0", "out", f"line {number}"))
    files.flush()
    return files.problem()
files = LogFiles(sys.argv[1], 1 << 20, 1)
limit(200)
print(told(files, 0, 4))
print(told(files, 4, 10))
print(told(files, 14, 10))
limit(resource.RLIM_INFINITY)
print(told(files, 24, 1))
files.close()
"""


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """It is said once; no half line stays; once there is room the file goes on, and says what is missing."""
    code = textwrap.dedent(FULL)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, env=env, check=True, timeout=20
    )
    path = tmp_path / "chat-0.log"
    assert done.stdout.splitlines() == ["", f"{str(path)!r} can not be written: file too large", "", ""]
    *before, missing, last = path.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in before] == [f"line {number}" for number in range(4)]
    assert missing == "[20 lines are missing here]"
    assert last.endswith(" line 24")


def test_a_launch_with_files(tmp_path: Path, marked: Marked) -> None:
    """Every process has a file, so has what the launcher itself says; all is in them when the launch has ended."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "hello"], ["--chatty"])
    settings = plan.settings.evolve(log_dir=str(tmp_path / "logs"), log_max_bytes=1 << 16, log_backups=1)
    with launcher_of(plan.evolve(settings=settings), marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    logs = tmp_path / "logs"
    assert lines_of(logs / "chat-0.log")[0] == "hello"
    assert any(line.startswith(f"READY {plan.url}") for line in lines_of(logs / "launcher.log"))
    assert all(re.fullmatch("x+|TERM at .*", line) for line in lines_of(logs / "chat-1.log"))
    assert sum(path.stat().st_size for path in logs.glob("chat-1.log*")) <= 2 << 16


def test_a_launch_on_a_full_disk(tmp_path: Path, marked: Marked) -> None:
    """That a file can not be written is said once; the launch serves on, and the other files are written."""
    plan = fake_launch(tmp_path / "run", marked, ["--chatty"], ["--say", "hello"])
    settings = plan.settings.evolve(log_dir=str(tmp_path / "logs"), log_max_bytes=1 << 24)
    limited = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh"]
    with launcher_of(plan.evolve(settings=settings), marked, tmp_path, limited) as launcher:
        launcher.says("^READY")
        launcher.says(r"^trial: '.*/chat-0\.log' can not be written: file too large; going on without$")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert launcher.text.count("can not be written") == 1
    assert "hello" in lines_of(tmp_path / "logs" / "chat-1.log")


def test_a_directory_that_can_not_be(tmp_path: Path, marked: Marked) -> None:
    """A launch whose log directory can not be made says so, and serves."""
    (tmp_path / "file").write_text("")
    plan = fake_launch(tmp_path / "run", marked, [])
    settings = plan.settings.evolve(log_dir=str(tmp_path / "file" / "logs"))
    with launcher_of(plan.evolve(settings=settings), marked, tmp_path) as launcher:
        launcher.says("^trial: no log files in .*: not a directory$")
        launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


@pytest.mark.parametrize("size", [0, 1, 10_000, 1 << 20])
def test_what_is_kept_in_memory(size: int) -> None:
    """However much a process prints, a bounded part is kept, at least its last line; other processes lose nothing."""
    recent = Recent()
    recent.add(0.0, "quiet", "out", "hello")
    for number in range(3000 if size < 1000 else 60):
        recent.add(0.0, "chatty", "out", f"{number} {'x' * size}")
    kept = recent.lines("chatty")
    assert kept[-1].text.startswith(f"{(3000 if size < 1000 else 60) - 1} ")
    assert len(kept) == 1 or sum(len(line.text) for line in kept) <= 256 << 10
    assert [line.text for line in recent.lines("quiet")] == ["hello"]
    assert [line.number for line in recent.lines(None)] == sorted(line.number for line in recent.lines(None))
