"""The launcher against the faults it meets: real processes, fake workers, a fake gateway."""

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launch.launcher import command, launcher_of, popen
from launch.plans import Marked, fake_launch, until

from smgcfg.launch.listeners import owner_of_port

#: What "at once" may take on a machine that is busy with other things, in seconds: less than any grace here, than the
#: 5 s for which the gateway drains, and than the poll or the timeout of a launcher that does not notice by itself.
AT_ONCE = 1.5

#: A death is said within so many seconds, however busy the machine is: measured 0.01.
SEEN_WITHIN = 1.0

STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]


@pytest.mark.parametrize("signum", STOPPING)
def test_signal_stops_everything_in_order(tmp_path: Path, marked: Marked, signum: signal.Signals) -> None:
    """Each stopping signal ends the launch with 128+n, gateway first, and nothing is left: no process, no directory."""
    plan = fake_launch(tmp_path / "run", marked, ["--grandchild"], ["--child"])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signum)
        assert launcher.ends() == 128 + signum
    assert marked.left() == []
    assert not (tmp_path / "run").exists()
    launcher.says(f"^trial: {signum.name}: stopping, .* another signal kills everything at once$")
    order = [line.split()[0] for _, line in launcher.lines if " stopped " in line]
    assert order[0] == "gateway"
    assert sorted(order) == ["chat-0", "chat-1", "gateway"]
    at = {line.split()[0]: float(line.split()[-1]) for _, line in launcher.lines if "TERM at" in line}
    assert at["gateway"] < min(at["chat-0"], at["chat-1"])


def test_what_an_operator_sees(tmp_path: Path, marked: Marked) -> None:
    """A launch says what it starts, when each process is ready, and where it answers; output is prefixed with names."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "hello"], [])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        assert launcher.lines[0][1] == f"trial: starting 2 workers, run dir {tmp_path / 'run'}"
        # It is in none of the usual places, so it is found by its run directory.
        status = f"status: smgcfg status {plan.run_dir}"
        assert f"READY {plan.url}   model fake   stop: Ctrl-C   {status}" in launcher.text.splitlines()
        launcher.says(r"^gateway  up \d\.\d s  pid \d+$")
        launcher.says(r"^chat-0   ready \d\.\d s  pid \d+$")
        launcher.says(r"^chat-0  \| hello$")
        launcher.signal(signal.SIGTERM)
        launcher.ends()


@pytest.mark.parametrize(
    ("options", "code", "how"),
    [(["--exit", str(code)], code or 1, f"exit code {code}") for code in (7, 2, 0)],
)
def test_worker_that_dies_while_loading(
    tmp_path: Path, marked: Marked, options: list[str], code: int, how: str
) -> None:
    """The launch ends at once after a death, though another worker hangs; the cause is named, nothing left."""
    hanging = ["--answer-after", "60"]
    dying = ["--answer-after", "60", "--say", "CUDA out of memory", "--after", "0.3", *options]
    plan = fake_launch(tmp_path / "run", marked, hanging, dying)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("CUDA out of memory")
        assert launcher.ends() == code
        ended = time.monotonic()
    assert marked.left() == []
    launcher.says(
        rf"^chat-1   DIED pid \d+ {how} after .*, before it was ready\n  its last line:\n    CUDA out of memory$"
    )
    last = "that of chat-1" if code != 1 else "as chat-1 ended with 0"
    assert launcher.lines[-1][1] == f"trial: stopped with exit code {code}, {last}"
    assert ended - launcher.said_at("DIED") < AT_ONCE
    died_after = launcher.said_at("DIED") - launcher.said_at("chat-1  . CUDA")
    assert died_after < 0.3 + SEEN_WITHIN


def test_gateway_that_dies_while_loading(tmp_path: Path, marked: Marked) -> None:
    """A gateway that does not come up ends the launch as a worker does."""
    plan = fake_launch(tmp_path / "run", marked, ["--answer-after", "60"])
    gateway = plan.gateway.evolve(argv=(sys.executable, "-c", "import sys; sys.exit('bad flag')"))
    with launcher_of(plan.evolve(gateway=gateway), marked, tmp_path) as launcher:
        assert launcher.ends() == 1
    launcher.says(r"^gateway  DIED pid \d+ exit code 1 .*\n  its last line:\n    bad flag$")


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSEGV])
def test_worker_that_dies_later(tmp_path: Path, marked: Marked, signum: signal.Signals) -> None:
    """A death is said within a second, with pid, signal and last lines; without restarts the launch ends with 128+n."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "serving"], [], restart="never")
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        pid = launcher.pid("chat-0")
        os.kill(pid, signum)
        killed = time.monotonic()
        assert launcher.ends() == 128 + signum
    launcher.says(rf"^chat-0   DIED pid {pid} {signum.name} after \S+ s.*\n  its last line:\n    serving$")
    assert launcher.said_at("DIED") - killed < SEEN_WITHIN
    assert launcher.text.count("DIED") == 1
    launcher.says(r"^chat-1   stopped .* exit code 0$")
    assert launcher.lines[-1][1] == f"trial: stopped with exit code {128 + signum}, as {signum.name} ended chat-0"


