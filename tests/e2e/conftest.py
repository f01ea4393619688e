"""What the end-to-end tests share."""

from collections.abc import Iterator

import pytest
from e2e.deployment import Place, new_place


@pytest.fixture
def place() -> Iterator[Place]:
    """A place for the deployments of one test, which leaves no process and no socket there."""
    with new_place() as place:
        yield place
