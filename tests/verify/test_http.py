"""The client: every answer within its bound, and streams read as their senders mean them."""

import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verify.servers import answer, body_of, dripping, serving

from smgcfg.verify.http import Client, events


def test_get_and_post() -> None:
    """Method, path behind the base, headers and body arrive, and the answer comes back."""

    def echo(request: BaseHTTPRequestHandler) -> None:
        said = body_of(request).decode()
        answer(request, 201, f'["{request.command} {request.path} {request.headers["x-say"]}", {said or 0}]')

    with serving(echo) as url:
        client = Client(f"{url}/proxy/")
        got = client.get("/v1/models", headers={"x-say": "hi"}, timeout=5.0)
        posted = client.post("/v1/chat", {"a": "ü"}, headers={"x-say": "ho"}, timeout=5.0)
    assert (got.status, got.json()) == (201, ["GET /proxy/v1/models hi", 0])
    assert posted.json() == ["POST /proxy/v1/chat ho", {"a": "ü"}]
    assert got.headers["content-type"] == "application/json"


def test_nobody_there() -> None:
    """Where nobody listens there is no status, and the reason is the system's."""
    reply = Client("http://127.0.0.1:1").get("/", timeout=5.0)
    assert (reply.status, reply.problem, reply.silent) == (0, "connection refused", False)


def test_server_that_says_nothing() -> None:
    """A server that takes a request and says nothing is given up when the time is over."""
    release = threading.Event()
    with serving(lambda request: release.wait(5.0) and None) as url:
        began = time.monotonic()
        reply = Client(url).post("/", {}, timeout=0.3)
        release.set()
    assert reply.silent
    assert reply.problem == "no whole answer in 0.3 s"
    assert time.monotonic() - began < 1.5


def test_server_that_drips() -> None:
    """A server that sends a byte now and then does not hold a request beyond its time."""
    with dripping(every=0.05) as url:
        began = time.monotonic()
        reply = Client(url).get("/", timeout=0.5)
    assert reply.silent
    assert 0.4 < time.monotonic() - began < 2.0


def test_something_that_is_no_http_server() -> None:
    """What does not speak HTTP is a problem, not a traceback."""

    def garble(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")

    with serving(garble) as url:
        reply = Client(url).get("/", timeout=5.0)
    assert reply.problem.startswith("not an HTTP answer")


def test_stream_that_breaks_off() -> None:
    """An answer that is shorter than announced is not taken for a whole one."""

    def break_off(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("content-length", "100")
        request.end_headers()
        request.wfile.write(b"data: {")

    with serving(break_off) as url:
        reply = Client(url).get("/", timeout=5.0)
    assert (reply.status, bool(reply.problem)) == (200, True)


def test_certificate(tmp_path: Path) -> None:
    """A certificate that nobody signed is a problem with its reason, unless it is not to be checked."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subprocess.run([*make, "-subj", "/CN=x", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            answer(self, 200, "{}")

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        checked = Client(url).get("/", timeout=5.0)
        unchecked = Client(url, insecure=True).get("/", timeout=5.0)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert "certificate is not trusted: self-signed certificate" in checked.problem.replace(
        "self signed", "self-signed"
    )
    assert unchecked.status == 200


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(data=st.lists(st.lists(st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8")), min_size=1)))
def test_events(end: str, data: list[list[str]]) -> None:
    """Each event gives its data lines, whatever stands between: names, comments, keep-alives."""
    lines = [f": ping{end}{end}"]
    for event in data:
        lines += [f"event: piece{end}", *(f"data: {line}{end}" for line in event), f": still there{end}", end]
    assert list(events("".join(lines).encode())) == ["\n".join(event) for event in data]


def test_event_without_an_end() -> None:
    """The last event counts even if the stream ends without a blank line."""
    assert list(events(b"data: a\n\ndata:b")) == ["a", "b"]
