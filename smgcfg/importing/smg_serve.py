"""`smg serve`: workers and a gateway for them (smg 1.13.0)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from smgcfg.args import Args
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.errors import ConfigError, error
from smgcfg.flags import FlagSpec, flag, spelling_table
from smgcfg.gateway import GatewayArgs, command
from smgcfg.groups import gathered
from smgcfg.importing.outcome import Lost
from smgcfg.importing.parts import Parts, engine_parts
from smgcfg.importing.settings import SMG, Program, Read, parsed, read, without
from smgcfg.importing.smg_launch import defaults, refuse_foreign_workers
from smgcfg.importing.words import Item, Word, refuse, split

#: The flags that it takes out of the engine's words, besides the model.
_DROPPED: Final = frozenset(
    (
        "--headless", "--port", "--dist-init-addr", "--data-parallel-address", "--data-parallel-rpc-port",
        "--zmq-engine-index",
    )
)  # fmt: skip

#: What it adds to the engine's words unless the flag stands there.
_ADDED: Final = {
    "--grammar-backend": ("--grammar-backend", "xgrammar"),
    "--enable-output-logprobs": ("--enable-output-logprobs",),
}

#: Where the gateway listens when nobody says.
_HOST: Final = "127.0.0.1"
_PORT: Final = 8080

_PREFIX: Final = "--router-"


@gathered(kw_only=True)
class ServeFlags(Args):
    """The flags of `smg serve` itself."""

    backend: Literal["sglang", "vllm", "trtllm", "tokenspeed"] | None = flag("the engine", env="SMG_DEFAULT_BACKEND")
    connection_mode: Literal["grpc", "http", "zmq"] | None = flag("how gateway and workers talk")
    servicer_impl: Literal["python", "rust"] | None = flag("what serves gRPC in front of vLLM")
    host: str | None = flag("address of the gateway")
    port: int | None = flag("port of the gateway")
    data_parallel_size: int | None = flag("how many workers", aliases=("--dp-size",))
    worker_host: str | None = flag("address of the workers")
    worker_base_port: int | None = flag("port of the first worker")
    worker_startup_timeout: int | None = flag("seconds a worker may take to answer")
    enable_token_usage_details: bool | None = flag("more details of usage")
    worker_urls: tuple[str, ...] | None = flag("replaced by the workers that are started")
    router_disable_arg_fallback: bool | None = flag("the gateway takes nothing but its own flags")


#: Its own flags that change nothing for a TokenSpeed worker over zmq, each with the reason.
_IDLE: Final = {
    "servicer_impl": "it is about vLLM's workers",
    "enable_token_usage_details": "it has no effect on TokenSpeed",
    "worker_urls": "smg serve puts its own workers in its place",
    "worker_startup_timeout": (
        "smg serve does not wait for workers over zmq; smgcfg stops one that takes longer than startup_timeout"
    ),
}


def smg_serve(words: Sequence[Word], env: Mapping[str, str], program: Program) -> Parts:
    """Read the command of workers and their gateway.

    Args:
        words: The words behind `serve`.
        env: The variables that are set.
        program: The release of the engine.

    Raises:
        ConfigError: smg serve, the engine or the gateway refuse the words, or the engine is not TokenSpeed.
    """
    own_items, gateway_items, engine_words, model = _sorted(words)
    own = parsed(ServeFlags, [word for item in own_items for word in item.spelled(item.name)])
    backend = own.backend or env.get("SMG_DEFAULT_BACKEND") or "sglang"
    if backend != "tokenspeed":
        refuse("SMG017", "--backend", f"smgcfg starts tokenspeed, not {backend}")
    mode = own.connection_mode or "grpc"
    if mode != "zmq":
        message = f"smg serve starts TokenSpeed over zmq alone, and refuses {mode}, its default for other engines"
        refuse("SMG014", "--connection-mode", message, hint="add --connection-mode zmq to the command")
    if model is None:
        refuse("SMG007", "--model", "smg serve takes the engine's model from --model, and here is none")
    parts = _engine(engine_words, model, program)
    found = _read_gateway(gateway_items)
    refuse_foreign_workers(found.args, _PREFIX)
    parts.gateway_from(found, "smg serve tells its gateway by itself what its workers are")
    _gateway(parts, found, own, own_items)
    _idle(parts, own_items)
    parts.pool |= {"replicas": own.data_parallel_size} if own.data_parallel_size is not None else {}
    parts.pool |= {"port": own.worker_base_port} if own.worker_base_port is not None else {}
    parts.pool |= {"host": own.worker_host} if own.worker_host is not None else {}
    if any(word.text == "--" for word in words):
        parts.notes.append(
            "the word -- is left out: smg serve hands it on to the engine, which refuses the flags behind it"
        )
    if directory := env.get("SMG_ZMQ_SOCKET_DIR"):
        parts.launch["run_dir"] = directory
    return parts


def _sorted(words: Sequence[Word]) -> tuple[list[Item], list[Item], list[Word], Word | None]:
    """Return the launcher's own flags, the gateway's, the engine's words, and the model."""
    own, gateway = spelling_table(ServeFlags), _gateway_spellings()
    spellings = {**gateway, **own}
    end = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    own_items: list[Item] = []
    gateway_items: list[Item] = []
    engine: list[Word] = []
    model: Word | None = None
    for item in split(words[:end], spellings, spellings):
        if item.name in own:
            own_items.append(item)
        elif item.name in gateway:
            gateway_items.append(item)
        elif item.name == "--model" and item.value is not None:
            model = Word(item.value, item.words[0].at)
            # Of what may follow the value, `smg serve` keeps the words for the engine.
            engine += item.words[1 if item.glued else 2 :]
        else:
            engine += item.words
    return own_items, gateway_items, [*engine, *words[end + 1 :]], model


