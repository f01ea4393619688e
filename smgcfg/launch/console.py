"""Where lines go: a stream that may be slow or closed, and never holds up whoever writes to it."""

import contextlib
import os
import select
import selectors
import socket
import stat
import time
from collections.abc import Callable
from typing import Final, TextIO

#: What is kept for a reader that does not keep up, in bytes; what comes on top is dropped and counted.
BUFFER_LIMIT: Final = 1 << 20

#: How long `close` waits for a slow reader, in seconds.
CLOSE_PATIENCE: Final = 1.0


class Console:
    """Writes whole lines to a text stream without waiting for it.

    A stream that can make a writer wait (a pipe, a terminal, a socket) is written to as far as it takes the bytes; the
    rest goes out when it can. When its reader goes away, what is written is dropped. On a terminal a last line, the
    status, can be kept below the lines.

    Args:
        out: The stream. Without a file descriptor it is written to directly, as a test's buffer is.
        selector: Where to hear when the stream takes more.
    """

    def __init__(self, out: TextIO, selector: selectors.BaseSelector) -> None:
        self._out = out
        self._selector = selector
        self._buffer = bytearray()
        self._dropped = 0
        self._status = ""
        self._waiting = False
        self._fd, self._send, self._let_go = _writer(out)
        self.terminal = self._fd >= 0 and out.isatty()

    def line(self, text: str) -> None:
        """Write a line."""
        if len(self._buffer) > BUFFER_LIMIT:
            self._dropped += 1
            return
        if self._dropped:
            text = f"[{self._dropped} lines dropped: the reader of this output is too slow]\n{text}"
            self._dropped = 0
        if self._status:
            text = f"\r\x1b[K{text}\n{self._status}"
        else:
            text += "\n"
        self._write(text)

    def status(self, text: str) -> None:
        """Replace the status line; empty takes it away. Does nothing unless the stream is a terminal."""
        if not self.terminal or text == self._status:
            return
        if text:
            text = text[: self._width() - 1]
        if len(self._buffer) <= BUFFER_LIMIT:
            self._status = text
            self._write(f"\r\x1b[K{text}")

    def close(self) -> None:
        """Give what is left a last moment to go out, and let go of the stream."""
        self.status("")
        deadline = time.monotonic() + CLOSE_PATIENCE
        while self._buffer and (patience := deadline - time.monotonic()) > 0:
            select.select([], [self._fd], [], patience)
            self._flush()
        self._buffer.clear()
        self._listen(False)
        self._let_go()

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._fd).columns or 80  # a terminal of no known width says 0
        except OSError:
            return 80

    def _write(self, text: str) -> None:
        if self._send is None:
            with contextlib.suppress(OSError, ValueError):  # closed by its owner
                self._out.write(text)
                self._out.flush()
            return
        self._buffer += text.encode("utf-8", "replace")
        self._flush()

    def _flush(self, _: int = 0) -> None:
        assert self._send is not None
        while self._buffer:
            try:
                sent = self._send(self._buffer)
            except BlockingIOError:
                break
            except OSError:
                # The reader is gone, or the disk is full: the processes matter more than their output.
                self._buffer.clear()
                break
            del self._buffer[:sent]
        self._listen(bool(self._buffer))

    def _listen(self, wanted: bool) -> None:
        if wanted and not self._waiting:
            self._selector.register(self._fd, selectors.EVENT_WRITE, self._flush)
        elif self._waiting and not wanted:
            self._selector.unregister(self._fd)
        self._waiting = wanted


def _writer(out: TextIO) -> tuple[int, Callable[[bytes | bytearray], int] | None, Callable[[], None]]:
    """Return a descriptor of our own for a stream, how to write to it without waiting, and how to close it."""
    try:
        out.flush()
        own = os.dup(out.fileno())
    except (OSError, ValueError):
        return -1, None, lambda: None
    mode = os.fstat(own).st_mode
    if stat.S_ISSOCK(mode):
        endpoint = socket.socket(fileno=own)
        return own, lambda data: endpoint.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL), endpoint.close
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        # Non-blocking is a property of the open file, which the shell and others share: open the same thing anew.
        with contextlib.suppress(OSError):
            fresh = os.open(f"/proc/self/fd/{own}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            os.close(own)
            own = fresh
    return own, lambda data: os.write(own, data), lambda: os.close(own)
