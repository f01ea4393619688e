"""The command of one worker: what `plan` writes for each of them, and what a harness asks for alone."""

import sys
from collections.abc import Sequence
from typing import Any, Final, get_args

from smgcfg.args import Args, set_settings
from smgcfg.backends import BACKENDS
from smgcfg.backends._base import Backend
from smgcfg.codec import words
from smgcfg.endpoint import SOCKET_PATH_LIMIT, Endpoint, Transport, is_host
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.flags import spec_of
from smgcfg.planning.line import Line, flags_line
from smgcfg.planning.owned import owned_findings
from smgcfg.planning.ports import HIGHEST
from smgcfg.value import Value


class WorkerFlags(Value):
    """The flags of workers that are alike: written once, with a gap for what differs from one to the next.

    Attributes:
        backend: The engine.
        args: Its settings, without the owned ones.
        head: The model.
        tail: The settings that smgcfg sets by default, then the others.
    """

    backend: Backend[Any]
    args: Args
    head: Line
    tail: Line

    @classmethod
    def of(cls, backend: Backend[Any], transport: Transport, args: Args, version: str | None = None) -> "WorkerFlags":
        """Write the flags that do not depend on where a worker stands.

        Args:
            backend: The engine.
            transport: How the gateway talks to it.
            args: The engine's settings, without the owned ones.
            version: Write spellings that this version of the engine has; None writes the newest.

        Raises:
            ConfigError: The version has no spelling for a setting.
        """
        model = backend.args.positional
        elsewhere = {model, *backend.owned[transport]}
        keys = [key for key in set_settings(args) if key not in elsewhere]
        keys.sort(key=lambda key: spec_of(backend.args, key).default is None)
        tail = flags_line(args, keys, version)
        return cls(backend, args, flags_line(args, [model], version), tail + Line(args.extra))

    def at(self, endpoint: Endpoint) -> list[str]:
        """Return the flags of the worker at an endpoint: the model, what follows from the endpoint, the tail."""
        result = [*self.head.words]
        for key, value in self.backend.place(self.args, endpoint).items():
            result += words(spec_of(self.backend.args, key), value)
        result += self.tail.words
        return result


def program_words(
    backend: Backend[Any], transport: Transport, python: str, command: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the words in front of a worker's flags.

    Args:
        backend: The engine.
        transport: How the gateway talks to it.
        python: The interpreter that has the engine.
        command: Words instead of `PYTHON -m MODULE`, or None.
    """
    start = (python, "-m", backend.module[transport]) if command is None else tuple(command)
    return (*start, *backend.words[transport])


def socket_path_finding(endpoint: Endpoint, key: str, hint: str) -> Finding | None:
    """Return a finding where a worker's socket path is longer than the platform takes."""
    for path in endpoint.sockets[-1:]:
        size = len(path.encode("utf-8", "surrogateescape"))
        if size > SOCKET_PATH_LIMIT:
            message = f"the socket path {path!r} has {size} bytes; a Unix socket takes at most {SOCKET_PATH_LIMIT}"
            return error("SMG022", key, message, hint=hint)
    return None


#: What a caller of `worker_command` passes instead of an owned setting, by what `Backend.owned` says for a pool.
_ARGUMENTS: Final = {
    "": "",
    "host": "the argument host",
    "port": "the argument port",
    "launch.run_dir": "the argument run_dir",
}


def worker_command(
    args: Args,
    *,
    port: int,
    transport: Transport = "zmq",
    host: str = "127.0.0.1",
    run_dir: str | None = None,
    python: str = sys.executable,
    command: Sequence[str] | None = None,
) -> list[str]:
    """Return the command of one worker, exactly as a plan has it.

    Args:
        args: The engine's settings, its model among them.
        port: The worker's port; over zmq the number that its sockets and further ports follow from.
        transport: How the gateway talks to it.
        host: The address it listens on; unused over zmq, where engine and gateway share a machine.
        run_dir: The directory of its sockets, an absolute path; wanted for zmq.
        python: The interpreter that has the engine.
        command: Words instead of `PYTHON -m MODULE`.

    Returns:
        The words to run.

    Raises:
        ConfigError: What is wrong: no model, a setting that the launcher decides, settings that do not go together, a
            port or path that can not be.
        TypeError: `args` are of no engine that smgcfg knows.
    """
    if isinstance(command, str):
        raise TypeError(f"expected a list of words, got the text {command!r}")
    backend = _backend_of(args)
    endpoint, findings = _endpoint(transport, host, port, run_dir)
    if transport in backend.transports:
        findings += _args_findings(backend, endpoint, args)
    if errors_in(findings):
        raise ConfigError(findings)
    return [*program_words(backend, transport, python, command), *WorkerFlags.of(backend, transport, args).at(endpoint)]


def worker_url(*, port: int, transport: Transport = "zmq", host: str = "127.0.0.1", run_dir: str | None = None) -> str:
    """Return the URL under which the gateway takes one worker, exactly as a plan has it.

    Args:
        port: The worker's port.
        transport: How the gateway talks to it.
        host: The address it listens on; unused over zmq.
        run_dir: The directory of its sockets, an absolute path; wanted for zmq.

    Raises:
        ConfigError: A port or path that can not be.
    """
    endpoint, findings = _endpoint(transport, host, port, run_dir)
    if findings:
        raise ConfigError(findings)
    return endpoint.url


def _args_findings(backend: Backend[Any], endpoint: Endpoint, args: Args) -> list[Finding]:
    owned = {key: _ARGUMENTS[use] for key, use in backend.owned[endpoint.transport].items()}
    findings = owned_findings(set_settings(args), owned, str)
    model = backend.args.positional
    if not (getattr(args, model) or "").strip():
        findings.append(error("SMG007", model, "a worker needs a model"))
    findings += [error("SMG017", key, why) for key, why in backend.unbuilt(args).items()]
    # The engine's rules are about the whole command line, the owned settings included.
    return findings + args.evolve(**backend.place(args, endpoint)).findings()


def _backend_of(args: Args) -> Backend[Any]:
    for backend in BACKENDS.values():
        if type(args) is backend.args:
            return backend
    raise TypeError(f"expected the settings of an engine, got {type(args).__name__}")


def _endpoint(transport: Transport, host: str, port: int, run_dir: str | None) -> tuple[Endpoint, list[Finding]]:
    findings = []
    if transport not in get_args(Transport):
        findings.append(error("SMG004", "transport", f"expected one of zmq, grpc; got {transport!r}"))
    if not is_host(host):
        findings.append(error("SMG003", "host", f"expected an IP address or the name of a machine, got {host!r}"))
    if not 1 <= port <= HIGHEST:
        findings.append(error("SMG020", "port", f"expected a port, 1 to {HIGHEST}; got {port}"))
    if transport != "zmq":
        return Endpoint(transport, host, port), findings
    if run_dir is None or not run_dir.startswith("/"):
        got = "none" if run_dir is None else repr(run_dir)
        findings.append(error("SMG007", "run_dir", f"a zmq worker needs the absolute path of a directory, got {got}"))
    endpoint = Endpoint(transport, host, port, (run_dir or "").rstrip("/"))
    too_long = socket_path_finding(endpoint, "run_dir", "use a shorter path")
    return endpoint, findings + ([too_long] if too_long else [])
