"""What nobody set, filled in: facts about the model where they are used, and what a gateway needs for its workers."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from smgcfg.args import Args
from smgcfg.backends._base import Backend
from smgcfg.config import MODEL_HINT, Deployment, Pool, missing
from smgcfg.endpoint import HANDSHAKE_PORTS, Transport, is_address, is_private
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import spec_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.planning.filling import Choices, Derivations, Filling
from smgcfg.planning.ports import PortBook
from smgcfg.schema import Path, dotted
from smgcfg.value import Value

GATEWAY: Final[Path] = ("gateway",)

#: Where the gateway's metrics go unless somebody says otherwise: above every port that a handshake can have.
METRICS_PORTS: Final = range(30000, 31000)

#: How often the gateway looks after a zmq worker, in seconds: the first look is what binds the worker's sockets, so an
#: engine that dials in between waits as long (smg 1.13.0; its own interval is 60).
ZMQ_HEALTH_INTERVAL: Final = 1

#: After how many failed checks the gateway gives a zmq worker no more requests. A check sees whether the connection is
#: there, whatever the load; until then requests are given to it, and fail (smg 1.13.0; its own number is 3).
ZMQ_HEALTH_FAILURES: Final = 1

#: How long the gateway gives no requests to a worker that failed some in a row, in seconds. The failures are those at
#: the death of an engine, and its successor is there sooner than smg 1.13.0's own 60 seconds are over.
CIRCUIT_BREAKER_TIMEOUT: Final = 1

#: Seconds between two looks of the gateway at a grpc worker that is starting.
STARTUP_CHECK_INTERVAL: Final = 1

#: The facts of a pool that the gateway uses as they are, each with the setting that says the same.
_GATEWAY_FACTS: Final = {
    "tokenizer": "tokenizer_path",
    "reasoning_parser": "reasoning_parser",
    "tool_call_parser": "tool_call_parser",
    "chat_template": "chat_template",
}


class Shape(Value):
    """A pool once everything that its workers share is known.

    Attributes:
        pool: The pool.
        backend: Its engine.
        transport: How the gateway talks to its workers.
        engine: The engine's settings, without the owned ones.
        port: The first worker's port.
        ranks: How many engines one worker puts on one socket set.
    """

    pool: Pool[Any]
    backend: Backend[Any]
    transport: Transport
    engine: Args
    port: int
    ranks: int

    @property
    def path(self) -> Path:
        """The pool's table."""
        return ("pools", self.pool.name)

    @property
    def model(self) -> str | None:
        """What the engine loads."""
        model: str | None = getattr(self.engine, self.backend.args.positional)
        return model

    @property
    def gpus(self) -> int:
        """How many GPUs each of its workers gets."""
        own = self.pool.gpus_per_replica
        return self.backend.gpus(self.engine) if own is None else own

    @property
    def names(self) -> tuple[str, ...]:
        """The model's public name and its aliases, where the pool gives them."""
        return self.pool.served_model_name or ()


def engine_filling(
    pool: Pool[Any], backend: Backend[Any], transport: Transport, choices: Choices, derived: Derivations
) -> Filling[Any]:
    """Return the settings of a pool's engine with the facts about the model filled in."""
    base = ("pools", pool.name)
    filling: Filling[Any] = Filling(pool.engine, (*base, "engine"), choices, derived)
    for fact, key in backend.facts.items():
        value = getattr(pool, fact)
        if value is None:
            continue
        if isinstance(value, tuple) and not spec_of(backend.args, key).many:
            value = value[0]
        filling.tell(key, value, (*base, fact), send=fact not in backend.unheard[transport])
    model = filling[backend.args.positional]
    if model is None:
        own = (*base, "model")
        filling.findings.append(missing(dotted(own), MODEL_HINT, choices.where(own)))
    elif not model.strip():
        path = (*base, "engine", backend.args.positional)
        message = f"expected the model, got {model!r}"
        filling.findings.append(error("SMG007", dotted(path), message, choices.where(path), MODEL_HINT))
    return filling


def together(shapes: Iterable[Shape], choices: Choices) -> list[Finding]:
    """Return what one gateway can not serve together: each pool is held against the first."""
    first, *others = shapes
    return [finding for other in others for finding in _apart(first, other, choices)]


