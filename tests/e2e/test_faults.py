"""What is found before anything starts, as an operator meets it at the command line."""

from pathlib import Path

import pytest
from e2e.deployment import Place, serving


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("others", "is open to others (mode 0777)"),
        ("link", "is a symbolic link"),
        ("file", "is no directory"),
        ("long", "a Unix socket takes at most 107"),
    ],
)
def test_socket_directory_that_is_not_safe(place: Place, kind: str, said: str) -> None:
    """A run directory that is not ours alone, or too long for sockets, is refused before anything starts."""
    path = Path(place.home, "run" if kind != "long" else "r" * 90)
    elsewhere = place.home / "elsewhere"
    elsewhere.mkdir(0o700)
    if kind == "others":
        path.mkdir()
        path.chmod(0o777)
    elif kind == "link":
        path.symlink_to(elsewhere)
    elif kind == "file":
        path.touch()
    with serving(place, place.base, "--stand-in", "--set", f"launch.run_dir={path}") as serve:
        assert serve.wait() == 2
        assert said in serve.err
        assert serve.out == ""
    assert not path.is_dir() or list(path.iterdir()) == []
    assert path.exists() == (kind != "long")


def test_too_few_gpus(place: Place) -> None:
    """Workers for which there is no GPU are refused in one line with the numbers, and not one of them is started."""
    two = ("--set", "pools.demo.replicas=2", "--set", "pools.demo.engine.tensor_parallel_size=2")
    with serving(place, place.base, *two, env={"CUDA_VISIBLE_DEVICES": "0"}) as serve:
        assert serve.wait() == 2
        assert "SMG023 pools.demo.gpus: 2 workers of 2 GPUs need 4; CUDA_VISIBLE_DEVICES has 1 for them" in serve.err
        assert serve.out == ""
    assert not place.run_dir.exists()
