"""Which versions of the programs are installed where a deployment would run them: looked at, never guessed."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

import attrs

from smgcfg.backends import BACKENDS
from smgcfg.config import Deployment, Gateway, Pool
from smgcfg.environment import Environment
from smgcfg.errors import Finding, error, warning
from smgcfg.gateway.versions import DISTRIBUTIONS
from smgcfg.gateway.versions import VERSIONS as GATEWAY_VERSIONS
from smgcfg.rules import covering
from smgcfg.snapshots import Snapshot

#: Run in the pool's interpreter; it prints "name version" for each distribution that is there.
_ASK: Final = """\
import sys, importlib.metadata as m
for name in sys.argv[1:]:
    try: print(name, m.version(name))
    except m.PackageNotFoundError: pass
"""

#: Seconds an interpreter may take to answer: it may stand on a slow network file system.
_PATIENCE: Final = 60.0


def versions_in(python: str, distributions: tuple[str, ...]) -> Mapping[str, str] | str:
    """Ask an interpreter which distributions it has.

    Args:
        python: The interpreter.
        distributions: Their names.

    Returns:
        The version by name, of those that are there; or why the interpreter could not be asked.
    """
    own = _own_versions(distributions) if python == sys.executable else {}
    if own:
        return own
    try:
        done = subprocess.run(
            [python, "-c", _ASK, *distributions],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True,
        )  # fmt: skip
    except OSError as problem:
        return f"{python} can not be run: {problem.strerror}"
    except subprocess.TimeoutExpired:
        return f"{python} did not answer in {_PATIENCE:.0f} seconds"
    except subprocess.CalledProcessError as problem:
        last = (problem.stderr or "").strip().rpartition("\n")[2]
        return f"{python} failed with exit code {problem.returncode}: {last}"
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def _own_versions(distributions: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of those distributions of this interpreter whose metadata folders say it by their names.

    It is how wheels are unpacked. To start another interpreter only to ask would be a third of what `serve` takes.
    """
    keys = {name.replace("-", "_").lower(): name for name in distributions}
    found: dict[str, str] = {}
    for folder in sys.path:
        # An entry of the path may be a file, or not be there at all.
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder or "."):
                name, _, version = entry.removesuffix(".dist-info").partition("-")
                if entry.endswith(".dist-info") and name.lower() in keys:
                    found.setdefault(keys[name.lower()], version)
    return {name: found[name] for name in distributions if name in found}


def with_installed_versions(
    deployment: Deployment, environment: Environment, *, engines: bool = True
) -> tuple[Deployment, list[Finding]]:
    """Return a deployment whose settings are checked against the versions that would really run.

    A pool or gateway with a `command` of its own is left as it is: which interpreter it runs is not known.

    Args:
        deployment: The deployment.
        environment: Says which interpreter runs what names none.
        engines: Look for the engines too, not only for the gateway.

    Returns:
        The deployment with the versions found, and what is wrong: a program that is missing, a version other than the
        one the file names, a version that no table covers.
    """
    asked: dict[tuple[str, tuple[str, ...]], Mapping[str, str] | str] = {}
    findings: list[Finding] = []

    def ask(python: str, names: tuple[str, ...]) -> Mapping[str, str] | str:
        if (python, names) not in asked:
            asked[python, names] = versions_in(python, names)
        return asked[python, names]

    gateway = deployment.gateway
    if gateway.command is None:
        python = gateway.python or environment.python
        gateway = _gateway(gateway, python, ask(python, DISTRIBUTIONS), findings)
    pools: list[Pool[Any]] = []
    for pool in deployment.pools:
        if engines and pool.command is None:
            python = pool.python or environment.python
            pools.append(_pool(pool, python, ask(python, (BACKENDS[pool.backend].distribution,)), findings))
        else:
            pools.append(pool)
    return attrs.evolve(deployment, pools=tuple(pools), gateway=gateway), findings


def _gateway(gateway: Gateway, python: str, answer: Mapping[str, str] | str, findings: list[Finding]) -> Gateway:
    if isinstance(answer, str):
        findings.append(error("SMG032", "gateway.python", answer))
        return gateway
    if not answer:
        findings.append(
            error(
                "SMG032",
                "gateway.python",
                f"smg is not installed for {python}",
                hint="pip install smg, or set gateway.python",
            )
        )
        return gateway
    found = next(iter(answer.values()))
    if gateway.release is not None:
        _same("gateway.version", "smg", gateway.release, found, findings)
        return gateway
    return attrs.evolve(
        gateway, version=_settled("gateway.version", "smg", gateway.version, found, GATEWAY_VERSIONS, findings)
    )


def _pool(pool: Pool[Any], python: str, answer: Mapping[str, str] | str, findings: list[Finding]) -> Pool[Any]:
    backend, key = BACKENDS[pool.backend], f"pools.{pool.name}.python"
    if isinstance(answer, str):
        findings.append(error("SMG032", key, answer))
        return pool
    found = answer.get(backend.distribution)
    if found is None:
        hint = f"set {key} to an interpreter that has it; without a GPU, try --stand-in"
        findings.append(error("SMG032", key, f"{backend.title} is not installed for {python}", hint=hint))
        return pool
    name = f"pools.{pool.name}.engine_version"
    if pool.release is not None:
        _same(name, backend.title, pool.release, found, findings)
        return pool
    settled = _settled(name, backend.title, pool.engine_version, found, backend.versions, findings)
    return attrs.evolve(pool, engine_version=settled)


def _same(key: str, title: str, release: Snapshot, found: str, findings: list[Finding]) -> None:
    """Compare the release whose flag table an operator names with the one that is installed."""
    if release.version != found:
        message = f"{title} {found} is installed, and the flag table is of {release.version}"
        findings.append(warning("SMG033", key, message, hint="smgcfg drift --write makes one of what is installed"))


def _settled(
    key: str, title: str, named: str | None, found: str, known: tuple[str, ...], findings: list[Finding]
) -> str | None:
    """Return the version to check against: the one that is installed, where a table covers it."""
    covered = covering(found, known)
    if named is not None and named not in (found, covered):
        findings.append(warning("SMG033", key, f"{title} {found} is installed, not {named}"))
    if covered is None:
        message = f"{title} {found} is installed; its flags are known as of {known[-1]}"
        findings.append(warning("SMG033", key, message, hint="smgcfg drift says how its flags differ"))
    return covered
