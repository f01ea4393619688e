"""A stream that is slow, closed or a terminal, and a writer that never waits for it."""

import io
import os
import pty
import selectors
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from smgcfg.launch.console import BUFFER_LIMIT, Console


def console_to(fd: int) -> tuple[Console, selectors.BaseSelector]:
    """Return a console to a descriptor, which it may close."""
    selector = selectors.DefaultSelector()
    with open(fd, "w", encoding="utf-8") as stream:
        return Console(stream, selector), selector


def pump(selector: selectors.BaseSelector) -> None:
    """Do what the selector's loop would do at the moment."""
    for key, mask in selector.select(0) if selector.get_map() else []:
        key.data(mask)


def test_buffer_without_descriptor() -> None:
    """A stream without a descriptor is written to as it is."""
    out = io.StringIO()
    console = Console(out, selectors.DefaultSelector())
    console.line("a")
    console.status("not on a terminal")
    console.close()
    assert out.getvalue() == "a\n"


def test_buffer_that_was_closed() -> None:
    """A stream that its owner closed takes no more lines, and that is no error."""
    out = io.StringIO()
    console = Console(out, selectors.DefaultSelector())
    out.close()
    console.line("a")
    console.close()


def test_file_is_written_behind_what_is_there(tmp_path: Path) -> None:
    """A file is appended to, and nothing of what the stream held back comes later."""
    path = tmp_path / "log"
    with path.open("w") as stream:
        stream.write("before\n")
        console = Console(stream, selectors.DefaultSelector())
        console.line("after")
        console.close()
    assert path.read_text() == "before\nafter\n"


def make_pipe() -> tuple[int, int]:
    """Return the ends of a pipe."""
    return os.pipe()


def make_socket() -> tuple[int, int]:
    """Return the ends of a socket, as a service manager gives one for output."""
    ends = socket.socketpair()
    return ends[0].detach(), ends[1].detach()


@pytest.mark.parametrize("make", [make_pipe, make_socket])
def test_slow_reader_holds_nobody_up(make: Callable[[], tuple[int, int]]) -> None:
    """Lines for a reader that reads nothing are written in no time, and those beyond the buffer are dropped."""
    reader, writer = make()
    console, selector = console_to(writer)
    before = time.monotonic()
    for index in range(30_000):
        console.line(f"{index:<100}")
    assert time.monotonic() - before < 2.0
    os.set_blocking(reader, False)
    received = b""
    more = True
    while more:
        pump(selector)
        try:
            more = bool(data := os.read(reader, 1 << 16))
            received += data
        except BlockingIOError:
            more = bool(selector.get_map())
    assert BUFFER_LIMIT < len(received) < 2 * BUFFER_LIMIT
    assert received.endswith(b"\n")
    console.line("the end")
    data = os.read(reader, 1 << 16).decode()
    dropped, end, _ = data.split("\n")
    kept = received.count(b"\n")
    assert dropped == f"[{30_000 - kept} lines dropped: the reader of this output is too slow]"
    assert end == "the end"
    os.close(reader)
    console.close()


@pytest.mark.parametrize("make", [make_pipe, make_socket])
def test_reader_that_went_away(make: Callable[[], tuple[int, int]]) -> None:
    """When the reader has gone, lines are dropped, without an error and without being kept."""
    reader, writer = make()
    console, selector = console_to(writer)
    os.close(reader)
    for _ in range(1000):
        console.line("x" * 1000)
    assert list(selector.get_map()) == []
    console.close()


def test_shared_pipe_stays_as_it_was() -> None:
    """The writer's open file, which others share, is not made non-blocking."""
    reader, writer = os.pipe()
    shared = os.dup(writer)
    console, _ = console_to(writer)
    console.line("a")
    assert os.get_blocking(shared)
    console.close()
    for fd in (reader, shared):
        os.close(fd)


def test_close_gives_a_slow_reader_a_moment() -> None:
    """Closing waits for a reader that reads, and not for ever for one that does not."""
    reader, writer = os.pipe()
    console, _ = console_to(writer)
    for _ in range(2000):
        console.line("x" * 100)
    before = time.monotonic()
    console.close()
    assert 0.5 < time.monotonic() - before < 2.0
    os.close(reader)


def test_status_line_of_a_terminal() -> None:
    """On a terminal the status stands below the lines, is cut to the width, and is gone at the end."""
    reader, writer = pty.openpty()
    console, _ = console_to(writer)
    console.status("loading " + "x" * 500)
    console.line("a line")
    console.status("loading")
    console.close()
    end = "\r\x1b[Kloading\r\x1b[K"
    shown = ""
    while not shown.endswith(end):  # a terminal passes on what it gets in pieces
        shown += os.read(reader, 1 << 16).decode()
    first, line, last = shown.partition("a line\r\n")
    assert first.startswith("\r\x1b[Kloading xxx")
    assert len(first) < 250
    assert line
    assert last.startswith("loading xxx")
    os.close(reader)
