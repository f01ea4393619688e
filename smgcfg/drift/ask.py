"""Ask an interpreter for the flags of the programs it has. The programs themselves stay over there."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from smgcfg.drift.there.__main__ import PROGRAMS as PROGRAMS
from smgcfg.value import Value

_FOLDER: Final = str(Path(__file__).parent)

#: Run with this folder and the names of programs as arguments. The folder is on the path for one import only: what is
#: beside it must not stand in for what the program over there imports.
_BOOT: Final = """\
import sys
folder = sys.argv.pop(1)
sys.path.insert(0, folder)
from there.__main__ import main
sys.path.remove(folder)
main(sys.argv[1:])
"""

#: Seconds an interpreter may take: its packages may stand on a slow network file system.
_PATIENCE: Final = 120.0


class Reading(Value):
    """What an interpreter has of one program.

    Attributes:
        program: A key of `PROGRAMS`.
        version: The version that is installed.
        python: The interpreter.
        method: "import": its parser was made; "source": its source was followed.
        module: Where the flags are registered.
        flags: One record per flag, in the shape of a snapshot's; `unknown` says what of it is not known, and why.
        unread: What could not be read as a flag at all.
        why: Why its parser could not be made, where that was tried; else empty.
        problem: Why nothing could be read; else empty.
    """

    program: str
    version: str
    python: str
    method: str = ""
    module: str = ""
    flags: tuple[dict[str, Any], ...] = ()
    unread: tuple[str, ...] = ()
    why: str = ""
    problem: str = ""


def readings(
    python: str, programs: Sequence[str] = tuple(PROGRAMS), environment: Mapping[str, str] | None = None
) -> tuple[Reading, ...] | str:
    """Ask an interpreter.

    Args:
        python: The interpreter.
        programs: Which of `PROGRAMS`.
        environment: Variables on top of this process's own. The interpreter is run with them as a launch runs it, not
            isolated: with PYTHONPATH, a program is another one.

    Returns:
        What it has of each program, in their order, without those that are not installed; or why it could not be asked.
    """
    try:
        done = subprocess.run(
            [python, "-B", "-c", _BOOT, _FOLDER, *programs],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        answer = json.loads(done.stdout)
    except OSError as problem:
        return f"{python} can not be run: {problem.strerror}"
    except subprocess.TimeoutExpired:
        return f"{python} did not answer in {_PATIENCE:.0f} seconds"
    except subprocess.CalledProcessError as problem:
        last = problem.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return f"{python} failed with exit code {problem.returncode}: {last}"
    except ValueError:
        return f"{python} did not answer with a flag table"
    return tuple(_reading(python, name, facts) for name, facts in answer.items())


def _reading(python: str, program: str, facts: Mapping[str, Any]) -> Reading:
    lists = {name: tuple(facts.get(name, ())) for name in ("flags", "unread")}
    return Reading(**{"program": program, "python": python, **facts, **lists})
