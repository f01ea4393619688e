"""Prints, as JSON, the flags of the programs that are asked for and installed here."""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import json
import os
import sys
from importlib import metadata
from typing import Any, NamedTuple

from .names import installed
from .reader import Reader, moved_to
from .records import records


class Program(NamedTuple):
    """A program whose flags can be read.

    Attributes:
        distributions: The packages that bring it, the usual one first.
        module: The module of the function that registers its flags.
        function: That function.
        light: The module can be imported: it needs no GPU and loads in no time.
    """

    distributions: tuple[str, ...]
    module: str
    function: str
    light: bool


PROGRAMS = {
    "tokenspeed": Program(
        ("tokenspeed",), "tokenspeed.runtime.utils.server_args", "ServerArgs.add_cli_args", light=False
    ),
    "smg": Program(("smg",), "smg.router_args", "RouterArgs.add_cli_args", light=True),
    "tokenspeed-smg": Program(("tokenspeed-smg",), "smg.router_args", "RouterArgs.add_cli_args", light=True),
    "smg-grpc-servicer": Program(
        ("smg-grpc-servicer", "tokenspeed-smg-grpc-servicer"),
        "smg_grpc_servicer.tokenspeed.__main__",
        "split_args",
        light=False,
    ),
}

#: Packages that are never imported to read a flag table: they want a GPU, or take long.
HEAVY = frozenset(("flashinfer", "mlx", "sglang", "tensorrt_llm", "tokenspeed_kernel", "torch", "triton", "vllm"))


class _Refuser(importlib.abc.MetaPathFinder):
    """Refuses to import what is heavy."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in HEAVY:
            raise ImportError(f"{name} is not imported to read a flag table")


def main(names: list[str]) -> None:
    """Print what is found.

    Args:
        names: Which of `PROGRAMS`.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever an import prints is no answer
    os.environ.clear()  # a default that comes from the environment may be a secret
    sys.meta_path.insert(0, _Refuser())
    answer = {name: _reading(PROGRAMS[name]) for name in names}
    json.dump({name: reading for name, reading in answer.items() if reading is not None}, out)
    out.close()


def _reading(program: Program) -> dict[str, Any] | None:
    version = next(filter(None, map(_version, program.distributions)), None)
    if version is None:
        return None
    reading: dict[str, Any] = {"version": version}
    if program.light:
        try:
            return {**reading, "method": "import", "module": program.module, "flags": _imported(program)}
        except Exception as problem:  # whatever keeps it from loading, its source may still be read
            reading["why"] = f"{type(problem).__name__}: {problem}"
    try:
        module, reader = _followed(program)
    except (LookupError, OSError, SyntaxError, RecursionError) as problem:
        return {**reading, "problem": str(problem)}
    flags = records(reader.parser, reader.notes)
    return {**reading, "method": "source", "module": module, "flags": flags, "unread": reader.unread}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _imported(program: Program) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(add_help=False)
    register: Any = importlib.import_module(program.module)
    for name in program.function.split("."):
        register = getattr(register, name)
    register(parser)
    return records(parser, {})


def _followed(program: Program) -> tuple[str, Reader]:
    package = installed(program.module.partition(".")[0])
    reader = Reader(package)
    try:
        reader.register(program.module, program.function)
        return program.module, reader
    except LookupError:
        found = moved_to(package, program.function)
        if found is None:
            raise
    reader.register(*found)
    return found[0], reader


if __name__ == "__main__":
    main(sys.argv[1:])
