"""What a change of a deployment does to its processes: which restart, and because of which keys."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from smgcfg.config import Gateway, Pool
from smgcfg.flags import specs_of, spelling_table
from smgcfg.gateway import GatewayArgs, command
from smgcfg.origin import Derived, Origin
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.planning.plan import Planned
from smgcfg.process import Plan, ProcessSpec
from smgcfg.schema import Path, dotted
from smgcfg.sources.overrides import read_path
from smgcfg.value import Value

#: What becomes of a process.
Fate = Literal["restarts", "starts", "stops", "stays"]

#: Why a worker restarts whose own command is the same.
GATEWAY_RESTARTS: Final = "the gateway restarts, and an engine that has dialled a gateway dials no other one"

#: Keys that a plan writes into the command or the environment of its processes, where their changes show. Every other
#: key of a pool, of the gateway's table beside its flags, and of `[launch]` is about the launcher.
_REACH: Final = frozenset(
    (
        "backend", "transport", "model", "served_model_name", "tokenizer", "reasoning_parser", "tool_call_parser",
        "chat_template", "replicas", "host", "port", "gpus", "gpus_per_replica", "python", "wrapper",
        "command", "run_dir",
    )
)  # fmt: skip


class Said(Value):
    """One side of a change.

    Attributes:
        text: What stands there; secrets as `***`.
        origin: Where it comes from, as text; empty where it is a default.
    """

    text: str
    origin: str


class Change(Value):
    """One setting that differs.

    Attributes:
        key: The setting, as the file would write it.
        old: What stood there, or None.
        new: What stands there now, or None.
    """

    key: str
    old: Said | None
    new: Said | None


class ProcessChange(Value):
    """What becomes of one process.

    Attributes:
        name: Its name.
        fate: What becomes of it.
        changes: What differs in its command and environment.
        because: Why it restarts although nothing of its own differs; else empty.
    """

    name: str
    fate: Fate
    changes: tuple[Change, ...] = ()
    because: str = ""


class Difference(Value):
    """What differs between two plans.

    Attributes:
        processes: The gateway, the workers of the new plan, the workers that only the old one has.
        settings: What differs without any process being different: it is in force from the next start on.
    """

    processes: tuple[ProcessChange, ...]
    settings: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.settings) or any(process.fate != "stays" for process in self.processes)


def difference(old: Planned, new: Planned) -> Difference:
    """Return what becomes of each process when a deployment is replaced by another.

    Args:
        old: The plan of what runs.
        new: The plan of what shall run; both plans were made without an error, for the same machine.
    """
    assert old.plan is not None
    assert new.plan is not None
    gateway = _process(_Side(old, old.plan.gateway), _Side(new, new.plan.gateway))
    before, after = _workers(old, old.plan), _workers(new, new.plan)
    workers = []
    for name, side in after.items():
        if name not in before:
            workers.append(ProcessChange(name, "starts"))
            continue
        change = _process(before[name], side)
        if change.fate == "stays" and gateway.fate == "restarts" and side.shape and side.shape.transport == "zmq":
            change = ProcessChange(name, "restarts", (), GATEWAY_RESTARTS)
        workers.append(change)
    stopped = [ProcessChange(name, "stops") for name in before if name not in after]
    processes = (gateway, *workers, *stopped)
    return Difference(processes, tuple(_settings(old, new)))


class _Side:
    """A process on one side of the comparison.

    Args:
        planned: The plan it belongs to.
        process: The process.
        shape: Its pool; None for the gateway.
    """

    def __init__(self, planned: Planned, process: ProcessSpec, shape: Shape | None = None) -> None:
        self.planned = planned
        self.process = process
        self.shape = shape
        self._base: Path = GATEWAY if shape is None else shape.path
        self._source: Pool[Any] | Gateway = planned.deployment.gateway if shape is None else shape.pool

    def entries(self, process: ProcessSpec) -> dict[Path, tuple[str, ...]]:
        """Return every word and every variable of a process, by the key that says it.

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
        entries: dict[Path, tuple[str, ...]] = {}
        for path, words in found:
            if words:
                entries[path] = entries.get(path, ()) + words
        return entries

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

    def said(self, path: Path, words: tuple[str, ...] | None) -> Said | None:
        """Return what stands at a key, and where it comes from."""
        return None if words is None else Said(shlex.join(words), _origin(self.planned, path))


def _workers(planned: Planned, plan: Plan) -> dict[str, _Side]:
    shapes = {shape.pool.name: shape for shape in planned.shapes}
    return {
        slot.name: _Side(planned, process, shapes[slot.pool])
        for slot, process in zip(planned.slots, plan.workers, strict=True)
    }


def _process(old: _Side, new: _Side) -> ProcessChange:
    """Return what becomes of a process that both plans have."""
    before, after = old.entries(old.process), new.entries(new.process)
    shown_before, shown_after = old.entries(old.process.redacted()), new.entries(new.process.redacted())
    changes = tuple(
        Change(dotted(path), old.said(path, shown_before.get(path)), new.said(path, shown_after.get(path)))
        for path in {**before, **after}
        if before.get(path) != after.get(path)
    )
    return ProcessChange(new.process.name, "restarts" if changes else "stays", changes)


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


def _settings(old: Planned, new: Planned) -> Iterator[Change]:
    """Return the settings that differ and reach no process."""
    before, after = old.deployment, new.deployment
    pools = {pool.name: pool for pool in before.pools}
    pairs: list[tuple[Path, Any, Any]] = [
        (("pools", pool.name), pools[pool.name], pool) for pool in after.pools if pool.name in pools
    ]
    pairs += [(GATEWAY, before.gateway, after.gateway), (("launch",), before.launch, after.launch)]
    for base, one, other in pairs:
        for spec in specs_of(type(other)):
            values = [getattr(side, spec.key) for side in (one, other)]
            if spec.key not in _REACH and values[0] != values[1]:
                path = (*base, spec.key)
                sides = [
                    None if value is None else Said(str(value), _origin(planned, path))
                    for value, planned in zip(values, (old, new), strict=True)
                ]
                yield Change(dotted(path), *sides)
