"""From a launch command to a deployment: which program it is, what it says, and whether a plan says the same."""

import json
import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.versions import VERSIONS
from smgcfg.codec import shown
from smgcfg.config import Deployment
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, errors_in, warning
from smgcfg.flags import spec_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.importing.headless import HEADLESS, headless
from smgcfg.importing.invocation import KNOWN, Invocation, take_apart
from smgcfg.importing.outcome import Decided, Imported
from smgcfg.importing.parts import POOL, Parts, compose, surround
from smgcfg.importing.servicer import servicer
from smgcfg.importing.settings import Program, tokenspeed
from smgcfg.importing.smg_launch import smg_launch
from smgcfg.importing.smg_serve import smg_serve
from smgcfg.importing.ts_serve import ts_serve
from smgcfg.importing.words import numbered, refuse, texts
from smgcfg.origin import FromArgv
from smgcfg.planning.plan import Planned, plan

#: The variable in which Slurm says on how many machines a step runs; TokenSpeed spreads an engine over them.
_NODES: Final = "SLURM_STEP_NUM_NODES"

#: How a path begins that a deployment file takes for relative to itself.
_RELATIVE: Final = ("./", "../")

#: A machine with as many GPUs as it takes.
_SOMEWHERE: Final = Environment(uid=0, python="python3")


def no_config(model: str) -> Mapping[str, Any]:
    """Return nothing: a model's `config.json` is not read."""
    return {}


def local_config(model: str) -> Mapping[str, Any]:
    """Return the contents of the `config.json` of a model in a local directory, or nothing."""
    try:
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def import_command(
    words: Sequence[str],
    *,
    name: str | None = None,
    engine_version: str | None = None,
    first: int = 1,
    read_config: Callable[[str], Mapping[str, Any]] = no_config,
) -> Imported:
    """Read a launch command.

    Args:
        words: The command's words, as a shell would pass them; variables may stand in front, as behind `env`.
        name: The deployment's name; None makes one from the model's.
        engine_version: The release of TokenSpeed whose flags and defaults hold, for the file to name; None reads the
            words as the newest shipped release does, and the file names none.
        first: The number of the first word, for messages.
        read_config: Returns the contents of a model's `config.json`, or nothing; `ts serve` reads it, too.

    Returns:
        The deployment. Its plan gives gateway and engines what the command gives them, but for what is lost or decided.

    Raises:
        ConfigError: The command is not understood, its program refuses it, or nothing of the kind can be planned.
    """
    if engine_version is not None and engine_version not in VERSIONS:
        refuse("SMG013", "--engine-version", f"expected one of {', '.join(VERSIONS)}; got {engine_version!r}")
    for word in numbered(words, first):
        if any("\ud800" <= character <= "\udfff" for character in word.text):
            refuse("SMG006", "", "a word that is no UTF-8 text can not stand in a file", word)
    invocation = take_apart(numbered(words, first))
    program = tokenspeed(engine_version or VERSIONS[-1])
    parts = _parts(invocation, program, read_config)
    deployment, planned = _fitted(parts, name, engine_version)
    _settle_owned(parts, planned)
    _note_promises(parts, planned)
    if any(word.partition("=")[2].startswith(_RELATIVE) or word.startswith(_RELATIVE) for word in words):
        parts.notes.append("a path that begins with ./ or ../ is relative to the file: keep it where the command ran")
    made = planned.plan
    secret = made is not None and any(process.secrets or process.secret_env for process in made.processes)
    lost = sorted(parts.lost, key=lambda entry: entry.words[0].at)
    return Imported(deployment, tuple(lost), tuple(_decided(parts, planned)), tuple(parts.notes), secret)


