"""Runs processes for real: each under a guard, its output read as it comes, everything heard through one selector."""

import contextlib
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from smgcfg.errors import reason_of
from smgcfg.launch.effects import Exit, Exited, Gone, NotStarted, Report, Started
from smgcfg.launch.logs import Log
from smgcfg.process import ProcessSpec

#: The environment entry that marks everything a launch started, so that it can be found when its guard was killed.
MARK: Final = "SMGCFG_PROCESS"

_GUARD: Final = Path(__file__).with_name("guard.py")

#: How much of one process's output is read before the others have their turn, in bytes.
_PIECE: Final = 1 << 16

#: How often a dead guard's processes are looked for at most: more often only finds what can not be killed.
_SWEEPS: Final = 50

#: Takes a line: the process's name, "out" or "err", and the line.
Lines = Callable[[str, str, str], None]


class GuardedSpawner:
    """A spawner whose processes do not outlive it: see `guard`.

    Args:
        selector: Where to hear about sockets and pipes; its keys' data are called with the event mask.
        lines: Takes every line that a process prints, as it comes.
        grace: Seconds between asking and killing when the launcher is gone.
        own_sessions: Give each process a session of its own, and not only a process group.
    """

    def __init__(
        self, selector: selectors.BaseSelector, lines: Lines, *, grace: float, own_sessions: bool = True
    ) -> None:
        self._selector = selector
        self._lines = lines
        self._grace = grace
        self._own_sessions = own_sessions
        self._token = f"{os.getpid()}.{time.time_ns()}"
        self._guarded: dict[str, _Guarded] = {}
        self._reports: list[Report] = []

    def start(self, spec: ProcessSpec) -> None:
        """Start a process under a guard of its own."""
        if spec.name in self._guarded:
            raise ValueError(f"{spec.name!r} is running")
        mark = f"{self._token}.{spec.name}"
        try:
            self._guarded[spec.name] = _Guarded(
                spec,
                mark,
                self._grace,
                self._selector,
                self._lines,
                self._report,
                own_session=self._own_sessions,
            )
        except OSError as problem:
            # There are no descriptors, processes or memory left: it may be tried again when there are.
            self._reports.append(NotStarted(spec.name, f"its guard can not be started: {reason_of(problem)}"))

    def stop(self, name: str) -> None:
        """Ask a process to end; nothing happens when it is gone."""
        if name in self._guarded:
            self._guarded[name].order(b"T")

    def kill(self, name: str) -> None:
        """Kill a process and all it started; a second call does so without its guard, which may be stuck."""
        if name in self._guarded:
            self._guarded[name].kill()

    def is_held(self, name: str) -> bool:
        """Return whether a process, or something it started, is stopped by a signal."""
        from smgcfg.launch.guard import held

        return any(map(held, self.tree(name)))

    @property
    def wake_at(self) -> float:
        """When `poll` wants to be called at the latest: at once if there is something to report, else never."""
        return -math.inf if self._reports else math.inf

    def poll(self) -> Sequence[Report]:
        """Return what happened since the last call."""
        reports, self._reports = self._reports, []
        return reports

    def last_line(self, name: str) -> str:
        """Return the last thing a running process said, finished line or not."""
        return self._guarded[name].log.last_line if name in self._guarded else ""

    def last_lines(self, name: str) -> tuple[str, ...]:
        """Return the last lines of a running process, oldest first."""
        return self._guarded[name].log.last_lines if name in self._guarded else ()

    def tree(self, name: str) -> set[int]:
        """Return the process ids of a running process and of all that it started."""
        return self._guarded[name].tree() if name in self._guarded else set()

    @property
    def guards(self) -> set[int]:
        """The process ids of the guards, which nobody else may wait for."""
        return {guarded.guard_pid for guarded in self._guarded.values()}

    def close(self) -> None:
        """Let go of every guard that is left, and give it the time to stop its process by itself."""
        left, self._guarded = self._guarded, {}
        for guarded in left.values():
            guarded.let_go()
        deadline = time.monotonic() + self._grace + 1.0
        for guarded in left.values():
            guarded.wait(deadline)

    def _report(self, report: Report) -> None:
        if isinstance(report, Gone | NotStarted):
            del self._guarded[report.name]
        self._reports.append(report)


