"""The control socket of a launch: how other programs of the same user tell it what to do, and ask for its lines.

A Unix socket in the run directory, mode 0600. One JSON object in a line asks, one line answers it, `{"ok": true}` or
`{"ok": false, "error": ...}`, and what follows depends on the question. Whoever closes the connection before the answer
has withdrawn the question: nothing is done.

    {"do": "stop", "kill": false}       the connection ends when the launch has
    {"do": "restart", "process": NAME}  the process is replaced; the connection ends at once
    {"do": "logs", "process": NAME or null, "last_exit": false, "follow": false}
                                        a line of JSON for each line, as `Line.data` has it; with "follow" until either
                                        side leaves, `{"dropped": N}` where a slow reader missed lines
    {"do": "access"}                    the answer holds "access": what it takes to use the gateway, with its keys, and
                                        "state", as the state file has it
    {"do": "given"}                     the answer holds "given": what each process was given, with secrets
"""

import contextlib
import os
import select
import selectors
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from smgcfg.launch.locks import is_at
from smgcfg.launch.recent import Line

NAME: Final = "control.sock"

#: Connections at once; one more is turned away.
CONNECTIONS: Final = 32

#: The longest question, and what is kept for a reader of answers that does not keep up, in bytes.
QUESTION_LIMIT: Final = 1 << 16
FOLLOWED_LIMIT: Final = 1 << 20


class Refused(Exception):
    """The launch does not do what it is asked to; the text says why."""


#: Does what is asked: takes the question and who asks, sends the answers.
Handler = Callable[[dict[str, Any], "Caller"], None]


class Control:
    """Serves the control socket from a selector's loop; nothing here waits.

    Args:
        run_dir: The run directory, which is ours.
        selector: The loop's selector.
        handlers: What does what, by the word behind "do".
    """

    def __init__(self, run_dir: str, selector: selectors.BaseSelector, handlers: Mapping[str, Handler]) -> None:
        self._run_dir = run_dir
        self._selector = selector
        self._handlers = handlers
        self._callers: list[Caller] = []
        self._listener: socket.socket | None = None

    def open(self) -> None:
        """Begin to listen; what a dead launcher left is replaced.

        Raises:
            OSError: The socket can not be made.
        """
        listener = socket.socket(socket.AF_UNIX)
        try:
            with contextlib.suppress(FileNotFoundError):
                Path(self._run_dir, NAME).unlink()
            with short_path(self._run_dir) as path:
                listener.bind(path)
            Path(self._run_dir, NAME).chmod(0o600)
            made = os.lstat(Path(self._run_dir, NAME))
            listener.listen(CONNECTIONS)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._listener, self._made = listener, made

    def keep(self) -> bool:
        """Listen anew where somebody removed the socket, as cleaners of /tmp do; connections go on.

        Returns:
            Whether it was missing.

        Raises:
            OSError: The socket can not be made.
        """
        if self._listener is None or is_at(Path(self._run_dir, NAME), self._made):
            return False
        gone = self._listener
        self.open()
        self._selector.unregister(gone)
        gone.close()
        return True

    def line(self, line: Line) -> None:
        """Pass a line on to those who follow."""
        for caller in [caller for caller in self._callers if caller.follows(line.process)]:
            caller.send_line(line)

    def close(self) -> None:
        """Remove the socket and end every connection: what was not read by now is lost."""
        for caller in list(self._callers):
            caller.close()
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
            if is_at(Path(self._run_dir, NAME), self._made):
                with contextlib.suppress(OSError):
                    Path(self._run_dir, NAME).unlink()

    def _accept(self, _: int) -> None:
        assert self._listener is not None
        try:
            connection, _address = self._listener.accept()
        except OSError:
            return  # whoever it was is gone, or there is no descriptor left for it
        if len(self._callers) >= CONNECTIONS or _uid(connection) not in (0, os.getuid()):
            connection.close()
            return
        self._callers.append(Caller(connection, self._selector, self._handle, self._callers.remove))

    def _handle(self, question: dict[str, Any], caller: "Caller") -> None:
        word = str(question.get("do"))
        if word not in self._handlers:
            raise Refused(f"there is nothing called {word!r} to do")
        self._handlers[word](question, caller)


