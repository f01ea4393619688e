"""Whether a program can be run, held against what the kernel says when it is."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from launch.launcher import launcher_of
from launch.plans import Marked, fake_launch, process

from smgcfg.launch.programs import program_findings


def script(text: str, mode: int = 0o755) -> Callable[[Path], None]:
    """Return what writes a file."""

    def write(path: Path) -> None:
        path.write_text(text)
        path.chmod(mode)

    return write


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (script("#!/bin/sh\nexit 0\n"), ""),
        (script("#! \t/bin/sh -e\n"), ""),
        (lambda path: shutil.copy("/bin/true", path), ""),
        (script("#!/bin/sh\n", 0o644), "may not be executed (mode 0644)"),
        (script("exit 0\n"), "is a script that does not begin with what runs it, such as #!/bin/sh"),
        (script(""), "is a script that does not begin with what runs it, such as #!/bin/sh"),
        (script("#!\n"), "is a script that does not begin with what runs it, such as #!/bin/sh"),
        (script("#!/opt/none/python -u\n"), "is run by '/opt/none/python', which is not there"),
        (script("#!/bin/sh\r\n"), "is run by '/bin/sh\\r', which is not there"),
        (Path.mkdir, "is a directory"),
        (os.mkfifo, "is no file"),
        (lambda path: path.symlink_to("none"), "does not exist"),
        (lambda path: path.symlink_to(path), "can not be reached: too many levels of symbolic links"),
    ],
)
def test_problem_is_the_kernels(tmp_path: Path, make: Callable[[Path], object], problem: str) -> None:
    """A program has a finding with the reason exactly if the kernel refuses to run it."""
    path = tmp_path / "engine"
    make(path)
    found = program_findings(process("chat-0", [str(path)], "http://h/"))
    assert [finding.message for finding in found] == ([f"the program {str(path)!r} {problem}"] if problem else [])
    try:
        subprocess.run([path], check=True)
    except OSError:
        assert problem
    else:
        assert not problem


def test_program_on_the_path_that_is_none(tmp_path: Path) -> None:
    """A name is looked for as execvp(3) does: what can be run comes first, and what can not is said to be there."""
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
    env = (("PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}"),)
    spec = process("chat-0", ["engine"], "http://h/", env=env)
    script("#!/bin/sh\n", 0o600)(tmp_path / "a" / "engine")
    (finding,) = program_findings(spec)
    assert finding.message == f"the program {str(tmp_path / 'a' / 'engine')!r} may not be executed (mode 0600)"
    script("#!/bin/sh\n")(tmp_path / "b" / "engine")
    assert program_findings(spec) == []


def test_nothing_is_started_with_a_script_that_nothing_runs(tmp_path: Path, marked: Marked) -> None:
    """A launch of a script without an interpreter ends before anything is started, with the exit code 2."""
    script("exec engine\n")(tmp_path / "engine")
    plan = fake_launch(tmp_path / "run", marked, [])
    worker = plan.workers[0].evolve(argv=(str(tmp_path / "engine"),))
    with launcher_of(plan.evolve(workers=(worker,)), marked, tmp_path) as launcher:
        assert launcher.ends() == 2
    assert "error SMG032 chat-0: the program" in launcher.text
    assert not (tmp_path / "run").exists()
