"""Asks the gateway and its workers over HTTP, all at once and without waiting."""

import errno
import os
import selectors
import socket
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from smgcfg.launch.effects import Answer, GatewayView, WorkerView
from smgcfg.value import Value

#: How long an answer may take, in seconds.
TIMEOUT: Final = 2.0

#: The gateway logs every question for its list of workers (smg 1.13.0), and none about its readiness. So the list is
#: asked for when the number of healthy workers has changed, and otherwise no more often than this, in seconds.
LIST_EVERY: Final = 10.0

#: No answer of the gateway to these questions is larger, in bytes.
ANSWER_LIMIT: Final = 64 << 20


class Reply(Value):
    """An HTTP answer.

    Attributes:
        status: The status code, or 0 when there was no answer.
        body: The body.
        problem: Why there was no answer, or empty.
    """

    status: int
    body: bytes = b""
    problem: str = ""

    @property
    def trouble(self) -> str:
        """Why this is not a good answer, or empty."""
        return self.problem or ("" if self.status == 200 else f"HTTP {self.status}")


class Get:
    """One GET under way.

    Args:
        url: What to get. An https URL is asked without checking its certificate: the gateway is our own child.
        headers: Further header lines.
        done: Whom to give the reply; called once, from `start`, `give_up` or the selector.
        selector: Where to hear about the socket.
    """

    def __init__(
        self, url: str, headers: dict[str, str], done: Callable[[Reply], None], selector: selectors.BaseSelector
    ) -> None:
        self.deadline = time.monotonic() + TIMEOUT
        self._parts = urlsplit(url)
        self._headers = headers
        self._done = done
        self._selector = selector
        self._port = self._parts.port or (443 if self._parts.scheme == "https" else 80)
        self._socket = socket_not_on(self._port, socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        self._socket.setblocking(False)
        self._steps = self._talk()

    @property
    def _host(self) -> str:
        return self._parts.hostname or ""

    def start(self) -> None:
        """Begin."""
        self._selector.register(self._socket.fileno(), selectors.EVENT_WRITE, self._go_on)
        self._go_on()

    def give_up(self) -> None:
        """End without an answer, because its time is over."""
        self._finish(Reply(0, problem=f"no answer in {TIMEOUT:g} s"))

    def close(self) -> None:
        """End without telling anybody."""
        self._selector.unregister(self._socket.fileno())
        self._socket.close()

    def _finish(self, reply: Reply) -> None:
        self.close()
        self._done(reply)

    def _go_on(self, _: int = 0) -> None:
        try:
            wanted = next(self._steps)
        except StopIteration as stop:
            self._finish(_parse(stop.value))
        except OSError as error:
            self._finish(Reply(0, problem=(error.strerror or type(error).__name__).lower()))
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
        return "\r\n".join(
            [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        ).encode()


class HttpProber:
    """A prober that asks over real sockets.

    Args:
        url: Where the gateway answers.
        api_key: The key that its list of workers wants, or None.
        selector: Where to hear about sockets.
    """

    def __init__(self, url: str, api_key: str | None, selector: selectors.BaseSelector) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._selector = selector
        self._open: dict[str, Get] = {}
        self._answers: list[GatewayView | Answer] = []
        self._healthy: object = None
        self._workers: tuple[WorkerView, ...] = ()
        self._listed_at = -LIST_EVERY

    @property
    def wake_at(self) -> float:
        """When `poll` wants to be called at the latest, on the monotonic clock."""
        return min((get.deadline for get in self._open.values()), default=float("inf"))

    def ask_gateway(self) -> None:
        """Ask the gateway whether it is ready, and which workers it has if that may have changed."""
        if f"{self._url}/workers" not in self._open:
            self._get(f"{self._url}/readiness", {}, self._take_readiness)

    def ask(self, url: str) -> None:
        """Ask whether a URL answers 200."""
        self._get(url, {}, lambda reply: self._answers.append(Answer(url, not reply.trouble, reply.trouble)))

    def poll(self) -> Sequence[GatewayView | Answer]:
        """Return the answers since the last call."""
        now = time.monotonic()
        for get in [get for get in self._open.values() if get.deadline <= now]:
            get.give_up()
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        """Drop every open question."""
        for get in self._open.values():
            get.close()
        self._open.clear()

    def _get(self, url: str, headers: dict[str, str], done: Callable[[Reply], None]) -> None:
        if url in self._open:
            return

        def finish(reply: Reply) -> None:
            self._open.pop(url, None)
            done(reply)

        # Needed to read the answer: loaded while the server that is asked still starts, and not when it answers.
        import http.client  # noqa: F401

        self._open[url] = Get(url, headers, finish, self._selector)
        self._open[url].start()

    def _take_readiness(self, reply: Reply) -> None:
        content = _json(reply.body)
        if reply.status not in (200, 503) or not isinstance(content, dict):
            self._answers.append(GatewayView(False, self._workers, reply.trouble or "not an answer of the gateway"))
            return
        ready = reply.status == 200
        healthy = content.get("healthy_workers", 0)
        now = time.monotonic()
        if healthy == self._healthy and now < self._listed_at + LIST_EVERY:
            self._answers.append(GatewayView(ready, self._workers))
            return

        def take_list(reply: Reply) -> None:
            content = _json(reply.body)
            if reply.trouble or not isinstance(content, dict):
                refused = reply.status in (401, 403)
                self._answers.append(GatewayView(ready, self._workers, reply.trouble or "no list", refused))
                return
            self._healthy, self._listed_at = healthy, now
            self._workers = tuple(
                WorkerView(str(worker.get("url")), worker.get("is_healthy") is True, str(worker.get("status")))
                for worker in content.get("workers", [])
            )
            self._answers.append(GatewayView(ready, self._workers))

        self._get(f"{self._url}/workers", self._headers, take_list)


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


def _json(body: bytes) -> Any:
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
