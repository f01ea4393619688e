"""What each command imports: a command pays for what it uses, and for nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "examples" / "two-pools.toml"

#: Of the standard library: what no plan and no settings object has a use for. The first three cost most.
HEAVY = {
    "importlib.metadata",
    "asyncio",
    "argparse",
    "csv",
    "dataclasses",
    "difflib",
    "email",
    "http",
    "ipaddress",
    "json",
    "logging",
    "pathlib",
    "random",
    "select",
    "shlex",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "urllib",
}

#: Rooms of smgcfg that other commands live in, and modules that only reports and Python callers need.
ELSEWHERE = (
    "smgcfg.argv",
    "smgcfg.by_key",
    "smgcfg.checks",
    "smgcfg.conversion",
    "smgcfg.diffing",
    "smgcfg.drift",
    "smgcfg.explain",
    "smgcfg.importing",
    "smgcfg.installed",
    "smgcfg.json_schema",
    "smgcfg.key_search",
    "smgcfg.launch",
    "smgcfg.reading",
    "smgcfg.snapshots",
    "smgcfg.standin",
    "smgcfg.suggest",
    "smgcfg.testing",
    "smgcfg.toml_edit",
    "smgcfg.toml_write",
    "smgcfg.upgrade",
    "smgcfg.verify",
)

_COMMAND = """
import sys
before = set(sys.modules)
from smgcfg.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""

_STATEMENT = """
import sys
before = set(sys.modules)
{}
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def imported(program: str, *words: str) -> set[str]:
    """Return the modules that a program of its own process imports."""
    run = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def roots(modules: set[str]) -> set[str]:
    """Return the packages that do not come with Python; a compiled part of tomli goes by a name of its own."""
    names = {name.partition(".")[0] for name in modules if not name.endswith("__mypyc")}
    return names - sys.stdlib_module_names


def heavy(modules: set[str]) -> set[str]:
    """Return the modules that are too much for a plan."""
    return {name for name in modules if name in HEAVY or name.startswith(ELSEWHERE)}


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_import_nothing(word: str) -> None:
    """The version and the help are answered by the command line's own module."""
    assert imported(_COMMAND, word) == {"smgcfg", "smgcfg.cli"}


def test_the_package_imports_nothing() -> None:
    """`import smgcfg` imports no other module: names are found when they are asked for."""
    assert imported(_STATEMENT.format("import smgcfg")) == {"smgcfg"}


def test_settings_import_no_deployment() -> None:
    """The settings of an engine need attrs, and neither files nor the gateway's settings."""
    modules = imported(_STATEMENT.format("from smgcfg import TokenspeedArgs; TokenspeedArgs(seed=1).to_argv()"))
    assert roots(modules) == {"smgcfg", "attr", "attrs"}
    assert heavy(modules) == set()
    others = ("smgcfg.cli", "smgcfg.config", "smgcfg.gateway", "smgcfg.planning", "smgcfg.schema", "smgcfg.sources")
    assert not [name for name in modules if name.startswith(others)]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["--help"], set()),
        ([str(FILE)], set()),
        ([str(FILE), "--set", "pools.wide.engine.seed=1", "--unset", "gateway.policy"], set()),
        ([str(FILE), "--commands"], {"shlex"}),
        ([str(FILE), "--json"], {"json"}),
        ([str(FILE), "--pool", "wide", "--", "--seed", "1"], {"smgcfg.argv"}),
    ],
)
def test_a_plan_imports_what_it_uses(words: list[str], more: set[str]) -> None:
    """A plan that goes well imports attrs and tomli, and of the heavy modules only the one behind its form."""
    modules = imported(_COMMAND, "plan", *words)
    assert roots(modules) == {"smgcfg", "attr", "attrs", "tomli"}
    assert heavy(modules) == more
