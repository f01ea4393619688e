"""What commands say to a launcher that answers what they can not read."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from launch.operating import Home, smgcfg
from launch.test_state_shape import WHOLE

from smgcfg.launch import control
from smgcfg.launch.alive import namespace, start_of
from smgcfg.launch.control import short_path
from smgcfg.launch.run_dir import RunDir, make_private
from smgcfg.launch.state import StateFile


@contextmanager
def answering(home: Home, answer: bytes) -> Iterator[None]:
    """This process as the launcher of a launch: it gives everybody one answer."""
    make_private(str(home.run_dir))
    launcher = {"pid": os.getpid(), "started": start_of(os.getpid()), "namespace": namespace()}
    StateFile(str(home.run_dir)).write(WHOLE | {"name": home.name, "launcher": launcher})
    with socket.socket(socket.AF_UNIX) as listener:
        with short_path(str(home.run_dir)) as path:
            listener.bind(path)
        listener.listen()

        def serve() -> None:
            while True:
                caller, _ = listener.accept()
                with caller:
                    if caller.recv(1 << 16) == b"over":
                        return
                    caller.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX) as last, short_path(str(home.run_dir)) as path:
                last.connect(path)
                last.sendall(b"over")
            thread.join()
    (home.run_dir / control.NAME).unlink()


UNREADABLE = "what the launcher answers can not be read: it may be of another version of smgcfg"


@pytest.mark.parametrize("answer", [b"\xff\n", b"\n", b"[]\n", b"1\n", b'{"ok"\n', b"[" * 50_000 + b"\n"])
def test_answers_that_are_none(home: Home, tmp_path: Path, answer: bytes) -> None:
    """What is no object of JSON is said to be unreadable, by every command."""
    (tmp_path / "new.toml").write_text("")
    with answering(home, answer):
        assert UNREADABLE in smgcfg("status", home.name).out
        for words in (["logs", home.name], ["stop", home.name], ["restart", home.name, "chat-0"]):
            said = smgcfg(*words)
            assert (said.code, said.err) == (1, f"smgcfg: {UNREADABLE}\n")
        said = smgcfg("verify", home.name)
        assert (said.code, said.err) == (3, f"smgcfg: {home.name}: {UNREADABLE}\n")
        said = smgcfg("diff", home.name, str(tmp_path / "new.toml"))
        assert said.code == 2
        assert UNREADABLE in said.err


@pytest.mark.parametrize(
    "told", ['"access":{"url":5},"given":{}', '"access":{"target":{"new":1},"promises":[]},"given":{"environment":1}']
)
def test_answers_of_another_version(home: Home, tmp_path: Path, told: str) -> None:
    """What a launcher of another version tells in another shape is no traceback."""
    (tmp_path / "new.toml").write_text("")
    with answering(home, b'{"ok":true,%s}\n' % told.encode()):
        assert smgcfg("verify", home.name).err == f"smgcfg: {home.name}: {UNREADABLE}\n"
        assert UNREADABLE in smgcfg("diff", home.name, str(tmp_path / "new.toml")).err


def test_stop_that_did_not_stop(home: Home) -> None:
    """A launcher that takes the order and is still there after the connection ended has not stopped."""
    with RunDir(home.plan()), answering(home, b'{"ok":true}\n'):
        said = smgcfg("stop", home.name)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"smgcfg: {home.name}: the launcher ended the connection, and is still there\n"
