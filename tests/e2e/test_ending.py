"""How a launch ends: told to, by a failure, or killed; and what is left, which is nothing."""

import os
import pty
import re
import select
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e.asking import answers, ask, client_of, is_ready
from e2e.deployment import MODULE, PATIENCE, Place, serving
from launch.plans import until

from smgcfg.standin.tokenizer import write_model_dir

#: An engine that loads for as long as any test runs.
LOADING = "env.SMGCFG_STANDIN_LOAD_SECONDS = '600'"

#: A program that takes its standard output as its terminal, as a shell does, and becomes the one behind it.
ON_TERMINAL = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
)


def read_until(terminal: int, text: str) -> str:
    """Read what is written to a terminal until a text has come, and return it all.

    Args:
        terminal: The other end of the terminal.
        text: What to wait for.
    """
    received = b""
    while text.encode() not in received:
        assert select.select([terminal], [], [], PATIENCE)[0], received.decode()
        received += os.read(terminal, 1 << 16)
    return received.decode()


# --- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)])
def test_other_signals_stop_as_well(place: Place, signum: int, code: int) -> None:
    """Every signal that ends a program stops a launch in order, and shows in the exit code."""
    with serving(place, place.base, "--stand-in") as serve:
        serve.ready()
        assert serve.stop(signum) == code
        assert serve.out.endswith("trial: stopped\n")


def test_requests_are_finished_first(place: Place) -> None:
    """A request under way is answered in full before the engine is stopped."""
    slow = place.file("slow", "pools.demo.env.SMGCFG_STANDIN_STEP_SECONDS = '0.02'")
    fields = {"max_tokens": 60, "extra_body": {"ignore_eos": True}}
    with serving(place, place.base, slow, "--stand-in", "--unset", "gateway.shutdown_grace_period_secs") as serve:
        with client_of(serve.ready()) as client, ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, client, fields)
            serve.said(r"gateway +\| .*path=/v1/chat/completions")
            serve.send(signal.SIGTERM)
            assert answer.result().reason == "length"
        assert serve.wait() == 143
        assert serve.out.index("gateway  stopped") < serve.out.index("standin: ending on SIGTERM")


def test_a_second_interrupt_kills(place: Place) -> None:
    """While an orderly stop goes on, a second SIGINT ends everything at once."""
    with serving(place, place.base, "--stand-in", "--unset", "gateway.shutdown_grace_period_secs") as serve:
        serve.ready()
        serve.send(signal.SIGINT)
        serve.said("trial: SIGINT: stopping, .*; another signal kills everything at once$")
        asked = time.monotonic()
        assert serve.stop(signal.SIGINT) == 130
        # The gateway alone would take 5 s to stop.
        assert time.monotonic() - asked < 3


def test_interrupted_before_anything_is_started(place: Place) -> None:
    """Ctrl-C while files are read ends the command at once, without a word."""
    slow = place.home / "slow.toml"
    os.mkfifo(slow)
    with serving(place, place.base, str(slow), "--stand-in") as serve:
        # It can be opened as soon as somebody reads it.
        with slow.open("wb"):
            assert serve.stop(signal.SIGINT) == 130
        assert (serve.out, serve.err) == ("", "")


def test_stopped_while_loading(place: Place) -> None:
    """A launch whose engines load is stopped at once, and does not call that a failure."""
    with serving(place, place.base, place.file("slow", f"pools.demo.{LOADING}"), "--stand-in") as serve:
        serve.said(r"demo-0 +\| standin: loading demo")
        asked = time.monotonic()
        assert serve.stop() == 143
        assert time.monotonic() - asked < 3
        assert "DIED" not in serve.out


def test_a_killed_launcher_leaves_nothing(place: Place) -> None:
    """When the launcher is killed all its processes end within seconds, and the next launch starts from there.

    Also when its workers have other ports: it removes the sockets that were left.
    """
    with serving(place, place.base, "--stand-in") as serve:
        serve.ready()
        assert len(place.marked.left()) > 2
        assert serve.stop(signal.SIGKILL) == -signal.SIGKILL
        until(lambda: not place.marked.left())
        assert place.marked.left() == []
        assert f"engine-{place.ports.worker}-in.sock" in place.sockets
    port = place.ports.worker + 1
    with serving(place, place.base, "--stand-in", "--set", f"pools.demo.port={port}") as again:
        assert answers(again.ready())
        assert place.sockets == ["control.sock", f"engine-{port}-in.sock", f"engine-{port}-out.sock"]
        assert again.stop() == 143


def test_output_that_nobody_reads(place: Place) -> None:
    """A launch whose output goes to a pipe that was closed, as by `head -1`, goes on and stops as any other."""
    read_end, write_end = os.pipe()
    with (
        open(read_end, encoding="utf-8") as reader,
        serving(place, place.base, "--stand-in", stdout=write_end) as serve,
    ):
        os.close(write_end)
        assert reader.readline().startswith("trial: starting 1 worker")
        reader.close()
        assert until(lambda: is_ready(place.url), PATIENCE)
        assert answers(place.url)
        assert serve.stop() == 143
        assert serve.err == ""


