"""Whether a program can be run: what execve(2) would say, and why, before anything is started."""

import os
import re
import shutil
import stat
from typing import Final

from smgcfg.errors import Finding, error, reason_of
from smgcfg.process import ProcessSpec

#: How much of a file the kernel looks at to know how to run it, in bytes.
_HEAD: Final = 256


def program_findings(spec: ProcessSpec) -> list[Finding]:
    """Return a finding if the program of a process is not there or can not be run.

    Args:
        spec: The process.
    """
    program = found = spec.argv[0]
    if os.sep not in program:
        path = dict(spec.env).get("PATH", os.environ.get("PATH", os.defpath))
        there = shutil.which(program, path=path) or shutil.which(program, os.F_OK, path)
        if there is None:
            return [error("SMG032", spec.name, f"the program {program!r} is not on the PATH")]
        found = there
    problem = _problem(found)
    return [error("SMG032", spec.name, f"the program {found!r} {problem}")] if problem else []


def _problem(path: str) -> str:
    """Return why a file can not be run, or empty."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as problem:
        return f"can not be reached: {reason_of(problem)}"
    if not stat.S_ISREG(mode):
        return "is a directory" if stat.S_ISDIR(mode) else "is no file"
    if not os.access(path, os.X_OK):
        return f"may not be executed (mode {stat.S_IMODE(mode):04o})"
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""  # what may be executed need not be readable
    script = re.match(rb"#![ \t]*([^ \t\n]+)", head)
    if script is not None:
        interpreter = os.fsdecode(script[1])
        return "" if os.access(interpreter, os.X_OK) else f"is run by {interpreter!r}, which is not there"
    # A shell runs any text; the kernel does not. What is no text is of some format or other.
    return "" if b"\0" in head else "is a script that does not begin with what runs it, such as #!/bin/sh"
