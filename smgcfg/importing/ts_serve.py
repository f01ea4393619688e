"""`ts serve`: an engine behind gRPC and a gateway in front of it (TokenSpeed 0.1.0 and 0.1.1)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from smgcfg.args import Args
from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.flags import flag, spelling_table
from smgcfg.gateway import GatewayArgs
from smgcfg.groups import gathered
from smgcfg.importing.headless import ORCHESTRATOR
from smgcfg.importing.model_families import FAMILIES, family_of
from smgcfg.importing.outcome import Lost
from smgcfg.importing.parts import Parts, engine_parts
from smgcfg.importing.settings import BUNDLED_SMG, Program, parsed, read
from smgcfg.importing.smg_launch import refuse_foreign_workers
from smgcfg.importing.words import Item, Word, refuse
from smgcfg.suggest import did_you_mean

#: Spellings that it changes before it looks at them.
_ALIASES: Final = {"--model-path": "--model", "--tp": "--tensor-parallel-size"}

#: Where a flag goes; every other flag goes to the engine where the engine has it, else to the gateway.
_BOTH: Final = ("--model", "--reasoning-parser")
_GATEWAY: Final = ("--host", "--port", "--chat-template", "--tool-call-parser")
_WANT_VALUE: Final = (*_BOTH, *_GATEWAY, "--tensor-parallel-size", *ORCHESTRATOR)

_CACHES: Final = ("--tokenizer-cache-enable-l0", "--tokenizer-cache-enable-l1")

#: What an engine and its gateway may send each other, unless the variable is set.
_MESSAGE_LIMIT: Final = ("TOKENSPEED_GRPC_MAX_MESSAGE_BYTES", "536870912")


class Release(NamedTuple):
    """What differs from one TokenSpeed to the next.

    Attributes:
        startup_timeout: Seconds that the engine may take to start.
        lists: The flags that keep more than one value.
        load_monitoring: Load monitoring stays on, whatever the policy.
        families: The model families whose parsers it knows.
    """

    startup_timeout: int
    lists: tuple[str, ...]
    load_monitoring: bool
    families: tuple[str, ...]


_RELEASES: Final = {
    "0.1.0": Release(
        1800,
        ("--cudagraph-capture-sizes", "--prefill-graph-capture-sizes"),
        True,
        ("deepseek_v4", "glm_dsa", "inkling"),
    ),
    "0.1.1": Release(
        3600,
        (
            "--cudagraph-capture-sizes", "--prefill-graph-capture-sizes", "--prefill-graph-capture-token-sizes",
            "--prefill-graph-capture-batch-sizes",
        ),
        False,
        tuple(FAMILIES),
    ),
}  # fmt: skip


@gathered(kw_only=True)
class OrchestratorFlags(Args):
    """The flags that `ts serve` keeps for itself."""

    engine_startup_timeout: int | None = flag("seconds the engine may take to start", bounds=(1, None))
    gateway_startup_timeout: int | None = flag("seconds the gateway may take to start", bounds=(1, None))
    drain_timeout: int | None = flag("seconds between asking a process to stop and killing it", bounds=(1, None))
    control_port: int | None = flag("port of the control server", bounds=(1, None))


def ts_serve(
    words: Sequence[Word], env: Mapping[str, str], program: Program, read_config: Callable[[str], Mapping[str, Any]]
) -> Parts:
    """Read the command of an engine and its gateway.

    Args:
        words: The words behind `serve`.
        env: The variables that are set.
        program: The release of TokenSpeed.
        read_config: Returns the contents of a model's `config.json`, or nothing where it can not be read.

    Raises:
        ConfigError: ts serve, the engine or the gateway refuse the words.
    """
    release = _RELEASES[program.version]
    routed = _Routed(program)
    for item in _items(words, release):
        routed.take(item)
    found = read(TokenspeedArgs, routed.engine, program)
    gateway = read(GatewayArgs, routed.gateway, BUNDLED_SMG)
    refuse_foreign_workers(gateway.args)
    own = parsed(OrchestratorFlags, routed.own)
    engine, args = _with_family(found.args, gateway.args, release, read_config)
    parts = engine_parts(found._replace(args=engine), "grpc", BACKENDS["tokenspeed"].owned["grpc"])
    parts.gateway_from(gateway._replace(args=args), "the plan tells the gateway what its workers are")
    parts.release = BUNDLED_SMG
    parts.lost += routed.lost
    parts.implied = {
        key: value for key, value in _implied(args, routed.caches, release).items() if getattr(args, key) is None
    }
    _lifecycle(parts, own, release, routed.own)
    name, limit = _MESSAGE_LIMIT
    parts.worker_env[name] = parts.gateway_env[name] = env.get(name, limit)
    if module := env.get("TS_SERVE_ENGINE_MODULE"):
        reason = f"the plan runs {BACKENDS['tokenspeed'].module['grpc']}; another program is pools.main.command"
        parts.lost.append(Lost((Word(f"TS_SERVE_ENGINE_MODULE={module}", 0),), reason))
    return parts


def _items(words: Sequence[Word], release: Release) -> list[Item]:
    """Return the flags with their values, as `ts serve` takes them apart; a leading word is the model."""
    items: list[Item] = []
    at = 0
    if words and not words[0].text.startswith("--"):
        items.append(Item("--model", (Word("--model", words[0].at), words[0])))
        at = 1
    while at < len(words):
        word = words[at]
        if not word.text.startswith("--"):
            refuse("SMG011", "", "ts serve takes a word without a flag only in front, as the model", word)
        name, glued, text = word.text.partition("=")
        name = _ALIASES.get(name, name)
        end = at + 1
        values = [Word(text, word.at)] if glued else []
        most = (1 << 30) if name in release.lists else 1
        while not glued and end < len(words) and len(values) < most and not words[end].text.startswith("--"):
            values.append(words[end])
            end += 1
        if name in _WANT_VALUE and not values:
            refuse("SMG011", name, "ts serve wants a value behind it", word)
        items.append(Item(name, (Word(name, word.at), *values)))
        at = end
    if words and not words[0].text.startswith("--") and sum(item.name == "--model" for item in items) > 1:
        refuse("SMG009", "--model", "the model stands in front already", words[0])
    return items


class _Routed:
    """The words of each process, as `ts serve` sends them.

    Attributes:
        engine: The engine's words.
        gateway: The gateway's words.
        own: The orchestrator's words.
        caches: The tokenizer caches that were turned off.
        lost: What none of them takes.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._of_engine = spelling_table(TokenspeedArgs, program.version)
        self._of_any_engine = spelling_table(TokenspeedArgs)
        self._of_gateway = spelling_table(GatewayArgs, BUNDLED_SMG.version)
        self.engine: list[Word] = []
        self.gateway: list[Word] = []
        self.own: list[Word] = []
        self.caches: set[str] = set()
        self.lost: list[Lost] = []

    def take(self, item: Item) -> None:
        """Send a flag where it goes."""
        name = item.name
        if name in ORCHESTRATOR:
            self.own += item.words
        elif name in _BOTH:
            self.engine += item.words
            self.gateway += item.words
        elif name.startswith("--no-") and "--" + name[5:] in _CACHES:
            self.caches.add("--" + name[5:])
        elif name not in _GATEWAY and name in self._of_engine:
            self.engine += item.words
        elif any(known.startswith(name) for known in self._of_gateway):
            self.gateway += item.words
        elif name in self._of_any_engine:
            # `ts serve` would send it to the gateway, which refuses it; which release took it is known here.
            self.engine += item.words
        else:
            near = did_you_mean(name, [*self._of_engine, *self._of_gateway])
            reason = f"neither {self._program} nor its gateway has such a flag"
            self.lost.append(Lost(item.words, reason + (f"; {near}" if near else "")))


