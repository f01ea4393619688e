"""Failures that operators of other launchers reported in public, each as what must happen here instead."""

import ast
import json
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from in_process import run

ROOT: Final = Path(__file__).parents[2]
POOL: Final = '[pools.a]\nbackend = "tokenspeed"\nmodel = "m"\n'
CASES: Final[list[dict[str, Any]]] = json.loads((ROOT / "tests/data/bugs.json").read_text(encoding="utf-8"))
TRIES: Final = [
    pytest.param(attempt, id=f"{case['id']}-{number}")
    for case in CASES
    for number, attempt in enumerate(case.get("tries", ()))
]


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place of its own, where every GPU is visible."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def ended(attempt: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """How the command line of an attempt ended: its exit code, its output, and all that it printed."""
    for name, text in attempt.get("env", {}).items():
        monkeypatch.setenv(name, text)
    command = attempt.get("command", "plan")
    words = ["--json"] if command == "plan" else []
    if "file" in attempt:
        Path("d.toml").write_text(POOL + attempt["file"], encoding="utf-8")
        words.insert(0, "d.toml")
    code, out, err = run([command, *words, *attempt.get("words", ())])
    return code, out, out + err


def holds(argv: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words stand in a command line, one behind the other."""
    return any(list(argv[at : at + len(words)]) == list(words) for at in range(len(argv)))


@pytest.mark.parametrize("attempt", TRIES)
def test_it_does_not_happen_here(attempt: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator does has the outcome that the case demands, and no other finding."""
    code, out, said = ended(attempt, monkeypatch)
    for text in attempt.get("says", ()):
        assert text in said.replace('\\"', '"')
    for text in attempt.get("hides", ()):
        assert text not in said
    if attempt.get("command", "plan") != "plan":
        assert code == 0
        return
    document = json.loads(out) if out else {"findings": findings_of(said)}
    found = [[finding["code"], finding["key"]] for finding in document["findings"]]
    assert found == attempt.get("findings", attempt.get("warns", []))
    assert code == (2 if "findings" in attempt else 0)
    if code == 0:
        check_plan(document, attempt)


def findings_of(report: str) -> list[dict[str, str]]:
    """The findings of a report that ended a command before it could print a document."""
    heads = [line.partition(" SMG")[2] for line in report.splitlines() if " SMG" in line]
    return [{"code": f"SMG{head[:3]}", "key": head[4:].partition(": ")[0]} for head in heads]


def check_plan(document: dict[str, Any], attempt: dict[str, Any]) -> None:
    """Hold a plan against what a case says of it."""
    engine, gateway = document["workers"][0]["argv"], document["gateway"]["argv"]
    for argv, wanted in ((engine, attempt.get("engine", ())), (gateway, attempt.get("gateway", ()))):
        for words in wanted:
            assert holds(argv, words), (words, argv)
    for word in attempt.get("engine_lacks", ()):
        assert word not in engine
    for flag, value in attempt.get("json", {}).items():
        assert json.loads(engine[engine.index(flag) + 1]) == value
    for worker, wanted in zip(document["workers"], attempt.get("workers", ()), strict=False):
        assert worker["env"].items() >= wanted.get("env", {}).items()
        assert worker["url"] == wanted.get("url", worker["url"])
    assert len(document["workers"]) >= len(attempt.get("workers", ()))
    assert all(isinstance(word, str) for word in (*engine, *gateway))
    if attempt.get("shell"):
        check_shell(engine)


def check_shell(engine: list[str]) -> None:
    """Give the printed command to a shell, and see that a program gets the very words of the plan."""
    printed = run(["plan", "d.toml", "--commands"])[1].splitlines()[1]
    words = shlex.split(printed)
    begin = words.index(engine[0])
    script = "printf '%s\\0' " + " ".join(map(shlex.quote, words[begin:]))
    assert (
        subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")[:-1] == engine
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_every_case_is_held_by_something(case: dict[str, Any]) -> None:
    """A case says what is done, what must happen and perhaps why so, and has attempts here or tests elsewhere."""
    assert case["does"]
    assert case["must"]
    assert case.get("verdict") != ""
    assert case.keys() <= {"id", "kind", "does", "must", "verdict", "tries", "held_by"}
    assert case.get("tries") or case.get("held_by")
    for node in case.get("held_by", ()):
        path, name = node.split("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}, node
