"""Signals as events: what arrives is read from a file descriptor, and nothing runs inside a handler."""

import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: The signals that stop a launch.
STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

#: Signals that mean nothing here, and whose default is to end the program: a log rotation sends SIGUSR1 to any server.
_UNHEARD: Final = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


@contextmanager
def signals_to(
    take: Callable[[int], None], selector: selectors.BaseSelector, reap: Callable[[], None] | None = None
) -> Iterator[None]:
    """Have the stopping signals call `take` from the selector's loop, for as long as the context lasts.

    A SIGHUP that is ignored already, as under `nohup`, stays ignored. For the main thread only.

    Args:
        take: Takes a signal's number.
        selector: The loop's selector.
        reap: Called when a child ended, or None.
    """
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)

    def read(_: int) -> None:
        for signum in reader.recv(4096):
            if signum in STOPPING:
                take(signum)
            elif signum == signal.SIGCHLD and reap is not None:
                reap()

    taken = [signum for signum in STOPPING if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN]
    # Taken, and not ignored: what is ignored stays so in the programs that are started.
    taken += _UNHEARD
    if reap is not None:
        taken.append(signal.SIGCHLD)
    before_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    before = {signum: signal.signal(signum, lambda *_: None) for signum in taken}
    selector.register(reader, selectors.EVENT_READ, read)
    try:
        yield
    finally:
        selector.unregister(reader)
        for signum, handler in before.items():
            signal.signal(signum, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(before_fd)
        reader.close()
        writer.close()


class Waker:
    """Wakes the loop of another thread.

    Args:
        wake: Called in the loop's thread after `wake_up`.
        selector: The loop's selector.
    """

    def __init__(self, wake: Callable[[], None], selector: selectors.BaseSelector) -> None:
        self._wake = wake
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        selector.register(self._read_end, selectors.EVENT_READ, self._read)

    def wake_up(self) -> None:
        """Wake the loop; may be called from any thread."""
        os.write(self._write_end, b"!")

    def close(self) -> None:
        """Let go of the pipe, after the loop has ended."""
        os.close(self._read_end)
        os.close(self._write_end)

    def _read(self, _: int) -> None:
        os.read(self._read_end, 4096)
        self._wake()
