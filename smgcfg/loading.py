"""Every source of a deployment, read and stacked: from files and words to one typed `Deployment`."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from smgcfg.assembling import Assembly
from smgcfg.backends import BACKENDS
from smgcfg.config import RELEASE_SUFFIX, Deployment, Gateway, Pool
from smgcfg.errors import ConfigError, Finding, SmgcfgError, error, errors_in
from smgcfg.gateway.versions import DISTRIBUTIONS
from smgcfg.origin import FromArgv
from smgcfg.overlay import UNSET, Layer, Overlay
from smgcfg.reference import Reference
from smgcfg.schema import Leaf, Path, Schema, dotted
from smgcfg.sources.document import Document, read_document
from smgcfg.sources.overrides import Override, Repeats, flags_layer, override_layer, read_path
from smgcfg.sources.toml import document_layer
from smgcfg.sources.toml_text import read_most
from smgcfg.value import Value

T = TypeVar("T", Pool[Any], Gateway)


class EngineFlags(Value):
    """Engine flags behind `--` of a command line.

    Attributes:
        tokens: The words.
        first: The number of the first of them.
        pool: The pool they are for; None means the only one.
    """

    tokens: tuple[str, ...]
    first: int = 1
    pool: str | None = None


class Loaded(Value):
    """What the sources say.

    Attributes:
        deployment: The deployment; with an error among the findings, as much of it as could be read, or None.
        overlay: Per key everything that was chosen, and where.
        findings: Every problem, in the order of the sources.
        reported: The keys that were written, but so that they could not be read: they are not missing.
        references: The references that are read by now, each by the path of the setting that holds what it stands for.
    """

    deployment: Deployment | None
    overlay: Overlay[Path]
    findings: tuple[Finding, ...]
    reported: frozenset[str] = frozenset()
    references: tuple[tuple[Path, Reference], ...] = ()


def load(*paths: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None) -> Deployment:
    """Read deployment files into one typed value.

    Args:
        paths: TOML files, weakest first.
        overrides: Native values by dotted key, on top of the files; None means "unset".

    Returns:
        The deployment; its secrets may be references, which `read_references` reads before a launch.

    Raises:
        ConfigError: Every problem found, each with key, file and line.
        OSError: A file can not be read.
    """
    files = [(os.fspath(path), _read(path)) for path in paths]
    loaded = load_sources(files, choices=overrides or {}, environ=os.environ)
    if loaded.deployment is None or errors_in(loaded.findings):
        raise ConfigError(loaded.findings)
    return loaded.deployment


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return read_most(file)


def load_sources(
    files: Sequence[tuple[str, bytes]] = (),
    *,
    base: Sequence[Override] = (),
    overrides: Sequence[Override] = (),
    choices: Mapping[str, Any] | None = None,
    engine_flags: EngineFlags | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read and stack every source of a deployment; bad input becomes findings, never an exception.

    Args:
        files: (path as named, bytes) of TOML files, weakest first.
        base: Overrides that stand in for a file: `--model M` and its like.
        overrides: `--set` and `--unset`, in command-line order.
        choices: Native values by dotted key, from a Python caller.
        engine_flags: What stands behind `--`.
        environ: Where to read the references of settings that can not stay one, and leave to read the files that stand
            for versions; None reads neither.
    """
    findings: list[Finding] = []
    documents = []
    for path, data in files:
        document = read_document(path, data)
        if isinstance(document, Finding):
            findings.append(document)
        else:
            documents.append(document)
    schema = Schema(_backends(documents, [*base, *overrides]))
    layers: list[Layer[Path]] = []

    def add(read: tuple[Layer[Path], list[Finding]]) -> None:
        layers.append(read[0])
        findings.extend(read[1])

    for document in documents:
        add(document_layer(document, schema))
    for override in base:
        add(override_layer(override, schema, lambda path: _so_far(layers, path)))
    repeats = Repeats(schema)
    for override in overrides:
        add(override_layer(override, schema, lambda path: _so_far(layers, path)))
        findings.extend(repeats.take(override, layers[-1]))
    if choices:
        add(_choices_layer(choices, schema, lambda path: _so_far(layers, path)))
    pools = _pool_names(documents, layers)
    if engine_flags is not None and engine_flags.tokens:
        add(_engine_flags(engine_flags, pools, schema))
    overlay = Overlay(layers)
    broken = len(documents) < len(files)
    chosen = {path: winner[0] for path in overlay if (winner := overlay.winner(path)) is not None}
    references = {path: value for path, value in chosen.items() if type(value) is Reference}
    if references:
        references, unread = _read_references(references, chosen, overlay, schema, environ)
        findings += unread
    reported = _reported(findings, schema)
    quiet = broken or any(key == "pools" or key.startswith("pools.") for key in reported)
    file = documents[0].path if documents else ""
    deployment, more = Assembly(chosen, overlay, pools).deployment(file, quiet=quiet)
    if deployment is not None and environ is not None:
        deployment = _with_releases(deployment, overlay, more)
    findings = [finding for finding in findings if not _about_unknown_engine(finding, schema)]
    findings += [finding for finding in more if finding.code != "SMG007" or finding.key not in reported]
    return Loaded(deployment, overlay, tuple(findings), reported, tuple(references.items()))


