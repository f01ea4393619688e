"""What each process of a plan was given, by the keys that say it: for a comparison, in another program too."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from smgcfg.config import Gateway, Pool
from smgcfg.flags import specs_of, spelling_table
from smgcfg.gateway import GatewayArgs, command
from smgcfg.origin import Derived, Origin
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.planning.plan import Planned
from smgcfg.process import ProcessSpec
from smgcfg.schema import Path, dotted
from smgcfg.sources.overrides import read_path
from smgcfg.value import Value

#: Keys that a plan writes into the command or the environment of its processes, where their changes show. Every other
#: key of a pool, of the gateway's table beside its flags, and of `[launch]` is about the launcher.
_REACH: Final = frozenset(
    (
        "backend", "transport", "model", "served_model_name", "tokenizer", "reasoning_parser", "tool_call_parser",
        "chat_template", "replicas", "host", "port", "gpus", "gpus_per_replica", "python", "wrapper",
        "command", "run_dir",
    )
)  # fmt: skip


class Entry(Value):
    """What a process was given by one key.

    Attributes:
        words: Words of its command, or entries of its environment; of a secret that stands elsewhere, its place.
        shown: The same without any secret.
        origin: Where they come from, as text; empty where that is a default.
    """

    words: tuple[str, ...]
    shown: tuple[str, ...]
    origin: str


class Given(Value):
    """What one process was given.

    Attributes:
        name: The process.
        dials: Whether it dials the gateway, once, when it starts.
        entries: What it was given, by keys as a file would write them.
    """

    name: str
    dials: bool
    entries: Mapping[str, Entry]


class Setting(Value):
    """A setting that reaches no process.

    Attributes:
        text: Its value; None where it has none.
        origin: Where it comes from, as text; empty where that is a default.
    """

    text: str | None
    origin: str


class Side(Value):
    """Everything that a deployment gave, and that a comparison looks at.

    Attributes:
        processes: The processes, the gateway first.
        settings: The settings that reach no process, by keys as a file would write them.
    """

    processes: tuple[Given, ...]
    settings: Mapping[str, Setting]


def side_of(planned: Planned) -> Side:
    """Return what a deployment gives to its processes.

    Args:
        planned: Its plan, made without an error.
    """
    assert planned.plan is not None
    shapes = {shape.pool.name: shape for shape in planned.shapes}
    workers = zip(planned.slots, planned.plan.workers, strict=True)
    processes = [_given(planned, planned.plan.gateway), *(_given(planned, w, shapes[slot.pool]) for slot, w in workers)]
    return Side(tuple(processes), dict(_settings(planned)))


def data_of(side: Side) -> dict[str, Any]:
    """Return a side as JSON has it; it holds secrets that stand in the deployment itself."""
    processes = [
        {
            "name": given.name,
            "dials": given.dials,
            "entries": {key: [list(e.words), list(e.shown), e.origin] for key, e in given.entries.items()},
        }
        for given in side.processes
    ]
    return {"processes": processes, "settings": {key: [s.text, s.origin] for key, s in side.settings.items()}}


def side_in(data: Mapping[str, Any]) -> Side:
    """Return the side that `data_of` was given."""
    processes = tuple(
        Given(
            given["name"],
            given["dials"],
            {
                key: Entry(tuple(words), tuple(shown), origin)
                for key, (words, shown, origin) in given["entries"].items()
            },
        )
        for given in data["processes"]
    )
    return Side(processes, {key: Setting(text, origin) for key, (text, origin) in data["settings"].items()})


def _given(planned: Planned, process: ProcessSpec, shape: Shape | None = None) -> Given:
    by_key = Words(planned, shape)
    shown = by_key.of(process.redacted())
    entries = {
        dotted(path): Entry(words, shown[path], _origin(planned, path))
        for path, words in by_key.of(process.sourced()).items()
    }
    return Given(process.name, shape is not None and shape.transport == "zmq", entries)


class Words:
    """The words and variables of a process, and of the same without its secrets, each by the key that says it.

    Args:
        planned: The plan it belongs to.
        shape: Its pool; None for the gateway.
    """

    def __init__(self, planned: Planned, shape: Shape | None = None) -> None:
        self.shape = shape
        self._base: Path = GATEWAY if shape is None else shape.path
        self._source: Pool[Any] | Gateway = planned.deployment.gateway if shape is None else shape.pool

    def of(self, process: ProcessSpec) -> dict[Path, tuple[str, ...]]:
        """Return every word and every variable, by the key that says it.

        Args:
            process: The process itself, or the same without its secrets.
        """
        source, shape = self._source, self.shape
        wrapped = len(source.wrapper or ())
        if source.command is not None:
            program, length = "command", len(source.command)
        else:
            program, length = "python", len(("PYTHON", "-m")) + (len(command.WORDS) if shape is None else 1)
        begin = wrapped + length + (0 if shape is None else len(shape.backend.words[shape.transport]))
        found = [
            ((*self._base, "wrapper"), process.argv[:wrapped]),
            ((*self._base, program), process.argv[wrapped:begin]),
            *self._flags(process.argv[begin:]),
            *((self._variable(name), (f"{name}={text}",)) for name, text in process.env),
        ]
        by_key: dict[Path, tuple[str, ...]] = {}
        for path, words in found:
            if words:
                by_key[path] = by_key.get(path, ()) + words
        return by_key

    def _flags(self, words: Iterable[str]) -> Iterator[tuple[Path, tuple[str, ...]]]:
        """Return the flags, each with its values, by the key that says it."""
        table = spelling_table(GatewayArgs if self.shape is None else self.shape.backend.args)
        path: Path = ()
        item: list[str] = []
        for word in words:
            # A value that begins with a dash is glued to its flag.
            if word.startswith("--"):
                yield path, tuple(item)
                name = word if word in table else word.partition("=")[0]
                path, item = self._path(table[name][0].key if name in table else "extra"), []
            item.append(word)
        yield path, tuple(item)

    def _path(self, key: str) -> Path:
        """Return where a setting of the process is written."""
        if self.shape is None:
            return (*self._base, key)
        use = self.shape.backend.owned[self.shape.transport].get(key)
        if use is None:
            return (*self._base, "engine", key)
        # What the plan decides follows from a key of the pool, or of the file.
        return tuple(use.split(".")) if "." in use else (*self._base, use or "port")

    def _variable(self, name: str) -> Path:
        """Return where a variable of the process is written."""
        if name not in dict(self._source.env):
            if self.shape is not None and name == "CUDA_VISIBLE_DEVICES":
                return (*self._base, "gpus")
            for spec in specs_of(GatewayArgs) if self.shape is None else ():
                if spec.env == name:
                    return (*self._base, spec.key)
        return (*self._base, "env", name)


def _origin(planned: Planned, path: Path) -> str:
    """Return where the value at a path comes from, as text; of what is derived, from which keys."""
    origin: Origin | None = planned.origin(path)
    if not isinstance(origin, Derived):
        return "" if origin is None else str(origin)
    sources = []
    for key in origin.inputs:
        where = planned.choices.where(read_path(key) or ())
        sources.append(key if where is None else f"{key} ({where})")
    return f"derived from {', '.join(sources)}" if sources else "derived"


def _settings(planned: Planned) -> Iterator[tuple[str, Setting]]:
    """Return the settings that reach no process."""
    deployment = planned.deployment
    tables: list[tuple[Path, Any]] = [(("pools", pool.name), pool) for pool in deployment.pools]
    for base, table in (*tables, (GATEWAY, deployment.gateway), (("launch",), deployment.launch)):
        for spec in specs_of(type(table)):
            if spec.key not in _REACH:
                value, path = getattr(table, spec.key), (*base, spec.key)
                yield dotted(path), Setting(None if value is None else str(value), _origin(planned, path))
