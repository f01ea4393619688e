"""What `plan` and `serve` have in common: the words that name a deployment, and reading it."""

import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace

from smgcfg.cli.parser import Parser
from smgcfg.config import Deployment, Launch, Pool
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.loading import EngineFlags, Loaded, load_sources
from smgcfg.overlay import Overlay
from smgcfg.planning.filling import Choices
from smgcfg.planning.plan import Planned, plan
from smgcfg.reference import Reference
from smgcfg.schema import Path
from smgcfg.sources.overrides import Override
from smgcfg.sources.toml_text import read_most
from smgcfg.value import Value

#: The options of a deployment without a file, and the key of pool `main` that each sets.
_SHORT = {"backend": "backend", "model": "model", "replicas": "replicas", "gpus": "gpus", "port": "port"}


#: What the plan finds about single settings, whatever else could not be read.
_OF_SETTINGS = frozenset({"SMG005", "SMG007", "SMG008", "SMG012", "SMG013", "SMG014", "SMG016"})


class Words(Value):
    """A command line of `plan` or `serve`, taken apart.

    Attributes:
        options: The options.
        overrides: `--set` and `--unset` in their order.
        engine: What stands behind `--`.
    """

    options: SimpleNamespace
    overrides: tuple[Override, ...]
    engine: EngineFlags


def add_source_options(parser: Parser, *, saves: bool = False) -> None:
    """Add the options that name a deployment.

    Args:
        parser: The command's parser.
        saves: Whether the command writes the deployment as a file when it is asked to.
    """
    parser.elsewhere = elsewhere
    parser.add_words("FILE", "deployment files, weakest first; - is standard input")
    parser.add_argument("--set", metavar="PATH=VALUE", help="set one key on top of the files; may be repeated")
    parser.add_argument("--unset", metavar="PATH", help="do not pass this setting; may be repeated")
    parser.add_argument("--pool", metavar="NAME", help="the pool that the engine flags behind -- are for")
    parser.add_argument("--stand-in", action="store_true", help="CPU stand-ins in place of the engines")
    alone = parser.add_argument_group("without a file: one pool, named main")
    alone.add_argument("--backend", metavar="NAME", help="the engine: tokenspeed")
    alone.add_argument("--model", metavar="MODEL", help="a path or a name the engine can fetch")
    alone.add_argument("--replicas", metavar="N", help="how many workers")
    alone.add_argument("--gpus", metavar="GPUS", help="the GPUs to slice, as in 0-3")
    alone.add_argument("--port", metavar="PORT", help="the first worker's port")
    if saves:
        alone.add_argument("--save", metavar="FILE", help="write the deployment as a file, too")


def elsewhere(name: str) -> str:
    """Say how a setting is given that arrived as an option of a command; an empty text if it is none.

    Args:
        name: The option, with its dashes.
    """
    from smgcfg.backends import BACKENDS
    from smgcfg.flags import find_key, key_of
    from smgcfg.gateway import GatewayArgs

    key = key_of(name)
    if any(find_key(backend.args, key) for backend in BACKENDS.values()):
        return f"flags of the engine stand behind --, as in: -- {name}"
    for table, cls in (("pools.NAME", Pool), ("gateway", GatewayArgs), ("launch", Launch)):
        if find_key(cls, key):
            return f"settings are given with --set, as in: --set {table}.{key}=VALUE"
    return ""


def take_apart(parser: Parser, words: Sequence[str]) -> Words:
    """Split a command line into options, overrides and engine flags.

    Args:
        parser: The command's parser.
        words: The words behind the program's name, the command first.

    Raises:
        ConfigError: An option is wrong.
    """
    end = words.index("--") if "--" in words else len(words)
    overrides: list[Override] = []
    rest: list[str] = []
    at = 1
    while at < end:
        name, glued, text = words[at].partition("=")
        if name not in ("--set", "--unset"):
            rest.append(words[at])
        elif glued:
            overrides.append(Override("set" if name == "--set" else "unset", text, at + 1))
        elif at + 1 < end:
            overrides.append(Override("set" if name == "--set" else "unset", words[at + 1], at + 1))
            at += 1
        else:
            parser.error(f"argument {at + 1}: {name} wants a word behind it")
        at += 1
    options = parser.parse_args(rest)
    if options.pool is not None and not words[end + 1 :]:
        parser.error("--pool: no engine flags stand behind --")
    engine = EngineFlags(tuple(words[end + 1 :]), end + 2, options.pool)
    return Words(options, tuple(overrides), engine)


def read_deployment(words: Words, argv: Sequence[str]) -> Loaded:
    """Read every source that a command line names.

    Args:
        words: The command line, taken apart.
        argv: The same as it was, for argument numbers.

    Raises:
        ConfigError: A file can not be read, or options that exclude each other.
    """
    options = words.options
    short = [(name, getattr(options, name)) for name in _SHORT if getattr(options, name) is not None]
    findings: list[Finding] = []
    if options.files and short:
        names = ", ".join(f"--{name}" for name, _ in short)
        sets = " ".join(f"--set pools.NAME.{_SHORT[name]}={value}" for name, value in short)
        hint = f"on top of a file use {sets}"
        findings.append(error("SMG011", names, "only without a file", hint=hint))
    if not options.files and not short:
        message = "no deployment: name a file, or --backend and --model"
        hint = "files stand in front of --, the engine's flags behind it" if words.engine.tokens else parser_hint()
        findings.append(error("SMG007", "FILE", message, hint=hint))
    if findings:
        raise ConfigError(findings)
    files = read_files(options.files)
    base = [
        Override("set", f"pools.main.{_SHORT[name]}={value}", _index(argv, name), f"--{name}") for name, value in short
    ]
    return load_sources(files, base=base, overrides=words.overrides, engine_flags=words.engine, environ=os.environ)


