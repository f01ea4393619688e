"""A deployment with stand-ins in place of its engines: for a try-out, and for a CI without a GPU."""

import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Final

import attrs

from smgcfg.config import Deployment, Gateway, Pool
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, Finding, error, warning
from smgcfg.origin import Origin
from smgcfg.schema import Path, dotted


def model_dir(environment: Environment) -> str:
    """Return where the generated model of this version stands: one directory for all launches of a user."""
    from smgcfg import __version__

    return environment.run_dir(f".standin-model-{__version__}")


#: What a stand-in does not take from its pool, and why.
_OF_POOL: Final = {
    "tokenizer": "stand-ins have a tokenizer of their own",
    "gpus": "stand-ins use no GPU",
    "gpus_per_replica": "stand-ins use no GPU",
    "python": "stand-ins run under the interpreter of smgcfg",
    "wrapper": "it is about the machine that has the GPUs",
    "command": "stand-ins run in its place",
}


def left_out(deployment: Deployment, where: Callable[[Path], Origin | None]) -> list[Finding]:
    """Return a warning for each value of an operator's that a deployment loses by `with_standins`.

    Args:
        deployment: The deployment as it was chosen.
        where: Where a value was chosen.
    """
    lost: list[tuple[Path, str]] = []
    for pool in deployment.pools:
        table = ("pools", pool.name)
        lost += [((*table, key), why) for key, why in _OF_POOL.items() if getattr(pool, key) is not None]
        if pool.engine.tokenizer is not None:
            lost.append(((*table, "engine", "tokenizer"), _OF_POOL["tokenizer"]))
    gateway = deployment.gateway
    if gateway.args.tokenizer_path is not None:
        lost.append((("gateway", "tokenizer_path"), _OF_POOL["tokenizer"]))
    if gateway.python is not None and not gateway.command:
        lost.append((("gateway", "python"), "beside stand-ins the gateway runs under the interpreter of smgcfg"))
    return [warning("SMG026", dotted(path), f"not used: {why}", where(path)) for path, why in lost]


def with_standins(deployment: Deployment, environment: Environment) -> Deployment:
    """Return a deployment whose workers are stand-ins, everything else unchanged.

    The generated tokenizer takes the place of the model's, so that the model need not be there; no GPU is asked for;
    wrappers, which are about the machine that has the GPUs, are left out. `left_out` says what of it somebody chose.

    Args:
        deployment: Pools of TokenSpeed over zmq.
        environment: Says which interpreter runs the stand-ins, and where the generated model stands.

    Raises:
        ConfigError: A pool is of a kind that the stand-in can not play.
    """
    findings: list[Finding] = []
    tokenizer = model_dir(environment)
    pools = []
    for pool in deployment.pools:
        if pool.backend != "tokenspeed" or pool.transport not in (None, "zmq"):
            message = f"the stand-in plays tokenspeed over zmq, not {pool.backend} over {pool.transport}"
            findings.append(error("SMG017", f"pools.{pool.name}", message))
        pools.append(_standin(pool, environment.python, tokenizer))
    if findings:
        raise ConfigError(findings)
    gateway = deployment.gateway
    if gateway.args.tokenizer_path is not None:
        gateway = attrs.evolve(gateway, args=attrs.evolve(gateway.args, tokenizer_path=tokenizer))
    return attrs.evolve(deployment, pools=tuple(pools), gateway=_own_interpreter(gateway))


def _standin(pool: Pool, python: str, tokenizer: str) -> Pool:  # type: ignore[type-arg]  # of whichever engine
    engine = pool.engine if pool.engine.tokenizer is None else attrs.evolve(pool.engine, tokenizer=tokenizer)
    command = (python, "-m", "smgcfg.standin")
    return attrs.evolve(
        pool, engine=engine, command=command, wrapper=None, tokenizer=tokenizer, gpus=None, gpus_per_replica=0
    )


def _own_interpreter(gateway: Gateway) -> Gateway:
    """The extra that brings the stand-in brings the gateway: it is the one to use, unless a command was named."""
    return gateway if gateway.command else attrs.evolve(gateway, python=None)


def write_model(path: str, check: Callable[[str], list[Finding]]) -> None:
    """Write the generated model, unless it is there.

    Args:
        path: The directory.
        check: Says what is wrong with a directory that others might have made.

    Raises:
        ConfigError: The directory is not ours, or can not be written.
    """
    from smgcfg.standin.tokenizer import write_model_dir

    findings = check(path)
    if findings:
        raise ConfigError(findings)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.isdir(path):
            return
        # Written beside and moved: another launch never reads half a tokenizer.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path), prefix=".standin-") as beside:
            made = write_model_dir(pathlib.Path(beside, "model"))
            os.chmod(made, 0o700)
            try:
                os.rename(made, path)
            except OSError:
                if not os.path.isdir(path):
                    raise
    except OSError as problem:
        message = f"the stand-in's model can not be written to {path!r}: {problem.strerror}"
        raise ConfigError([error("SMG031", "--stand-in", message)]) from None


def missing_extra() -> Finding | None:
    """Return the finding for the stand-in's packages not being installed, or None."""
    from importlib.util import find_spec

    absent = [name for name in ("smg", "zmq", "msgspec", "llguidance") if find_spec(name) is None]
    if not absent:
        return None
    message = f"the stand-in needs {', '.join(absent)}, which {sys.executable} does not have"
    return error("SMG032", "--stand-in", message, hint="pip install 'smgcfg[standin]'")
