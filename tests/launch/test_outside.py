"""What the control socket has the supervisor do."""

import selectors
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launch.plans import Marked, fake_launch

from smgcfg.launch.child import Child
from smgcfg.launch.client import NoAnswer, asked
from smgcfg.launch.outside import Outside


@contextmanager
def served(run_dir: Path, supervisor: SimpleNamespace) -> Iterator[None]:
    """Serve the control socket of a launch of which there is only a supervisor that a test made."""
    plan = fake_launch(run_dir, Marked(), []).evolve(api_key="swordfish", request_key="sesame")
    supervisor.children = {spec.name: Child(spec) for spec in plan.processes}
    supervisor.exit_code = None
    said: list[str] = []
    with selectors.DefaultSelector() as selector:
        outside = Outside(plan, supervisor, selector, lambda _: (), said.append, access={"more": 1})  # type: ignore[arg-type]
        outside.open()
        over = threading.Event()

        def loop() -> None:
            while not over.is_set():
                for key, mask in selector.select(0.01):
                    key.data(mask)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            outside.close()
    assert said == []
    assert list(run_dir.iterdir()) == []


def ask(run_dir: Path, **question: Any) -> dict[str, Any]:
    """Ask, and return the first answer."""
    with asked(str(run_dir), question) as answers:
        return next(answers)


def test_restart(tmp_path: Path) -> None:
    """The supervisor is told which process to replace, unless it stops or there is none of that name."""
    restarted: list[str] = []
    up = True

    def restart(name: str) -> bool:
        restarted.append(name)
        return up

    supervisor = SimpleNamespace(phase="up", restart=restart)
    with served(tmp_path, supervisor):
        assert ask(tmp_path, do="restart", process="chat-0") == {"ok": True}
        assert ask(tmp_path, do="restart", process="gateway") == {"ok": True}
        with pytest.raises(NoAnswer, match="no process of that name: 'chat-1'"):
            ask(tmp_path, do="restart", process="chat-1")
        up = False
        with pytest.raises(NoAnswer, match="gateway is not up: it is being started or stopped"):
            ask(tmp_path, do="restart", process="gateway")
        supervisor.phase = "stopping"
        with pytest.raises(NoAnswer, match="the launch is being stopped"):
            ask(tmp_path, do="restart", process="chat-0")
    assert restarted == ["chat-0", "gateway", "gateway"]


def test_access(tmp_path: Path) -> None:
    """Whoever may ask is given the keys, and what else the launch was told to give."""
    with served(tmp_path, SimpleNamespace(phase="up")):
        given = ask(tmp_path, do="access")["access"]
    assert given["url"].startswith("http://127.0.0.1:")
    assert (given["workers_key"], given["request_key"]) == ("swordfish", "sesame")
    assert (given["model"], given["more"]) == ("fake", 1)


def test_nobody_to_ask(tmp_path: Path) -> None:
    """Without a launcher the question fails at once, with the reason."""
    with pytest.raises(NoAnswer, match="the launcher can not be asked: no such file or directory"):
        ask(tmp_path, do="access")
    with served(tmp_path, SimpleNamespace(phase="up")):
        pass
    with pytest.raises(NoAnswer):
        ask(tmp_path, do="access")
