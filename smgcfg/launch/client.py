"""Asks a launch over its control socket: see `control` for what can be asked."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

from smgcfg.errors import SmgcfgError, reason_of
from smgcfg.launch.control import short_path

#: How long a launcher that is well may take to answer, in seconds: its loop never waits.
PATIENCE: Final = 3.0


class NoAnswer(SmgcfgError):
    """The launcher is there and does not answer, or does not do what it is asked to."""


@contextmanager
def as_told() -> Iterator[None]:
    """Read what a launcher told: one of another version may tell it in another shape, which is no answer.

    Raises:
        NoAnswer: On leaving, in place of what goes wrong with such a shape.
    """
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise NoAnswer("what the launcher answers can not be read: it may be of another version of smgcfg") from None


@contextmanager
def asked(run_dir: str, question: Mapping[str, object]) -> Iterator[Iterator[dict[str, Any]]]:
    """Ask a launch, and yield what it answers: the first object, then the others as they come.

    Args:
        run_dir: Its run directory.
        question: What to ask.

    Raises:
        NoAnswer: There is no launcher, it does not answer in time, or it refuses; the message says which.
    """
    with closing(_send(run_dir, question)) as connection:
        answers = _answers(connection)
        first = next(answers, None)
        if first is None:
            raise NoAnswer("the launcher ended the connection without an answer")
        if not first.get("ok"):
            raise NoAnswer(str(first.get("error")))
        connection.settimeout(None)
        yield _and_then(first, answers)


def _and_then(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _send(run_dir: str, question: Mapping[str, object]) -> socket.socket:
    import json

    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    try:
        with short_path(run_dir) as path:
            connection.connect(path)
        connection.sendall(json.dumps(question).encode() + b"\n")
    except OSError as problem:
        connection.close()
        raise NoAnswer(f"the launcher can not be asked: {_reason(problem)}") from None
    return connection


def _answers(connection: socket.socket) -> Iterator[dict[str, Any]]:
    import json

    rest = b""
    while True:
        try:
            data = connection.recv(1 << 16)
        except TimeoutError:
            raise NoAnswer(f"the launcher does not answer within {PATIENCE:g} s; the question is withdrawn") from None
        except OSError:
            data = b""
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            with as_told():
                answer = json.loads(line)
                if not isinstance(answer, dict):
                    raise TypeError("no object")
            yield answer


def _reason(problem: OSError) -> str:
    return "it does not take connections" if isinstance(problem, TimeoutError) else reason_of(problem)
