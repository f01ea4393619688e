"""TokenSpeed's own argument parser and cross-flag checks, from its wheel, on a machine without GPU or torch.

Run as a module, with the unpacked wheel and its version as arguments, this is the process that holds the real program.
"""

from __future__ import annotations

import argparse
import functools
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from oracles import snapshot_parser, wheels
from oracles.parsing import Oracle, Parser, read, spellings, without_defaults
from oracles.program import Program, serve

#: What the modules that hold the parser import at their head and do not need for it (0.1.0 and 0.1.1).
_THIRD_PARTY: Final = frozenset(
    {
        *("fastapi", "numpy", "PIL", "psutil", "pybase64", "pydantic", "requests", "starlette"),
        *("tokenspeed_kernel", "torch", "triton", "zmq"),
    }
)
#: Packages whose `__init__` pulls in the whole runtime, of which the parser needs single modules.
_BARE_PACKAGES: Final = ("tokenspeed.runtime.configs", "tokenspeed.runtime.distributed")
#: The machine that the cross-flag checks see: one B200.
_PLATFORM: Final = types.SimpleNamespace(is_amd=False, is_nvidia=True, is_hopper_plus=True)
_GPU_MEMORY_MIB: Final = 183359
#: What the parser and the checks do read of the third-party modules.
_FACTS: Final[dict[str, dict[str, object]]] = {
    "tokenspeed_kernel.platform": {"current_platform": lambda: _PLATFORM, "pdl_enabled": lambda: False},
    "tokenspeed_kernel.ops.attention.gdn.triton": {"CHUNK_SIZE": 64},
    "tokenspeed_kernel.ops.attention.triton.linear.chunk_delta_h": {"CHUNK_SIZE": 64},
}


class Tokenspeed:
    """The real TokenSpeed of one version; its own `prepare_server_args`, in two halves."""

    def __init__(self, version: str) -> None:
        self._program = Program(__name__, [str(wheels.unpacked(f"tokenspeed=={version}"))])

    def parse(self, argv: Sequence[str]) -> dict[str, object]:
        """Read an engine command line; see `Oracle.parse`."""
        return self._program.call("parse", list(argv))

    def spellings(self) -> dict[str, frozenset[object] | None]:
        """Every option string of the parser with its choices; see `parsing.spellings`."""
        return self._program.call("spellings")

    def resolve(self, argv: Sequence[str]) -> str | None:
        """Run the checks across flags that follow the parser.

        Returns:
            The engine's words about what does not fit, or None where it would go on to load the model.

        Raises:
            Refused: Already the parser does not take `argv`.
        """
        return self._program.call("resolve", list(argv))


@functools.cache
def _started(version: str) -> Tokenspeed:
    return Tokenspeed(version)


def real(version: str = "0.1.1") -> Tokenspeed:
    """The real program, started once.

    Raises:
        OracleUnavailable: Its wheel can not be had.
    """
    return _started(version)


def oracle(version: str = "0.1.1") -> Oracle:
    """The judge of TokenSpeed command lines: the real program.

    `SMGCFG_ORACLES=snapshot` puts the parser built from the shipped snapshot in its place, for work without network.
    """
    return snapshot_parser.shipped("tokenspeed", version) if snapshot_parser.chosen() else real(version)


def _load(root: Path) -> Mapping[str, Callable[..., object]]:
    sys.meta_path.append(_StandInFinder())
    sys.path.insert(0, str(root))
    for name in _BARE_PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[name] = package
    from tokenspeed.runtime.utils import server_args

    server_args.get_nvgpu_memory_capacity = lambda: _GPU_MEMORY_MIB

    def parser() -> argparse.ArgumentParser:
        made = Parser(allow_abbrev=False)
        server_args.ServerArgs.add_cli_args(made)
        return made

    complete = parser()

    def resolve(argv: list[str]) -> str | None:
        values = argparse.Namespace(**read(complete, argv))
        return _refusal(server_args.ServerArgs.from_cli_args, values)

    return {
        "parse": functools.partial(read, without_defaults(parser())),
        "spellings": functools.partial(spellings, complete),
        "resolve": resolve,
    }


def _refusal(check: Callable[[argparse.Namespace], object], values: argparse.Namespace) -> str | None:
    environment = dict(os.environ)
    try:
        check(values)
    except ValueError as error:
        return str(error)
    except Exception as error:  # the engine would fall over here
        return f"{type(error).__name__}: {error}"
    finally:
        os.environ.clear()
        os.environ.update(environment)
    return None


class _Anything(type):
    """A class whose attributes are itself, so that it can be a base, a decorator's home or an annotation."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _StandIn(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything("Anything", (), {})


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a stand-in for every third-party module."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in _THIRD_PARTY:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(_FACTS.get(module.__name__, {}))


if __name__ == "__main__":
    serve(lambda: _load(Path(sys.argv[1])))
