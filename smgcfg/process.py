"""What a plan says about processes: all that is needed to start, watch and stop them, and nothing about engines."""

from typing import Final, Literal

from smgcfg.reference import Reference
from smgcfg.value import Value

Role = Literal["worker", "gateway"]

#: What is printed in place of a secret.
REDACTED: Final = "***"


class Secret(Value):
    """Where a secret stands in a word of an argv.

    Attributes:
        index: The number of the word in the argv, from 0.
        start: Where in the word the secret begins (behind `--flag=`), in characters.
        name: What to call it: the key in capitals, as in `$SMGCFG_SECRET_API_KEY`.
        reference: Where it stands, if it is not in the deployment itself.
    """

    index: int
    start: int
    name: str
    reference: Reference | None = None


class DeathNotice(Value):
    """What to tell the gateway on behalf of a worker that died without a word.

    Attributes:
        socket: The path of the socket that the gateway binds and anybody of the same user may push to.
        frame: The one raw frame to push, after the process is reaped and before its successor starts. The gateway then
            drops the socket, and later binds a new one at the same path.
        handshake: The TCP port on which the gateway waits for the successor, until that has registered.
    """

    socket: str
    frame: bytes
    handshake: int


class Port(Value):
    """A TCP port that a process will listen on.

    Attributes:
        number: The port.
        host: The address it is bound to.
        use: What it is for, in a word: "gateway", "metrics", "worker", "handshake", "dist".
    """

    number: int
    host: str
    use: str


class Readiness(Value):
    """How to tell that a process is ready.

    Attributes:
        seen_by: "gateway": the gateway lists `url` as healthy in `/workers`; "http": `url` answers 200.
        url: The worker's URL as the gateway knows it, or the URL to get.
        timeout: How long a start may take, in seconds.
    """

    seen_by: Literal["gateway", "http"]
    url: str
    timeout: float


class ProcessSpec(Value):
    """One process of a launch, as data.

    Attributes:
        name: The name in messages and in front of its log lines: "gateway", "chat-0".
        role: What it is.
        argv: The words to run.
        ready: How to tell that it is ready.
        env: What is set on top of the launcher's own environment, as sorted pairs.
        secrets: Where `argv` holds secrets.
        secret_env: The names in `env` whose values are secrets.
        env_references: Where those of them stand that are not in the deployment itself.
        stop_order: Lower is stopped earlier; equal numbers stop together.
        start_order: Lower is started earlier; equal numbers start together.
        death_notice: What to tell the gateway when it died, or None.
        ports: The TCP ports it will listen on.
        sockets: The paths of the Unix sockets that exist because of it, removed after a stop.
        gpus: The GPUs it sees, as text, or empty.
    """

    name: str
    role: Role
    argv: tuple[str, ...]
    ready: Readiness
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[Secret, ...] = ()
    secret_env: tuple[str, ...] = ()
    env_references: tuple[tuple[str, Reference], ...] = ()
    stop_order: int = 0
    start_order: int = 0
    death_notice: DeathNotice | None = None
    ports: tuple[Port, ...] = ()
    sockets: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()

    def sourced(self) -> "ProcessSpec":
        """Return the same process with its reference in place of every secret that stands elsewhere."""
        argv, env = list(self.argv), dict(self.env)
        for secret in self.secrets:
            if secret.reference is not None:
                argv[secret.index] = argv[secret.index][: secret.start] + str(secret.reference)
        env |= {name: str(reference) for name, reference in self.env_references}
        return self.evolve(argv=tuple(argv), env=tuple(env.items()))

    def redacted(self) -> "ProcessSpec":
        """Return the same process with `***` for every secret, or with its reference."""
        argv, env = list(self.sourced().argv), dict(self.env)
        for secret in self.secrets:
            if secret.reference is None:
                argv[secret.index] = argv[secret.index][: secret.start] + REDACTED
        env |= dict.fromkeys(self.secret_env, REDACTED)
        env |= {name: str(reference) for name, reference in self.env_references}
        return self.evolve(argv=tuple(argv), env=tuple(env.items()))

    @property
    def unread(self) -> tuple[Reference, ...]:
        """The references that are not read: the process can not be started like this."""
        references = [secret.reference for secret in self.secrets] + [reference for _, reference in self.env_references]
        return tuple(reference for reference in references if reference is not None and reference.text is None)

    def __repr__(self) -> str:
        return Value.__repr__(self.redacted())


class LaunchSettings(Value):
    """How the launcher itself behaves, from the `[launch]` table.

    Attributes:
        grace: Seconds a process has between being asked to stop and being killed.
        drain_timeout: Seconds the gateway has, when the launch is stopped, to finish its requests.
        restart: What follows when a process fails after the launch was ready: "on-failure" starts it again, "never"
            ends the launch.
        restart_budget: How many restarts one process has within the window; the failure after those ends the launch.
        restart_window: The window, in seconds.
        restart_backoff_max: The longest wait before a restart, in seconds.
        stable_after: Seconds after which a process that is ready counts as stable: its next restart comes at once.
        unhealthy_after: Seconds after which a process that does not respond is replaced; 0 never.
        check_listeners: Whether a port of a process must be listened on by the process itself.
        own_sessions: Whether each process has a session of its own, and not only a process group.
        log_dir: The directory of the log files, one for each process, or None for no files.
        log_max_bytes: The size at which a log file is put aside.
        log_backups: How many log files of a process are kept that were put aside.
    """

    grace: float = 30.0
    drain_timeout: float = 30.0
    restart: Literal["on-failure", "never"] = "on-failure"
    restart_budget: int = 5
    restart_window: float = 600.0
    restart_backoff_max: float = 60.0
    stable_after: float = 300.0
    unhealthy_after: float = 120.0
    check_listeners: bool = True
    own_sessions: bool = True
    log_dir: str | None = None
    log_max_bytes: int = 64 << 20
    log_backups: int = 3


class Plan(Value):
    """A whole launch, as data: the same inputs give the same plan, byte for byte.

    Attributes:
        name: The deployment's name.
        run_dir: The directory of its sockets; made 0700 by whoever launches.
        url: Where the gateway answers.
        model: The public name of the model.
        gateway: The gateway's process.
        workers: The workers' processes, in file order.
        settings: How to launch.
        api_key: The key that `/workers` of the gateway wants, or None.
        request_key: The key that requests to the gateway want, or None.
    """

    name: str
    run_dir: str
    url: str
    model: str
    gateway: ProcessSpec
    workers: tuple[ProcessSpec, ...]
    settings: LaunchSettings
    api_key: str | None = None
    request_key: str | None = None

    @property
    def processes(self) -> tuple[ProcessSpec, ...]:
        """The gateway and the workers."""
        return (self.gateway, *self.workers)

    def __repr__(self) -> str:
        keys = {name: REDACTED for name in ("api_key", "request_key") if getattr(self, name) is not None}
        return Value.__repr__(self.evolve(**keys))