def _apart(first: Shape, other: Shape, choices: Choices) -> list[Finding]:
    one = f"one gateway has one {{}} for all its workers: {dotted(first.path)} has {{!r}}, {dotted(other.path)} {{!r}}"
    differ: list[tuple[str, str, object, object]] = []
    if first.backend is not other.backend:
        differ.append(("backend", "engine", first.backend.name, other.backend.name))
    differ.append(("model", "model", first.model, other.model))
    differ.append(("served_model_name", "public name", list(first.names), list(other.names)))
    for fact in _GATEWAY_FACTS:
        differ.append((fact, fact.replace("_", " "), getattr(first.pool, fact), getattr(other.pool, fact)))
    findings = []

    def refuse(path: Path, message: str, hint: str) -> None:
        findings.append(error("SMG024", dotted(path), message, choices.where(path), hint))

    for key, what, mine, its in differ:
        if mine != its:
            refuse((*other.path, key), one.format(what, mine, its), "make them the same, or make two deployments")
    if first.transport != other.transport:
        message = (
            f"{dotted(first.path)} speaks {first.transport}, {dotted(other.path)} {other.transport}; smg 1.13.0 takes "
            "the engine of all its workers from the first, and a zmq worker behind a grpc one for vLLM"
        )
        refuse((*other.path, "transport"), message, "give both the same transport, or make two deployments")
    elif first.transport == "zmq" and first.ranks != other.ranks:
        message = one.format("number of engines per zmq worker", first.ranks, other.ranks)
        path = (*other.path, "engine", "data_parallel_size")
        refuse(path, message, "give both the same data_parallel_size, or make two deployments")
    return findings


def gateway_filling(
    deployment: Deployment, shapes: Sequence[Shape], urls: tuple[str, ...], choices: Choices, derived: Derivations
) -> Filling[GatewayArgs]:
    """Return the gateway's settings with everything filled in but the metrics port, which keeps clear of all others.

    Args:
        deployment: The deployment.
        shapes: Its pools, which one gateway can serve together.
        urls: The workers' URLs.
        choices: What the operator chose.
        derived: Takes what is filled in.
    """
    filling: Filling[GatewayArgs] = Filling(deployment.gateway.args, GATEWAY, choices, derived)
    first = shapes[0]
    filling.fill("host", "127.0.0.1", "this machine only, until somebody opens it")
    filling.fill("port", command.DEFAULT_PORT, "smg's own, written out so that the address is known")
    filling.fill("worker_urls", urls, "the workers of the pools", *(f"{dotted(s.path)}.port" for s in shapes))
    filling.fill("backend", first.backend.name, "the engine of the pools", f"{dotted(first.path)}.backend")
    if first.transport == "zmq" and first.ranks > 1:
        source = f"{dotted(first.path)}.engine.data_parallel_size"
        filling.fill("zmq_engine_count", first.ranks, "the engines of a worker share one socket set", source)
    _fill_model(filling, first, choices)
    if len(urls) == 1 and not (filling["service_discovery"] or filling["discovery_provider"]):
        _fill_for_one_worker(filling, f"{dotted(first.path)}.replicas")
    if not filling["disable_circuit_breaker"]:
        rule = "a worker that was started again is given requests at once"
        filling.fill("cb_timeout_duration_secs", CIRCUIT_BREAKER_TIMEOUT, rule)
    if first.transport == "zmq" and not filling["disable_health_check"]:
        _fill_for_zmq(filling, f"{dotted(first.path)}.transport")
    if first.transport == "grpc":
        # Measured with smg 1.13.0: at its own 30 s, a worker that comes up after the gateway is seen up to 29 s late.
        rule = "how often the gateway looks whether a worker has come up"
        filling.fill("worker_startup_check_interval", STARTUP_CHECK_INTERVAL, rule, f"{dotted(first.path)}.transport")
    drain = deployment.launch.drain_timeout
    if drain is not None:
        # The gateway ends by itself then, and waits half of it, 5 s at most, for whoever still comes (smg 1.13.0).
        rule = "the time that the gateway has to finish its requests"
        filling.fill("shutdown_grace_period_secs", max(1, math.ceil(drain)), rule, "launch.drain_timeout")
    filling.fill("prometheus_host", "127.0.0.1", "this machine only, until somebody opens it")
    _report_exposure(filling)
    for key in ("pd_disaggregation", "epd_disaggregation"):
        if filling[key]:
            message = "smgcfg starts no workers that only prefill, decode or encode"
            filling.findings.append(filling.placed(error("SMG017", key, message)))
    return filling


def _fill_model(filling: Filling[GatewayArgs], shape: Shape, choices: Choices) -> None:
    """Fill in the model's names, tokenizer, template and parsers.

    Over headless zmq the public name exists in the gateway alone: it is the gateway's model path, and the tokenizer's
    path then says where the files are (measured with smg 1.13.0).
    """
    pool, model = shape.pool, shape.model
    source = (*shape.path, "served_model_name")
    if shape.names:
        name, *aliases = shape.names
        problems = _name_problems(shape.names)
        filling.findings += [error("SMG006", dotted(source), problem, choices.where(source)) for problem in problems]
        filling.tell("model_path", name, source)
        if aliases and not problems:
            filling.tell("model_alias", tuple(f"{alias}={name}" for alias in aliases), source)
    filling.fill("model_path", model, "the model's own name is its public name", dotted((*shape.path, "model")))
    public = filling["model_path"]
    _report_unheard_name(filling, shape, public, choices)
    if public is None and model is not None:
        filling.conflict("model_path", "without a model path the gateway takes no worker", "leave the key alone")
    for fact, key in _GATEWAY_FACTS.items():
        value = getattr(pool, fact)
        if value is not None:
            filling.tell(key, value, (*shape.path, fact))
    if public is not None and public != model:
        rule = "a public name does not say where the tokenizer is; the model has one"
        filling.fill("tokenizer_path", model, rule, dotted((*shape.path, "model")))


