"""Whole processes: from nothing to the answer."""

import importlib.util
from pathlib import Path
from typing import Final

import job
from measure import Row, processes, python, table

_PROGRAMS: Final = Path(__file__).parent / "programs"

#: The most that `smgcfg plan` may take, as a multiple of smg's own job, and of the job in another library.
_OF_SMG: Final = 1.1
_OF_OTHERS: Final = 0.5

#: The most that a command may take, as a multiple of `python -c pass`.
_OF_PASS: Final = {"smgcfg --version": 1.5, "smgcfg --help": 2.8}

LIBRARIES: Final = ("typed-settings", "tyro", "jsonargparse")


def run(folder: Path, rounds: int) -> str:
    """Measure, and return the table.

    Args:
        folder: Where files may be written.
        rounds: How often to run each process.
    """
    deployment, settings = folder / "bench.toml", folder / "settings.toml"
    deployment.write_text(job.deployment_text())
    settings.write_text(job.other_text())
    choices = [f"{key}={value}" for key, value in job.other_choices().items()]
    commands = {
        "python -c pass": python("-c", "pass"),
        "smgcfg --version": python("-m", "smgcfg", "--version"),
        "smgcfg --help": python("-m", "smgcfg", "--help"),
        "import attrs": python("-c", "import attrs"),
        "smgcfg plan": python("-m", "smgcfg", "plan", str(deployment), *job.deployment_words()),
        "smg serve: parse and build": python(str(_PROGRAMS / "smg_serve.py"), *job.smg_words()),
        "argparse": python(str(_PROGRAMS / "with_argparse.py"), str(settings), *choices),
    }
    missing = [name for name in LIBRARIES if importlib.util.find_spec(_module(name)) is None]
    for name in LIBRARIES:
        if name not in missing:
            commands[name] = python(str(_PROGRAMS / f"with_{_module(name)}.py"), str(settings), *choices)
    times = processes(commands, rounds, {"PYTHONPATH": str(folder)})
    unit, plan, smg = times["python -c pass"], times["smgcfg plan"], times["smg serve: parse and build"]
    rows = []
    for name, taken in times.items():
        limit, kept = "", True
        if name in _OF_PASS:
            limit, kept = f"{_OF_PASS[name]} x pass", taken <= _OF_PASS[name] * unit
        elif name == "smgcfg plan":
            limit, kept = f"{_OF_SMG} x smg", taken <= _OF_SMG * smg
        elif name in LIBRARIES:
            limit, kept = f"plan at most {_OF_OTHERS} x", plan <= _OF_OTHERS * taken
        figures = (f"{taken * 1e3:.1f} ms", f"{taken / unit:.2f}", f"{taken / smg:.2f}", f"{plan / taken:.2f}")
        rows.append(Row(name, figures, limit, kept))
    rows += [Row(name, ("not installed", "", "", "")) for name in missing]
    return table("cold process, CPU time", ("median", "x pass", "x smg", "plan / it"), rows)


def _module(library: str) -> str:
    return library.replace("-", "_")
