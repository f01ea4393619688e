"""From settings to processes: the words, the environment and what supervision has to know of each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from smgcfg.args import set_settings
from smgcfg.codec import Refused, word
from smgcfg.config import Gateway, is_secret_name
from smgcfg.endpoint import DEATH_FRAME, LOOPBACK, Endpoint
from smgcfg.errors import Finding, error
from smgcfg.flags import keys_of, spec_of, specs_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.planning.derive import Shape
from smgcfg.planning.filling import Choices
from smgcfg.planning.line import Line, flags_line
from smgcfg.planning.placeholders import Template, template
from smgcfg.planning.ports import HANDSHAKE
from smgcfg.planning.worker import WorkerFlags, program_words
from smgcfg.process import DeathNotice, Port, ProcessSpec, Readiness
from smgcfg.reference import VARIABLE, Reference, Text
from smgcfg.rules import covering
from smgcfg.schema import Path, dotted
from smgcfg.value import Value

#: The gateway stops first: it lets its requests run out, and must not see its workers die.
STOP_GATEWAY: Final = 0
STOP_WORKERS: Final = 1


class Slot(Value):
    """The place of one worker.

    Attributes:
        name: The worker's name.
        pool: Its pool's name.
        index: Its number in the pool, from 0.
        endpoint: Where the gateway reaches it.
        gpus: The GPUs it sees.
    """

    name: str
    pool: str
    index: int
    endpoint: Endpoint
    gpus: tuple[str, ...]

    def placeholders(self) -> dict[str, str]:
        """Return what fills the placeholders in the words around its command."""
        return {
            "index": str(self.index),
            "name": self.name,
            "port": str(self.endpoint.port),
            "gpus": ",".join(self.gpus),
            "run_dir": self.endpoint.run_dir,
        }


class Surroundings(Value):
    """What an operator writes around the command of a process.

    Attributes:
        wrapper: Words in front of the command.
        command: Words instead of the derived program, or None.
        env: Environment variables.
    """

    wrapper: tuple[Template, ...]
    command: tuple[Template, ...] | None
    env: tuple[tuple[str, Template | Reference], ...]

    def program(self, derived: Sequence[str], values: Mapping[str, str]) -> list[str]:
        """Return the words in front of the subcommand or flags.

        Args:
            derived: The program where the operator gives no command.
            values: What fills the placeholders.
        """
        words = derived if self.command is None else [word.fill(values) for word in self.command]
        return [*(word.fill(values) for word in self.wrapper), *words]

    def environment(self, derived: Mapping[str, Text], values: Mapping[str, str]) -> dict[str, Text]:
        """Return the environment: what is derived, and on top of it what the operator sets."""
        own = {name: text if isinstance(text, Reference) else text.fill(values) for name, text in self.env}
        return dict(sorted({**derived, **own}.items()))


def surroundings(
    source: Any, known: Sequence[str], base: Path, choices: Choices, findings: list[Finding]
) -> Surroundings:
    """Read the words around a command.

    Args:
        source: A pool or the gateway.
        known: The placeholders that its words may hold.
        base: The table it stands in.
        choices: Where its words were set.
        findings: Takes what is wrong with them.
    """

    def read(text: str, path: Path) -> Template:
        try:
            return template(text, known)
        except Refused as refused:
            findings.append(error(refused.code, dotted(path), str(refused), choices.where(path), refused.hint))
            return Template((text,))

    for key in ("wrapper", "command"):
        words = getattr(source, key) or ("a program",)
        if not words[0].strip():
            path = (*base, key)
            message = f"expected a program and its words, got {words[0]!r} for the program"
            findings.append(error("SMG003", dotted(path), message, choices.where(path)))
    for name, _ in source.env:
        if not VARIABLE.fullmatch(name):
            path = (*base, "env", name)
            message = "an environment variable's name is letters, digits and '_', and begins with no digit"
            findings.append(error("SMG006", dotted(path), message, choices.where(path)))
    return Surroundings(
        tuple(read(word, (*base, "wrapper")) for word in source.wrapper or ()),
        None if source.command is None else tuple(read(word, (*base, "command")) for word in source.command),
        tuple(
            (name, text if isinstance(text, Reference) else read(text, (*base, "env", name)))
            for name, text in source.env
        ),
    )


def worker_processes(shape: Shape, slots: Iterable[Slot], around: Surroundings, python: str) -> Iterator[ProcessSpec]:
    """Return the processes of a pool's workers.

    Args:
        shape: The pool.
        slots: The places of its workers.
        around: The words around their commands.
        python: The interpreter, where the pool names none.
    """
    pool = shape.pool
    version = covering(pool.engine_version, shape.backend.versions)
    flags = WorkerFlags.of(shape.backend, shape.transport, shape.engine, version)
    derived = program_words(shape.backend, shape.transport, pool.python or python, None)
    behind = shape.backend.words[shape.transport]
    start = derived[: len(derived) - len(behind)]
    for slot in slots:
        endpoint, values = slot.endpoint, slot.placeholders()
        argv = [*around.program(start, values), *behind, *flags.at(endpoint)]
        derived_env = {"CUDA_VISIBLE_DEVICES": values["gpus"], "PYTHONUNBUFFERED": "1"}
        env, secret_env, references = _entries(around.environment(derived_env, values))
        yield ProcessSpec(
            name=slot.name,
            role="worker",
            argv=tuple(argv),
            env=env,
            secrets=flags.tail.behind(len(argv) - len(flags.tail.words)),
            secret_env=secret_env,
            env_references=references,
            ready=Readiness(seen_by="gateway", url=endpoint.url, timeout=pool.startup_timeout),
            stop_order=STOP_WORKERS,
            death_notice=_death_notice(endpoint),
            ports=tuple(shape.backend.ports(shape.engine, endpoint).values()),
            sockets=endpoint.sockets,
            gpus=slot.gpus,
        )


def _death_notice(endpoint: Endpoint) -> DeathNotice | None:
    """Return what to tell the gateway when the worker at an endpoint died; None where it notices by itself."""
    if endpoint.handshake is None:
        return None
    return DeathNotice(endpoint.sockets[1], DEATH_FRAME, endpoint.handshake)


def gateway_process(
    gateway: Gateway, args: GatewayArgs, slots: Iterable[Slot], around: Surroundings, run_dir: str, python: str
) -> ProcessSpec:
    """Return the process of the gateway.

    Args:
        gateway: How it is started.
        args: The gateway's settings, everything filled in.
        slots: The places of its workers, whose handshakes it waits for.
        around: The words around its command.
        run_dir: The directory of the sockets.
        python: The interpreter, where the deployment names none.
    """
    url, ports = command.gateway_url(args), command.gateway_ports(args)
    values = {"name": "gateway", "port": str(ports["port"].number), "run_dir": run_dir}
    version = covering(gateway.version, command.VERSIONS)
    hidden = by_environment(args)
    line = flags_line(args, (key for key in keys_of(GatewayArgs) if key not in hidden), version) + Line(args.extra)
    program = around.program((gateway.python or python, "-m", *command.WORDS), values)
    handshakes = [slot.endpoint.handshake for slot in slots]
    variables = dict(hidden.values())
    known = {spec.env for spec in specs_of(GatewayArgs) if spec.secret} if gateway.env else set()
    env, secret_env, references = _entries(
        around.environment({"PYTHONUNBUFFERED": "1", **variables}, values), known | variables.keys()
    )
    return ProcessSpec(
        name="gateway",
        role="gateway",
        argv=(*program, *line.words),
        env=env,
        secrets=line.behind(len(program)),
        secret_env=secret_env,
        env_references=references,
        ready=Readiness(seen_by="http", url=f"{url}/liveness", timeout=gateway.startup_timeout),
        stop_order=STOP_GATEWAY,
        ports=(*ports.values(), *(Port(number, LOOPBACK, HANDSHAKE) for number in handshakes if number is not None)),
    )


def by_environment(args: GatewayArgs) -> dict[str, tuple[str, Text]]:
    """Return the settings that a gateway gets by its environment, where `ps` shows nothing of them.

    These are the secrets, and what else stands elsewhere, for which smg (1.10.1 and 1.13.0) reads a variable.

    Args:
        args: The gateway's settings.

    Returns:
        Per setting the variable and its value.
    """
    result: dict[str, tuple[str, Text]] = {}
    for key, value in set_settings(args).items():
        spec = spec_of(GatewayArgs, key)
        if spec.env and (spec.secret or isinstance(value, Reference)):
            result[key] = (spec.env, value)
    return result


def _entries(
    env: Mapping[str, Text], known: Collection[str] = ()
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], tuple[tuple[str, Reference], ...]]:
    """Return the entries of an environment, the names of those that are secret, and the references among them.

    Secret is what a secret setting is read from, what stands elsewhere, and what has a name that says so.
    """
    references = {name: value for name, value in env.items() if isinstance(value, Reference)}
    secret = [name for name in env if name in known or name in references or is_secret_name(name)]
    return tuple((name, word(value)) for name, value in env.items()), tuple(secret), tuple(references.items())
