"""Tells the gateway on behalf of a dead engine that it is dead. Needs the extra `smgcfg[zmq]`."""

import threading
from collections import deque
from collections.abc import Sequence
from selectors import BaseSelector
from typing import Final

from smgcfg.launch.effects import Told
from smgcfg.launch.host import missing_package
from smgcfg.launch.signals import Waker
from smgcfg.process import DeathNotice

#: How long a connection and the sending may take, each, in milliseconds: measured 1 together.
_PATIENCE_MS: Final = 500


class ZmqMessenger:
    """A messenger that pushes to the gateway's sockets.

    Each notice has a thread of its own: importing pyzmq takes 25 ms of computing, beside which the loop goes on, held
    up by 4 ms at most (measured).

    Args:
        selector: Where to wake the loop.
    """

    def __init__(self, selector: BaseSelector) -> None:
        self._waker = Waker(lambda: None, selector)
        self._threads: list[threading.Thread] = []
        self._told: deque[Told] = deque()

    @property
    def missing(self) -> str:
        """Why no notice can be pushed, or empty."""
        return missing_package()

    def tell(self, name: str, notice: DeathNotice) -> None:
        """Push the death notice of a worker."""
        thread = threading.Thread(target=self._run, args=(name, notice), name=f"smgcfg notice {name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as problem:  # a limit on the number of threads
            self._end(name, str(problem))
        else:
            self._threads = [*(other for other in self._threads if other.is_alive()), thread]

    def poll(self) -> Sequence[Told]:
        """Return what became of the notices since the last call."""
        return [self._told.popleft() for _ in range(len(self._told))]

    def close(self) -> None:
        """Wait for the notices that are on their way, which is bounded, and let go of everything."""
        for thread in self._threads:
            thread.join()
        self._waker.close()

    def _run(self, name: str, notice: DeathNotice) -> None:
        try:
            problem = push(notice)
        except (ImportError, OSError) as error:
            problem = str(error)
        self._end(name, problem)

    def _end(self, name: str, problem: str) -> None:
        self._told.append(Told(name, problem))
        self._waker.wake_up()


def push(notice: DeathNotice) -> str:
    """Push a death notice, and return why it could not be, or empty.

    It reaches the socket that is bound now, or none: no connection is made again, as a notice that arrives at the
    socket of the next engine would kill that one.

    Args:
        notice: The notice.

    Raises:
        ImportError: pyzmq is not there.
        OSError: It can not be read.
    """
    import zmq

    context = zmq.Context()
    try:
        pusher = context.socket(zmq.PUSH)
        pusher.setsockopt(zmq.IMMEDIATE, 1)
        pusher.setsockopt(zmq.RECONNECT_IVL, -1)
        pusher.setsockopt(zmq.SNDTIMEO, _PATIENCE_MS)
        pusher.setsockopt(zmq.LINGER, _PATIENCE_MS)
        pusher.connect(f"ipc://{notice.socket}")
        pusher.send(notice.frame)
        pusher.close()
    except zmq.Again:
        return f"no connection to {notice.socket} in {_PATIENCE_MS / 1000:g} s"
    except zmq.ZMQError as error:
        return str(error).lower()
    finally:
        context.destroy()
    return ""
