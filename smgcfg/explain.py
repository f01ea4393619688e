"""Where each value of a deployment comes from, what it won over, and what becomes of it: as data."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from smgcfg.args import Args
from smgcfg.codec import Refused, word, words
from smgcfg.config import Deployment, Gateway, Launch, Pool, is_secret_name
from smgcfg.flags import keys_of, spec_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.origin import Derived, FromDefault, Origin
from smgcfg.overlay import UNSET, Overlay
from smgcfg.planning.compose import Slot, by_environment
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.planning.owned import in_pool
from smgcfg.planning.plan import Planned
from smgcfg.process import REDACTED
from smgcfg.reference import Reference, references_in
from smgcfg.schema import Path, dotted
from smgcfg.value import Value

#: Settings of a pool and of the gateway that are words around a command.
_AROUND: Final = ("wrapper", "command", "python")


class Part(Value):
    """What a value becomes in some processes.

    Attributes:
        words: The words of their commands, or one entry of their environment, without secrets.
        processes: The processes.
        environment: It is an entry of the environment.
    """

    words: tuple[str, ...]
    processes: tuple[str, ...]
    environment: bool = False


class Explained(Value):
    """One setting, explained.

    Attributes:
        path: Its keys from the top.
        value: Its value; None where nobody set it, `UNSET` where somebody chose that it is not passed.
        origin: Where the value comes from; None where nobody set it.
        reference: What the value was read from, or None.
        secret: The value is not to be shown.
        overridden: What it won over, the strongest first: values with their places.
        becomes: What it becomes.
        derives: What follows from it: per path the value and the rule.
        effects: What else follows, in words.
        owner: What decides instead where the launcher does, as a key or in words; empty where the operator decides.
    """

    path: Path
    value: Any
    origin: Origin | None
    reference: Reference | None
    secret: bool
    overridden: tuple[tuple[Any, Origin], ...]
    becomes: tuple[Part, ...]
    derives: tuple[tuple[Path, Any, Derived], ...]
    effects: tuple[str, ...]
    owner: str = ""


class Explainer:
    """Explains the settings of a planned deployment.

    Args:
        planned: The plan; it may have errors.
        overlay: Everything that was chosen.
    """

    def __init__(self, planned: Planned, overlay: Overlay[Path]) -> None:
        self._planned = planned
        self._overlay = overlay
        self._shapes = {shape.pool.name: shape for shape in planned.shapes}

    def chosen(self) -> list[Path]:
        """Return the paths of everything that is not a default, table by table: what was chosen, and what follows."""
        paths = dict.fromkeys([*self._overlay, *self._planned.derived])
        tables: dict[Path, list[Path]] = {}
        for path in paths:
            tables.setdefault(path[:-1], []).append(path)
        ranks = {name: at for at, name in enumerate(pool.name for pool in self._planned.deployment.pools)}
        order = {"name": 0, "pools": 1, "gateway": 2, "launch": 3}

        def place(table: Path) -> tuple[Any, ...]:
            top = table[0] if table else "name"
            return order[top], ranks.get(table[1], 0) if len(table) > 1 else 0, len(table), table

        return [path for table in sorted(tables, key=place) for path in tables[table]]

    def explain(self, path: Path) -> Explained:
        """Explain one setting.

        Args:
            path: Its keys from the top; the deployment has such a setting.
        """
        stack = self._overlay.stack(path)
        winner = stack[-1] if stack else None
        value, origin = self._value(path), self._planned.origin(path)
        default = self._default(path)
        if winner is not None and winner[0] is UNSET:
            value = UNSET
        elif origin is None and value is not None and value == default:
            origin = FromDefault()
        elif origin is None and path == ("name",):
            origin = Derived("what the first file is called")
        lost = [*stack[:-1][::-1]]
        if default is not None and origin is not None and not isinstance(origin, FromDefault | Derived):
            lost.append((default, FromDefault()))
        reference = winner[0] if winner is not None and isinstance(winner[0], Reference) else None
        derives = tuple(self._derived_from(path))
        return Explained(
            path=path,
            value=value,
            origin=origin,
            reference=reference,
            secret=self._secret(path),
            overridden=tuple(lost),
            becomes=_together([*self._parts(path), *(part for key, _, _ in derives for part in self._parts(key))]),
            derives=derives,
            effects=tuple(self._effects(path)),
            owner=self._owner(path),
        )

    # --- values ---

    def _holder(self, path: Path) -> Any:
        """Return the object that has a setting, everything filled in; None where there is none."""
        deployment = self._planned.deployment
        if path[0] == "pools":
            shape = self._shapes.get(path[1])
            pool = next((pool for pool in deployment.pools if pool.name == path[1]), None)
            if path[2] == "engine":
                return shape.engine if shape is not None else getattr(pool, "engine", None)
            return pool
        if path[0] == "gateway":
            return deployment.gateway if path[1] in (*keys_of(Gateway), "env") else self._planned.gateway
        return deployment.launch if path[0] == "launch" else deployment

    def _value(self, path: Path) -> Any:
        if path in self._planned.derived:
            return self._planned.derived[path][0]
        holder = self._holder(path)
        if _is_variable(path):
            return dict(holder.env).get(path[-1])
        value = getattr(holder, path[-1], None)
        return value if value != () or path[-1] != "extra" else None

    def _default(self, path: Path) -> Any:
        holder = self._holder(path)
        if isinstance(holder, Args | Pool | Gateway | Launch) and path[-1] in keys_of(type(holder)):
            return spec_of(type(holder), path[-1]).default
        return None

    def _secret(self, path: Path) -> bool:
        holder = self._holder(path)
        if _is_variable(path):
            return is_secret_name(path[-1])
        return isinstance(holder, Args) and path[-1] in keys_of(type(holder)) and spec_of(type(holder), path[-1]).secret

    def _derived_from(self, path: Path) -> Iterator[tuple[Path, Any, Derived]]:
        for key, (value, rule) in self._planned.derived.items():
            if dotted(path) in rule.inputs:
                yield key, value, rule

    def _owner(self, path: Path) -> str:
        if path[:1] == GATEWAY and path[1] in command.OWNED:
            return command.OWNED[path[1]] or "smgcfg"
        shape = self._shapes.get(path[1]) if path[0] == "pools" else None
        if shape is None or path[2] != "engine":
            return ""
        owned = in_pool(shape.backend.owned[shape.transport], dotted((shape.pool.name,)))
        return owned.get(path[3], "") or ("smgcfg" if path[3] in owned else "")

    # --- what becomes of them ---

    def _parts(self, path: Path) -> Iterator[Part]:
        """Give what a setting becomes by itself, process by process."""
        if path[0] == "pools" and path[1] in self._shapes:
            shape = self._shapes[path[1]]
            for slot in self._planned.slots:
                if slot.pool == path[1]:
                    yield from self._in_worker(path, shape, slot)
        elif path[0] == "gateway":
            yield from self._in_gateway(path[1:])

    def _in_worker(self, path: Path, shape: Shape, slot: Slot) -> Iterator[Part]:
        placed = shape.backend.place(shape.engine, slot.endpoint)
        if path[2] == "engine" and len(path) == 4:
            args = attrs.evolve(shape.engine, **placed)
            yield from self._flag(args, path[3], shape.pool.engine_version, shape.backend.versions, slot.name)
        elif path[2] == "env":
            yield from self._entry(path[3], slot.name)
        elif path[2] in _AROUND:
            yield from self._around(shape.pool, path[2], slot.name)
        else:
            # What the launcher decides by this key.
            args = attrs.evolve(shape.engine, **placed)
            for key, use in shape.backend.owned[shape.transport].items():
                if use == path[2] and key in placed:
                    yield from self._flag(args, key, None, (), slot.name)
            if path[2] in ("gpus", "gpus_per_replica"):
                yield from self._entry("CUDA_VISIBLE_DEVICES", slot.name)

    def _in_gateway(self, keys: Path) -> Iterator[Part]:
        gateway, args = self._planned.deployment.gateway, self._planned.gateway
        hidden = by_environment(args)
        if keys[0] == "env":
            yield from self._entry(keys[1], "gateway")
        elif keys[0] in hidden:
            yield from self._entry(hidden[keys[0]][0], "gateway")
        elif keys[0] in _AROUND:
            yield from self._around(gateway, keys[0], "gateway")
        elif keys[0] in (*keys_of(GatewayArgs), "extra"):
            yield from self._flag(args, keys[0], gateway.version, command.VERSIONS, "gateway")

    def _flag(self, args: Args, key: str, version: str | None, known: Sequence[str], process: str) -> Iterator[Part]:
        value = getattr(args, key)
        if key == "extra":
            yield Part(tuple(value), (process,))
        elif value is not None:
            spec = spec_of(type(args), key)
            hides = spec.secret or references_in(value)
            try:
                flag = words(spec, _hidden(value) if hides else value, version if version in known else None)
            except Refused:
                return  # the plan reports it
            yield Part(tuple(flag), (process,))

    def _entry(self, name: str, process: str) -> Iterator[Part]:
        plan = self._planned.plan
        for spec in plan.processes if plan is not None else ():
            env = dict(spec.redacted().env)
            if spec.name == process and name in env:
                yield Part((f"{name}={env[name]}",), (process,), environment=True)

    def _around(self, owner: Pool[Any] | Gateway, key: str, process: str) -> Iterator[Part]:
        plan = self._planned.plan
        wrapper = len(owner.wrapper or ())
        end = {"wrapper": wrapper, "command": wrapper + len(owner.command or ()), "python": wrapper + 1}[key]
        begin = 0 if key == "wrapper" else wrapper
        # With a command of one's own, no interpreter is run.
        idle = key == "python" and owner.command is not None
        for spec in plan.processes if plan is not None and not idle else ():
            if spec.name == process and end > begin:
                yield Part(spec.argv[begin:end], (process,))

    def _effects(self, path: Path) -> Iterator[str]:
        if path[0] != "pools" or path[1] not in self._shapes:
            return
        shape = self._shapes[path[1]]
        slots = [slot for slot in self._planned.slots if slot.pool == path[1]]
        if path[2] == "replicas":
            yield "workers " + ", ".join(slot.name for slot in slots)
        if path[2] == "port":
            yield "ports " + ", ".join(str(slot.endpoint.port) for slot in slots)
        if path[2] in ("replicas", "gpus", "gpus_per_replica") or (
            path[2] == "engine" and self._counts(shape, path[3])
        ):
            each = shape.gpus
            yield f"{each} GPU{'s' * (each != 1)} per worker, {each * shape.pool.replicas} in all"

    def _counts(self, shape: Shape, key: str) -> bool:
        """Whether a setting of the engine changes how many GPUs a worker uses."""
        if key == "extra" or getattr(shape.engine, key) is None or key == shape.backend.args.positional:
            return False
        change: Any = {key: None}
        without = attrs.evolve(shape.engine, **change)
        return shape.backend.gpus(without) != shape.backend.gpus(shape.engine)


def pools_of(deployment: Deployment) -> dict[str, str]:
    """Return the backend of each pool, as `schema.Schema` wants it."""
    return {pool.name: pool.backend for pool in deployment.pools}


def _is_variable(path: Path) -> bool:
    """Whether a path is that of an environment variable; a pool may be named env, too."""
    return path[2:3] == ("env",) if path[0] == "pools" else path[1:2] == ("env",)


def _hidden(value: Any) -> Any:
    """Return a secret value as it may be shown: `***`, or the reference."""
    if type(value) is tuple:
        return tuple(map(_hidden, value))
    return word(value.source) if isinstance(value, Reference) else REDACTED


def _together(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return parts with what is the same in several processes said once."""
    processes: dict[tuple[tuple[str, ...], bool], dict[str, None]] = {}
    for part in parts:
        if part.words:
            processes.setdefault((part.words, part.environment), {}).update(dict.fromkeys(part.processes))
    return tuple(Part(said, tuple(names), environment) for (said, environment), names in processes.items())
