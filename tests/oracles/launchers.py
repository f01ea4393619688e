"""What the real launchers, `smg serve` and `ts serve`, hand to their gateway and engines.

Run as a module, with the launcher's name and the unpacked wheel as arguments, this is the process that holds the real
program.
"""

from __future__ import annotations

import argparse
import functools
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from oracles import smg, tokenspeed, wheels
from oracles.parsing import Parser as RaisingParser
from oracles.parsing import Refused, spellings
from oracles.program import Program, serve

T = TypeVar("T")


class SmgServe:
    """The real `smg serve` 1.13.0, in an empty environment."""

    def __init__(self) -> None:
        wheel = [] if smg._installed("smg", "1.13.0") else [str(wheels.unpacked("smg==1.13.0"))]
        self._program = Program(__name__, ["smg", *wheel], site_packages=True)

    def spellings(self) -> dict[str, frozenset[object] | None]:
        """Every option string of its first pass; see `parsing.spellings`."""
        return self._program.call("spellings")

    def gateway(self, argv: Sequence[str]) -> dict[str, Any]:
        """The gateway's settings that it builds, by the names of smg's own `RouterArgs`.

        Args:
            argv: The words after `smg serve`.

        Raises:
            Refused: smg does not take `argv`.
        """
        return self._program.call("serve_settings", list(argv))

    def workers(self, argv: Sequence[str]) -> list[list[str]]:
        """The words of each worker's command; the ports follow each other.

        Raises:
            Refused: smg does not take `argv`.
        """
        return self._program.call("worker_commands", list(argv))

    def launch(self, argv: Sequence[str]) -> dict[str, Any]:
        """The same settings as `gateway` gives, as `smg launch` reads them from its words."""
        return self._program.call("launch_settings", list(argv))


class TsServe:
    """The real `ts serve` of TokenSpeed 0.1.1, on a machine with an NVIDIA GPU."""

    def __init__(self) -> None:
        self._program = Program(__name__, ["tokenspeed", str(wheels.unpacked("tokenspeed==0.1.1"))])

    def split(self, argv: Sequence[str]) -> tuple[list[str], list[str], dict[str, Any]]:
        """The words of the engine, the words of the gateway behind `launch`, and the orchestrator's own settings.

        Args:
            argv: The words after `ts serve`.

        Raises:
            Refused: ts does not take `argv`.
        """
        engine, gateway, options = self._program.call("split", list(argv))
        return engine, gateway, options


@functools.cache
def smg_serve() -> SmgServe:
    """The real program, started once."""
    return SmgServe()


@functools.cache
def ts_serve() -> TsServe:
    """The real program, started once."""
    return TsServe()


def _refusing(function: Callable[[list[str]], T]) -> Callable[[list[str]], T]:
    """The function, with the launcher's ValueError as a refusal."""

    @functools.wraps(function)
    def called(argv: list[str]) -> T:
        try:
            return function(argv)
        except ValueError as error:
            raise Refused(str(error)) from error

    return called


def _load_smg(*wheel: str) -> Mapping[str, Callable[..., object]]:
    sys.path[:0] = wheel
    sys.modules.setdefault("setproctitle", types.ModuleType("setproctitle"))
    for method in ("error", "exit", "print_help"):  # smg makes its parsers itself; this process is for it alone
        setattr(argparse.ArgumentParser, method, getattr(RaisingParser, method))
    from smg import serve as smg_serve
    from smg.launch_router import parse_router_args
    from smg.router_args import RouterArgs

    def orchestrator(argv: list[str]) -> Any:
        made = smg_serve.ServeOrchestrator(*smg_serve.parse_serve_args(argv))
        first = made.args.worker_base_port
        made.workers = [(None, port) for port in range(first, first + made.args.data_parallel_size)]
        return made

    @_refusing
    def serve_settings(argv: list[str]) -> dict[str, Any]:
        return vars(orchestrator(argv)._build_router_args())

    @_refusing
    def worker_commands(argv: list[str]) -> list[list[str]]:
        made = orchestrator(argv)
        return [
            made.launcher.build_command(made.args, made.backend_args, made.args.worker_host, port)
            for _, port in made.workers
        ]

    first_pass = RaisingParser()
    smg_serve.add_serve_args(first_pass)
    RouterArgs.add_cli_args(first_pass, use_router_prefix=True, exclude_host_port=True)
    return {
        "spellings": functools.partial(spellings, first_pass),
        "serve_settings": serve_settings,
        "launch_settings": _refusing(lambda argv: vars(parse_router_args(argv))),
        "worker_commands": worker_commands,
    }


def _load_tokenspeed(root: str) -> Mapping[str, Callable[..., object]]:
    tokenspeed._load(Path(root))
    from tokenspeed.cli import _argsplit, serve_smg

    @_refusing
    def split(argv: list[str]) -> tuple[list[str], list[str], dict[str, Any]]:
        result = _argsplit.split_argv(argv)
        engine, gateway = serve_smg._args_with_default_model_parsers(result.engine, result.gateway)
        gateway = ["--disable-retries", "--disable-circuit-breaker", *serve_smg._gateway_args_with_defaults(gateway)]
        return engine, gateway, vars(result.opts)

    return {"split": split}


if __name__ == "__main__":
    serve(lambda: {"smg": _load_smg, "tokenspeed": _load_tokenspeed}[sys.argv[1]](*sys.argv[2:]))
