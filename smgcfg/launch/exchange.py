"""One HTTP request under way, without waiting: the answer is read as it comes, from a selector's loop."""

import errno
import math
import os
import selectors
import socket
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from smgcfg.errors import reason_of
from smgcfg.value import Value

#: How long an answer may take, in seconds.
TIMEOUT: Final = 2.0

#: No answer to what we ask is larger, in bytes.
ANSWER_LIMIT: Final = 64 << 20


class Reply(Value):
    """An HTTP answer.

    Attributes:
        status: The status code, or 0 when there was no answer.
        body: The body.
        problem: Why there was no answer, or empty.
        asked: Whether anything was asked: not when there was no socket left to ask with.
    """

    status: int
    body: bytes = b""
    problem: str = ""
    asked: bool = True

    @property
    def trouble(self) -> str:
        """Why this is not a good answer, or empty."""
        return self.problem or ("" if self.status == 200 else f"HTTP {self.status}")


class Exchange:
    """One request and its answer. An https URL is asked without checking its certificate: it is our own child's.

    Args:
        url: What to ask.
        headers: Further header lines.
        done: Whom to give the reply; called once, from `start`, `give_up` or the selector.
        selector: Where to hear about the socket.
        body: What to POST as JSON; a GET where it is empty.
        heard: Called with everything that came so far, head and all, whenever there is more; it may close.
        timeout: How long the answer may take, in seconds.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        done: Callable[[Reply], None],
        selector: selectors.BaseSelector,
        *,
        body: bytes = b"",
        heard: Callable[[bytes], None] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.deadline = time.monotonic() + timeout if timeout < math.inf else math.inf
        self._timeout = timeout
        self._parts = urlsplit(url)
        self._headers = headers
        self._body = body
        self._done = done
        self._heard = heard
        self._selector = selector
        self._port = self._parts.port or (443 if self._parts.scheme == "https" else 80)
        self._socket: socket.socket
        self._steps = self._talk()
        self._closed = True

    @property
    def _host(self) -> str:
        return self._parts.hostname or ""

    def start(self) -> None:
        """Begin."""
        try:
            self._socket = socket_not_on(self._port, socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        except OSError as problem:
            self._done(Reply(0, problem=reason_of(problem), asked=False))
            return
        self._closed = False
        self._socket.setblocking(False)
        self._selector.register(self._socket.fileno(), selectors.EVENT_WRITE, self._go_on)
        self._go_on()

    def give_up(self) -> None:
        """End without an answer, because its time is over."""
        self._finish(Reply(0, problem=f"no answer in {self._timeout:g} s"))

    def close(self) -> None:
        """End without telling anybody."""
        if not self._closed:
            self._closed = True
            self._selector.unregister(self._socket.fileno())
            self._socket.close()

    def _finish(self, reply: Reply) -> None:
        self.close()
        self._done(reply)

    def _go_on(self, _: int = 0) -> None:
        try:
            wanted = next(self._steps)
        except StopIteration as stop:
            if not self._closed:
                self._finish(_parse(stop.value))
        except OSError as error:
            self._finish(Reply(0, problem=reason_of(error)))
        else:
            self._selector.modify(self._socket.fileno(), wanted, self._go_on)

    def _talk(self) -> Generator[int, None, bytes]:
        """Ask and listen, yielding the event to wait for; return everything that came."""
        number = self._socket.connect_ex((self._host, self._port))
        if number == errno.EINPROGRESS:
            yield selectors.EVENT_WRITE
            number = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))
        not_yet: tuple[type[OSError], ...] = (BlockingIOError,)
        if self._parts.scheme == "https":
            not_yet += yield from self._secure()
        request = self._request()
        while request:
            try:
                request = request[self._socket.send(request) :]
            except not_yet:
                yield selectors.EVENT_WRITE
        received = bytearray()
        while len(received) <= ANSWER_LIMIT:
            try:
                data = self._socket.recv(1 << 16)
            except not_yet:
                yield selectors.EVENT_READ
                continue
            if not data:
                break
            received += data
            if self._heard is not None:
                self._heard(bytes(received))
                if self._closed:
                    break
        return bytes(received)

    def _secure(self) -> Generator[int, None, tuple[type[OSError], ...]]:
        """Begin TLS, and return what such a socket raises when it has nothing to give or take yet."""
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        wrapped = context.wrap_socket(self._socket, server_hostname=self._host, do_handshake_on_connect=False)
        self._socket = wrapped
        while True:
            try:
                wrapped.do_handshake()
                return (ssl.SSLWantReadError, ssl.SSLWantWriteError)
            except ssl.SSLWantReadError:
                yield selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                yield selectors.EVENT_WRITE

    def _request(self) -> bytes:
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        head = {"Host": self._parts.netloc, "Connection": "close", "Accept": "*/*", **self._headers}
        if self._body:
            head |= {"Content-Type": "application/json", "Content-Length": str(len(self._body))}
        method = "POST" if self._body else "GET"
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        return "\r\n".join(lines).encode() + self._body


def socket_not_on(port: int, family: int) -> socket.socket:
    """Return a TCP socket for a connection to a port of this machine, bound to another one.

    The kernel may give a connection any free port, also the one that is asked: with nobody listening there, it is then
    connected to itself, and keeps the server that is to come from its port. This happens once in some thousand times.

    Args:
        port: The port that will be asked.
        family: The address family.
    """
    while True:
        made = socket.socket(family)
        made.bind(("", 0))
        if made.getsockname()[1] != port:
            return made
        made.close()


def json_of(body: bytes) -> Any:
    """Return what a body says as JSON, or None."""
    import json

    try:
        return json.loads(body)
    except ValueError:
        return None


def _parse(data: bytes) -> Reply:
    """Read a whole HTTP answer."""
    import http.client
    import io

    class Received:
        def makefile(self, *_: object) -> io.BytesIO:
            return io.BytesIO(data)

    response = http.client.HTTPResponse(Received())  # type: ignore[arg-type]
    try:
        response.begin()
        return Reply(response.status, response.read())
    except (http.client.HTTPException, ValueError) as error:
        return Reply(0, problem=f"not an HTTP answer ({type(error).__name__})")
