"""Orders to a running launch: `smgcfg stop`, `restart` and `logs`, and the socket they go through."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time

from launch.operating import Home, command, smgcfg
from launch.plans import until

from smgcfg.launch.control import CONNECTIONS, QUESTION_LIMIT, short_path


def test_stop(home: Home) -> None:
    """A stop waits until nothing is left, and the launch ends with 0: it was asked to."""
    with home.up(home.plan(["--grandchild"])) as launcher:
        said = smgcfg("stop", home.name)
        assert (said.code, said.out) == (0, f"{home.name}: stopped\n")
        assert launcher.ends() == 0
        assert home.marked.left() == []
    assert not home.run_dir.exists()
    assert smgcfg("stop", home.name).code == 4


def test_kill(home: Home) -> None:
    """With --kill nobody is given time, though a stop is under way."""
    with home.up(home.plan(["--ignore-term"], grace=60.0)) as launcher:
        launcher.signal(signal.SIGTERM)
        launcher.says("^chat-0  . TERM")
        begun = time.monotonic()
        assert smgcfg("stop", home.name, "--kill").code == 0
        assert time.monotonic() - begun < 5
        assert launcher.ends() == 143


def test_orders_to_a_launcher_that_is_held(home: Home) -> None:
    """A launcher held by SIGSTOP does not answer, and does nothing of what it was asked once it goes on."""
    with home.up(home.plan([])) as launcher:
        launcher.signal(signal.SIGSTOP)
        for words in (("stop", home.name), ("stop", home.name, "--kill"), ("restart", home.name, "chat-0")):
            said = smgcfg(*words)
            assert (said.code, said.out) == (1, "")
            assert said.err == "smgcfg: the launcher does not answer within 3 s; the question is withdrawn\n"
        launcher.signal(signal.SIGCONT)
        # It may have been held before it wrote down that it was ready.
        assert until(lambda: smgcfg("status", home.name).code == 0)
        # Its own words: a process may complain of a question that was dropped when it went on.
        own = [line for line in smgcfg("logs", home.name).out.splitlines() if " | " not in line]
        assert own[-1].startswith("READY ")
        # Who has only nothing more to ask waits for the answer.
        with short_path(str(home.run_dir)) as path, socket.socket(socket.AF_UNIX) as caller:
            caller.connect(path)
            caller.sendall(b'{"do": "stop"}\n')
            caller.shutdown(socket.SHUT_WR)
            assert launcher.ends() == 0


def test_logs(home: Home) -> None:
    """Lines of one process, or of all with their names; for a worker that does not exist a likely one is named."""
    with home.up(home.plan(["--say", "hello"], ["--say", "there"])):
        assert smgcfg("logs", home.name, "chat-0").out == "hello\n"
        whole = smgcfg("logs", home.name).out.splitlines()
        assert {"chat-0  | hello", "chat-1  | there"} < set(whole)
        assert whole[-1].startswith("READY http://")
        unknown = smgcfg("logs", home.name, "chat-7")
        assert unknown.code == 2
        assert unknown.err.startswith(f"smgcfg: {home.name} has no process 'chat-7'; did you mean chat-")
        assert smgcfg("restart", home.name, "nobody").code == 2
        assert smgcfg("logs", home.name, "--last-exit", "-f").code == 2


def test_logs_that_are_followed(home: Home) -> None:
    """With -f lines are shown as they come, to the end of the launch."""
    with home.up(home.plan(["--say", "hello"])) as launcher:
        with subprocess.Popen(
            command("logs", home.name, "chat-0", "-f"), stdout=subprocess.PIPE, text=True
        ) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == "hello\n"
            launcher.signal(signal.SIGTERM)
            assert follower.stdout.readline().startswith("TERM at ")
            assert follower.stdout.read() == ""
            assert follower.wait() == 0
        assert launcher.ends() == 143


def test_a_follower_that_does_not_read(home: Home) -> None:
    """One who follows a chatty worker and does not read holds up nobody, and hears how much was dropped."""
    with home.up(home.plan(["--chatty"])) as launcher:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(20)
            with short_path(str(home.run_dir)) as path:
                caller.connect(path)
            caller.sendall(b'{"do": "logs", "process": "chat-0", "follow": true}\n')
            time.sleep(1.0)
            assert smgcfg("status", home.name).code == 0
            with caller.makefile(encoding="utf-8") as lines:
                assert any("dropped" in json.loads(line) for line in lines)
        assert smgcfg("stop", home.name, "--kill").code == 0
        assert launcher.ends() == 0


def test_questions_that_make_no_sense(home: Home) -> None:
    """What is no question is refused, what never ends is cut off, and too many are turned away; the launch goes on."""
    with home.up(home.plan([])) as launcher:
        with short_path(str(home.run_dir)) as path:
            for question in (
                b"\xff\n",
                b"[]\n",
                b"{}\n",
                b'{"do": ["stop"]}\n',
                b'{"do": "restart", "process": ["x"]}\n',
                b'{"do": "logs", "process": {}}\n',
                b'{"do": "restart"}\n',
                b"[" * 30_000 + b"\n",
            ):
                with socket.socket(socket.AF_UNIX) as caller:
                    caller.connect(path)
                    caller.sendall(question)
                    with caller.makefile() as answers:
                        assert json.loads(answers.read())["ok"] is False
            with socket.socket(socket.AF_UNIX) as endless:
                endless.settimeout(10)
                endless.connect(path)
                with contextlib.suppress(BrokenPipeError):
                    endless.sendall(b"x" * (QUESTION_LIMIT + 8192))
                assert select.select([endless], [], [], 10)[0]
            held = [socket.socket(socket.AF_UNIX) for _ in range(CONNECTIONS + 1)]
            for caller in held:
                caller.settimeout(10)
                caller.connect(path)
            assert held[-1].recv(1) == b""
            for caller in held:
                caller.close()
        assert until(lambda: smgcfg("status", home.name).code == 0)
        before = len(os.listdir(f"/proc/{launcher.process.pid}/fd"))
        assert smgcfg("logs", home.name).code == 0
        assert until(lambda: len(os.listdir(f"/proc/{launcher.process.pid}/fd")) == before)
