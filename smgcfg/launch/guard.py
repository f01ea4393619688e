"""The parent of one process: it outlives the launcher, so that nothing of the process outlives the launcher.

Run as `python -I -S guard.py FD SESSION NAME`, with nothing but the standard library. FD is a socket to the launcher.
The guard reads from it what to run, runs it, and reports. Where SESSION is "own", the guard and the process have
sessions of their own, else process groups of their own in the launcher's session. The guard is a subreaper: whatever
the process leaves behind, in whichever session, becomes a child of the guard, so the guard knows when nothing is left.
When the launcher dies, the socket ends, and the guard stops the process as the launcher would have.

From the launcher: one frame (4 bytes of length, then fields separated by NUL: the grace in seconds, the number of
environment entries, those entries, the words of the command); then single bytes, `T` to stop and `K` to kill.
To the launcher, in lines: `pid N` or `failed ERRNO`; `exit STATUS` when the program ended; the end of the socket when
nothing is left.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

#: A tree that is being killed is looked at again after so many seconds, as a process may fork while it is walked, and
#: after twice as many each time, up to a limit: what is still there then can not be killed.
KILL_AGAIN = 0.02
KILL_AGAIN_LATEST = 1.0

#: How long a program that is woken is left alone, in seconds: all of its threads look for signals when they wake, and
#: one that another thread takes does not interrupt a sleeping main thread of Python.
WAKING = 0.05


def prctl(option: int, value: int) -> None:
    """Call prctl(2).

    Args:
        option: What to set.
        value: To which value.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def descendants(root: int) -> list[int]:
    """Return the process ids of everything below a process."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                # The name in parentheses may hold anything, blanks and parentheses too.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue  # it ended while being looked at
        children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def held(pid: int) -> bool:
    """Return whether a process is stopped, as by SIGSTOP."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] == b"T"
    return False


def send(pid: int, signum: int) -> None:
    """Send a signal to a process that may be gone, or be another user's by now."""
    with contextlib.suppress(OSError):  # nothing to be done about it here: the launcher says what is left behind
        os.kill(pid, signum)


def spawn(argv: list[bytes], env: dict[bytes, bytes], *, own_session: bool) -> int:
    """Run a command, killed by the kernel should the guard be killed.

    Args:
        argv: The words.
        env: The whole environment; its PATH is searched.
        own_session: Give it a session of its own, and not only a process group.

    Returns:
        The process id.

    Raises:
        OSError: The command can not be run.
    """
    guard = os.getpid()
    read_end, write_end = os.pipe()  # closed by a successful exec, which is how the guard learns of it
    pid = os.fork()
    if pid == 0:
        number = 127
        try:
            if own_session:
                os.setsid()
            else:
                os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == guard:
                for signum in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                    signal.signal(signum, signal.SIG_DFL)
                os.execvpe(argv[0], argv, env)
        except OSError as error:
            number = error.errno or number
        finally:
            os.write(write_end, b"%d" % number)
            os._exit(127)
    os.close(write_end)
    with open(read_end, "rb") as file:
        failure = file.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return pid


