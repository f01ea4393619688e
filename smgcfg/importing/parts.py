"""The parts of a deployment as a launcher's command line gives them, and how they become one."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.codec import Refused, check
from smgcfg.config import NAME, Deployment, Gateway, Launch, Pairs, Pool
from smgcfg.endpoint import Transport
from smgcfg.flags import spec_of, specs_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.importing.invocation import Invocation
from smgcfg.importing.outcome import Lost
from smgcfg.importing.settings import SMG, Program, Read, without
from smgcfg.importing.words import Item

#: What the plan sets for every process by itself.
_ALWAYS_SET: Final = {"PYTHONUNBUFFERED": "1"}

#: The name of the pool.
POOL: Final = "main"

#: Facts that stand on the pool where engine and gateway agree, each with the settings that say it.
_SHARED: Final = (("reasoning_parser", "reasoning_parser"), ("tokenizer", "tokenizer_path"))


@attrs.define(kw_only=True)
class Parts:
    """What a command line says, sorted by whom it is for.

    Attributes:
        transport: How gateway and workers talk.
        engine: What the engine reads, with the model, without the settings that the plan decides.
        gateway: What the gateway reads from the operator's words; None where the command starts no gateway.
        release: The gateway that the command starts.
        implied: Settings of the gateway that nobody typed: those the launcher adds, and defaults of the gateway's own
            that the plan would choose otherwise.
        pool: Further keys of the pool.
        places: The first port and the number of workers, per pool; by default one pool where `pool` says.
        around: Keys of the gateway's table that are not its settings.
        launch: Keys of `[launch]`.
        worker_env: The workers' environment.
        gateway_env: The gateway's environment.
        owned: Settings that the plan decides, with the words that set them: compared with the plan.
        lost: What could not be carried over.
        notes: What an operator should know.
    """

    transport: Transport
    engine: TokenspeedArgs
    gateway: GatewayArgs | None = None
    release: Program = SMG
    implied: dict[str, Any] = attrs.field(factory=dict)
    pool: dict[str, Any] = attrs.field(factory=dict)
    places: tuple[tuple[int, int], ...] = ()
    around: dict[str, Any] = attrs.field(factory=dict)
    launch: dict[str, Any] = attrs.field(factory=dict)
    worker_env: dict[str, str] = attrs.field(factory=dict)
    gateway_env: dict[str, str] = attrs.field(factory=dict)
    owned: dict[str, tuple[Any, list[Item]]] = attrs.field(factory=dict)
    lost: list[Lost] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)

    def take(self, read: Read) -> None:
        """Keep what reading some words could not carry over."""
        self.lost += read.lost
        self.notes += read.notes

    def gateway_from(self, read: Read, reason: str) -> None:
        """Keep what a gateway reads, without the settings that the plan decides.

        Args:
            read: The gateway's words.
            reason: What is to be said of those settings.
        """
        self.take(read)
        self.gateway = without(read.args, command.OWNED)
        for key in command.OWNED:
            self.lose(read.items.get(key, ()), reason)

    def lose(self, items: Iterable[Item], reason: str) -> None:
        """Note flags that could not be carried over."""
        self.lost += [Lost(item.words, reason) for item in items]


def engine_parts(read: Read, transport: Transport, owned: Iterable[str]) -> Parts:
    """Return the parts that an engine's own words give.

    Args:
        read: The words.
        transport: How it is talked to.
        owned: The settings among them that the plan decides.
    """
    chosen = {key: getattr(read.args, key) for key in owned if getattr(read.args, key) is not None}
    parts = Parts(transport=transport, engine=without(read.args, chosen))
    parts.owned = {key: (value, read.items.get(key, [])) for key, value in chosen.items()}
    parts.take(read)
    return parts


def surround(parts: Parts, invocation: Invocation, *, workers: bool, gateway: bool) -> None:
    """Put what stands in front of a program where the plan puts it.

    Args:
        parts: Takes it.
        invocation: The command line.
        workers: The program is, or starts, the workers.
        gateway: The program is, or starts, the gateway.
    """
    env = {name: text for name, text in invocation.env.items() if _ALWAYS_SET.get(name) != text}
    gpus = env.pop("CUDA_VISIBLE_DEVICES", None)
    if workers and gpus is not None:
        if gpus.strip():
            parts.pool["gpus"] = tuple(item.strip() for item in gpus.split(",") if item.strip())
        else:
            parts.worker_env["CUDA_VISIBLE_DEVICES"] = gpus
    own = {spec.env for spec in specs_of(GatewayArgs) if spec.env}
    wrapper = tuple(map(escaped, invocation.wrapper))
    if workers:
        # What only the gateway reads is no business of the workers: it may be a password.
        parts.worker_env |= {name: escaped(text) for name, text in env.items() if not (gateway and name in own)}
        parts.pool |= {"wrapper": wrapper} if wrapper else {}
        parts.pool |= {"python": invocation.python} if invocation.python else {}
    if gateway:
        parts.gateway_env |= {name: escaped(text) for name, text in env.items()}
        parts.around |= {"wrapper": wrapper} if wrapper and not (workers and _traces(wrapper)) else {}
        parts.around |= {"python": invocation.python} if invocation.python else {}
    parts.lost += invocation.lost
    options = tuple(word for word in invocation.python_options if word.text != "-u")
    if options and workers and gateway:
        parts.lost.append(Lost(options, "options of the launcher's interpreter, which its workers do not get"))
    elif options:
        target, module = (parts.pool, _module(parts)) if workers else (parts.around, ("smg", "launch"))
        command_line = (invocation.python or "python", *(word.text for word in options), "-m", *module)
        target["command"] = tuple(map(escaped, command_line))
        target.pop("python", None)


def _module(parts: Parts) -> tuple[str]:
    return (BACKENDS["tokenspeed"].module[parts.transport],)


def _traces(wrapper: tuple[str, ...]) -> bool:
    """Whether a wrapper looks at what an engine does: the gateway is not what it is there for."""
    return wrapper[0].rpartition("/")[2] in ("nsys", "ncu", "py-spy", "perf", "strace")


def escaped(text: str) -> str:
    """Return a text in which braces are no placeholders."""
    return text.replace("{", "{{").replace("}", "}}")


def compose(
    parts: Parts, name: str | None, version: str | None, *, facts: bool, implied: Mapping[str, Any]
) -> Deployment:
    """Return the deployment that the parts make.

    Args:
        parts: The parts.
        name: The deployment's name; None makes one from the model's.
        version: The engine's version that the file shall name, or None.
        facts: Say facts about the model once, on the pool, where engine and gateway agree on them.
        implied: Settings of the gateway besides those that the operator typed.

    Raises:
        ConfigError: A value is outside what its key takes.
    """
    engine, pool = parts.engine, dict(parts.pool)
    gateway = None if parts.gateway is None else parts.gateway.evolve(**implied)
    pool["model"] = engine.model
    engine = without(engine, ["model"])
    if facts:
        engine, gateway = _share(parts.transport, pool, engine, gateway)
    keys = dict(pool, backend="tokenspeed", transport=parts.transport, engine=engine, env=_pairs(parts.worker_env))
    if keys["transport"] == BACKENDS["tokenspeed"].transports[0]:
        del keys["transport"]
    if version is not None:
        keys["engine_version"] = version
    places = parts.places or ((None, None),)
    pools = []
    for at, (port, replicas) in enumerate(places):
        own = {"port": port, "replicas": replicas} if port is not None else {}
        pools.append(Pool(name=POOL if at == 0 else f"{POOL}-{at + 1}", **keys | own))
    own_gateway = Gateway(args=gateway or GatewayArgs(), env=_pairs(parts.gateway_env), **parts.around)
    public = (pool.get("served_model_name") or (gateway and gateway.model_path,))[0]
    return Deployment(
        name=name or _name(public or engine.served_model_name or pool["model"]),
        pools=tuple(pools),
        gateway=own_gateway,
        launch=Launch(**parts.launch),
    )


def _share(
    transport: Transport, pool: dict[str, Any], engine: TokenspeedArgs, gateway: GatewayArgs | None
) -> tuple[TokenspeedArgs, GatewayArgs | None]:
    """Move facts about the model to the pool where engine and gateway then get what they have now."""
    for fact, key in _SHARED:
        value = getattr(engine, fact)
        if value is not None and (_takes(key, value) if gateway is None else getattr(gateway, key) == value):
            pool[fact] = value
            engine = without(engine, [fact])
            gateway = gateway and without(gateway, [key])
    if gateway is None:
        if transport == "grpc" and engine.served_model_name is not None:
            pool["served_model_name"] = (engine.served_model_name,)
            engine = without(engine, ["served_model_name"])
        return engine, gateway
    for key in ("tool_call_parser", "chat_template"):
        if getattr(gateway, key) is not None:
            pool[key] = getattr(gateway, key)
            gateway = without(gateway, [key])
    if gateway.model_path == pool["model"] and not gateway.model_alias:
        return engine, without(gateway, ["model_path"])
    return engine, _public_names(transport, pool, engine, gateway)


def _public_names(
    transport: Transport, pool: dict[str, Any], engine: TokenspeedArgs, gateway: GatewayArgs
) -> GatewayArgs:
    """Move the public name and its aliases to the pool, where the engine does not hear another one."""
    name = gateway.model_path
    pairs = [alias.partition("=") for alias in gateway.model_alias or ()]
    heard = transport == "grpc" and engine.served_model_name != name
    if name is None or heard or any(model != name or not alias for alias, _, model in pairs):
        return gateway
    pool["served_model_name"] = (name, *(alias for alias, _, _ in pairs))
    redundant = ["model_path", "model_alias"]
    if gateway.tokenizer_path == pool["model"] != name:
        redundant.append("tokenizer_path")
    return without(gateway, redundant)


def _takes(key: str, value: Any) -> bool:
    try:
        check(spec_of(GatewayArgs, key), value)
    except Refused:
        return False
    return True


def _pairs(env: Mapping[str, str]) -> Pairs:
    return tuple(sorted(env.items()))


def _name(model: str | None) -> str:
    """Return a name for the deployment out of the model's."""
    last = (model or "").rstrip("/").rpartition("/")[2]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-_")[:64]
    return name if NAME.fullmatch(name) else POOL
