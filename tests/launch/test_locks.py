"""Files that one process holds as long as it lives."""

import fcntl
import os
import threading
from pathlib import Path

from smgcfg.launch.locks import holder_of, take_lock


def test_who_has_just_taken_a_lock_is_named(tmp_path: Path) -> None:
    """A lock whose holder has not yet written who it is, is looked at until it has; nobody holds one that is let go."""
    path = tmp_path / "lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    soon = threading.Timer(0.05, os.pwrite, (fd, b"'late', pid 1\n", 0))
    soon.start()
    assert holder_of(path) == "'late', pid 1"
    soon.join()
    os.close(fd)
    assert holder_of(path) is None


def test_a_holder_that_never_says_who_it_is_holds_all_the_same(tmp_path: Path) -> None:
    """The looking ends, with an empty text: somebody has the lock, and nobody else gets it."""
    path = tmp_path / "lock"
    fd = take_lock(path, lambda _: "", lambda: None)
    assert fd is not None
    assert holder_of(path) == ""
    assert take_lock(path, lambda _: "other", lambda: None) is None
    os.close(fd)