def _gateway_spellings() -> dict[str, tuple[FlagSpec, bool]]:
    """Return the gateway's flags as `smg serve` spells them; host and port are the launcher's own."""
    table = spelling_table(GatewayArgs, SMG.version)
    return {
        _prefixed(name): entry for name, entry in table.items() if entry[0].key not in ("host", "port", "worker_urls")
    }


def _prefixed(name: str) -> str:
    return f"--no-router-{name[5:]}" if name.startswith("--no-") else _PREFIX + name[2:]


def _unprefixed(name: str) -> str:
    return "--" + name[len(_PREFIX) :] if name.startswith(_PREFIX) else name.replace("--no-router-", "--no-", 1)


def _read_gateway(items: Sequence[Item]) -> Read:
    """Read the gateway's flags as `smg launch` does, and speak of them as they were written.

    Raises:
        ConfigError: The gateway refuses them.
    """
    try:
        found = read(GatewayArgs, [word for item in items for word in item.spelled(_unprefixed(item.name))], SMG)
    except ConfigError as bad:
        raise ConfigError(
            [error(f.code, _prefixed(f.key) if f.key else "", f.message, f.where, f.hint) for f in bad.findings]
        ) from None
    by_place = {item.words[0].at: item for item in items}
    return found._replace(
        items={key: [by_place[item.words[0].at] for item in of_key] for key, of_key in found.items.items()}
    )


def _engine(words: Sequence[Word], model: Word, program: Program) -> Parts:
    """Return the parts that the workers' words give."""
    there = {word.text.partition("=")[0] for word in words}
    added = [Word(text, model.at) for name, texts in _ADDED.items() if name not in there for text in texts]
    kept: list[Word] = []
    lost: list[Lost] = []
    for item in split(words, spelling_table(TokenspeedArgs)):
        if item.name in _DROPPED or item.name == "--model":
            lost.append(Lost(item.words, "smg serve takes it out of the engine's words; here the plan decides it"))
        else:
            kept += item.words
    command_line = [Word("--model", model.at), model, *added, *kept]
    parts = engine_parts(read(TokenspeedArgs, command_line, program), "zmq", ("zmq_msgpack", "skip_tokenizer_init"))
    # A headless engine sets them by itself.
    parts.owned = {}
    parts.lost[:0] = lost
    return parts


def _gateway(parts: Parts, found: Read, own: ServeFlags, own_items: Sequence[Item]) -> None:
    """Add what `smg serve` tells its gateway besides the gateway's own flags."""
    settings = found.args
    host = _HOST if own.host is None else own.host
    port = _PORT if own.port is None else own.port
    if own.router_disable_arg_fallback:
        reason = "with --router-disable-arg-fallback the gateway does not hear it, and listens where it does by default"
        parts.lose([item for item in own_items if item.name in ("--host", "--port")], reason)
        host, port = command.DEFAULT_HOST, command.DEFAULT_PORT
    single: dict[str, Any] = {}
    if (1 if own.data_parallel_size is None else own.data_parallel_size) <= 1:
        if settings.policy not in (None, "passthrough"):
            parts.lose(found.items["policy"], "smg serve routes to a single worker with passthrough, whatever is said")
        settings = settings.evolve(policy=None)
        single = {"policy": "passthrough", "disable_retries": True, "disable_circuit_breaker": True}
    # What nobody typed need not stand in the file where the plan says the same.
    typed = {key: value for key, value in (("host", host), ("port", port)) if value == getattr(own, key)}
    parts.gateway = without(settings, command.OWNED).evolve(**typed)
    implied = defaults(settings.evolve(host=host)) | single | {"host": host, "port": port}
    parts.implied = {key: value for key, value in implied.items() if getattr(parts.gateway, key) is None}


def _idle(parts: Parts, items: Sequence[Item]) -> None:
    for item in items:
        reason = _IDLE.get(item.spec.key) if item.spec else None
        if reason is not None:
            parts.lose([item], reason)