class Guard:
    """One guard at work.

    Args:
        launcher: The socket to the launcher.
        own_session: Give the process a session of its own.
    """

    def __init__(self, launcher: socket.socket, *, own_session: bool) -> None:
        self.launcher = launcher
        self.own_session = own_session
        self.grace = 0.0
        self.pid = 0
        self.ended = False
        self.stopping = False
        self.killing = False
        self.kill_again = KILL_AGAIN
        self.deadline: float | None = None
        self.woken, waker = os.pipe()
        for fd in (self.woken, waker):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self) -> None:
        """Run the command until nothing of it is left."""
        argv, env = self.read_command()
        try:
            self.pid = spawn(argv, env, own_session=self.own_session)
        except OSError as error:
            self.report(f"failed {error.errno}")
            return
        self.report(f"pid {self.pid}")
        poll = select.poll()
        poll.register(self.woken, select.POLLIN)
        poll.register(self.launcher, select.POLLIN)
        self.launcher.setblocking(False)
        while self.reap():
            for fd, _ in poll.poll(self.patience()):
                if fd == self.woken:
                    self.take_signals()
                elif not self.take_orders():
                    poll.unregister(self.launcher)
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.killing = True
            if self.killing:
                self.kill_again = min(self.kill_again * 2, KILL_AGAIN_LATEST)
                self.signal_all(signal.SIGKILL)

    def read_command(self) -> tuple[list[bytes], dict[bytes, bytes]]:
        """Read what to run: the words and the whole environment."""
        size = int.from_bytes(self.read_exactly(4), "big")
        grace, count, *rest = self.read_exactly(size).split(b"\0")
        self.grace = float(grace)
        pairs = (entry.partition(b"=") for entry in rest[: int(count)])
        return rest[int(count) :], {name: value for name, _, value in pairs}

    def read_exactly(self, size: int) -> bytes:
        """Read so many bytes from the launcher, or leave: a launcher that died before has nothing to run."""
        data = b""
        while len(data) < size:
            more = self.launcher.recv(size - len(data))
            if not more:
                sys.exit(1)
            data += more
        return data

    def patience(self) -> float | None:
        """Return how long to wait for something to happen, in milliseconds; None for ever."""
        if self.killing:
            return self.kill_again * 1000
        if self.deadline is not None:
            return max(0.0, self.deadline - time.monotonic()) * 1000
        return None

    def reap(self) -> bool:
        """Collect what ended, and return whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.ended = True
                self.report(f"exit {os.waitstatus_to_exitcode(status)}")
                # What is left of an orderly stop may finish, too; what is left of a crash only holds its memory.
                if self.stopping:
                    self.signal_all(signal.SIGTERM)
                else:
                    self.killing = True

    def take_signals(self) -> None:
        """Take the signals that came: SIGTERM stops, SIGCHLD has `reap` called, which happens anyway."""
        if signal.SIGTERM in os.read(self.woken, 4096):
            self.stop_alone()

    def take_orders(self) -> bool:
        """Do as the launcher says, and return whether there still is one."""
        try:
            orders = self.launcher.recv(4096)
        except ConnectionError:
            orders = b""
        if b"K" in orders:
            self.killing = True
        if b"T" in orders:
            self.stop()
        if not orders:
            self.stop_alone()
        return bool(orders)

    def stop_alone(self) -> None:
        """Stop with nobody to say when to kill."""
        if self.deadline is None:
            self.deadline = time.monotonic() + self.grace
        self.stop()

    def stop(self) -> None:
        """Ask the program to end; one that is held by SIGSTOP could not obey, and is woken first."""
        self.stopping = True
        if self.ended:
            self.signal_all(signal.SIGTERM)
            return
        if held(self.pid):
            send(self.pid, signal.SIGCONT)
            time.sleep(WAKING)
        send(self.pid, signal.SIGTERM)
        send(self.pid, signal.SIGCONT)  # for one that is being stopped at this moment

    def signal_all(self, signum: int) -> None:
        """Send a signal to everything that is left."""
        for pid in descendants(os.getpid()):
            send(pid, signum)

    def report(self, line: str) -> None:
        """Tell the launcher, if there is one."""
        with contextlib.suppress(OSError):
            self.launcher.sendall(f"{line}\n".encode())


def main() -> None:
    """Guard one process, as the module's text says."""
    launcher = socket.socket(fileno=int(sys.argv[1]))
    own_session = sys.argv[2] == "own"
    if not own_session:
        # A signal from the terminal is for the launcher alone.
        os.setpgid(0, 0)
    launcher.set_inheritable(False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The socket does not end while a process that the launcher forked, in a Python program that uses it, holds a copy.
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(signum, signal.SIG_IGN)
    guard = Guard(launcher, own_session=own_session)
    for signum in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(signum, lambda *_: None)
    guard.run()


if __name__ == "__main__":
    main()
