"""A deployment as typed values: what a deployment file says once every source is read."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final, Generic, Literal, TypeVar

import attrs

from smgcfg.args import Args, check_settings
from smgcfg.codec import Refused, brief
from smgcfg.errors import ConfigError, Finding, error
from smgcfg.flags import flag, keys_of
from smgcfg.gateway import GatewayArgs
from smgcfg.groups import Settings, gathered
from smgcfg.origin import Origin
from smgcfg.reference import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot

A = TypeVar("A", bound=Args)

Transport = Literal["zmq", "grpc"]
Pairs = tuple[tuple[str, Text], ...]

#: What a deployment's and a pool's name may be: they become file names, log prefixes and command-line words.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

#: How a pool says what its engine loads.
MODEL_HINT: Final = 'model = "a path or a name"'

#: How long anything may be waited for, in seconds: a third of a year. What is more, as infinity, is a mistake.
SECONDS: Final = (0, 10_000_000)

#: How a GPU is named: a number, a range of numbers, or the name of a device or of a part of one.
_GPU: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?|[A-Za-z][^,\s]*")

#: The worker port of the first pool when it names none. Above the handshake band 20000..29999 of smg 1.13.0.
FIRST_WORKER_PORT: Final = 31000


#: How the name of a file ends that stands for a version: the flag table of a release that does not ship.
RELEASE_SUFFIX: Final = ".snapshot.json"


class _Table(Settings):
    """What the tables have in common: their settings are checked when they are made."""

    __slots__ = ()

    def _check(self, given: Collection[str]) -> None:
        _raise(check_settings(self, given))


@gathered(kw_only=True)
class Pool(_Table, Generic[A]):
    """Workers that are alike: one engine, one model, one set of engine settings.

    Attributes:
        name: The table's name; worker i is `<name>-<i>`.
        engine: The engine's settings.
        env: Extra environment of the workers, as sorted pairs; placeholders are filled.
        release: The flag table that `engine_version` names, where it names a file; read when the sources are.

    The other attributes are the keys of `[pools.<name>]`; their declarations say what each is.
    """

    name: str
    engine: A
    env: Pairs = ()
    release: "Snapshot | None" = None

    backend: str = flag("the engine: tokenspeed")
    transport: Transport | None = flag("how the gateway talks to the workers; the backend's own by default")
    model: str | None = flag("the model: a path or a name the engine can fetch", reads="nonempty")
    served_model_name: tuple[str, ...] | None = flag("the public name, then its aliases", least=1)
    tokenizer: str | None = flag("the tokenizer, where it is not the model's own", reads="nonempty")
    reasoning_parser: str | None = flag("how the reasoning part of an answer is found", reads="nonempty")
    tool_call_parser: str | None = flag("how tool calls are found in an answer", reads="nonempty")
    chat_template: str | None = flag("a chat template file, where it is not the model's own", reads="nonempty")
    replicas: int = flag("how many workers", default=1, bounds=(1, None))
    host: str = flag("the address the workers listen on", default="127.0.0.1", reads="nonempty")
    port: int | None = flag("the first worker's port; worker i gets port + i", bounds=(1, 65535))
    gpus: tuple[str, ...] | None = flag("the GPUs of the pool, sliced among its workers")
    gpus_per_replica: int | None = flag("GPUs of one worker, where the engine settings do not tell", bounds=(0, None))
    python: str | None = flag("the interpreter that has the engine", reads="nonempty")
    wrapper: tuple[str, ...] | None = flag("words in front of the command", reads="raw")
    command: tuple[str, ...] | None = flag("words instead of PYTHON -m MODULE", least=1, reads="raw")
    startup_timeout: float = flag("seconds a worker may take to become ready", default=1800.0, bounds=SECONDS)
    engine_version: str | None = flag("the engine's version, or the file of one", reads="nonempty")


@gathered(kw_only=True)
class Gateway(_Table):
    """The gateway: its own settings, and how to start it.

    Attributes:
        args: The settings of `smg launch`.
        env: Extra environment, as sorted pairs; placeholders are filled.
        release: The flag table that `version` names, where it names a file; read when the sources are.

    The other attributes are the reserved keys of `[gateway]`.
    """

    args: GatewayArgs = attrs.Factory(GatewayArgs)
    env: Pairs = ()
    release: "Snapshot | None" = None

    python: str | None = flag("the interpreter that has the gateway", reads="nonempty")
    wrapper: tuple[str, ...] | None = flag("words in front of the command", reads="raw")
    command: tuple[str, ...] | None = flag("words instead of PYTHON -m smg launch", least=1, reads="raw")
    version: str | None = flag("the gateway's version, or the file of one", reads="nonempty")
    startup_timeout: float = flag("seconds the gateway may take to answer", default=60.0, bounds=SECONDS)


@gathered(kw_only=True)
class Launch(_Table):
    """How smgcfg itself behaves: the keys of `[launch]`."""

    grace: float = flag("seconds between asking a process to stop and killing it", default=30.0, bounds=SECONDS)
    drain_timeout: float | None = flag(
        "seconds the gateway has to finish its requests when it is stopped; 30 unless it is told otherwise itself",
        bounds=SECONDS,
    )
    restart: Literal["on-failure", "never"] = flag(
        "whether a process that fails once the launch was ready is started again", default="on-failure"
    )
    restart_budget: int = flag("how often one process is started again within the window", default=5, bounds=(0, None))
    restart_window: float = flag("the window of the budget, in seconds", default=600.0, bounds=SECONDS)
    restart_backoff_max: float = flag("the longest wait before a restart, in seconds", default=60.0, bounds=SECONDS)
    stable_after: float = flag(
        "seconds a process has to be ready for its next restart to come at once", default=300.0, bounds=SECONDS
    )
    unhealthy_after: float = flag(
        "seconds after which a process that does not respond is replaced; 0 never", default=120.0, bounds=SECONDS
    )
    check_listeners: bool = flag(
        "whether a port must be listened on by the very process it is meant for, or what that started", default=True
    )
    own_sessions: bool = flag(
        "whether each process has a session of its own; false keeps all in the launcher's, for a batch system that "
        "tracks a job by its session",
        default=True,
    )
    run_dir: str | None = flag("the directory of the sockets, instead of the derived one", reads="nonempty")
    verify: Literal["off", "warn", "require"] | None = flag(
        "what a promise that is broken before the launch is ready leads to; require with stand-ins, else warn"
    )
    log_dir: str | None = flag("a directory for log files, one for each process", reads="nonempty")
    log_max_bytes: int = flag("the size at which a log file is put aside", default=64 << 20, bounds=(1 << 16, None))
    log_backups: int = flag("how many files of a process are kept that were put aside", default=3, bounds=(0, 1000))


@gathered(kw_only=True)
class Deployment(_Table):
    """A whole deployment.

    Attributes:
        name: Names the run directory.
        pools: The pools, in file order.
        gateway: The gateway.
        launch: How smgcfg behaves.
        unset: The settings of engines and gateway that were unset, by path, as `("gateway", "policy")`: the plan gives
            them no value of its own.

    Raises:
        ConfigError: A name can not be a file name, two pools have one name, or what is unset is no setting.
    """

    name: str
    pools: tuple[Pool[Any], ...]
    gateway: Gateway = attrs.Factory(Gateway)
    launch: Launch = attrs.Factory(Launch)
    unset: tuple[tuple[str, ...], ...] = ()

    def unset_in(self, *table: str) -> list[str]:
        """Return the settings of a table that were unset.

        Args:
            table: The path of the table, as `"pools", "chat", "engine"`.
        """
        return [path[-1] for path in self.unset if path[:-1] == table]

    def _check(self, given: Collection[str]) -> None:
        findings = [bad_name("name", self.name)] if not NAME.fullmatch(self.name) else []
        findings += [bad_name(f"pools.{p.name}", p.name) for p in self.pools if not NAME.fullmatch(p.name)]
        names = [pool.name for pool in self.pools]
        findings += [
            error("SMG009", f"pools.{n}", "two pools of one name") for n in sorted(set(names)) if names.count(n) > 1
        ]
        tables: dict[tuple[str, ...], type[Args]] = {("gateway",): GatewayArgs}
        tables |= {("pools", pool.name, "engine"): type(pool.engine) for pool in self.pools}
        findings += [
            error("SMG002", ".".join(path), "no setting that can be unset")
            for path in self.unset
            if path[:-1] not in tables or path[-1] not in keys_of(tables[path[:-1]])
        ]
        _raise(findings)


@gathered(kw_only=True)
class Variable(Settings):
    """One environment variable of an `env` table: declared like a setting, so that it is checked like one."""

    value: Text = flag("the text of an environment variable", default="", reads="raw")
    secret: Text = flag("the text of one whose name says that it is a secret", default="", reads="raw", secret=True)


#: Words in the name of an environment variable that make its value a secret.
_SECRET_WORDS: Final = frozenset(
    ("KEY", "KEYS", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS")
)


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or a setting says that its value is a secret."""
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def _raise(findings: list[Finding]) -> None:
    if findings:
        raise ConfigError(findings)


