"""Every setting of a deployment file, to be searched: by key, flag, alias and help."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from smgcfg.backends import BACKENDS
from smgcfg.codec import expected
from smgcfg.config import Gateway, Launch, Pool
from smgcfg.flags import FlagSpec, key_of, specs_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.json_value import Json
from smgcfg.schema import Leaf, Schema
from smgcfg.snapshots import snapshot
from smgcfg.value import Value

#: What stands for a pool's name.
NAME: Final = "NAME"

#: The releases of the gateway, and the snapshot of each.
_GATEWAYS: Final = {"1.10.1": "tokenspeed-smg", "1.13.0": "smg"}


class Entry(Value):
    """One setting, as an operator should know it.

    Attributes:
        path: The key from the top of the file, `NAME` for a pool's name.
        help: What it is, in one short sentence.
        takes: What values it takes, in words.
        aliases: Further keys for it.
        opposites: Keys that say its opposite.
        flags: The spellings of its flag; none where it is no flag.
        default: What holds when nobody sets it, in words.
        versions: The releases that have it; none where it belongs to no release.
        narrow: Per release that takes less: what it takes.
        program: The program whose setting it is; empty for smgcfg's own.
        variable: The environment variable that its program reads, or empty.
        owned: Per transport (or "" for all) the key to use instead, where the plan decides the setting.
        secret: It is never printed.
    """

    path: str
    help: str
    takes: str
    aliases: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    default: str = ""
    versions: tuple[str, ...] = ()
    narrow: tuple[tuple[str, str], ...] = ()
    program: str = ""
    variable: str = ""
    owned: tuple[tuple[str, str], ...] = ()
    secret: bool = False

    @property
    def key(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def document(self) -> dict[str, Any]:
        """Return everything, as JSON has it."""
        return {
            "path": self.path, "help": self.help, "takes": self.takes, "aliases": list(self.aliases),
            "opposites": list(self.opposites), "flags": list(self.flags), "default": self.default,
            "versions": list(self.versions), "narrow": dict(self.narrow), "program": self.program,
            "variable": self.variable, "owned": dict(self.owned), "secret": self.secret,
        }  # fmt: skip


def search(pattern: str) -> list[Entry]:
    """Return the settings that a pattern finds, the best first.

    Args:
        pattern: Words that must all be found in a setting's keys, flags or help; `-`, `_` and case do not matter, and
            neither do dashes in front. An empty pattern finds every setting.
    """
    words = [_plain(word) for word in pattern.split()]
    ranked = [(rank, said.entry) for said in _index() if (rank := _rank(said, words)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda found: found[0])]


def nearest(pattern: str) -> str:
    """Return the key that was most likely meant, as "did you mean X?", or an empty text."""
    from smgcfg.suggest import did_you_mean

    return did_you_mean(_plain(pattern), (key for entry in entries() for key in (entry.key, *entry.aliases)))


def _plain(text: str) -> str:
    return text.lower().lstrip("-").replace("-", "_")


class _Said(Value):
    """What the words of a pattern are held against.

    Attributes:
        entry: The setting.
        path: Its path, plain.
        keys: Everything that a file or a command line calls it.
        help: The words of its help, plain.
    """

    entry: Entry
    path: str
    keys: tuple[str, ...]
    help: tuple[str, ...]


@functools.cache
def _index() -> tuple[_Said, ...]:
    return tuple(
        _Said(
            entry,
            entry.path.lower(),
            (entry.key, *entry.aliases, *entry.opposites, *map(key_of, entry.flags)),
            tuple(map(_plain, entry.help.split())),
        )
        for entry in entries()
    )


def _rank(said: _Said, words: Iterable[str]) -> int | None:
    """Return how well a setting is found, lower is better; None where some word is not."""
    worst = 0
    for word in words:
        key = word.replace(".", "_")
        if said.path == word or key in said.keys:
            rank = 0
        elif any(known.startswith(key) for known in said.keys):
            rank = 1
        elif any(f"_{key}" in known for known in said.keys) or f".{word}" in said.path:
            rank = 2
        elif any(known.startswith(word) for known in said.help):
            rank = 3
        else:
            return None
        worst = max(worst, rank)
    return worst


# --- all there are ---------------------------------------------------------------------------------------------------


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return every setting, in the order of the tables."""
    return tuple(_entries())


#: Keys of a pool that may be written in other ways than their type says.
_WRITTEN: Final = {
    "served_model_name": "text, or a list of text",
    "gpus": 'numbers, ranges or names of GPUs, as in "0-3,6", [0, 1] or a UUID',
}


