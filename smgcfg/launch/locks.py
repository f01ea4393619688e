"""Files that one process holds as long as it lives: when it is gone, however it ended, so is its hold."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: How long a lock may be held by somebody who only looks at it, in seconds.
_LOOK: Final = 0.2

#: The longest text of a lock, in bytes.
_TEXT: Final = 256


def take_lock(
    path: Path, text: Callable[[str], str], prepare: Callable[[], object], patience: float = _LOOK
) -> int | None:
    """Take a lock, and return its file descriptor; None when another process holds it.

    Args:
        path: The lock's file, made where it does not exist.
        text: Returns what to write, for others to read; takes what the last owner wrote, were it nothing.
        prepare: Makes the directory, where that does not exist.
        patience: How long to wait for somebody who only looks at it, in seconds.

    Raises:
        OSError: The file can not be made.
    """
    deadline = time.monotonic() + patience
    while True:
        prepare()
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # its last owner removed the directory just now
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            if time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            return None
        try:
            # Its last owner may have removed the file between our opening and our locking it.
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                written = text(os.read(fd, _TEXT).decode("utf-8", "replace"))
                os.ftruncate(fd, 0)
                os.pwrite(fd, written.encode(), 0)
                return fd
        except FileNotFoundError:
            pass
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def is_at(path: Path, made: os.stat_result) -> bool:
    """Return whether a file is still at its path: else nobody can find it there.

    Args:
        path: Where it was made.
        made: What it was.
    """
    try:
        there = os.lstat(path)
    except OSError:
        return False
    # The time, too: the number of a file that is gone is soon given to the next one.
    return os.path.samestat(made, there) and made.st_mtime_ns == there.st_mtime_ns


def holder_of(path: Path) -> str | None:
    """Return what the holder of a lock says of itself, or None when nobody holds it.

    Args:
        path: The lock's file.
    """
    try:
        # Whatever else may be there, such as a FIFO, is not waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        # A lock is taken first and written then: who has just taken it says in a moment who that is.
        deadline = time.monotonic() + _LOOK
        while not (text := os.pread(fd, _TEXT, 0).decode("utf-8", "replace").strip()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return text
    finally:
        os.close(fd)
    return None
