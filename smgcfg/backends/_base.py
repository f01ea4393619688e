"""What smgcfg knows of an engine: one frozen value per backend."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from smgcfg.args import Args
from smgcfg.endpoint import Endpoint, Transport
from smgcfg.process import Port
from smgcfg.value import Value

A = TypeVar("A", bound=Args)


class Promise(Value):
    """Something the API promises that only holds with the right engine setting.

    Attributes:
        what: What is promised, in the API's words.
        key: The engine's setting.
        kept: Whether a value of it keeps the promise.
    """

    what: str
    key: str
    kept: Callable[[Any], bool]


class Backend(Value, Generic[A]):
    """One engine.

    Attributes:
        name: The word after `backend =`.
        title: The engine's own name, for messages.
        distribution: The package that brings it.
        args: The class of its settings.
        transports: The transports it speaks, the default one first.
        module: Per transport the module that `PYTHON -m` runs.
        words: Per transport the words behind the module, before any flag.
        owned: Per transport the settings that the plan decides, each with the key an operator uses instead: a key of
            the pool, a dotted path, or an empty text where there is none.
        facts: Facts about the model that stand on the pool, each with the engine setting that says the same.
        unheard: Per transport the facts that nobody would hear from the engine, so that they are not sent to it.
        place: The values that follow from an endpoint for a worker with these settings, in the order they are written:
            those of the owned settings, and of others that it can not do without and nobody set.
        ports: The ports that a worker with these settings listens on at an endpoint, each by the setting that says so.
        gpus: How many GPUs one worker has to see with these settings.
        ranks: How many engines one worker puts on one socket set.
        most: Per transport the largest number of workers whose ports can follow each other, and why; absent where
            there is no such limit.
        summary: How one worker is spread over its GPUs, in a few words.
        promises: What the API promises and the engine's settings decide.
        unbuilt: What smgcfg can not launch yet: per setting the reason.
        versions: The shipped versions, oldest first.
    """

    name: str
    title: str
    distribution: str
    args: type[A]
    transports: tuple[Transport, ...]
    module: Mapping[Transport, str]
    words: Mapping[Transport, tuple[str, ...]]
    owned: Mapping[Transport, Mapping[str, str]]
    facts: Mapping[str, str]
    unheard: Mapping[Transport, tuple[str, ...]]
    place: Callable[[A, Endpoint], Mapping[str, Any]]
    ports: Callable[[A, Endpoint], Mapping[str, Port]]
    gpus: Callable[[A], int]
    ranks: Callable[[A], int]
    most: Mapping[Transport, tuple[int, str]]
    summary: Callable[[A], str]
    promises: tuple[Promise, ...]
    unbuilt: Callable[[A], Mapping[str, str]]
    versions: tuple[str, ...]
