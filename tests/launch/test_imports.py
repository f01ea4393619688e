"""What the launcher loads: it stays in memory as long as the engines run."""

import subprocess
import sys

import pytest


def loaded_by(module: str) -> set[str]:
    """Return what is loaded by importing a module into an interpreter of its own."""
    code = f"import sys; import {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("smgcfg.launch.run", {"attrs", "cattrs", "tomli", "argparse", "asyncio", "http.client", "json", "ssl", "zmq"}),
        (
            "smgcfg.launch.run",
            {"smgcfg.config", "smgcfg.backends", "smgcfg.gateway", "smgcfg.planning.plan", "smgcfg.cli"},
        ),
        ("smgcfg.launch.host", {"subprocess", "threading", "smgcfg.launch.supervisor"}),
        ("smgcfg.launch", {"smgcfg.launch.run", "smgcfg.process"}),
    ],
)
def test_import_loads_no_more_than_it_needs(module: str, unwanted: set[str]) -> None:
    """Launching knows nothing of engines, and asks for what it needs when it needs it."""
    assert loaded_by(module) & unwanted == set()


def test_guard_needs_only_the_standard_library() -> None:
    """A guard is run without site-packages, and without anything of this package."""
    code = "import runpy; runpy.run_path(sys.argv[1], run_name='guard'); print(*sys.modules)"
    guard = f"{__import__('smgcfg.launch', fromlist=['x']).__path__[0]}/guard.py"
    argv = [sys.executable, "-I", "-S", "-c", f"import sys; {code}", guard]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    assert "ctypes" in loaded
    assert {name.partition(".")[0] for name in loaded} <= {*sys.stdlib_module_names, "__main__"}
