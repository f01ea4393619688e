"""The stand-in's command line: ``python -m smgcfg.standin serve --headless --model M ...``, as for the real engine."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from smgcfg.backends.tokenspeed import TokenspeedArgs
from smgcfg.errors import ConfigError
from smgcfg.standin.settings import TOKENSPEED_VERSION, EngineSettings, Play, SettingsError, context_length
from smgcfg.standin.stop import Stop
from smgcfg.standin.tokenizer import write_model_dir

_USAGE: Final = """\
usage: python -m smgcfg.standin serve --headless --model M [TOKENSPEED FLAGS]
       python -m smgcfg.standin --write-model DIR

Plays a headless TokenSpeed 0.1.1 engine on the CPU behind an smg gateway, or writes the
tokenizer and chat template that the gateway needs for it.

environment:
  SMGCFG_STANDIN_UNSUPPORTED=abort|ignore  constrained requests without a grammar backend, and logprobs without
                                           --enable-output-logprobs
  SMGCFG_STANDIN_LOAD_SECONDS=SECONDS      play a model that loads before dialling
  SMGCFG_STANDIN_STEP_SECONDS=SECONDS      least time between two tokens of a request
"""
#: Flags that TokenSpeed 0.1.1 refuses together with --headless (``cli/_argsplit.py``)
_ORCHESTRATOR_FLAGS: Final = (
    "--engine-startup-timeout",
    "--gateway-startup-timeout",
    "--drain-timeout",
    "--control-port",
)


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run one command line.

    Args:
        argv: The words behind the program's name.
        environ: The environment.

    Returns:
        The exit code: 0 after SIGTERM or SIGINT, 1 when the handshake failed, 2 for a bad command line.
    """
    if list(argv) in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return 0
    if len(argv) == 2 and argv[0] == "--write-model":
        print(write_model_dir(argv[1]))
        return 0
    try:
        settings = read_settings(argv, environ)
    except (ConfigError, SettingsError) as exc:
        print(exc, file=sys.stderr)
        return 2
    return play(settings)


def read_settings(argv: Sequence[str], environ: Mapping[str, str]) -> EngineSettings:
    """Read an engine command line as TokenSpeed 0.1.1 does.

    Args:
        argv: ``serve``, ``--headless``, and the engine's flags.
        environ: The environment.

    Raises:
        smgcfg.ConfigError: The engine's parser would refuse the flags.
        SettingsError: The engine, or the stand-in, refuses what they say.
    """
    args = TokenspeedArgs.from_argv(headless_flags(argv), version=TOKENSPEED_VERSION)
    if args.model is None:
        raise SettingsError("--model: required")
    if args.grammar_backend == "llguidance":
        raise SettingsError("--grammar-backend: TokenSpeed 0.1.1 takes 'xgrammar' or 'none', got 'llguidance'")
    ranks = args.data_parallel_size or 1
    tensor, pipeline = args.tensor_parallel_size or 1, args.pipeline_parallel_size or 1
    prefill = args.chunked_prefill_size
    passed: dict[str, Any] = {
        "served_model_name": args.served_model_name,
        "address": args.data_parallel_address,
        "port": args.data_parallel_rpc_port,
        "first_index": args.zmq_engine_index,
        "output_logprobs": args.enable_output_logprobs,
        "max_num_seqs": args.max_num_seqs,
        "max_num_batched_tokens": None if prefill is None else max(0, prefill),  # -1 is no cap, on the wire 0
        "stream_interval": args.stream_interval,
        "decode_context_parallel_size": args.decode_context_parallel_size,
    }
    return EngineSettings(
        model=args.model,
        ranks=ranks,
        world_size=args.world_size or ranks * tensor * pipeline,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        enforce=args.grammar_backend == "xgrammar",
        max_model_len=args.max_model_len or context_length(args.model),
        play=Play.from_environment(environ),
        # What was not passed keeps the engine's default.
        **{name: value for name, value in passed.items() if value is not None},
    )


def headless_flags(argv: Sequence[str]) -> list[str]:
    """Return the engine's own flags, without the words ``serve --headless``.

    Raises:
        SettingsError: It is no headless command, or holds a flag of the process that would start a gateway.
    """
    if not argv or argv[0] != "serve" or "--headless" not in argv:
        raise SettingsError(f"the stand-in plays a headless engine only\n{_USAGE}")
    tokens = [token for token in argv[1:] if token != "--headless"]
    for token in tokens:
        name = token.partition("=")[0]
        if name in _ORCHESTRATOR_FLAGS:
            raise SettingsError(f"{name}: belongs to the process that starts a gateway, not valid with --headless")
    return tokens


def play(settings: EngineSettings) -> int:
    """Play the engine until a signal ends it.

    Returns:
        The exit code.
    """
    stop = Stop()
    stop.install()
    try:
        from smgcfg.standin.server import Server
    except ModuleNotFoundError as exc:
        print(f"the stand-in needs {exc.name}: install smgcfg[standin]", file=sys.stderr)
        return 2
    try:
        backend = "xgrammar, by llguidance" if settings.enforce else "none"
        logprobs = "on" if settings.output_logprobs else "off"
        log(f"loading {settings.model} (grammar backend {backend}; output logprobs {logprobs})")
        select.select([stop.wake], [], [], settings.play.load_seconds)
        return 0 if stop.signal else Server(settings, stop, log).run()
    finally:
        stop.close()


def log(line: str) -> None:
    """Print a line at once, so that whoever reads the pipe sees it when it happens."""
    print(f"standin: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
