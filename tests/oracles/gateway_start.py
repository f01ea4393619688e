"""The checks that a starting gateway makes behind its parsers, in its Rust side, from its wheel.

A gateway whose port is taken checks all of its configuration first, and only then fails to listen. So a start on a port
that this process holds tells what the gateway refuses, and starts nothing.

A gateway can be started once in a process. Starting it again shows most of the checks, and quickly; the rest takes a
process of its own for each start.

Run as a module, with the unpacked wheel and "again" or "once" as arguments, this is the process that holds the real
program.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import logging
import os
import signal
import socket
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from oracles import wheels
from oracles.parsing import Parser, read, without_defaults
from oracles.program import Program, serve

_WHEELS: Final = {"1.13.0": "smg==1.13.0", "1.10.1": "tokenspeed-smg==1.10.1.post20260920"}

#: What a gateway says that got as far as listening; the latter two where it has been there before in its process.
_PASSED: Final = ("in use", "Prometheus recorder", "already initialized")

#: How long a start may take, in seconds; some configurations make the gateway wait for a server before it listens.
_PATIENCE: Final = 20


class GatewayStart:
    """The real gateway of one version, in an empty environment, as far as its checks."""

    def __init__(self, version: str) -> None:
        wheel = str(wheels.unpacked(_WHEELS[version]))
        self._again = Program(__name__, [wheel, "again"], site_packages=True)
        self._once = Program(__name__, [wheel, "once"], site_packages=True)

    def refusal(self, argv: Sequence[str]) -> str | None:
        """Start `smg launch` as far as its checks.

        Returns:
            The gateway's words about what it does not take, or None where it would go on to listen.

        Raises:
            Refused: Already the parser does not take `argv`.
        """
        early = self._again.call("refusal", list(argv))
        return self._once.call("refusal", list(argv)) if early is None else early


@functools.cache
def real(version: str = "1.13.0") -> GatewayStart:
    """The real gateway, started once.

    Raises:
        OracleUnavailable: Its wheel can not be had.
    """
    return GatewayStart(version)


def _load(wheel: str, how: str) -> Mapping[str, Callable[..., object]]:
    sys.path.insert(0, wheel)
    if importlib.util.find_spec("setproctitle") is None:  # only names the running gateway
        sys.modules["setproctitle"] = types.ModuleType("setproctitle")
    logging.disable()
    from smg.router import Router
    from smg.router_args import RouterArgs

    parser, suppressed = Parser(), Parser()
    RouterArgs.add_cli_args(parser)
    RouterArgs.add_cli_args(suppressed)
    without_defaults(suppressed)
    held, free = _held_port(), _free_port()
    unless_given = {"host": "127.0.0.1", "port": held, "prometheus_host": "127.0.0.1", "prometheus_port": free}

    def start(argv: list[str]) -> str:
        given = read(suppressed, argv)
        values = read(parser, argv) | {key: value for key, value in unless_given.items() if key not in given}
        try:
            args = RouterArgs.from_cli_args(argparse.Namespace(**values))
            if hasattr(args, "selected_discovery_provider"):
                args.selected_discovery_provider()
            Router.from_args(args).start()
        except BaseException as problem:  # the Rust side panics with one that is no Exception
            return str(problem) or type(problem).__name__
        return "the gateway started"

    def refusal(argv: list[str]) -> str | None:
        read(parser, argv)
        words = start(argv) if how == "again" else _in_a_copy(lambda: start(argv))
        return None if any(said in words for said in _PASSED) else words

    return {"refusal": refusal}


def _in_a_copy(function: Callable[[], str]) -> str:
    """Call a function in a copy of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_PATIENCE)
        try:
            os.write(writing, function().encode()[:4000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        words = answer.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if status:
        raise AssertionError(f"a start ended with status {status}, not within {_PATIENCE} s")
    return words


def _held_port() -> int:
    _HELD.bind(("127.0.0.1", 0))
    _HELD.listen()
    return int(_HELD.getsockname()[1])


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


_HELD: Final = socket.socket()

if __name__ == "__main__":
    serve(lambda: _load(*sys.argv[1:]))