class _Guarded:
    """One guard, from the launcher's side."""

    def __init__(
        self,
        spec: ProcessSpec,
        mark: str,
        grace: float,
        selector: selectors.BaseSelector,
        lines: Lines,
        report: Callable[[Report], None],
        *,
        own_session: bool,
    ) -> None:
        self.spec = spec
        self.log = Log(spec)
        self._mark = f"{MARK}={mark}"
        self._selector = selector
        self._lines = lines
        self._report = report
        self._pid: int | None = None
        self._ended = False
        self._killed = False
        self._said = b""
        self._outputs: dict[int, str] = {}
        self._launch(grace, {**os.environ, **dict(spec.env), MARK: mark}, own_session=own_session)

    def _launch(self, grace: float, env: dict[str, str], *, own_session: bool) -> None:
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self._socket, socket_of_guard = socket.socketpair()
            ours.callback(self._socket.close)
            theirs.callback(socket_of_guard.close)
            write_ends = []
            for stream in ("out", "err"):
                read_end, write_end = os.pipe()
                ours.callback(os.close, read_end)
                theirs.callback(os.close, write_end)
                os.set_blocking(read_end, False)
                self._outputs[read_end] = stream
                write_ends.append(write_end)
            self._guard = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(_GUARD), str(socket_of_guard.fileno())),
                    *("own" if own_session else "launcher", self.spec.name),
                ],
                stdin=subprocess.DEVNULL,
                stdout=write_ends[0],
                stderr=write_ends[1],
                pass_fds=[socket_of_guard.fileno()],
                start_new_session=own_session,
            )
            ours.pop_all()  # they stay open
        for fd in self._outputs:
            self._selector.register(fd, selectors.EVENT_READ, lambda _, fd=fd: self._read(fd))
        entries = [f"{name}={value}" for name, value in env.items()]
        fields = [str(grace), str(len(entries)), *entries, *self.spec.argv]
        frame = b"\0".join(os.fsencode(field) for field in fields)
        # The guard reads it all before anything else, so this waits for no more than its start.
        with contextlib.suppress(OSError):
            self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        self._socket.setblocking(False)
        self._selector.register(self._socket, selectors.EVENT_READ, lambda _: self._hear())

    @property
    def guard_pid(self) -> int:
        """The guard's process id."""
        return self._guard.pid

    def tree(self) -> set[int]:
        """Return the process ids of the program and of all that it started."""
        from smgcfg.launch.guard import descendants

        # What has left the guard, which was killed, is known by its mark.
        return {*descendants(self._guard.pid), *(() if self._guard.poll() is None else marked(self._mark, self._pid))}

    def order(self, letter: bytes) -> None:
        """Send the guard an order; one that is gone needs none."""
        with contextlib.suppress(OSError):
            self._socket.sendall(letter)

    def kill(self) -> None:
        """Have everything killed."""
        if self._killed:
            self._sweep()
            self._guard.kill()
        else:
            self.order(b"K")
        self._killed = True

    def let_go(self) -> None:
        """Close the socket and the pipes, which has the guard stop its process."""
        for fd in list(self._outputs):
            self._stop_reading(fd)
        self._selector.unregister(self._socket)
        self._socket.close()

    def wait(self, deadline: float) -> None:
        """Wait for the guard to end, unless it was told to kill before and that had no effect."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(0.1 if self._killed else max(0.0, deadline - time.monotonic()))

    def _hear(self) -> None:
        """Take in what the guard says."""
        try:
            data = self._socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            word, _, number = line.decode().partition(" ")
            self._take(word, int(number))
        if not data:
            self._finish()

    def _take(self, word: str, number: int) -> None:
        name = self.spec.name
        if word == "pid":
            self._pid = number
            self._report(Started(name, number))
        elif word == "exit" and self._pid is not None:
            self._end(Exit(number))
        elif word == "failed":
            self._ended = True
            self._close_with(NotStarted(name, f"{self.spec.argv[0]!r} can not be run: {os.strerror(number).lower()}"))

    def _end(self, how: Exit) -> None:
        assert self._pid is not None
        self._ended = True
        self._drain()
        self._report(Exited(self.spec.name, self._pid, how, self.log.last_lines))

    def _finish(self) -> None:
        """The guard ended: in order, when nothing is left of the process; or killed, and then the rest is on us."""
        if self._socket.fileno() < 0:
            return  # it said that it could not start, and was closed for it
        status = self._guard.wait()
        if self._pid is None:
            self._sweep()
            self._close_with(NotStarted(self.spec.name, f"its guard ended too early ({Exit(status)})"))
            return
        if not self._ended or status != 0:
            self._sweep()
        if not self._ended:
            self._end(Exit(None))
        self._drain()
        self._close_with(Gone(self.spec.name))

    def _close_with(self, report: Report) -> None:
        self.let_go()
        self._guard.wait()
        self._report(report)

    def _sweep(self) -> None:
        """Kill everything that carries the mark or is in the program's session or group, until nothing is found."""
        for _ in range(_SWEEPS):
            try:
                found = marked(self._mark, self._pid)
            except OSError:
                found = []  # there is no descriptor left to look with: there may be one in a moment
            else:
                if not found:
                    break
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    def _read(self, fd: int) -> bool:
        """Pass on what one stream has, and return whether there may be more."""
        try:
            data = os.read(fd, _PIECE)
        except BlockingIOError:
            return False
        stream = self._outputs[fd]
        for line in self.log.feed(stream, data):
            self._lines(self.spec.name, stream, line)
        if not data:
            self._stop_reading(fd)
        return bool(data)

    def _drain(self) -> None:
        """Pass on all that the ended program has printed."""
        for fd in list(self._outputs):
            # Bounded, as something it started may still be printing.
            for _ in range(64):
                if not self._read(fd):
                    break
        for line in self.log.flush():
            self._lines(self.spec.name, "out", line)

    def _stop_reading(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
        del self._outputs[fd]


def marked(mark: str, leader: int | None = None) -> list[int]:
    """Return the processes whose environment holds an entry, or that are in a process's session or group.

    Args:
        mark: The entry, `NAME=VALUE`.
        leader: The process that leads the session or the group, or None.
    """
    found = []
    wanted = b"\0" + mark.encode() + b"\0"
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            stat = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
            if stat[0] in b"ZX":
                continue
            environ = b"\0" + Path("/proc", entry, "environ").read_bytes()
            if wanted in environ or leader in (int(stat[2]), int(stat[3])):
                found.append(int(entry))
    return found