def test_worker_that_ends_without_being_asked(tmp_path: Path, marked: Marked) -> None:
    """An exit code of 0 that nobody asked for is a failure."""
    plan = fake_launch(tmp_path / "run", marked, ["--exit", "0", "--after", "1.5"], restart="never")
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        assert launcher.ends() == 1
    launcher.says(r"^chat-0   DIED pid \d+ exit code 0")


def test_worker_that_ignores_sigterm(tmp_path: Path, marked: Marked) -> None:
    """Whoever does not stop in the grace is killed with all it started."""
    plan = fake_launch(tmp_path / "run", marked, ["--ignore-term", "--child", "--grandchild"], grace=0.5)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        sent = launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert 0.5 <= time.monotonic() - sent < 0.5 + AT_ONCE
    assert marked.left() == []
    launcher.says("^chat-0   still there after 0.5 s, killed$")


def test_second_signal_kills_at_once(tmp_path: Path, marked: Marked) -> None:
    """A second signal does not wait for any grace, and the exit code is that of the first."""
    deaf = ["--ignore-term", "--child", "--grandchild"]
    plan = fake_launch(tmp_path / "run", marked, deaf, deaf, grace=30.0)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGINT)
        launcher.says("^chat-0  . TERM")
        sent = launcher.signal(signal.SIGINT)
        assert launcher.ends() == 130
        assert time.monotonic() - sent < 1.0
    assert marked.left() == []


@pytest.mark.parametrize("signum", STOPPING)
def test_signal_while_loading(tmp_path: Path, marked: Marked, signum: signal.Signals) -> None:
    """Who gives up while models load is obeyed at once, and reads of no failure."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "loading", "--answer-after", "60", "--child"])
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^chat-0  . loading")
        sent = launcher.signal(signum)
        assert launcher.ends() == 128 + signum
        assert time.monotonic() - sent < AT_ONCE
    assert "DIED" not in launcher.text


def test_startup_timeout(tmp_path: Path, marked: Marked) -> None:
    """A worker that is not ready in its time ends the launch, by name."""
    plan = fake_launch(tmp_path / "run", marked, [], ["--answer-after", "60"])
    slow = plan.workers[1].evolve(ready=plan.workers[1].ready.evolve(timeout=1.0))
    with launcher_of(plan.evolve(workers=(plan.workers[0], slow)), marked, tmp_path) as launcher:
        assert launcher.ends() == 1
    launcher.says(r"^chat-1   NOT READY pid \d+ within 1.0 s: connection refused$")


@pytest.mark.parametrize("ignore", [[], ["--ignore-term"]])
def test_launcher_that_is_killed(tmp_path: Path, marked: Marked, ignore: list[str]) -> None:
    """kill -9 of the launcher leaves nothing, and the next launch of the same plan is not held up by what remains."""
    plan = fake_launch(tmp_path / "run", marked, ["--child", "--grandchild", *ignore], grace=0.5)
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        until(lambda: len(marked.left()) == 7)
        assert len(marked.left()) == 7  # the launcher, two guards, the gateway, the worker and what it started
        launcher.signal(signal.SIGKILL)
        launcher.ends()
        assert until(lambda: not marked.left(), 3.0)
    assert (tmp_path / "run").exists()
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    assert not (tmp_path / "run").exists()


def test_worker_that_is_held_is_stopped_without_delay(tmp_path: Path, marked: Marked) -> None:
    """A worker under SIGSTOP does not hold up a stop."""
    plan = fake_launch(tmp_path / "run", marked, [], grace=20.0)
    with launcher_of(plan, marked, tmp_path) as launcher:
        os.kill(launcher.pid("chat-0"), signal.SIGSTOP)
        launcher.says("^READY")
        sent = launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
        assert time.monotonic() - sent < AT_ONCE


def test_second_launcher_is_refused(tmp_path: Path, marked: Marked) -> None:
    """A second launch of a plan starts nothing, names the first one's pid, exits with 2, and does not disturb it."""
    plan = fake_launch(tmp_path / "run", marked, [])
    with launcher_of(plan, marked, tmp_path) as first:
        first.says("^READY")
        with launcher_of(plan, marked, tmp_path) as second:
            assert second.ends() == 2
        assert f"'trial' is launched already, by pid {first.process.pid}" in second.text
        assert "starting" not in second.text
        assert first.process.poll() is None
        first.signal(signal.SIGTERM)
        assert first.ends() == 143


