"""A launcher that may not open as much as it needs: said before anything starts, and survived later on."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch, until

from smgcfg.launch.limits import descriptors


def limited(options: str) -> list[str]:
    """Return words in front of a command that let it have only so much."""
    return ["sh", "-c", f'ulimit {options} && exec "$@"', "sh"]


@contextmanager
def no_more_files(pid: int) -> Iterator[None]:
    """Let a process open nothing more as long as the context lasts."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("limit", [8, 20, 64])
def test_too_few_files_are_said_before_anything_starts(tmp_path: Path, marked: Marked, limit: int) -> None:
    """A hard limit that is too low is one finding with both numbers, and nothing was started."""
    plan = fake_launch(tmp_path / "run", marked, [])
    with launcher_of(plan, marked, tmp_path, before=limited(f"-n {limit}")) as launcher:
        assert launcher.ends() == 2
    head, hint = launcher.text.splitlines()
    wanted = descriptors(plan) + 4  # and the standard streams, and the look at what is open
    what = f"a launch of 2 processes takes {wanted} open files, and no more than {limit} are allowed"
    assert head == f"error SMG034 ulimit -n: {what}"
    assert hint == f"  hint: ulimit -n {wanted} as root, LimitNOFILE={wanted} in a unit of systemd"
    assert not (tmp_path / "run").exists()


def test_soft_limit_is_raised_as_far_as_it_has_to_be(tmp_path: Path, marked: Marked) -> None:
    """A limit that may be raised is, in the launcher and so in what it starts, and not beyond what is needed."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "hello"])
    with launcher_of(plan, marked, tmp_path, before=limited("-Sn 20")) as launcher:
        launcher.says("^READY")
        soft, hard = resource.prlimit(launcher.process.pid, resource.RLIMIT_NOFILE)
        assert 20 < descriptors(plan) < soft < descriptors(plan) + 10
        assert hard == resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_limit_that_is_enough_stays(tmp_path: Path, marked: Marked) -> None:
    """A launcher that may open enough files leaves the limit alone."""
    with launcher_of(fake_launch(tmp_path / "run", marked, []), marked, tmp_path, before=limited("-n 600")) as launcher:
        launcher.says("^READY")
        assert resource.prlimit(launcher.process.pid, resource.RLIMIT_NOFILE) == (600, 600)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_worker_that_dies_while_nothing_can_be_opened(tmp_path: Path, marked: Marked) -> None:
    """A restart for which there is no descriptor left is said and tried again, and comes when there is one."""
    plan = fake_launch(tmp_path / "run", marked, [], [], restart_budget=50, restart_backoff_max=0.2, unhealthy_after=1)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        with no_more_files(launcher.process.pid):
            os.kill(launcher.pid("chat-0"), signal.SIGKILL)
            launcher.says(
                r"^chat-0   NOT STARTED: its guard can not be started: too many open files\. Restart 10 of 50"
            )
        launcher.says("^chat-0   ready again")
        # Nothing is held against those that could not be asked.
        assert "HANGS" not in launcher.text
        assert "unwell" not in launcher.text
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert "Traceback" not in launcher.text
    assert launcher.text.count("state file can not be written") == 1


def test_budget_is_spent_while_nothing_can_be_opened(tmp_path: Path, marked: Marked) -> None:
    """A launch that can not restart a worker stops cleanly with exit code 1, and leaves nothing."""
    plan = fake_launch(tmp_path / "run", marked, ["--grandchild"], ["--child", "--grandchild"], restart_budget=2)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        with no_more_files(launcher.process.pid):
            os.kill(launcher.pid("chat-0"), signal.SIGKILL)
            assert launcher.ends() == 1
    launcher.says("^chat-0   no restart left: 2 in")
    launcher.says("^trial: stopped with exit code 1, because of chat-0$")
    assert "Traceback" not in launcher.text
    assert marked.left() == []
    assert not (tmp_path / "run" / "launcher.lock").exists()


def test_stop_while_nothing_can_be_opened(tmp_path: Path, marked: Marked) -> None:
    """A launcher that can open nothing stops in order, with the signal's exit code."""
    with launcher_of(fake_launch(tmp_path / "run", marked, ["--grandchild"]), marked, tmp_path) as launcher:
        launcher.says("^READY")
        with no_more_files(launcher.process.pid):
            launcher.signal(signal.SIGTERM)
            assert launcher.ends() == 143
    assert marked.left() == []
    assert "Traceback" not in launcher.text
    assert not (tmp_path / "run").exists()


def test_full_disk(tmp_path: Path, marked: Marked) -> None:
    """A launcher that can write no file says so once for each, and goes on."""
    plan = fake_launch(tmp_path / "run", marked, [], log_dir=str(tmp_path / "logs"))
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        resource.prlimit(launcher.process.pid, resource.RLIMIT_FSIZE, (0, 0))
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        os.kill(int(launcher.says(r"^chat-0 +ready again .* pid (\d+)")[1]), signal.SIGKILL)
        assert until(lambda: launcher.text.count("ready again") == 2)
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert "Traceback" not in launcher.text
    assert launcher.text.count("trial: the state file can not be written: file too large") == 1
    assert launcher.text.count(".log' can not be written: file too large; going on without") == 1
