"""A command line run in this process, which takes a hundredth of the time that a process of its own takes."""

import contextlib
import io
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType

from smgcfg.cli import main

#: Seconds of computing, and seconds by the clock, after which a command counts as hanging. Machines that run tests are
#: busy, so the clock says little.
COMPUTING, WAITING = 5.0, 60.0


class HangError(BaseException):
    """A command that takes far too long; nothing on the way may take it for something else."""


def run(argv: Sequence[str], stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command line.

    Returns:
        The exit code, and what was printed to standard output and error.

    Raises:
        HangError: It takes too long.
    """
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", errors) for data, errors in
               ((stdin, "strict"), (b"", "strict"), (b"", "backslashreplace"))]  # fmt: skip
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        with _limit():
            try:
                code = main(list(argv))
            except SystemExit as asked:
                code = asked.code if isinstance(asked.code, int) else 1
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    texts = []
    for stream in streams[1:]:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        texts.append(buffer.getvalue().decode("utf-8", "replace"))
    return code, texts[0], texts[1]


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def hang(number: int, frame: FrameType | None) -> None:
        raise HangError("".join(traceback.format_stack(frame, 8)))

    clocks = ((signal.SIGVTALRM, signal.ITIMER_VIRTUAL, COMPUTING), (signal.SIGALRM, signal.ITIMER_REAL, WAITING))
    before = [signal.signal(number, hang) for number, _, _ in clocks]
    for _, clock, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for _, clock, _ in clocks:
            signal.setitimer(clock, 0)
        for (number, _, _), handler in zip(clocks, before, strict=True):
            signal.signal(number, handler)
