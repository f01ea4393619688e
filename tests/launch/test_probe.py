"""Questions over HTTP: answered, refused, late, or not HTTP at all."""

import json
import selectors
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from e2e.ports import free_port

from smgcfg.launch.effects import Answer, GatewayView, WorkerView
from smgcfg.launch.exchange import TIMEOUT, socket_not_on
from smgcfg.launch.probe import HttpProber, Place

Contents = dict[str, tuple[int, Any]]

LIST = {
    "workers": [
        {"url": "ipc:///run/engine-1", "is_healthy": True, "status": "ready", "id": "1"},
        {"url": "ipc:///run/engine-2", "is_healthy": False, "status": "pending", "id": "2"},
    ],
    "total": 2,
}
SEEN = (WorkerView("ipc:///run/engine-1", True, "ready"), WorkerView("ipc:///run/engine-2", False, "pending"))


class FakeGateway:
    """A gateway that answers what it is told to, and remembers what it was asked."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.asked: list[tuple[str, str | None]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                gateway.asked.append((self.path, self.headers.get("Authorization")))
                status, content = gateway.contents[self.path]
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def gateway_with(contents: Contents) -> Iterator[FakeGateway]:
    """A fake gateway while the context lasts."""
    gateway = FakeGateway(contents)
    thread = threading.Thread(target=gateway.server.serve_forever, args=(0.01,))
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()


@contextmanager
def prober_of(url: str, key: str | None = None) -> Iterator[Callable[..., Sequence[GatewayView | Answer]]]:
    """A prober, as a function that asks about URLs, or the gateway if there are none, and returns all answers."""
    selector = selectors.DefaultSelector()
    prober = HttpProber(Place(url, api_key=key), selector)

    def ask(*urls: str) -> Sequence[GatewayView | Answer]:
        for each in urls:
            prober.ask(each)
        if not urls:
            prober.ask_gateway()
        answers: list[GatewayView | Answer] = list(prober.poll())
        while len(answers) < max(1, len(urls)):
            for chosen, mask in selector.select(max(0.0, prober.wake_at - time.monotonic())):
                chosen.data(mask)
            answers += prober.poll()
        return answers

    yield ask
    prober.close()
    assert list(selector.get_map()) == []
    selector.close()


def test_gateway_with_its_workers() -> None:
    """The view holds whether the gateway is ready, and each worker with the gateway's own word; the key is sent."""
    with (
        gateway_with({"/readiness": (200, {"healthy_workers": 1}), "/workers": (200, LIST)}) as gateway,
        prober_of(gateway.url, "sesame") as ask,
    ):
        assert ask() == [GatewayView(True, SEEN)]
        assert gateway.asked == [("/readiness", None), ("/workers", "Bearer sesame")]


def test_list_is_asked_for_when_it_may_have_changed() -> None:
    """The gateway logs each request for its list, which is asked for only when the number of healthy ones changed."""
    with (
        gateway_with({"/readiness": (503, {"status": "not ready"}), "/workers": (200, {"workers": []})}) as gateway,
        prober_of(gateway.url) as ask,
    ):
        assert [ask() for _ in range(5)] == [[GatewayView(False)]] * 5
        gateway.contents |= {"/readiness": (200, {"healthy_workers": 1}), "/workers": (200, LIST)}
        assert [ask() for _ in range(5)] == [[GatewayView(True, SEEN)]] * 5
        assert [path for path, _ in gateway.asked].count("/workers") == 2
        assert [path for path, _ in gateway.asked].count("/readiness") == 10


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key(status: int) -> None:
    """A gateway that does not tell with this key is not the same as one that does not answer."""
    with (
        gateway_with({"/readiness": (200, {"healthy_workers": 1}), "/workers": (status, {})}) as gateway,
        prober_of(gateway.url, "wrong") as ask,
    ):
        assert ask() == [GatewayView(True, (), f"HTTP {status}", refused=True)]


@pytest.mark.parametrize("content", [b"<html>", b"[]", b""])
def test_foreign_server_is_no_gateway(content: bytes) -> None:
    """A server that answers 200 with something else is not taken for a gateway."""
    with gateway_with({"/readiness": (200, content)}) as gateway, prober_of(gateway.url) as ask:
        assert ask() == [GatewayView(False, (), "not an answer of the gateway")]


def test_many_at_once() -> None:
    """Questions do not wait for one another: a silent server and a refused connection hold up no answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent, gateway_with({"/": (200, {}), "/no": (404, {})}) as gateway:
        silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        closed_url = f"http://127.0.0.1:{free_port()}/"
        with prober_of(gateway.url) as ask:
            before = time.monotonic()
            answers = ask(silent_url, closed_url, f"{gateway.url}/", f"{gateway.url}/no")
            took = time.monotonic() - before
    assert set(answers) == {
        Answer(silent_url, False, "no answer in 2 s"),
        Answer(closed_url, False, "connection refused"),
        Answer(f"{gateway.url}/", True, ""),
        Answer(f"{gateway.url}/no", False, "HTTP 404"),
    }
    assert answers[-1].url == silent_url  # type: ignore[union-attr]
    assert TIMEOUT - 0.1 < took < TIMEOUT + 1.0


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"SSH-2.0-x\r\n", "not an HTTP answer (BadStatusLine)"),
        (b"", "not an HTTP answer (RemoteDisconnected)"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", "not an HTTP answer (IncompleteRead)"),
        (b"HTTP/1.1 500 Oh\r\n\r\n", "HTTP 500"),
    ],
)
def test_what_is_no_good_answer(sent: bytes, problem: str) -> None:
    """Whatever a server sends, the answer says what was wrong with it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(sent)

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with prober_of(url) as ask:
            assert ask(url) == [Answer(url, False, problem)]
        thread.join()


@pytest.mark.parametrize("url", ["http://no.such.host.invalid:1/", "http://[::1]:1/"])
def test_address_that_can_not_be_reached(url: str) -> None:
    """A name that does not resolve and a port that is closed are answers, not errors."""
    with prober_of(url) as ask:
        (answer,) = ask(url)
    assert isinstance(answer, Answer)
    assert not answer.ok
    assert answer.problem


def test_question_never_takes_the_port_it_asks() -> None:
    """A socket has a port of its own before it asks: left to the kernel, it could be given the very port it asks."""
    port = free_port()
    for _ in range(100):
        with socket_not_on(port, socket.AF_INET) as asking:
            assert asking.getsockname()[1] not in (0, port)


def test_https(tmp_path: Path) -> None:
    """A gateway that serves TLS with a certificate nobody signed is asked like any other."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    make += ["-subj", "/CN=other", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with gateway_with({"/readiness": (200, {"healthy_workers": 1}), "/workers": (200, LIST)}) as gateway:
        gateway.server.socket = context.wrap_socket(gateway.server.socket, server_side=True)
        with prober_of(gateway.url.replace("http:", "https:")) as ask:
            assert ask() == [GatewayView(True, SEEN)]
