"""smg's own parsers and the worker command that `smg serve` builds, from the installed package or its wheel.

Run as a module, optionally with the unpacked wheel as argument, this is the process that holds the real program.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from oracles import snapshot_parser, wheels
from oracles.parsing import Oracle, Parser, Refused, read, spellings, without_defaults
from oracles.program import Program, serve

#: The distribution of each gateway and its version there: smg's own, and the build of it that TokenSpeed 0.1.1 pins.
_DISTRIBUTIONS: Final = {"1.13.0": ("smg", "1.13.0"), "1.10.1": ("tokenspeed-smg", "1.10.1.post20260920")}


@dataclasses.dataclass(frozen=True)
class WorkerCommand:
    """A worker as `smg serve` starts it.

    Attributes:
        command: The words, beginning with the interpreter.
        env: What `smg serve` sets in an empty environment.
        worker_url: The URL that the gateway gets.
    """

    command: list[str]
    env: dict[str, str]
    worker_url: str


class Smg:
    """The real smg of one version, in an empty environment."""

    def __init__(self, version: str) -> None:
        distribution, exact = _DISTRIBUTIONS[version]
        wheel = [] if _installed(distribution, exact) else [str(wheels.unpacked(f"{distribution}=={exact}"))]
        self._program = Program(__name__, wheel, site_packages=True)

    def parse(self, argv: Sequence[str]) -> dict[str, object]:
        """Read the words after `smg launch`; see `Oracle.parse`."""
        return self._program.call("parse", list(argv))

    def spellings(self) -> dict[str, frozenset[object] | None]:
        """Every option string of `smg launch` with its choices; see `parsing.spellings`."""
        return self._program.call("spellings")

    def resolve(self, argv: Sequence[str]) -> str | None:
        """Run the checks that `smg launch` makes in Python after its parser.

        Returns:
            The gateway's words about what does not fit, or None where it would go on to its Rust side.

        Raises:
            Refused: Already the parser does not take `argv`.
        """
        return self._program.call("resolve", list(argv))

    def serve_worker_command(
        self, argv: Sequence[str], socket_dir: str | os.PathLike[str], index: int = 0
    ) -> WorkerCommand:
        """The command of one TokenSpeed worker, as `smg serve` builds it.

        Args:
            argv: The words after `smg serve`; `--backend tokenspeed --connection-mode zmq` among them.
            socket_dir: What `SMG_ZMQ_SOCKET_DIR` would be.
            index: The worker's number; its port is the base port plus this, as when all of them are free and smg's
                random steps are 1.

        Raises:
            Refused: smg does not take `argv`.
        """
        return WorkerCommand(*self._program.call("serve_worker_command", list(argv), os.fspath(socket_dir), index))


@functools.cache
def _started(version: str) -> Smg:
    return Smg(version)


def real(version: str = "1.13.0") -> Smg:
    """The real program, started once.

    Raises:
        OracleUnavailable: Its wheel can not be had.
    """
    return _started(version)


def oracle(version: str = "1.13.0") -> Oracle:
    """The judge of `smg launch` command lines: the real program.

    `SMGCFG_ORACLES=snapshot` puts the parser built from the shipped snapshot in its place, for work without network.
    """
    return snapshot_parser.shipped(_DISTRIBUTIONS[version][0], version) if snapshot_parser.chosen() else real(version)


def _installed(distribution: str, version: str) -> bool:
    try:
        return importlib.metadata.version(distribution) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def _load(wheel: list[str]) -> Mapping[str, Callable[..., object]]:
    sys.path[:0] = wheel
    if importlib.util.find_spec("setproctitle") is None:  # only names the running gateway
        sys.modules["setproctitle"] = types.ModuleType("setproctitle")
    for method in ("error", "exit", "print_help"):  # smg makes its parsers itself; this process is for it alone
        setattr(argparse.ArgumentParser, method, getattr(Parser, method))
    from smg import serve as smg_serve
    from smg.launch_router import parse_router_args
    from smg.router_args import RouterArgs

    launch = Parser()
    RouterArgs.add_cli_args(launch)

    def resolve(argv: list[str]) -> str | None:
        read(launch, argv)
        try:
            parse_router_args(argv)._validate_router_args()
        except ValueError as error:
            return str(error)
        return None

    def serve_worker_command(argv: list[str], socket_dir: str, index: int) -> tuple[list[str], dict[str, str], str]:
        smg_serve._ZMQ_SOCKET_DIR = socket_dir
        try:
            backend, args, words = smg_serve.parse_serve_args(argv)
            launcher = smg_serve.BACKEND_LAUNCHERS[backend]()
            host, port = args.worker_host, args.worker_base_port + index
            return (
                launcher.build_command(args, words, host, port),
                launcher.gpu_env(args, index, {}),
                launcher.worker_url(args, host, port),
            )
        except ValueError as error:
            raise Refused(str(error)) from error

    return {
        "parse": functools.partial(read, without_defaults(launch)),
        "spellings": functools.partial(spellings, launch),
        "resolve": resolve,
        "serve_worker_command": serve_worker_command,
    }


if __name__ == "__main__":
    serve(lambda: _load(sys.argv[1:]))
