"""One file for each process of a launch, of a bounded size, written by a thread: a slow disk holds up nobody."""

import contextlib
import errno
import os
import threading
from collections import deque
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from smgcfg.errors import reason_of
from smgcfg.launch.recent import Line
from smgcfg.launch.run_dir import make_private
from smgcfg.launch.times import stamp

#: What waits for a slow disk at most, in lines; what comes on top is not written, and counted.
WAITING: Final = 20_000

#: How long `close` waits for a slow disk, in seconds.
CLOSE_PATIENCE: Final = 2.0


class LogFiles:
    """The log files of one launch: `<process>.log`, with `.1`, `.2` and so on for older ones.

    Args:
        directory: Where they are; made where it does not exist, for its owner alone.
        max_bytes: A file that would grow larger is put aside.
        backups: How many older files of a process are kept.

    Raises:
        OSError: The directory can not be made, or no thread started.
    """

    def __init__(self, directory: str, max_bytes: int, backups: int) -> None:
        make_private(directory)
        self._directory = Path(directory)
        self._max_bytes = max_bytes
        self._backups = backups
        self._files: dict[str, _File] = {}
        self._queue: deque[Line] = deque()
        self._news = threading.Condition()
        self._closing = False
        self._busy = False
        self._lost = 0
        self._problem = ""
        self._said = False
        # A daemon: a disk that hangs does not keep the launcher from ending.
        self._thread = threading.Thread(target=self._run, name="smgcfg logs", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as problem:  # a limit on the number of threads
            raise OSError(errno.EAGAIN, str(problem)) from None

    def add(self, line: Line) -> None:
        """Have a line written; never waits for the disk."""
        with self._news:
            if len(self._queue) < WAITING:
                self._queue.append(line)
            else:
                self._lost += 1
            self._news.notify_all()

    def problem(self) -> str:
        """Return what went wrong, once; empty when nothing did since the launch began or it was said."""
        problem, self._problem = self._problem, ""
        return problem

    def flush(self) -> None:
        """Wait until what was added is written, or could not be."""
        with self._news:
            self._news.wait_for(lambda: not self._queue and not self._busy)

    def close(self) -> None:
        """Write what is left, as far as the disk takes it soon."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        self._thread.join(CLOSE_PATIENCE)

    def _run(self) -> None:
        closing = False
        while not closing:
            with self._news:
                self._busy = False
                self._news.notify_all()
                self._news.wait_for(lambda: self._queue or self._closing)
                self._busy = True
                lines, self._queue = self._queue, deque()
                lost, self._lost = self._lost, 0
                closing = self._closing
            self._write(lines, lost)
        for file in self._files.values():
            file.close()

    def _write(self, lines: Iterable[Line], lost: int) -> None:
        texts: dict[str, list[str]] = {}
        for line in lines:
            texts.setdefault(line.process, []).append(f"{stamp(line.time)} {line.stream:<3} {line.text}\n")
        for process, written in texts.items():
            problem = self._file(process).write(written, lost)
            # Whose they were is not known: they are missed in one place.
            lost = 0
            if problem and not self._said:
                self._said, self._problem = True, problem

    def _file(self, process: str) -> "_File":
        if process not in self._files:
            self._files[process] = _File(self._directory / f"{process}.log", self._max_bytes, self._backups)
        return self._files[process]


class _File:
    """One file; only the thread touches it."""

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._fd = -1
        self._size = 0
        self._lost = 0

    def write(self, lines: list[str], lost: int) -> str:
        """Write whole lines, and return why they could not be written, or an empty text.

        Args:
            lines: The lines.
            lost: How many there was no room for before, of any process.
        """
        self._lost += lost
        marker = [f"[{self._lost} lines are missing here]\n"] if self._lost else []
        waiting = deque(line.encode("utf-8", "replace") for line in (*marker, *lines))
        try:
            if self._fd < 0:
                self._open()
            while waiting:
                if self._size and self._size + len(waiting[0]) > self._max_bytes:
                    self._put_aside()
                self._append(waiting)
                self._lost = 0
        except OSError as problem:
            # The marker is no line that was lost, and is written with the right number next time.
            self._lost += min(len(waiting), len(lines))
            return f"{str(self._path)!r} can not be written: {reason_of(problem)}"
        return ""

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, waiting: deque[bytes]) -> None:
        """Write as many lines as there is room for in the file, one at least, and take them out."""
        size, count = 0, 0
        for line in waiting:
            if count and self._size + size + len(line) > self._max_bytes:
                break
            size, count = size + len(line), count + 1
        rest = b"".join(islice(waiting, count))
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            # Half a line helps nobody, and on a full disk there is room to take it back.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += size
        for _ in range(count):
            waiting.popleft()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _put_aside(self) -> None:
        self.close()
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._backups + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        self._open()