def _reported(findings: Iterable[Finding], schema: Schema) -> frozenset[str]:
    """Return the keys that were written, but wrongly, under every name that a later complaint may have for them."""
    keys = set()
    for finding in findings:
        keys.add(finding.key)
        path = read_path(finding.key)
        found = schema.resolve(path) if path else None
        if isinstance(found, Leaf):
            path = found.path
        elif path and finding.hint.startswith("did you mean "):
            path = (*path[:-1], finding.hint[13:-1])
        if path and path[0] == "pools":
            # A fact about the model is a key of the engine, too.
            keys |= {dotted(path), dotted(tuple(key for key in path if key != "engine"))}
    return frozenset(keys)


def _about_unknown_engine(finding: Finding, schema: Schema) -> bool:
    """Whether a finding holds a setting against an engine that was merely guessed."""
    path = read_path(finding.key)
    return path is not None and path[:1] == ("pools",) and path[2:3] == ("engine",) and schema.guesses(path[1])


def _with_releases(deployment: Deployment, overlay: Overlay[Path], findings: list[Finding]) -> Deployment:
    """Read the flag tables that stand for versions; what is wrong with one is a finding."""

    def read(table: T, version: str | None, path: Path, programs: tuple[str, ...]) -> T:
        if version is None or not version.endswith(RELEASE_SUFFIX):
            return table
        # Imported here: few deployments name a release that does not ship.
        from smgcfg.snapshots import read_snapshot

        try:
            release = read_snapshot(version)
        except SmgcfgError as problem:
            findings.append(error("SMG001", dotted(path), str(problem), overlay.where(path)))
            return table
        if release.program not in programs:
            message = f"expected a flag table of {' or '.join(programs)}, got one of {release.program}"
            findings.append(error("SMG003", dotted(path), message, overlay.where(path)))
        return attrs.evolve(table, release=release)

    pools = tuple(
        read(pool, pool.engine_version, ("pools", pool.name, "engine_version"), (BACKENDS[pool.backend].distribution,))
        for pool in deployment.pools
    )
    gateway = read(deployment.gateway, deployment.gateway.version, ("gateway", "version"), DISTRIBUTIONS)
    return attrs.evolve(deployment, pools=pools, gateway=gateway)


def _read_references(
    references: Mapping[Path, Reference],
    chosen: dict[Path, Any],
    overlay: Overlay[Path],
    schema: Schema,
    environ: Mapping[str, str] | None,
) -> tuple[dict[Path, Reference], list[Finding]]:
    """Put what references stand for in their place, but where a setting keeps the reference; what can not be read goes.

    Returns:
        The references that were read, and what is wrong with the others.
    """
    # Imported here: few deployments have references.
    from smgcfg.codec import Refused
    from smgcfg.reading import Reader

    reader = Reader(environ or {})
    read: dict[Path, Reference] = {}
    findings: list[Finding] = []
    for path, reference in references.items():
        leaf = schema.resolve(path)
        if not isinstance(leaf, Leaf) or leaf.spec is None or leaf.spec.refers:
            continue
        try:
            if environ is None:
                raise Refused("SMG018", f"{reference} is not read here")
            chosen[path] = leaf.read(reference, reader(reference))
            read[path] = reference
        except Refused as refused:
            del chosen[path]
            findings.append(error("SMG018", dotted(path), str(refused), overlay.where(path), refused.hint))
    return read, findings


