"""The rules of the house that no linter knows."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "smgcfg").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_no_file_is_too_long_to_be_one_room() -> None:
    """No module is above 400 lines."""
    long = {str(path.relative_to(ROOT)): n for path in SOURCES if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_every_module_says_what_it_is() -> None:
    """Every module of the package begins with a docstring."""
    assert [path for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_only_the_command_line_prints() -> None:
    """`print` is called in cli/ and in programs of their own, nowhere else."""
    programs = {"standin/__main__.py"}
    for path in SOURCES:
        name = str(path.relative_to(ROOT / "smgcfg"))
        if name.startswith("cli/") or name in programs:
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [call for call in calls if getattr(call.func, "id", "") == "print"], name


def test_every_test_says_what_holds() -> None:
    """Every test has a docstring, and none patches by dotted path."""
    for path in TESTS:
        text = path.read_text()
        assert not re.search(r"mock\.patch\(|monkeypatch\.setattr\(\s*[\"']", text), path
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        tests = [node for node in functions if node.name.startswith("test_")]
        assert [node.name for node in tests if not ast.get_docstring(node)] == [], path


def test_nothing_is_left_undone() -> None:
    """No unfinished work is marked in the package."""
    marks = re.compile("TODO|FIXME|NotImplementedError")
    assert [path for path in SOURCES if marks.search(path.read_text())] == []
