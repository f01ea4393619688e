"""Where each key of a deployment file belongs: the tables, and the declaration behind every key."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from smgcfg.args import Args, check_setting, extra_findings
from smgcfg.backends import BACKENDS
from smgcfg.codec import Refused, check, expected, read_word
from smgcfg.config import Gateway, Launch, Pool, Variable, gpu_list, is_secret_name, name_list
from smgcfg.errors import Finding, error
from smgcfg.flags import FlagSpec, find_key, flag, keys_of, known_keys, spec_of
from smgcfg.gateway import GatewayArgs
from smgcfg.groups import Settings, gathered
from smgcfg.json_value import Json
from smgcfg.origin import Origin
from smgcfg.reference import Reference, reference_in
from smgcfg.value import Value

Path = tuple[str, ...]
TableKind = Literal["top", "pools", "pool", "engine", "env", "gateway", "launch"]

#: What a pool's backend is taken for while it is unknown, so that its engine keys are checked all the same.
DEFAULT_BACKEND: Final = "tokenspeed"

#: Names that operators bring from `smg serve` 1.13.0 and other launchers, and what they are called here.
FOREIGN: Final = {
    "connection_mode": "[pools.NAME] transport",
    "data_parallel_size": "[pools.NAME] replicas, or [pools.NAME.engine] data_parallel_size inside one worker",
    "dp_size": "[pools.NAME] replicas, or [pools.NAME.engine] data_parallel_size inside one worker",
    "worker_base_port": "[pools.NAME] port",
    "worker_host": "[pools.NAME] host",
    "worker_startup_timeout": "[pools.NAME] startup_timeout",
    "model_path": "[pools.NAME] model",
    "tp_size": "[pools.NAME.engine] tensor_parallel_size",
    "context_length": "[pools.NAME.engine] max_model_len",
    "mem_fraction_static": "[pools.NAME.engine] gpu_memory_utilization",
    "max_running_requests": "[pools.NAME.engine] max_num_seqs",
    "num_workers": "[pools.NAME] replicas",
    "router_host": "[gateway] host",
    "router_port": "[gateway] port",
}

#: Names with which nothing stands in a table.
_ELSEWHERE: Final = {
    "headless": "smgcfg passes it itself; leave it out",
    "name": "it stands at the top of the file",
}

#: A key that TOML takes without quotes.
_BARE: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

_NORMAL: Final[dict[str, Callable[[object], object]]] = {"served_model_name": name_list, "gpus": gpu_list}


@gathered(kw_only=True)
class _Name(Settings):
    """Declares the one key that stands at the top of a file."""

    name: str | None = flag("names the run directory", reads="nonempty")


class Table(Value):
    """A table that may stand in a deployment file.

    Attributes:
        kind: Which one.
        path: Its keys from the top.
        cls: The class that declares its settings, or None where it only holds tables.
    """

    kind: TableKind
    path: Path
    cls: type[Any] | None = None


class Leaf(Value):
    """A setting that may stand in a deployment file.

    Attributes:
        path: Its canonical keys from the top.
        spec: Its declaration; None for the `extra` words.
        cls: The class that declares it.
        as_it_is: False where the key says the setting's opposite.
    """

    path: Path
    spec: FlagSpec | None
    cls: type[Any]
    as_it_is: bool = True

    def checked(self, value: object) -> Any:
        """Check a native value and return it in the setting's own type, or as the reference that it is.

        Raises:
            Refused: What is wrong.
        """
        if self.may_refer and (reference := reference_in(value)) is not None:
            return reference
        if self.spec is None:
            bad = extra_findings(self.cls, value)
            if bad:
                raise Refused(bad[0].code, bad[0].message, bad[0].hint)
            return tuple(value)  # type: ignore[arg-type]  # extra_findings has seen that it is a list
        if self._lenient:
            value = _NORMAL[self.spec.key](value)
        if self.as_it_is:
            return check_setting(self.spec, value)
        return check_setting(self.spec, not check(self.spec, value))

    @property
    def may_refer(self) -> bool:
        """Whether the value may stand elsewhere: any single one, but for the word that decides about all others."""
        spec = self.spec
        if spec is None or not self.as_it_is or spec.type is Json or (self.cls is Pool and spec.key == "backend"):
            return False
        return not spec.many or self._lenient

    @property
    def _lenient(self) -> bool:
        """Whether the setting is a list that one text may stand for."""
        return self.cls is Pool and self.spec is not None and self.spec.key in _NORMAL

    def read(self, reference: Reference, text: str) -> Any:
        """Return the value that a reference's text says, of a setting that can not keep the reference.

        Args:
            reference: What is read; messages name it, and never the text.
            text: What it stands for.

        Raises:
            Refused: The text is no such value.
        """
        spec = self.spec
        assert spec is not None
        try:
            return self.checked(text if self._lenient else read_word(spec, text))
        except Refused:
            low, high = spec.bounds
            bounds = "" if low is None else f" of at least {low}" if high is None else f" of {low} to {high}"
            message = f"expected {expected(spec)}{bounds}; what {reference} stands for is no such value"
            raise Refused("SMG018", message) from None


class Inside(Value):
    """A place inside the JSON object that a setting holds.

    Attributes:
        leaf: The setting.
        keys: The keys from its object on.
    """

    leaf: Leaf
    keys: Path


class Schema:
    """The tables and keys of a deployment file.

    Args:
        backends: Per pool the word behind `backend =`, where it is known.
    """

    def __init__(self, backends: Mapping[str, str] | None = None) -> None:
        self.backends = backends or {}

    top: Final = Table("top", ())

    def engine(self, pool: str) -> type[Args]:
        """Return the class of a pool's engine settings."""
        backend = BACKENDS.get(self.backends.get(pool, DEFAULT_BACKEND)) or BACKENDS[DEFAULT_BACKEND]
        return backend.args

    def guesses(self, pool: str) -> bool:
        """Whether a pool names an engine that nobody knows, so that its settings are checked against another."""
        from smgcfg.suggest import did_you_mean

        named = self.backends.get(pool, DEFAULT_BACKEND)
        return named not in BACKENDS and not did_you_mean(named, BACKENDS)

    def child(self, table: Table, key: str) -> Table | Leaf | None:
        """Return what a key of a table is, or None when there is no such key."""
        path = (*table.path, key)
        if table.kind == "top":
            return self._section(key, path)
        if table.kind == "pools":
            return Table("pool", path, Pool)
        if table.kind == "env":
            usable = key != "" and "=" not in key and "\0" not in key
            spec = spec_of(Variable, "secret" if is_secret_name(key) else "value")
            return Leaf(path, spec, Variable) if usable else None
        if key == "env" and table.kind in ("pool", "gateway"):
            return Table("env", path)
        if table.kind == "pool" and key == "engine":
            return Table("engine", path, self.engine(table.path[1]))
        return self._leaf(table, key)

    def _section(self, key: str, path: Path) -> Table | Leaf | None:
        if key == "name":
            return Leaf(path, spec_of(_Name, "name"), _Name)
        if key == "pools":
            return Table("pools", path)
        if key == "gateway":
            return Table("gateway", path, GatewayArgs)
        return Table("launch", path, Launch) if key == "launch" else None

    def _leaf(self, table: Table, key: str) -> Leaf | None:
        cls = table.cls
        assert cls is not None
        if table.kind == "gateway" and key in keys_of(Gateway):
            return Leaf((*table.path, key), spec_of(Gateway, key), Gateway)
        if key == "extra" and issubclass(cls, Args):
            return Leaf((*table.path, key), None, cls)
        found = find_key(cls, key)
        if found is None:
            return None
        spec, as_it_is = found
        return Leaf((*table.path, spec.key), spec, cls, as_it_is)

    def resolve(self, path: Path) -> Table | Leaf | Inside | Finding:
        """Return what a path from the top is, or the finding that says where it goes wrong."""
        here: Table | Leaf = self.top
        for depth, key in enumerate(path):
            if isinstance(here, Leaf):
                if here.spec is not None and here.spec.type is Json:
                    return Inside(here, path[depth:])
                return error("SMG002", dotted(path), f"{dotted(path[:depth])} is a value; nothing stands below it")
            below = self.child(here, key)
            if below is None:
                return self.unknown(here, key, None)
            here = below
        return here

    def tables(self) -> Iterator[Table]:
        """Return the tables of the pools there are, then the others, each but the top and `env`."""
        for pool in self.backends:
            path = ("pools", pool)
            yield Table("pool", path, Pool)
            yield Table("engine", (*path, "engine"), self.engine(pool))
        yield Table("gateway", ("gateway",), GatewayArgs)
        yield Table("launch", ("launch",), Launch)

    def ending(self, path: Path) -> list[Table | Leaf | Inside]:
        """Return everything that the end of a path may mean: `tp` is a setting of each pool's engine.

        Args:
            path: The last keys of a path.
        """
        bases: list[Path] = [table.path for table in self.tables()]
        if path[0] in self.backends:
            bases.append(("pools",))
        found = [self.resolve((*base, *path)) for base in bases]
        return [target for target in found if not isinstance(target, Finding)]

    def nearest(self, key: str) -> str:
        """Return "did you mean X?" for a key that no table has, with the whole path; empty when nothing is near.

        Args:
            key: One key.
        """
        from smgcfg.suggest import nearest

        paths: dict[str, Path] = {}
        for table in self.tables():
            for known in self._keys(table):
                paths.setdefault(known, (*table.path, known))
        near = nearest(key, paths)
        return f"did you mean {dotted(paths[near])}?" if near else ""

    def unknown(self, table: Table, key: str, where: Origin | None) -> Finding:
        """Return the finding for a key that a table does not have, with the best suggestion there is."""
        if table.kind == "env":
            return error("SMG002", dotted((*table.path, key)), "no name for an environment variable", where)
        return error("SMG002", dotted((*table.path, key)), "no such key", where, self.suggestion(table, key))

    def suggestion(self, table: Table, key: str) -> str:
        """Return where an operator may have wanted to go with a key that a table does not have; empty if nowhere.

        Args:
            table: The table.
            key: The key, or a flag without its dashes.
        """
        from smgcfg.suggest import did_you_mean

        near = did_you_mean(key, self._keys(table))
        word = key.replace("-", "_")
        if near and word in near:
            return near
        pool = table.path[1] if len(table.path) > 1 else "NAME"
        for other in self._others(table, pool):
            found = self.child(other, word)
            if isinstance(found, Table):
                return f"here it is [{dotted(found.path)}]"
            if isinstance(found, Leaf):
                return f"it belongs to [{dotted(other.path)}]" + ("" if word == key else f", as {word}")
        if word in _ELSEWHERE:
            return _ELSEWHERE[word]
        foreign = FOREIGN.get(word, "")
        if not foreign and word.startswith("router_") and find_key(GatewayArgs, word[7:]):
            foreign = f"[gateway] {word[7:]}"
        if foreign:
            return f"here it is {foreign.replace('NAME', pool)}"
        return near

    def _others(self, table: Table, pool: str) -> Iterator[Table]:
        """Return the tables that an operator may have meant, the likeliest first."""
        path = ("pools", pool)
        # A fact about the model is a key of both, and is written once, on the pool.
        if table.kind != "pool":
            yield Table("pool", path, Pool)
        if table.kind != "engine":
            yield Table("engine", (*path, "engine"), self.engine(pool))
        if table.kind != "gateway":
            yield Table("gateway", ("gateway",), GatewayArgs)
        if table.kind != "launch":
            yield Table("launch", ("launch",), Launch)

    def _keys(self, table: Table) -> list[str]:
        if table.kind == "top":
            return ["name", "pools", "gateway", "launch"]
        keys = list(known_keys(table.cls)) if table.cls is not None else []
        if table.kind == "gateway":
            keys += keys_of(Gateway)
        return keys + {"pool": ["engine", "env"], "gateway": ["env", "extra"], "engine": ["extra"]}.get(table.kind, [])


def dotted(path: Path) -> str:
    """Return a path as TOML writes it, quoted where a bare key can not stand."""
    return ".".join(key if key and not key.strip(_BARE) else _quoted(key) for key in path)


def _quoted(key: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    import json

    return json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")