def _backends(documents: Iterable[Document], overrides: Iterable[Override]) -> dict[str, str]:
    """Return the backend each pool names, from the sources as they are: it decides which keys its `[engine]` has."""
    named: dict[str, Any] = {}
    for document in documents:
        pools = document.data.get("pools")
        if isinstance(pools, dict):
            named |= {n: p["backend"] for n, p in pools.items() if isinstance(p, dict) and "backend" in p}
    for override in overrides:
        path, text = override.split()
        if path is not None and len(path) == 3 and (path[0], path[2]) == ("pools", "backend"):
            named[path[1]] = text
    return {name: backend for name, backend in named.items() if isinstance(backend, str)}


def _pool_names(documents: Iterable[Document], layers: Iterable[Layer[Path]]) -> tuple[str, ...]:
    """Return the pools in the order they first appear, those of an empty table too."""
    names: dict[str, None] = {}
    for document in documents:
        pools = document.data.get("pools")
        if isinstance(pools, dict):
            names |= dict.fromkeys(name for name, pool in pools.items() if isinstance(pool, dict))
    for layer in layers:
        names |= dict.fromkeys(path[1] for path, _ in layer.items() if path[0] == "pools")
    return tuple(names)


def _so_far(layers: Iterable[Layer[Path]], path: Path) -> Any:
    winner = Overlay(layers).winner(path)
    return winner[0] if winner else None


def _choices_layer(
    choices: Mapping[str, Any], schema: Schema, so_far: Callable[[Path], Any]
) -> tuple[Layer[Path], list[Finding]]:
    from smgcfg.codec import Refused
    from smgcfg.origin import FromCall
    from smgcfg.schema import Inside, Table
    from smgcfg.sources.overrides import with_entry
    from smgcfg.sources.toml import Walk

    walk = Walk(schema, lambda _: FromCall())
    for text, value in choices.items():
        path = read_path(text)
        target = error("SMG002", text, "no dotted key") if path is None else schema.resolve(path)
        if isinstance(target, Finding):
            walk.findings.append(target)
        elif isinstance(target, Table) and isinstance(value, Mapping):
            walk.table(target, value, path or ())
        elif isinstance(target, Leaf) and value is None:
            walk.entries[target.path] = (UNSET, FromCall())
        elif isinstance(target, Leaf):
            walk.leaf(target, value, path or ())
        elif isinstance(target, Inside):
            before = walk.entries.get(target.leaf.path)
            try:
                whole = with_entry(target, value, before[0] if before else so_far(target.leaf.path))
            except Refused as refused:
                walk.findings.append(error(refused.code, text, str(refused), FromCall(), refused.hint))
            else:
                walk.entries[target.leaf.path] = (whole, FromCall())
        else:
            walk.findings.append(error("SMG003", text, f"expected a mapping, got {type(value).__name__}"))
    return Layer(walk.entries), walk.findings


def _engine_flags(flags: EngineFlags, pools: tuple[str, ...], schema: Schema) -> tuple[Layer[Path], list[Finding]]:
    where = FromArgv(flags.first)
    pool = flags.pool
    if pool is None and len(pools) == 1:
        pool = pools[0]
    if not pools:
        # Why there is none is reported; what is wrong with the flags themselves is another problem.
        return Layer(), flags_layer(schema, pool or "NAME", flags.tokens, flags.first)[1]
    if pool is None:
        message = f"engine flags behind '--' are for one pool; here are {len(pools)}: {', '.join(pools)}"
        return Layer(), [error("SMG011", "--", message, where, "say which with --pool NAME")]
    if pool not in pools:
        from smgcfg.suggest import did_you_mean

        message = f"no such pool {pool!r}; here {'is' if len(pools) == 1 else 'are'} {', '.join(pools)}"
        return Layer(), [error("SMG002", "--pool", message, None, did_you_mean(pool, pools))]
    return flags_layer(schema, pool, flags.tokens, flags.first)