def test_no_standard_streams(place: Place) -> None:
    """A launch whose standard streams were closed goes on and stops as any other."""
    closed = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *MODULE)
    with serving(place, place.base, "--stand-in", program=closed) as serve:
        assert until(lambda: is_ready(place.url), PATIENCE)
        assert answers(place.url)
        assert serve.stop() == 143


def test_ctrl_c_on_a_terminal(place: Place) -> None:
    """On a terminal a line shows what is loading; Ctrl-C stops the launch, and reaches nobody else."""
    slow = place.file("slow", "pools.demo.env.SMGCFG_STANDIN_LOAD_SECONDS = '2'")
    words = [place.base, slow, "--stand-in"]
    terminal, theirs = pty.openpty()
    with (
        open(terminal, "rb", buffering=0),
        serving(place, *words, program=(*ON_TERMINAL, *MODULE), stdout=theirs) as serve,
    ):
        os.close(theirs)
        begun = read_until(terminal, "READY")
        assert re.search(r"\r\x1b\[K[-|/\\] demo-0   loading \d\.\d s of at most 30m", begun)
        os.write(terminal, b"\x03")
        ended = read_until(terminal, "trial: stopped")
        assert "trial: SIGINT: stopping" in ended
        assert "demo-0  | standin: ending on SIGTERM" in ended
        assert serve.wait() == 130


# --- failing ---------------------------------------------------------------------------------------------------------


def test_an_engine_that_refuses_its_flags(place: Place) -> None:
    """An engine that ends while it starts ends the launch, with its name, its exit code and its last words."""
    unknown = place.file("unknown", "pools.demo.engine.extra = ['--flag-of-tomorrow']")
    with serving(place, place.base, unknown, "--stand-in") as serve:
        assert serve.wait() == 2
        serve.said(r"demo-0 +DIED pid \d+ exit code 2 after \d\.\d s, before it was ready$")
        serve.said(r"  its last .*\n    .*--flag-of-tomorrow")


def test_a_command_that_fails(place: Place) -> None:
    """The launch's exit code is that of the command that failed, with other pools still loading."""
    other = f"""
        pools.demo.{LOADING}
        [pools.other]
        backend = "tokenspeed"
        model = "demo"
        served_model_name = ["public", "alias"]
        command = ["sh", "-c", "echo no weights in $1; exit 7", "sh"]
        """
    model = write_model_dir(place.home / "model")
    demo = place.file("demo", f"""pools.demo.command = ["{sys.executable}", "-m", "smgcfg.standin"]""")
    words = ["--set", f"pools.demo.tokenizer={model}", "--set", f"pools.other.tokenizer={model}"]
    started = time.monotonic()
    with serving(
        place, place.base, demo, place.file("other", other), *words, env={"CUDA_VISIBLE_DEVICES": "0,1"}
    ) as serve:
        assert serve.wait() == 7
        assert time.monotonic() - started < 10
        serve.said(r"other-0 +DIED pid \d+ exit code 7 after .*\n  its last line:\n    no weights in serve$")
        assert "demo-0   DIED" not in serve.out


def test_a_worker_that_dies_later(place: Place) -> None:
    """A worker that is killed after it was ready is noticed at once; where nothing is restarted, the launch ends."""
    never = place.file("never", 'launch.restart = "never"')
    with serving(place, place.base, never, "--stand-in") as serve:
        serve.ready()
        os.kill(serve.pid_of("demo-0"), signal.SIGKILL)
        serve.said(r"demo-0 +DIED pid \d+ SIGKILL after", seconds=3)
        assert serve.wait() == 128 + signal.SIGKILL


def test_a_worker_that_dies_later_is_healed(place: Place) -> None:
    """A worker that is killed after it was ready is started again behind the same gateway, which then answers."""
    with serving(place, place.base, "--stand-in") as serve:
        serve.ready()
        gateway = serve.pid_of("gateway")
        os.kill(serve.pid_of("demo-0"), signal.SIGKILL)
        serve.said(r"demo-0 +DIED pid \d+ SIGKILL after .* Restart 1 of 5", seconds=3)
        serve.said(r"demo-0 +ready again", seconds=20)
        assert serve.pid_of("gateway") == gateway
        serve.popen.terminate()
        assert serve.wait() == 128 + signal.SIGTERM


def test_an_engine_that_loads_too_long(place: Place) -> None:
    """A worker that is not ready within its time ends the launch, with what the gateway says of it."""
    slow = place.file("slow", f"pools.demo.{LOADING}\npools.demo.startup_timeout = 1.0")
    with serving(place, place.base, slow, "--stand-in") as serve:
        assert serve.wait() == 1
        serve.said(r"demo-0 +NOT READY pid \d+ within 1\.0 s: the gateway lists it as 'pending'$")