def _entries() -> Iterator[Entry]:
    top = Schema().child(Schema.top, "name")
    assert isinstance(top, Leaf)
    assert top.spec is not None
    yield _own("name", top.spec, "the first file's stem")
    for spec in specs_of(Pool):
        entry = _own(f"pools.{NAME}.{spec.key}", spec)
        yield entry.evolve(takes=_WRITTEN[spec.key]) if spec.key in _WRITTEN else entry
    yield Entry(f"pools.{NAME}.env", "extra environment of these workers", "a table of text; placeholders are filled")
    for backend in BACKENDS.values():
        title, versions = backend.title, backend.versions
        records = {version: snapshot(backend.name, version).spellings for version in versions}
        for spec in specs_of(backend.args):
            owned: dict[str, str] = {
                transport: keys[spec.key] for transport, keys in backend.owned.items() if spec.key in keys
            }
            if len(owned) == len(backend.transports) and len(set(owned.values())) == 1:
                owned = {"": next(iter(owned.values()))}
            yield _flag(f"pools.{NAME}.engine.{spec.key}", spec, title, records, owned)
        yield _extra(f"pools.{NAME}.engine.extra", title)
    for spec in specs_of(Gateway):
        yield _own(f"gateway.{spec.key}", spec)
    yield Entry("gateway.env", "extra environment of the gateway", "a table of text; placeholders are filled")
    records = {version: snapshot(_GATEWAYS[version], version).spellings for version in command.VERSIONS}
    for spec in specs_of(GatewayArgs):
        owned = {"": command.OWNED[spec.key]} if spec.key in command.OWNED else {}
        yield _flag(f"gateway.{spec.key}", spec, "smg", records, owned)
    yield _extra("gateway.extra", "smg")
    for spec in specs_of(Launch):
        yield _own(f"launch.{spec.key}", spec)
    yield Entry("unset", "in any of these tables: keys whose flags are not passed", "a list of keys")


def _extra(path: str, program: str) -> Entry:
    return Entry(path, "words for flags that smgcfg does not know, written last", "a list of text", program=program)


def _own(path: str, spec: FlagSpec, default: str = "") -> Entry:
    """Return the entry of a key that is no flag."""
    if spec.default is not None:
        default = _shown(spec.default)
    return Entry(path, spec.help, _takes(spec), default=default, secret=spec.secret)


def _flag(
    path: str, spec: FlagSpec, program: str, records: Mapping[str, Mapping[str, Any]], owned: Mapping[str, str]
) -> Entry:
    """Return the entry of a program's setting."""
    versions = tuple(version for version in records if spec.has(version))
    return Entry(
        path,
        spec.help,
        _takes(spec),
        aliases=spec.keys[1:],
        opposites=tuple(map(key_of, spec.off)),
        flags=(*spec.names, *spec.off),
        default=_default(spec, program, {version: records[version] for version in versions}),
        versions=versions,
        narrow=tuple((version, ", ".join(map(str, taken))) for version, taken in spec.narrow.items()),
        program=program,
        variable=spec.env,
        owned=tuple(owned.items()),
        secret=spec.secret,
    )


def _takes(spec: FlagSpec) -> str:
    """Return what a setting takes, in words."""
    lows, highs = zip(spec.bounds, spec.limits, strict=True)
    low = max((bound for bound in lows if bound is not None), default=None)
    high = min((bound for bound in highs if bound is not None), default=None)
    rows = {"more than": spec.above, "at least": low, "at most": high}
    return ", ".join([expected(spec), *(f"{said} {bound}" for said, bound in rows.items() if bound is not None)])


def _default(spec: FlagSpec, program: str, records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what holds when nobody sets a program's setting, in words."""
    values: dict[str, list[str]] = {}
    for version, spellings in records.items():
        record: Mapping[str, Any] = next(
            (spellings[name] for name in (*spec.names, *spec.off) if name in spellings), {}
        )
        values.setdefault(_of_record(record, program), []).append(version)
    own = "; ".join(text + (f" ({', '.join(of)})" if len(values) > 1 else "") for text, of in values.items())
    if spec.default is None:
        return own
    return f"{_shown(spec.default)}, which smgcfg passes; of {program} itself {own}"


def _of_record(record: Mapping[str, Any], program: str) -> str:
    """Return the default that a flag's record tells, in words."""
    for key in ("default", "resolved_default"):
        if record.get(key) is not None:
            return _shown(record[key])
    if record.get("kind") in ("switch_true", "switch_false"):
        return _shown(record["kind"] == "switch_false")
    return f"{program} decides"


def _shown(value: Any) -> str:
    """Return a value as a file would show it."""
    if isinstance(value, Json):
        return value.text
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
