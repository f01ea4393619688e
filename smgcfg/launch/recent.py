"""The lines of a launch that are kept in memory, for whoever asks for them later."""

from collections import deque
from typing import Final, NamedTuple

#: What is kept of each process, in characters; a line counts some more, for what it takes to hold it.
KEPT: Final = 256 << 10
_LINE_COST: Final = 100

#: Whose lines those of the launcher itself are.
LAUNCHER: Final = "launcher"


class Line(NamedTuple):
    """A line that was printed; made for every one, and so a tuple.

    Attributes:
        number: Its place among all lines of the launch.
        time: When it came, in seconds since 1970.
        process: Who printed it; `LAUNCHER` for what the launcher itself said.
        stream: "out", "err", or "event" for the launcher's own.
        text: The line.
    """

    number: int
    time: float
    process: str
    stream: str
    text: str

    def data(self) -> dict[str, object]:
        """Return the line as JSON shows it."""
        return {"time": self.time, "process": self.process, "stream": self.stream, "text": self.text}


class Recent:
    """The last lines of every process, bounded for each, so that a chatty one takes no room from the others."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[Line]] = {}
        self._sizes: dict[str, int] = {}
        self._count = 0

    def add(self, time: float, process: str, stream: str, text: str) -> Line:
        """Keep a line, let go of the oldest that there is no room for, and return it."""
        line = Line(self._count, time, process, stream, text)
        self._count += 1
        lines = self._lines.setdefault(process, deque())
        lines.append(line)
        size = self._sizes.get(process, 0) + len(text) + _LINE_COST
        while size > KEPT and len(lines) > 1:
            size -= len(lines.popleft().text) + _LINE_COST
        self._sizes[process] = size
        return line

    def lines(self, process: str | None) -> list[Line]:
        """Return what is kept of one process, or of all in the order in which it came."""
        if process is not None:
            return list(self._lines.get(process, ()))
        return sorted((line for lines in self._lines.values() for line in lines), key=lambda line: line.number)
