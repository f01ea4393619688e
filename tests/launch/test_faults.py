"""The faults that a launcher meets, each with the tests that hold what happens then; and lines of several processes."""

import ast
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from launch.launcher import command, launcher_of
from launch.plans import Marked, fake_launch

from smgcfg.launch.logs import LINE_LIMIT

ROOT: Final = Path(__file__).parents[2]
FAULTS: Final[list[dict[str, Any]]] = json.loads((ROOT / "tests/data/faults.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["fault"])
def test_every_fault_is_held_by_tests(fault: dict[str, Any]) -> None:
    """The tests that a fault names are there."""
    assert fault["tests"]
    for test in fault["tests"]:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_readme_names_every_fault() -> None:
    """The README's table has the faults in this order, each with what happens elsewhere and here."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("| fault |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == [fault["fault"] for fault in FAULTS]
    assert all(len(row) == 3 and all(row) for row in rows)


def test_chatty_workers(tmp_path: Path, marked: Marked) -> None:
    """Lines of workers that print at the same time come whole, each behind the name of its process."""
    plan = fake_launch(tmp_path / "run", marked, ["--chatty"], ["--chatty"])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    lines = [line for _, line in launcher.lines if "xx" in line]
    assert {line.split()[0] for line in lines} == {"chat-0", "chat-1"}
    assert [line for line in lines if not re.fullmatch(r"chat-[01]  \| x{200}", line)] == []


def test_streams_are_kept_apart_and_long_lines_are_cut(tmp_path: Path, marked: Marked) -> None:
    """What a process says on standard error goes to the launcher's, and no line is longer than the limit."""
    code = "import sys; print('y' * 20_000, flush=True); sys.exit('no weights')"
    plan = fake_launch(tmp_path / "run", marked, [])
    plan = plan.evolve(workers=(plan.workers[0].evolve(argv=(sys.executable, "-c", code)),))
    argv, env = command(plan, marked, tmp_path)
    ended = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=15, check=False)
    assert ended.returncode == 1
    cut = f"{'y' * LINE_LIMIT} [{20_000 - LINE_LIMIT} bytes more]"
    assert f"chat-0  | {cut}\n" in ended.stdout
    assert f"  its last 2 lines:\n    {cut}\n    no weights\n" in ended.stdout
    assert ended.stderr == "chat-0  | no weights\n"
