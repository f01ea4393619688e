"""The output of the processes: whole lines of a bounded length, no colours, no secrets, and the last few of each."""

import re
from collections import deque
from typing import Final

from smgcfg.process import ProcessSpec

#: A longer line is cut here, in bytes; what follows up to its end is counted, not kept.
LINE_LIMIT: Final = 8192

#: So many last lines of a process are kept for the report of its death.
LINES_KEPT: Final = 20

#: A shorter secret is not looked for in output: it would be found everywhere, and hide nothing.
SHORTEST_SECRET: Final = 4

#: A command to a terminal: a colour, a move of the cursor.
_COMMAND: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class LineSplitter:
    """Makes whole lines of the pieces in which output arrives.

    A carriage return starts a line over, as on a terminal, so that a progress bar is one line when it is done and its
    latest state in between.
    """

    def __init__(self) -> None:
        self._line = b""
        self._cut = 0

    @property
    def unfinished(self) -> str:
        """What stands on the line that has not ended yet."""
        return self._text(self._line)

    def feed(self, data: bytes) -> list[str]:
        """Take a piece of output and return the lines that it completes."""
        lines = []
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._extend(end)
            lines.append(self._take())
        self._extend(rest)
        return lines

    def flush(self) -> list[str]:
        """Return the line that never ended, if there is one."""
        return [self._take()] if self._line else []

    def _extend(self, piece: bytes) -> None:
        line = self._line + piece
        # A return at the very end may belong to the line's end, which is still to come.
        start = line.rfind(b"\r", 0, len(line.rstrip(b"\r"))) + 1
        if start:
            self._cut = 0
        line = line[start:]
        self._cut += max(0, len(line) - LINE_LIMIT)
        self._line = line[:LINE_LIMIT]

    def _take(self) -> str:
        text = self._text(self._line)
        if self._cut:
            text += f" [{self._cut} bytes more]"
        self._line, self._cut = b"", 0
        return text

    @staticmethod
    def _text(line: bytes) -> str:
        return line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")


class Log:
    """What one process says.

    Args:
        spec: The process, which knows its secrets.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        self._masks = _masks(spec)
        self._streams = {"out": LineSplitter(), "err": LineSplitter()}
        self._last: deque[str] = deque(maxlen=LINES_KEPT)

    def feed(self, stream: str, data: bytes) -> list[str]:
        """Take output of one stream, "out" or "err", and return the lines that it completes."""
        return self._keep(self._streams[stream].feed(data))

    def flush(self) -> list[str]:
        """Return the lines that never ended, of a process that has."""
        return self._keep([line for stream in self._streams.values() for line in stream.flush()])

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines, oldest first."""
        return tuple(self._last)

    @property
    def last_line(self) -> str:
        """The last thing said, finished or not, without what only a terminal understands."""
        said = [*self._last, *(self._mask(stream.unfinished) for stream in self._streams.values())]
        return next((text for line in reversed(said) if (text := plain(line))), "")

    def _keep(self, lines: list[str]) -> list[str]:
        # Colours go: the line may end in a file, a pipe or a JSON document, and they could split a secret in two.
        lines = [self._mask(_COMMAND.sub("", line)) for line in lines]
        self._last.extend(lines)
        return lines

    def _mask(self, line: str) -> str:
        for secret, name in self._masks:
            line = line.replace(secret, name)
        return line


def plain(line: str) -> str:
    """Return a line without colours, other commands to a terminal, and blanks around it."""
    return "".join(filter(str.isprintable, _COMMAND.sub("", line))).strip()


def _masks(spec: ProcessSpec) -> list[tuple[str, str]]:
    """Return every secret of a process with what to write instead, the longest first."""
    words = [(spec.argv[secret.index][secret.start :], secret.name) for secret in spec.secrets]
    words += [(value, name) for name, value in spec.env if name in spec.secret_env]
    masks = {text: f"$SMGCFG_SECRET_{name}" for text, name in words if len(text) >= SHORTEST_SECRET}
    return sorted(masks.items(), key=lambda mask: -len(mask[0]))