def test_taken_port_starts_nothing(tmp_path: Path, marked: Marked) -> None:
    """A port that is taken is found before anything starts, with its owner, and the exit code is 2."""
    plan = fake_launch(tmp_path / "run", marked, [])
    with (
        socket.create_server(("127.0.0.1", plan.workers[0].ports[0].number)),
        launcher_of(plan, marked, tmp_path) as launcher,
    ):
        assert launcher.ends() == 2
        assert f"is taken by pid {os.getpid()} (" in launcher.text
        assert "starting" not in launcher.text
    assert not (tmp_path / "run").exists()


def test_output_whose_reader_went_away(tmp_path: Path, marked: Marked) -> None:
    """A closed output, as behind `head`, holds up neither workers that print without end nor the launcher."""
    plan = fake_launch(tmp_path / "run", marked, ["--chatty"])
    reader, writer = os.pipe()
    with popen(plan, marked, tmp_path, writer) as launcher:
        os.close(writer)
        with open(reader, encoding="utf-8") as lines:
            ready = next(line for line in lines if line.startswith("chat-0   ready"))
        pid = int(ready.split()[-1])
        time.sleep(0.3)
        before = written_by(pid)
        time.sleep(0.3)
        assert written_by(pid) > before
        launcher.terminate()
        assert launcher.wait(5.0) == 143


def test_output_whose_reader_stands_still(tmp_path: Path, marked: Marked) -> None:
    """A reader that takes nothing, as a paused pager, holds up neither workers nor the report of their death."""
    plan = fake_launch(tmp_path / "run", marked, ["--chatty"])
    reader, writer = os.pipe()
    with popen(plan, marked, tmp_path, writer) as launcher, open(reader, encoding="utf-8") as lines:
        os.close(writer)
        ready = next(line for line in lines if line.startswith("chat-0   ready"))
        pid = int(ready.split()[-1])
        time.sleep(0.3)
        before = written_by(pid)
        time.sleep(0.3)
        assert written_by(pid) > before
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not Path(f"/proc/{pid}").exists())
        launcher.terminate()
        assert launcher.wait(5.0) == 143


def test_no_standard_streams_at_all(tmp_path: Path, marked: Marked) -> None:
    """A launcher that was started with its standard streams closed launches and stops all the same."""
    plan = fake_launch(tmp_path / "run", marked, ["--say", "hello"])
    argv, env = command(plan, marked, tmp_path)
    shell = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *argv]
    with subprocess.Popen(shell, env=env) as launcher:
        port = plan.workers[0].ports[0].number
        assert until(lambda: owner_of_port(port).startswith("pid"))
        launcher.terminate()
        assert launcher.wait(5.0) == 143


def test_terminal(tmp_path: Path, marked: Marked) -> None:
    """On a terminal the status stands below the lines, and Ctrl-C reaches the launcher alone, which stops in order."""
    plan = fake_launch(tmp_path / "run", marked, ["--answer-after", "1.5", "--say", "Loading 18/48"])
    argv, env = command(plan, marked, tmp_path)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, env)
    shown = ""
    while "READY" not in shown:
        shown += os.read(terminal, 1 << 16).decode()
    assert re.search(r'\r\x1b\[K[|/\\-] chat-0   loading \d\.\d s of at most 20s  pid \d+  last line: "Loading', shown)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # how a terminal ends on Linux
        while more := os.read(terminal, 1 << 16):
            shown += more.decode()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    os.close(terminal)
    assert "SIGINT: stopping" in shown
    assert shown.count("exit code 0") == 2
    assert "DIED" not in shown


def written_by(pid: int) -> int:
    """Return how many bytes a process has written."""
    return int(Path(f"/proc/{pid}/io").read_text().partition("wchar: ")[2].split()[0])
