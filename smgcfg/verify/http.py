"""A small HTTP client whose every answer comes within a bound, streamed or not."""

import functools
import http.client
import io
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from smgcfg.errors import reason_of

#: No answer is read beyond this, in bytes: a probe asks for a few hundred tokens, the metrics of a gateway are larger.
ANSWER_LIMIT: Final = 32 << 20


@attrs.frozen
class Reply:
    """What came back.

    Attributes:
        status: The HTTP status; 0 when there was no answer.
        headers: The headers, names in lower case.
        body: The body.
        problem: Why there is no whole answer, or empty.
        silent: Whether that is because the time was over.
        seconds: How long it took.
    """

    status: int = 0
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""
    problem: str = ""
    silent: bool = False
    seconds: float = 0.0

    def json(self) -> Any:
        """Return the body as JSON, or None where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Client:
    """Asks one server; may be used from several threads.

    Args:
        url: Where it is; a path, as of a proxy's, stays in front of every path.
        insecure: Do not check the certificate of an https server.
    """

    def __init__(self, url: str, *, insecure: bool = False) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._base = parts.path.rstrip("/")
        self._context = _context(insecure=insecure) if parts.scheme == "https" else None

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, timeout: float) -> Reply:
        """Get a path.

        Args:
            path: The path.
            headers: Further headers.
            timeout: How long the whole answer may take, in seconds.
        """
        return self._ask("GET", path, None, headers or {}, timeout)

    def post(self, path: str, body: Any, *, headers: Mapping[str, str] | None = None, timeout: float) -> Reply:
        """Post JSON to a path.

        Args:
            path: The path.
            body: What to post.
            headers: Further headers.
            timeout: How long the whole answer may take, in seconds.
        """
        text = json.dumps(body).encode()
        return self._ask("POST", path, text, {"Content-Type": "application/json", **(headers or {})}, timeout)

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: float) -> Reply:
        began = time.monotonic()
        reply = self._answer(method, path, body, headers, began + timeout)
        if reply.silent:
            reply = attrs.evolve(reply, problem=f"no whole answer in {timeout:g} s")
        return attrs.evolve(reply, seconds=time.monotonic() - began)

    def _answer(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], until: float) -> Reply:
        timeout = max(until - time.monotonic(), 0.001)
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        connection.response_class = functools.partial(_Response, until)  # type: ignore[assignment]
        status, known = 0, dict[str, str]()
        try:
            connection.request(method, self._base + path, body, {"Connection": "close", **headers})
            response = connection.getresponse()
            status, known = response.status, {name.lower(): value for name, value in response.getheaders()}
            data = response.read(ANSWER_LIMIT + 1)
        except TimeoutError:
            return Reply(status, known, silent=True)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Reply(status, known, problem=_reason(error))
        finally:
            connection.close()
        if len(data) > ANSWER_LIMIT:
            return Reply(status, known, problem=f"an answer of more than {ANSWER_LIMIT >> 20} MiB")
        if response.length:
            return Reply(status, known, problem="the answer broke off")
        return Reply(status, known, data)


class _Response(http.client.HTTPResponse):
    """A response of which no part is waited for beyond a deadline: a server that sends a byte now and then as well."""

    def __init__(self, until: float, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(_Until(sock, until), *args, **kwargs)  # type: ignore[arg-type]


class _Until(io.RawIOBase):
    def __init__(self, sock: socket.socket, until: float) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._until = until

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def events(body: bytes) -> Iterator[str]:
    """Return the data of each event of a server-sent stream, comments and keep-alives left out."""
    data: list[str] = []
    for line in io.StringIO(body.decode("utf-8", "replace"), newline=None):
        text = line.rstrip("\n")
        if text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
        elif not text and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _context(*, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError):
        return reason_of(error)
    return f"not an HTTP answer ({type(error).__name__})"
