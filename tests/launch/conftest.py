"""What the tests of launching share."""

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch.operating import Home
from launch.plans import Marked


@pytest.fixture
def marked() -> Iterator[Marked]:
    """A mark for everything that a test starts; nothing that carries it may be there when the test is over."""
    mark = Marked()
    yield mark
    mark.close()
    left = mark.left()
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.fixture
def home(tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A runtime directory of its own for one launch."""
    return Home(tmp_path, marked, monkeypatch)


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory with a short name, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="t-") as path:
        yield Path(path)