def all_findings(loaded: Loaded, planned: Planned | None) -> list[Finding]:
    """Return what loading and planning found, as one report.

    When a key could not be read, the plan was made without it: then only what it says of other settings counts, and
    not what it concludes about ports, GPUs and the like.
    """
    findings = list(loaded.findings)
    if planned is None:
        return findings
    if not errors_in(loaded.findings):
        return [*findings, *planned.findings]
    return [*findings, *(f for f in planned.findings if f.code in _OF_SETTINGS and f.key not in loaded.reported)]


def save(path: str, reviewed: "Reviewed") -> None:
    """Write a deployment as a file.

    Args:
        path: The file; it must not exist, so that nothing is lost.
        reviewed: The deployment; it was understood.

    Raises:
        ConfigError: The file exists, or can not be written.
    """
    from smgcfg.toml_write import deployment_text

    assert reviewed.chosen is not None
    write_new(path, deployment_text(reviewed.chosen, reviewed.references, os.path.dirname(path)))


def write_new(path: str, text: str) -> None:
    """Write a new file that only its owner may read: a deployment may hold secrets.

    Raises:
        ConfigError: The file exists, or can not be written.
    """
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as problem:
        exists = isinstance(problem, FileExistsError)
        reason = "it exists; choose another name" if exists else getattr(problem, "strerror", None) or str(problem)
        raise ConfigError([error("SMG001", "--save", f"{path!r} can not be written: {reason}")]) from None


def parser_hint() -> str:
    """Return the shortest command line that works."""
    return "smgcfg plan --backend tokenspeed --model MODEL"


def _index(argv: Sequence[str], name: str) -> int:
    return next((at for at, word in enumerate(argv, 1) if word.partition("=")[0] == f"--{name}"), 1)


def read_files(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return the bytes of files, each with its name.

    Args:
        paths: The files; "-" is standard input.

    Raises:
        ConfigError: Some can not be read: all of them that can not.
    """
    files: list[tuple[str, bytes]] = []
    findings: list[Finding] = []
    for path in paths:
        try:
            if path == "-":
                files.append(("<stdin>", read_most(sys.stdin.buffer)))
            else:
                with open(path, "rb") as file:
                    files.append((path, read_most(file)))
        except (OSError, ValueError) as problem:
            # Imported here: only a report needs it.
            from smgcfg.cli.report import named

            reason = getattr(problem, "strerror", None) or str(problem)
            findings.append(error("SMG001", named(path), f"can not be read: {reason}"))
    if findings:
        raise ConfigError(findings)
    return files


class Reviewed(Value):
    """A deployment that was read and planned.

    Attributes:
        chosen: The deployment as the sources say it.
        planned: The plan for it; None when there was nothing to plan.
        findings: Everything found, by all stages.
        environment: What was planned for.
        references: The references that `chosen` holds no longer, each by its path.
        overlay: Everything that was chosen.
        understood: Every key of every source was.
    """

    chosen: Deployment | None
    planned: Planned | None
    findings: tuple[Finding, ...]
    environment: Environment
    references: tuple[tuple[Path, Reference], ...] = ()
    overlay: Overlay[Path] | None = None
    understood: bool = False


def review(words: Words, argv: Sequence[str], *, host: bool, secrets: bool = False) -> Reviewed:
    """Read a deployment and plan it.

    Args:
        words: The command line, taken apart.
        argv: The same as it was, for argument numbers.
        host: Also look at the machine: which versions are installed.
        secrets: Read the secrets that stand elsewhere, too, so that the plan can be launched.

    Raises:
        ConfigError: A file can not be read, or options that exclude each other.
    """
    loaded = read_deployment(words, argv)
    stand_in: bool = words.options.stand_in
    return review_loaded(loaded, Environment.current(), stand_in=stand_in, host=host, secrets=secrets)


def review_loaded(
    loaded: Loaded, environment: Environment, *, stand_in: bool, host: bool, secrets: bool = False
) -> Reviewed:
    """Plan a deployment that was read.

    Args:
        loaded: What its sources say.
        environment: What it is planned for.
        stand_in: Put stand-ins in place of the engines.
        host: Also look at the machine: which versions are installed.
        secrets: Read the secrets that stand elsewhere, too, so that the plan can be launched.

    Raises:
        ConfigError: The stand-in can not play a pool.
    """
    deployment = loaded.deployment
    if deployment is None:
        return Reviewed(None, None, loaded.findings, environment)
    found: list[Finding] = []
    if stand_in:
        from smgcfg.standin.deploy import left_out, with_standins

        found += left_out(deployment, Choices(loaded.overlay).where)
        deployment = with_standins(deployment, environment)
        # No GPU is asked for, so none has to be visible.
        environment = environment.evolve(cuda_visible_devices=None)
    if host and not errors_in(loaded.findings):
        # Imported here: only a look at the machine needs subprocesses.
        from smgcfg.installed import with_installed_versions

        deployment, unlike = with_installed_versions(deployment, environment)
        found += unlike
    if secrets and not errors_in(loaded.findings):
        # Imported here: only a launch needs what the secrets are.
        from smgcfg.reading import Reader, with_references_read

        reader = Reader(os.environ)
        deployment, unread = with_references_read(deployment, reader, Choices(loaded.overlay).where)
        found += unread + reader.findings()
    planned = plan(deployment, environment, overlay=loaded.overlay)
    findings = (*all_findings(loaded, planned), *found)
    return Reviewed(
        chosen=loaded.deployment,
        planned=planned,
        findings=findings,
        environment=environment,
        references=loaded.references,
        overlay=loaded.overlay,
        understood=not errors_in(loaded.findings),
    )