def _report_unheard_name(filling: Filling[Any], shape: Shape, public: str | None, choices: Choices) -> None:
    key = "served_model_name"
    own = getattr(shape.engine, key, None)
    if shape.names or own in (None, public) or key not in shape.backend.unheard[shape.transport]:
        return
    path = (*shape.path, "engine", key)
    message = f"over {shape.transport} the gateway does not hear {own!r} from the engine; the public name is {public!r}"
    hint = f"set {dotted((*shape.path, key))} instead"
    filling.findings.append(warning("SMG025", dotted(path), message, choices.where(path), hint))


def _name_problems(names: tuple[str, ...]) -> list[str]:
    """Return what is wrong with the public names of a model."""
    problems = [] if all(map(str.strip, names)) else ["a name can not be blank"]
    twice = [name for at, name in enumerate(names) if name in names[:at] and name.strip()]
    problems += [f"{name!r} stands twice" for name in dict.fromkeys(twice)]
    ended = [alias for alias in names[1:] if "=" in alias]
    return problems + [f"the alias {alias!r} can not hold '=', which ends it on a command line" for alias in ended]


def _fill_for_one_worker(filling: Filling[GatewayArgs], source: str) -> None:
    filling.fill("policy", "passthrough", "one worker leaves nothing to choose", source)
    for key in ("disable_retries", "disable_circuit_breaker"):
        filling.fill(key, True, "one worker leaves nowhere else to go", source)
    policy = filling["policy"] or command.DEFAULT_POLICY
    if policy != "passthrough":
        hint = 'leave it out, or policy = "passthrough"'
        filling.conflict("policy", f"{policy} weighs workers, and there is one", hint)


def _fill_for_zmq(filling: Filling[GatewayArgs], source: str) -> None:
    rule = "the first health check binds a zmq worker's sockets"
    filling.fill("health_check_interval_secs", ZMQ_HEALTH_INTERVAL, rule, source)
    if not filling["remove_unhealthy_workers"]:  # which forgets a worker after so many times ten
        gone = "a zmq worker without its connection can answer nothing"
        filling.fill("health_failure_threshold", ZMQ_HEALTH_FAILURES, gone, source)
    interval = filling["health_check_interval_secs"]
    interval = command.DEFAULT_HEALTH_INTERVAL if interval is None else interval
    if interval > ZMQ_HEALTH_INTERVAL:
        message = f"{rule}, so an engine may wait {interval} s before it can dial"
        filling.conflict("health_check_interval_secs", message, f"leave it out, or set {ZMQ_HEALTH_INTERVAL}")


def _report_exposure(filling: Filling[GatewayArgs]) -> None:
    host = command.DEFAULT_HOST if filling["host"] is None else filling["host"]
    keys = ("api_key", "tenant_api_key", "control_plane_api_keys", "jwt_issuer")
    # What is no address is reported as that, and opens nothing.
    if is_address(host) and not is_private(host) and not any(filling[key] for key in keys):
        filling.conflict("host", f"{host} without an API key is open to the network", "set gateway.api_key")


def fill_metrics_port(filling: Filling[GatewayArgs], taken: PortBook, *, zmq: bool) -> None:
    """Fill in the port of the gateway's metrics: the gateway's own number above 30000, or the next that is free.

    Args:
        filling: The gateway's settings.
        taken: The other ports of the plan.
        zmq: Whether workers derive handshake ports.
    """
    gateway = filling["port"] or command.DEFAULT_PORT
    count = len(METRICS_PORTS)
    own = (METRICS_PORTS[(gateway + step) % count] for step in range(count))
    port = next((port for port in own if port not in taken), None)
    filling.fill(command.METRICS, port, "a port that no other of the plan can take", "gateway.port")
    if port is None and filling[command.METRICS] is None:
        message = f"every port from {METRICS_PORTS.start} to {METRICS_PORTS.stop - 1} is taken by the plan itself"
        filling.findings.append(filling.placed(error("SMG020", command.METRICS, message, hint="choose one")))
        return
    chosen = filling[command.METRICS]
    chosen = command.DEFAULT_METRICS_PORT if chosen is None else chosen
    if zmq and chosen in HANDSHAKE_PORTS:
        band = f"{HANDSHAKE_PORTS.start} to {HANDSHAKE_PORTS.stop - 1}"
        message = f"{chosen} lies among the ports that workers' handshakes take, {band}"
        filling.conflict(command.METRICS, message, "choose a port outside, or leave the key out")
