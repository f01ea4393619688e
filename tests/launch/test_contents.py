"""What stands in a run directory in the place of something of a launch, and is none of it."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch, plan_of, process, until

from smgcfg.launch.contents import content_findings
from smgcfg.launch.host import host_findings
from smgcfg.process import Plan


def bind(path: Path) -> None:
    """Put a socket at a path."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


MAKERS: dict[str, Callable[[Path], object]] = {
    "a directory": Path.mkdir,
    "a FIFO": os.mkfifo,
    "a symbolic link": lambda path: path.symlink_to("/dev/null"),
    "a socket": bind,
    "a file": Path.touch,
}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan in a directory that is there, with a socket of a worker."""
    (tmp_path / "run").mkdir(mode=0o700)
    sockets = (str(tmp_path / "run" / "engine-1-in.sock"),)
    worker = process("chat-0", ["engine"], "http://h/", sockets=sockets)
    return plan_of(tmp_path / "run", process("gateway", ["smg"], "http://h/"), [worker])


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", ["launcher.lock", "state.json", "state.new", "control.sock", "engine-1-in.sock"])
def test_everything_in_our_places_is_of_our_kind(plan: Plan, name: str, kind: str) -> None:
    """A file where a file is to be and a socket where a socket is to be are taken for ours; all else is a finding."""
    MAKERS[kind](Path(plan.run_dir, name))
    wanted = "a socket" if name.endswith(".sock") else "a file"
    messages = [finding.message for finding in content_findings(plan)]
    path = str(Path(plan.run_dir, name))
    assert messages == ([] if kind == wanted else [f"{path!r} is {kind}, where a launch has {wanted}"])


@pytest.mark.parametrize(
    ("content", "ours"),
    [
        ("", True),
        ('{"format": 1}', True),
        ('{"format": 99, "x": []}', True),
        ("{}", False),
        ("[1]", False),
        ("x", False),
    ],
)
def test_state_file_of_somebody_else(plan: Plan, content: str, ours: bool) -> None:
    """A state file of any version is replaced, one that lost its content, too; another file of that name is not."""
    Path(plan.run_dir, "state.json").write_text(content)
    findings = content_findings(plan)
    assert [finding.code for finding in findings] == ([] if ours else ["SMG031"])
    assert all(finding.message.endswith("state.json' is no state file of a launch") for finding in findings)


def test_directory_that_is_not_there(plan: Plan) -> None:
    """There is nothing to find in a run directory that does not exist."""
    os.rmdir(plan.run_dir)
    assert content_findings(plan) == []


@pytest.mark.parametrize("kind", ["a FIFO", "a directory"])
def test_launcher_does_not_wait_for_what_is_no_lock(tmp_path: Path, marked: Marked, kind: str) -> None:
    """A launch whose lock is something else says so at once, with all else that is wrong, and starts nothing."""
    plan = fake_launch(tmp_path / "run", marked, [])
    (tmp_path / "run").mkdir(mode=0o700)
    MAKERS[kind](tmp_path / "run" / "launcher.lock")
    MAKERS["a directory"](tmp_path / "run" / "control.sock")
    with launcher_of(plan, marked, tmp_path) as launcher:
        assert launcher.ends() == 2
    assert launcher.text.count("error SMG031 launch.run_dir") == 2
    assert f"launcher.lock' is {kind}, where a launch has a file" in launcher.text
    assert "starting" not in launcher.text
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["control.sock", "launcher.lock"]


def test_what_a_killed_launcher_left_is_ours(tmp_path: Path, marked: Marked) -> None:
    """Lock, state and control socket of a launcher that was killed are in nobody's way."""
    plan = fake_launch(tmp_path / "run", marked, [])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGKILL)
        launcher.ends()
    assert until(lambda: not marked.left())
    left = {path.name for path in (tmp_path / "run").iterdir()}
    # It may have been killed while it wrote the state file.
    assert left - {"state.new"} == {"control.sock", "launcher.lock", "state.json"}
    assert content_findings(plan) == []
    assert {finding.code for finding in host_findings(plan)} <= {"SMG030"}
