"""Functions of a real program, called in a process of their own.

The process keeps the program's modules, their stand-ins and its environment out of the tests: it starts with an empty
environment, and whatever the program changes in itself stays there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oracles.parsing import Refused

_TESTS = Path(__file__).parents[1]


class Program:
    """A child process that answers calls until this one ends.

    Args:
        module: The module to run; it ends in `serve`.
        arguments: Its command line.
        site_packages: Whether it may import installed packages.

    Raises:
        RuntimeError: The program can not be loaded, with its traceback.
    """

    def __init__(self, module: str, arguments: Sequence[str] = (), *, site_packages: bool = False) -> None:
        self._name = " ".join([module, *arguments])
        self._process = subprocess.Popen(
            [sys.executable, *([] if site_packages else ["-S"]), "-m", module, *arguments],
            env={"PYTHONPATH": str(_TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.close)
        self._receive()

    def call(self, function: str, *arguments: object) -> Any:
        """Call one of the functions that the program serves; arguments and result are plain values.

        Raises:
            Refused: The function raised it.
            RuntimeError: The function failed in another way, with its traceback.
        """
        assert self._process.stdin is not None
        pickle.dump((function, arguments), self._process.stdin)
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        try:
            kind, *content = pickle.load(self._process.stdout)
        except EOFError:
            self.close()
            raise RuntimeError(f"{self._name} ended with status {self._process.returncode}") from None
        if kind == "refused":
            raise Refused(*content)
        if kind == "failed":
            raise RuntimeError(content[0])
        return content[0]

    def close(self) -> None:
        """End the process: it leaves when its input ends."""
        self._process.communicate()


def serve(load: Callable[[], Mapping[str, Callable[..., object]]]) -> None:
    """Answer calls on the standard streams until the input ends; the other side of `Program`.

    Args:
        load: Loads the real program and returns the functions that may be called, by name.
    """
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever the program prints is no reply

    def reply(function: Callable[..., object], *arguments: object) -> None:
        pickle.dump(_outcome(function, *arguments), replies)
        replies.flush()

    functions: dict[str, Callable[..., object]] = {}
    reply(lambda: functions.update(load()))
    with contextlib.suppress(EOFError):
        while True:
            name, arguments = pickle.load(sys.stdin.buffer)
            reply(functions[name], *arguments)


def _outcome(function: Callable[..., object], *arguments: object) -> tuple[object, ...]:
    try:
        return "returned", function(*arguments)
    except Refused as refusal:
        return "refused", refusal.message, refusal.crashed
    except Exception:
        return "failed", traceback.format_exc()
