"""Calls within one process: what a harness pays that is already running."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import job
from cold import LIBRARIES
from measure import Row, calls, table

from smgcfg import TokenspeedArgs
from smgcfg.argv import read_argv

#: The most that each may take, in microseconds.
_LIMITS: Final = {"TOML and words to TokenspeedArgs": 300, "to_argv": 50}


def run(folder: Path, rounds: int) -> str:
    """Measure, and return the table.

    Args:
        folder: Where files may be written.
        rounds: How often to measure each call.
    """
    text, words = job.engine_text(), job.engine_words()
    args = TokenspeedArgs.from_toml(text).overlay(words)
    argv = args.to_argv()
    jobs: dict[str, Callable[[], Any]] = {
        "TOML and words to TokenspeedArgs": lambda: TokenspeedArgs.from_toml(text).overlay(words),
        "to_argv": args.to_argv,
        f"read {len(argv)} words": partial(read_argv, TokenspeedArgs, argv, positional="model"),
        f"from_argv of {len(argv)} words": partial(TokenspeedArgs.from_argv, argv),
        **_others(folder),
    }
    times = calls(jobs, rounds)
    first = next(iter(times.values()))
    rows = []
    for name, taken in times.items():
        limit = _LIMITS.get(name)
        text = "" if limit is None else f"{limit} us"
        rows.append(
            Row(name, (f"{taken * 1e6:.0f} us", f"{taken / first:.1f}"), text, limit is None or taken * 1e6 <= limit)
        )
    return table("call, CPU time", ("median", "x first"), rows)


def _others(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the same work by smg, argparse and the libraries that are installed."""
    (folder / "settings.toml").write_text(job.other_text())
    sys.path[:0] = [str(folder), str(Path(__file__).parent / "programs")]
    words = [str(folder / "settings.toml"), *(f"{key}={value}" for key, value in job.other_choices().items())]
    programs = {"smg serve: parse and build": ("smg_serve", job.smg_words()), "argparse": ("with_argparse", words)}
    for name in LIBRARIES:
        module = name.replace("-", "_")
        if importlib.util.find_spec(module) is not None:
            programs[name] = (f"with_{module}", words)
    return {name: partial(importlib.import_module(module).job, with_) for name, (module, with_) in programs.items()}