class Caller:
    """One connection.

    Args:
        connection: Its socket.
        selector: The loop's selector.
        handle: Does what is asked.
        closed: Called when it ended.
    """

    def __init__(
        self,
        connection: socket.socket,
        selector: selectors.BaseSelector,
        handle: Handler,
        closed: "Callable[[Caller], None]",
    ) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._selector = selector
        self._handle = handle
        self._closed = closed
        self._asked = b""
        self._answer = bytearray()
        self._following: tuple[str | None] | None = None
        self._dropped = 0
        self._last = False
        selector.register(connection, selectors.EVENT_READ, self._ready)

    def send(self, data: Mapping[str, object]) -> None:
        """Send one line of JSON, at once as far as the other side takes it."""
        import json

        self._answer += json.dumps(data, separators=(",", ":")).encode() + b"\n"
        self._flush()

    def send_line(self, line: Line) -> None:
        """Send a line that was printed, unless the other side is too slow."""
        if len(self._answer) > FOLLOWED_LIMIT:
            self._dropped += 1
            return
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self.send({"dropped": dropped})
        self.send(line.data())

    def follow(self, process: str | None) -> None:
        """Have every line of a process, or of all, sent from now on."""
        self._following = (process,)

    def follows(self, process: str) -> bool:
        """Return whether the lines of a process are wanted."""
        return self._following is not None and self._following[0] in (None, process)

    def finish(self) -> None:
        """End the connection once everything is sent."""
        self._last = True
        self._flush()

    def close(self) -> None:
        """End the connection; what it takes to be sent without waiting is."""
        if self._socket.fileno() >= 0:
            with contextlib.suppress(OSError):
                self._socket.send(self._answer)
            self._selector.unregister(self._socket)
            self._socket.close()
            self._closed(self)

    def _ready(self, mask: int) -> None:
        if mask & selectors.EVENT_READ:
            self._read()
        if mask & selectors.EVENT_WRITE and self._socket.fileno() >= 0:
            self._flush()

    def _read(self) -> None:
        try:
            data = self._socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._asked += data
        if not data or len(self._asked) > QUESTION_LIMIT:
            self.close()
            return
        *questions, self._asked = self._asked.split(b"\n")
        for question in questions:
            if self._socket.fileno() >= 0:
                self._take(question)

    def _take(self, text: bytes) -> None:
        import json

        if self._has_left():
            # Who asks a launcher that is held does not wait for ever, and is told then that nothing will be done.
            self.close()
            return
        try:
            question = json.loads(text)
        except (ValueError, RecursionError):
            question = None
        try:
            if not isinstance(question, dict):
                raise Refused("expected a JSON object")
            self._handle(question, self)
        except Refused as problem:
            self.send({"ok": False, "error": str(problem)})
            self.finish()

    def _has_left(self) -> bool:
        """Whether the other side has closed the connection, and not only its own direction of it."""
        poll = select.poll()
        poll.register(self._socket, 0)  # a hang-up is reported in any case
        return any(mask & select.POLLHUP for _, mask in poll.poll(0))

    def _flush(self) -> None:
        while self._answer and self._socket.fileno() >= 0:
            try:
                del self._answer[: self._socket.send(self._answer)]
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
        if self._socket.fileno() < 0:
            return
        if self._last and not self._answer:
            self.close()
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._answer else 0)
        self._selector.modify(self._socket, wanted, self._ready)


@contextlib.contextmanager
def short_path(run_dir: str) -> Iterator[str]:
    """Yield a path of the control socket that is short enough for one, however long that of its directory is.

    Args:
        run_dir: The run directory.

    Raises:
        OSError: There is no such directory.
    """
    fd = os.open(run_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{NAME}"
    finally:
        os.close(fd)


def _uid(connection: socket.socket) -> int:
    """Return the user on the other side of a Unix socket."""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)