def name_list(value: object) -> object:
    """Return one name as a list of one; anything else as it is."""
    return [value] if isinstance(value, str) else value


def gpu_list(value: object) -> list[str]:
    """Return GPUs as a list of text: `[0, 1]` and `"0-3,6"` too.

    Args:
        value: A list of numbers or of names (UUIDs, MIG names), or text of numbers, ranges and names with commas.

    Raises:
        Refused: An item is no GPU.
    """
    if isinstance(value, str):
        return [gpu for item in value.split(",") for gpu in _gpus(item.strip())]
    items = value if isinstance(value, list | tuple) else [value]
    return [gpu for item in items for gpu in _gpus(item)]


def _gpus(item: object) -> Iterable[str]:
    """Return the GPUs that one item of a list names: a number, a range or a name."""
    text = str(item) if type(item) is int and 0 <= item < 1_000_000 else item
    span = _GPU.fullmatch(text) if isinstance(text, str) else None
    if span is None or (span[2] and int(span[1]) > int(span[2])):
        hint = 'as in "0-3,6", [0, 1] or a UUID'
        raise Refused("SMG003", f"expected numbers, ranges or names of GPUs, got {brief(item)}", hint)
    return map(str, range(int(span[1]), int(span[2]) + 1)) if span[2] else [span[0]]


def missing(key: str, hint: str, where: Origin | None = None) -> Finding:
    """Return the finding for a required key that is not there."""
    return error("SMG007", key, "a required key is missing", where, hint)


def bad_name(key: str, name: str) -> Finding:
    """Return the finding for a name that can not be a file name."""
    allowed = "letters, digits, '.', '_' and '-', a letter or digit first, at most 64 characters"
    return error("SMG003", key, f"expected a name of {allowed}; got {name!r}")
