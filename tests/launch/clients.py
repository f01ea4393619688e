"""Clients that ask and ask, each in a thread of its own, as long as a context lasts."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

C = TypeVar("C", bound="Clients")


class Clients:
    """Threads that run as long as the context lasts.

    Args:
        runs: What each does; it ends soon after `over` is set.

    Attributes:
        over: Set when the context ends.
    """

    def __init__(self, runs: Sequence[Callable[[], None]]) -> None:
        self.over = threading.Event()
        self._threads = [threading.Thread(target=run) for run in runs]

    def __enter__(self: C) -> C:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()
