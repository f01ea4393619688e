"""How the stand-in is told to end."""

from __future__ import annotations

import signal
import socket
from types import FrameType


class Stop:
    """Turns SIGTERM and SIGINT into something that a poll wakes up for."""

    def __init__(self) -> None:
        self.signal: str | None = None
        self.wake, self._waker = socket.socketpair()
        self._waker.setblocking(False)

    def install(self) -> None:
        """Take over the two signals; only from the main thread."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def close(self) -> None:
        """Close the two sockets."""
        signal.set_wakeup_fd(-1)
        self.wake.close()
        self._waker.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signal = signal.Signals(number).name
