"""Servers that are no gateway, or one in trouble: each in a thread, on the loopback."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that went away."""


@contextmanager
def serving(handle: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Serve HTTP on a port of its own, and give its URL.

    Args:
        handle: Answers one request, GET or POST.
    """

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            handle(self)

        do_POST = do_GET

    server = _Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(request: BaseHTTPRequestHandler, status: int, body: str, kind: str = "application/json") -> None:
    """Answer a request."""
    request.send_response(status)
    request.send_header("content-type", kind)
    request.send_header("content-length", str(len(body.encode())))
    request.end_headers()
    request.wfile.write(body.encode())


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    """Return the body of a request."""
    return request.rfile.read(int(request.headers.get("content-length") or 0))


@contextmanager
def without_header(url: str, name: str) -> Iterator[str]:
    """Stand in front of a gateway as one that does not send a certain header, and give the URL.

    Args:
        url: The gateway.
        name: The header.
    """

    def forward(request: BaseHTTPRequestHandler) -> None:
        body = body_of(request) if request.command == "POST" else None
        headers = {key: value for key, value in request.headers.items() if key.lower() not in ("host", "connection")}
        with urlopen(Request(url + request.path, body, headers, method=request.command), timeout=20) as reply:
            data = reply.read()
            request.send_response(reply.status)
            for key, value in reply.headers.items():
                if key.lower() not in (name, "transfer-encoding", "connection", "content-length"):
                    request.send_header(key, value)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    with serving(forward) as front:
        yield front


@contextmanager
def dripping(every: float) -> Iterator[str]:
    """Listen, and send a byte of an answer now and then, without end; give the URL.

    Args:
        every: The seconds between two bytes.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def drip(peer: socket.socket) -> None:
        with peer, suppress(OSError):
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-pad: ")
            while True:
                peer.sendall(b"x")
                time.sleep(every)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Closing alone does not wake up a thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