def _with_family(
    engine: TokenspeedArgs, gateway: GatewayArgs, release: Release, read_config: Callable[[str], Mapping[str, Any]]
) -> tuple[TokenspeedArgs, GatewayArgs]:
    """Add the parsers of the model's family where nobody chose any."""
    family = family_of(engine.model or "", release.families, read_config)
    if family is None:
        return engine, gateway
    if engine.reasoning_parser is None and gateway.reasoning_parser is None:
        engine = engine.evolve(reasoning_parser=family.reasoning_parser)
        gateway = gateway.evolve(reasoning_parser=family.reasoning_parser)
    if gateway.tool_call_parser is None:
        gateway = gateway.evolve(tool_call_parser=family.tool_call_parser)
    wanted = family.attention_backend
    if wanted and engine.attention_backend is None:
        engine = engine.evolve(attention_backend=wanted)
    elif wanted and engine.attention_backend != wanted:
        message = f"ts serve refuses {engine.attention_backend!r} for this model on NVIDIA GPUs; it takes {wanted}"
        refuse("SMG014", "--attention-backend", message)
    return engine, gateway


def _implied(gateway: GatewayArgs, caches_off: set[str], release: Release) -> dict[str, Any]:
    """Return what `ts serve` adds to the gateway's words."""
    implied: dict[str, Any] = {
        "host": "0.0.0.0",
        "port": 8000,
        "reasoning_parser": "passthrough",
        "disable_circuit_breaker": True,
        "disable_retries": True,
        "policy": "passthrough",
        "log_level": "warn",
    }
    if not (release.load_monitoring or gateway.policy == "cache_aware"):
        implied["disable_load_monitoring"] = True
    implied |= {flag[2:].replace("-", "_"): True for flag in _CACHES if flag not in caches_off}
    return implied


def _lifecycle(parts: Parts, own: OrchestratorFlags, release: Release, words: Sequence[Word]) -> None:
    parts.pool["startup_timeout"] = float(own.engine_startup_timeout or release.startup_timeout)
    if own.gateway_startup_timeout is not None:
        parts.around["startup_timeout"] = float(own.gateway_startup_timeout)
    if own.drain_timeout is not None:
        parts.launch["grace"] = float(own.drain_timeout)
    server = "ts serve runs a control server beside the gateway; a deployment has none"
    if own.control_port is None:
        parts.notes.append(server)
    else:
        at = max(at for at, word in enumerate(words) if word.text == "--control-port")
        parts.lost.append(Lost(tuple(words[at : at + 2]), server))
