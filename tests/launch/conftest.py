"""What the tests of launching share."""

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from launch.plans import Marked


@pytest.fixture
def marked() -> Iterator[Marked]:
    """A mark for everything that a test starts; nothing that carries it may be there when the test is over."""
    mark = Marked()
    yield mark
    left = mark.left()
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert left == []