def _parts(invocation: Invocation, program: Program, read_config: Callable[[str], Mapping[str, Any]]) -> Parts:
    """Read the program's own words."""
    words, env = invocation.words, invocation.env
    subcommand = words[0].text if words else ""
    if invocation.program == "smg" and subcommand == "launch":
        return _around(smg_launch(words[1:], env), invocation, workers=False, gateway=True)
    if invocation.program == "smg.launch_router":
        return _around(smg_launch(words, env), invocation, workers=False, gateway=True)
    if _several_nodes(env.get(_NODES, "")):
        refuse("SMG017", _NODES, f"an engine on {env[_NODES]} machines: smgcfg starts workers on one")
    if invocation.program == "smg" and subcommand == "serve":
        return _around(smg_serve(words[1:], env, program), invocation, workers=True, gateway=True)
    if invocation.program == "tokenspeed.cli" and subcommand == "serve":
        if HEADLESS in texts(words):
            return _around(headless(words[1:], program), invocation, workers=True, gateway=False)
        return _around(ts_serve(words[1:], env, program, read_config), invocation, workers=True, gateway=True)
    if invocation.program == "tokenspeed.runtime.entrypoints.engine":
        return _around(headless(words, program), invocation, workers=True, gateway=False)
    if invocation.program == "smg_grpc_servicer.tokenspeed":
        return _around(servicer(words, program), invocation, workers=True, gateway=False)
    where = words[0] if words else None
    return refuse("SMG011", subcommand, f"{invocation.program} starts nothing with this; understood are {KNOWN}", where)


def _several_nodes(text: str) -> bool:
    return text.strip().isdigit() and int(text) > 1


def _around(parts: Parts, invocation: Invocation, *, workers: bool, gateway: bool) -> Parts:
    surround(parts, invocation, workers=workers, gateway=gateway)
    return parts


def _fitted(parts: Parts, name: str | None, version: str | None) -> tuple[Deployment, Planned]:
    """Return the shortest deployment that plans as the parts say, and its plan.

    Raises:
        ConfigError: It can not be planned.
    """
    facts = True
    planned = plan(compose(parts, name, version, facts=True, implied={}), _SOMEWHERE)
    if errors_in(planned.findings):
        # A fact for engine and gateway alike may be one that only the engine takes.
        facts = False
        planned = plan(compose(parts, name, version, facts=False, implied={}), _SOMEWHERE)
    said = planned.gateway
    missing = {key: value for key, value in parts.implied.items() if said.evolve(**{key: value}) != said}
    deployment = compose(parts, name, version, facts=facts, implied=missing)
    planned = plan(deployment, _SOMEWHERE)
    if errors_in(planned.findings):
        # What is missing may be what a misspelt flag would have said.
        unknown = [entry for entry in parts.lost if re.search("such (a )?flag", entry.reason)]
        told = [warning("SMG010", entry.name, entry.reason, FromArgv(entry.words[0].at)) for entry in unknown]
        raise ConfigError((*planned.findings, *told))
    return deployment, planned


def _settle_owned(parts: Parts, planned: Planned) -> None:
    """Note the settings that the plan decides otherwise than the command."""
    backend, slot = BACKENDS["tokenspeed"], planned.slots[0]
    decided = backend.place(planned.shapes[0].engine, slot.endpoint)
    for key, (value, items) in parts.owned.items():
        if decided.get(key) == value:
            continue
        use = backend.owned[parts.transport][key]
        key_to_use = use if "." in use or not use else f"pools.{POOL}.{use}"
        parts.lose(items, "the plan decides this setting" + (f"; use {key_to_use}" if use else ""))


def _note_promises(parts: Parts, planned: Planned) -> None:
    """Note what the API promises and the command's engine does not keep."""
    for promise in BACKENDS["tokenspeed"].promises:
        value = getattr(planned.shapes[0].engine, promise.key)
        if not promise.kept(value):
            said = "is not passed" if value is None else f"is {value!r}"
            parts.notes.append(
                f"{promise.what}: off, because {promise.key} {said}, as in the command; "
                "take the key out of the file for smgcfg's default"
            )


def _decided(parts: Parts, planned: Planned) -> Iterator[Decided]:
    """Return what the plan adds to the gateway's settings."""
    if parts.gateway is None:
        return
    # Imported here: not every command starts a gateway.
    from smgcfg.snapshots import snapshot

    flags = snapshot(parts.release.snapshot, parts.release.version).spellings
    quiet = {*command.OWNED, *parts.implied, "host", "port"}
    for path, (value, derived) in planned.derived.items():
        if path[0] == "gateway" and path[-1] not in quiet and getattr(parts.gateway, path[-1]) is None:
            spec = spec_of(GatewayArgs, path[-1])
            default = flags.get(spec.names[0], {}).get("default")
            own = f"{parts.release}" if default is None else f"{parts.release}, which takes {shown(spec, default)}"
            yield Decided(".".join(path), shown(spec, value), own, derived.rule)
