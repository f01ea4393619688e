"""What another version of an engine asks of a deployment file, and the file with it done. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from smgcfg.backends import BACKENDS
from smgcfg.backends._base import Backend
from smgcfg.codec import shown
from smgcfg.errors import Finding, errors_in
from smgcfg.flags import FlagSpec, find_key, key_of, spec_of, specs_of
from smgcfg.origin import Origin
from smgcfg.overlay import UNSET
from smgcfg.schema import DEFAULT_BACKEND, Path, Schema, dotted
from smgcfg.snapshots import Snapshot, snapshot
from smgcfg.sources.document import Document
from smgcfg.sources.toml import Walk
from smgcfg.toml_edit import Add, Edit, Put, Remove, edited
from smgcfg.value import Value

Kind = Literal["version", "renamed", "opposite", "removed", "choice", "default", "new choice"]

#: The kinds of changes that ask for nothing: what nobody set does something else now, or may.
TOLD: Final = ("default", "new choice")


class Change(Value):
    """One thing that a version does not have as another one had it.

    Attributes:
        kind: What it is.
        key: The key it is about, as the file has it; for a default, as the file would have it.
        message: What the engine did before, what it does now, and what becomes of the key.
        where: The place of the key; None where it is not set.
    """

    kind: Kind
    key: str
    message: str
    where: Origin | None = None


class Upgrade(Value):
    """What a file needs.

    Attributes:
        changes: What changes: first what is written, then what is only told; each pool by pool.
        text: The file with every change made; equal to what it was where there is none.
        findings: What is wrong with the file; with an error among it nothing else is known.
    """

    changes: tuple[Change, ...]
    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def written(self) -> tuple[Change, ...]:
        """The changes that the text has."""
        return tuple(change for change in self.changes if change.kind not in TOLD)


def upgrade(document: Document, version: str, since: str | None = None) -> Upgrade:
    """Find what a version asks of a file.

    Args:
        document: The file.
        version: The version it is to be for.
        since: The version it is for now, where it does not say so; by default the one before.
    """
    declared = document.data.get("pools")
    tables = declared if isinstance(declared, dict) else {}
    pools = {name: table for name, table in tables.items() if isinstance(table, dict)}
    named = {name: table["backend"] for name, table in pools.items() if isinstance(table.get("backend"), str)}
    walk = Walk(Schema(named), document.origin)
    walk.table(Schema.top, document.data, ())
    if errors_in(walk.findings):
        return Upgrade((), document.text, tuple(walk.findings))
    changes: list[Change] = []
    edits: list[Edit] = []
    for name in pools:
        backend = BACKENDS.get(named.get(name, DEFAULT_BACKEND))
        if backend is not None and version in backend.versions:
            pool = _Pool(walk, backend, name, version, since)
            found = list(pool.changes())
            changes += [change for change, _ in found]
            edits += [edit for _, edit in found if edit is not None]
    changes.sort(key=lambda change: change.kind in TOLD)
    return Upgrade(tuple(changes), edited(document.text, edits) if edits else document.text, tuple(walk.findings))


class _Pool:
    """One pool of a file, between two versions of its engine."""

    def __init__(self, walk: Walk, backend: Backend[Any], name: str, version: str, since: str | None) -> None:
        self.walk = walk
        self.base: Path = ("pools", name)
        self.backend = backend
        self.version = version
        self.since = self._said() or since or _neighbour(backend.versions, version)
        self.old = snapshot(backend.name, self.since)
        self.new = snapshot(backend.name, version)
        self.set = {
            path[3]: value
            for path, (value, _) in walk.entries.items()
            if path[:3] == (*self.base, "engine") and len(path) == 4 and path[3] != "extra" and value is not UNSET
        }

    def _said(self) -> str | None:
        value, _ = self.walk.entries.get((*self.base, "engine_version"), (None, None))
        return value if value in self.backend.versions else None

    def changes(self) -> Iterator[tuple[Change, Edit | None]]:
        """Return what changes, each with what is done in the file."""
        yield from self._version()
        if self.since == self.version:
            return
        for key, value in self.set.items():
            yield from self._setting(spec_of(self.backend.args, key), value)
        for spec in specs_of(self.backend.args):
            if spec.key not in self.set:
                yield from self._default(spec)

    def _change(self, kind: Kind, path: Path, message: str) -> Change:
        written = self.walk.written.get(path)
        if written is None:
            return Change(kind, dotted(path), message)
        return Change(kind, dotted(written), message, self.walk.origin(written))

    def _version(self) -> Iterator[tuple[Change, Edit | None]]:
        path = (*self.base, "engine_version")
        value, _ = self.walk.entries.get(path, (None, None))
        backend = self.walk.written.get((*self.base, "backend"))
        if value == self.version or value is UNSET:
            return
        if value is not None:
            change = self._change("version", path, f"{self.version} instead of {value}")
            yield change, Put(self.walk.written[path], value=self.version)
        elif backend is not None:
            # A file that is laid over another, and does not name the engine, need not name its version.
            yield self._change("version", path, f"set to {self.version}"), Add(backend, "engine_version", self.version)

    # --- what is set ---

    def _setting(self, spec: FlagSpec, value: Any) -> Iterator[tuple[Change, Edit | None]]:
        path = (*self.base, "engine", spec.key)
        raw = self.walk.written[path]
        flag = next((name for name in (*spec.names, *spec.off) if key_of(name) == raw[-1]), spec.names[0])
        if not spec.has(self.version):
            yield self._gone(path, raw, flag, value)
        elif raw[-1] != spec.key and self._renames(flag):
            yield self._renamed(path, raw, spec, flag)
        else:
            yield from self._choices(spec, value, path, raw)

    def _renames(self, flag: str) -> bool:
        """Whether a flag is gone, or was the canonical one of its setting and is not any more."""
        old, new = self.old.spellings.get(flag), self.new.spellings.get(flag)
        return new is None or (old is not None and old["name"] == flag != new["name"])

    def _gone(self, path: Path, raw: Path, flag: str, value: Any) -> tuple[Change, Edit]:
        title, successor = f"{self.backend.title} {self.version}", self.new.successors.get(flag)
        if successor is None:
            return self._change("removed", path, f"{title} has no {flag}, and nothing in its place"), Remove(raw)
        key = key_of(successor.use)
        if successor.opposite and value:
            message = f"{title} does this unless {key} says not to; left out"
            return self._change("opposite", path, message), Remove(raw)
        kind: Kind = "opposite" if successor.opposite else "renamed"
        change = self._change(kind, path, f"{key} = true" if successor.opposite else key)
        found = find_key(self.backend.args, key)
        if found is not None and found[0].key in self.set:
            return change, Remove(raw)
        return change, Put(raw, key=key, value=True if successor.opposite else None)

    def _renamed(self, path: Path, raw: Path, spec: FlagSpec, flag: str) -> tuple[Change, Edit]:
        successor = self.new.successors.get(flag)
        names, off = spec.spellings(self.version)
        left = [successor.use] if successor is not None else list(off if flag in spec.off else names)
        if not left:
            return self._gone(path, raw, flag, True)
        key = key_of(left[0])
        return self._change("renamed", path, key), Put(raw, key=key)

    def _choices(self, spec: FlagSpec, value: Any, path: Path, raw: Path) -> Iterator[tuple[Change, Edit | None]]:
        before, now = spec.taken(self.since), spec.taken(self.version)
        items = value if spec.many else (value,)
        lost = [item for item in items if now is not None and item not in now]
        title = f"{self.backend.title} {self.version}"
        if lost:
            default = _default(_record(self.new, spec), spec)
            then = "the engine decides" if default is None else f"the default is {default}"
            takes = ", ".join(map(str, now or ()))
            message = f"{title} takes {takes} and not {shown(spec, lost[0])}; left out, {then}"
            yield self._change("choice", path, message), Remove(raw)
        elif before is not None and now != before:
            more = "anything" if now is None else ", ".join(str(item) for item in now if item not in before)
            if more:
                yield self._change("new choice", path, f"{title} takes {more}, too"), None

    # --- what is not set ---

    def _default(self, spec: FlagSpec) -> Iterator[tuple[Change, Edit | None]]:
        path = (*self.base, "engine", spec.key)
        old, new = _record(self.old, spec), _record(self.new, spec)
        if old is None:
            return
        if new is None:
            successor = self.new.successors.get(old["name"])
            if successor is not None and successor.opposite:
                key = key_of(successor.use)
                message = f"not set; was false, is true; {key} = true keeps what {self.since} did"
                yield self._change("default", path, message), None
            return
        before, now = _default(old, spec), _default(new, spec)
        if before != now:
            worked_out = " (worked out by the engine; this is for one GPU)" if "resolved_default" in new else ""
            message = f"not set; was {_said(before)}, is {_said(now)}{worked_out}"
            yield self._change("default", path, message), None


def _neighbour(versions: Sequence[str], version: str) -> str:
    """Return the version before; for the first, the one behind it."""
    at = versions.index(version)
    return versions[at - 1] if at else versions[min(1, len(versions) - 1)]


def _record(release: Snapshot, spec: FlagSpec) -> Mapping[str, Any] | None:
    """Return the record of the flag that sets a setting, or None where a release has none."""
    there = release.spellings
    return next((there[name] for name in spec.names if name in there), None)


def _default(record: Mapping[str, Any] | None, spec: FlagSpec) -> Any:
    """Return what an engine does when a flag is not passed; None where that is nothing, or the model's own."""
    if record is None:
        return None
    value = record.get("default", record.get("resolved_default"))
    return bool(value) if spec.type is bool and record["kind"] != "optional_value" else value


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "unset" if value is None else str(value)
