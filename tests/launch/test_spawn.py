"""Real processes under real guards: what is reported, and what is left."""

import os
import selectors
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from launch.plans import Marked, fake, process, until

from smgcfg.launch.effects import Exit, Exited, Gone, NotStarted, Report, Started
from smgcfg.launch.spawn import GuardedSpawner
from smgcfg.process import ProcessSpec, Secret


class Bench:
    """A spawner, what it reported, and what its processes said."""

    def __init__(self, grace: float, *, own_sessions: bool = True) -> None:
        self.selector = selectors.DefaultSelector()
        self.lines: list[tuple[str, str, str]] = []
        self.reports: list[Report] = []
        self.spawner = GuardedSpawner(
            self.selector, lambda *line: self.lines.append(line), grace=grace, own_sessions=own_sessions
        )

    def turn(self, seconds: float = 0.05) -> None:
        """Take in what happens in a moment."""
        for key, mask in self.selector.select(seconds):
            if self.selector.get_map().get(key.fd) is key:
                key.data(mask)
        self.reports += self.spawner.poll()

    def run_until(self, condition: Callable[[], object], seconds: float = 10.0) -> None:
        """Take in what happens until a condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, (self.reports, self.lines)
            self.turn()

    def start(self, spec: ProcessSpec) -> None:
        """Start a process, and wait until it runs and said so if it is to say something."""
        self.spawner.start(spec)
        self.run_until(lambda: self.of(Started, spec.name) and (self.lines or "--say" not in spec.argv))

    def of(self, kind: type[Report], name: str = "w") -> Sequence[Report]:
        """Return the reports of a kind about a process."""
        return [report for report in self.reports if isinstance(report, kind) and report.name == name]

    def gone(self, name: str = "w") -> bool:
        """Return whether nothing is left of a process."""
        return bool(self.of(Gone, name))


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A spawner whose guards are gone when the test is over."""
    bench = Bench(grace=0.5)
    yield bench
    bench.spawner.close()
    assert list(bench.selector.get_map()) == []
    bench.selector.close()


def spec_of(marked: Marked, *options: str, name: str = "w") -> ProcessSpec:
    """Return a fake worker."""
    return process(name, fake(*options), "http://127.0.0.1:1/", env=marked.env)


@pytest.mark.parametrize("status", [0, 7, 255])
def test_exit_code_is_reported(bench: Bench, marked: Marked, status: int) -> None:
    """A program's own exit code arrives with its pid and last lines, and then that nothing is left."""
    bench.spawner.start(spec_of(marked, "--say", "last words", "--exit", str(status)))
    bench.run_until(bench.gone)
    started, exited, gone = bench.reports
    assert isinstance(started, Started)
    assert exited == Exited("w", started.pid, Exit(status), ("last words",))
    assert gone == Gone("w")
    assert bench.lines == [("w", "out", "last words")]


def test_signal_is_reported(bench: Bench, marked: Marked) -> None:
    """A program that a signal ended is reported with the signal, within a second."""
    bench.start(spec_of(marked, "--say", "up"))
    (pid,) = (report.pid for report in bench.of(Started))
    before = time.monotonic()
    os.kill(pid, signal.SIGSEGV)
    bench.run_until(lambda: bench.of(Exited))
    assert time.monotonic() - before < 2.0
    assert bench.of(Exited)[0].exit == Exit(-signal.SIGSEGV)
    bench.run_until(bench.gone)


def test_both_streams_are_read_and_kept_apart(bench: Bench, marked: Marked) -> None:
    """Standard output and error arrive as lines that say which they are, the last one without a line's end, too."""
    code = "import sys; print('a', flush=True); sys.stderr.write('b\\nc')"
    bench.spawner.start(process("w", [sys.executable, "-c", code], "http://127.0.0.1:1/", env=marked.env))
    bench.run_until(bench.gone)
    assert next(line for line in bench.lines if line[1] == "out") == ("w", "out", "a")
    assert ("w", "err", "b") in bench.lines
    assert bench.lines[-1][2] == "c"
    assert sorted(bench.of(Exited)[0].last_lines) == ["a", "b", "c"]


def test_twenty_last_lines(bench: Bench, marked: Marked) -> None:
    """The report of a death holds the last 20 lines, whole, of a program that printed many just before it died."""
    code = "import os\nfor i in range(5000): print(f'line {i}')\nprint(flush=True, end='')\nos._exit(3)"
    bench.spawner.start(process("w", [sys.executable, "-c", code], "http://127.0.0.1:1/", env=marked.env))
    bench.run_until(lambda: bench.of(Exited))
    assert bench.of(Exited)[0].last_lines == tuple(f"line {i}" for i in range(4980, 5000))
    bench.run_until(bench.gone)
    assert len(bench.lines) == 5000


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/nonexistent/engine"], "'/nonexistent/engine' can not be run: no such file or directory"),
        (["no-such-program-at-all"], "'no-such-program-at-all' can not be run: no such file or directory"),
        (["/etc/passwd"], "'/etc/passwd' can not be run: permission denied"),
    ],
)
def test_program_that_can_not_be_run(bench: Bench, argv: list[str], reason: str) -> None:
    """A program that is missing or no program is reported with the reason, and as nothing else."""
    bench.spawner.start(process("w", argv, "http://127.0.0.1:1/"))
    bench.run_until(lambda: bench.reports)
    assert bench.reports == [NotStarted("w", reason)]


def test_words_and_environment_arrive_unchanged(bench: Bench, marked: Marked) -> None:
    """Every word and entry reaches the program as it is, empty ones, newlines, many bytes and bytes of no encoding."""
    words = ["", "two words", "a\nb", "ü", "--", "-x=1", os.fsdecode(b"\xff"), "x" * 100_000]
    code = "import os, sys; print(ascii(sys.argv[1:])); print(ascii(os.environ['E'])); print(ascii(os.environ['F']))"
    env = (("E", ""), ("F", "a=b\nc"), *marked.env)
    bench.spawner.start(process("w", [sys.executable, "-c", code, *words], "http://127.0.0.1:1/", env=env))
    bench.run_until(bench.gone)
    assert [line[2] for line in bench.lines[1:]] == ["''", "'a=b\\nc'"]
    assert bench.lines[0][2].startswith(ascii(words)[:60])


def test_program_has_no_signal_ignored_and_no_descriptor_of_ours(bench: Bench, marked: Marked) -> None:
    """A program starts as from a shell: signals at their defaults, nothing open but the standard streams."""
    code = textwrap.dedent(
        """
        import os, signal
        print([s.name for s in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM) if signal.getsignal(s) != 0])
        print(open("/proc/self/status").read().partition("SigIgn:")[2].split()[0])
        print(sorted(map(int, os.listdir("/proc/self/fd")))[:3], len(os.listdir("/proc/self/fd")))
        print(os.readlink("/proc/self/fd/0"), os.getsid(0) == os.getpid())
        """
    )
    bench.spawner.start(process("w", ["/bin/sh", "-c", 'exec "$0" -c "$1"', sys.executable, code], "http://h/"))
    bench.run_until(bench.gone)
    caught, ignored, descriptors, stdin = (line[2] for line in bench.lines)
    assert caught == "[]"
    # Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
    assert int(ignored, 16) == 1 << 12 | 1 << 24
    assert descriptors == "[0, 1, 2] 4"
    assert stdin == "/dev/null True"


@pytest.mark.parametrize("own_sessions", [True, False])
def test_session_of_ones_own_or_that_of_the_launcher(marked: Marked, own_sessions: bool) -> None:
    """A process and its guard have sessions of their own, or only groups: the terminal's signals reach neither."""
    bench = Bench(grace=0.5, own_sessions=own_sessions)
    bench.start(spec_of(marked, "--say", "up", "--child"))
    (program,) = (report.pid for report in bench.of(Started))
    for pid in (program, parent_of(program)):
        assert os.getsid(pid) == (pid if own_sessions else os.getsid(0))
        assert os.getpgid(pid) == pid
    # What a killed guard leaves behind is found, whichever way.
    os.kill(parent_of(program), signal.SIGKILL)
    bench.run_until(bench.gone)
    assert marked.left() == []
    bench.spawner.close()
    bench.selector.close()


def test_secret_is_not_in_output_nor_in_the_guards_words(bench: Bench, marked: Marked) -> None:
    """A secret that a program prints is masked, and the guard's command line, which `ps` shows, holds no secret."""
    argv = fake("--say", "using key sesame-1234 and tok-5678")
    secrets = (Secret(len(argv) - 1, len("using key "), "API_KEY"),)
    argv = (*argv[:-1], "using key sesame-1234")
    env = (("TOKEN", "tok-5678"), *marked.env)
    spec = process("w", argv, "http://h/", env=env, secrets=secrets, secret_env=("TOKEN",))
    bench.start(spec)
    assert bench.lines == [("w", "out", "using key $SMGCFG_SECRET_API_KEY")]
    (pid,) = (report.pid for report in bench.of(Started))
    guard = parent_of(pid)
    assert b"guard.py" in cmdline(guard)
    assert b"sesame" not in cmdline(guard)
    bench.spawner.kill("w")
    bench.run_until(bench.gone)


def test_stop_is_a_request(bench: Bench, marked: Marked) -> None:
    """A program that is stopped gets SIGTERM and may end as it likes."""
    bench.start(spec_of(marked, "--say", "up"))
    bench.spawner.stop("w")
    bench.run_until(bench.gone)
    assert bench.of(Exited)[0].exit == Exit(0)
    assert bench.of(Exited)[0].last_lines[-1].startswith("TERM at")


def test_stop_reaches_a_program_that_is_held(bench: Bench, marked: Marked) -> None:
    """A program held by SIGSTOP is woken, so that it can obey."""
    bench.start(spec_of(marked, "--say", "up"))
    (pid,) = (report.pid for report in bench.of(Started))
    os.kill(pid, signal.SIGSTOP)
    bench.spawner.stop("w")
    bench.run_until(bench.gone)
    assert bench.of(Exited)[0].exit == Exit(0)


@pytest.mark.parametrize("whose", ["its own", "its child's"])
def test_held_by_a_signal(bench: Bench, marked: Marked, whose: str) -> None:
    """A process that SIGSTOP holds, or a part of it, is told from one that runs; SIGCONT lets it go on."""
    bench.start(spec_of(marked, "--say", "up", "--child"))
    assert until(lambda: len(marked.left()) == 2)
    assert not bench.spawner.is_held("w")
    (program,) = (report.pid for report in bench.of(Started))
    (child,) = (pid for pid in marked.left() if pid != program)
    pid = program if whose == "its own" else child
    os.kill(pid, signal.SIGSTOP)
    assert until(lambda: bench.spawner.is_held("w"))
    os.kill(pid, signal.SIGCONT)
    assert until(lambda: not bench.spawner.is_held("w"))
    bench.spawner.kill("w")
    bench.run_until(bench.gone)
    assert not bench.spawner.is_held("w")


@pytest.mark.parametrize("options", [[], ["--child"], ["--grandchild"], ["--child", "--grandchild"]])
def test_kill_takes_everything(bench: Bench, marked: Marked, options: list[str]) -> None:
    """A kill leaves neither the program nor a child, nor a grandchild in its own session, though all ignore SIGTERM."""
    bench.start(spec_of(marked, "--ignore-term", "--say", "up", *options))
    until(lambda: len(marked.left()) == 1 + len(options))
    assert len(marked.left()) == 1 + len(options)
    bench.spawner.kill("w")
    bench.run_until(bench.gone)
    assert marked.left() == []
    assert bench.of(Exited)[0].exit == Exit(-signal.SIGKILL)


@pytest.mark.parametrize("ignore", [[], ["--ignore-term"]])
def test_death_takes_what_is_left_with_it(bench: Bench, marked: Marked, ignore: list[str]) -> None:
    """When a program dies by itself, what it started is killed at once, and only then it counts as gone."""
    bench.start(spec_of(marked, "--say", "up", "--child", "--grandchild", *ignore))
    until(lambda: len(marked.left()) == 3)
    (pid,) = (report.pid for report in bench.of(Started))
    os.kill(pid, signal.SIGKILL)
    bench.run_until(bench.gone)
    assert marked.left() == []


def test_grandchild_ends_with_an_orderly_stop(bench: Bench, marked: Marked) -> None:
    """After a clean stop nothing is left of a process's session or of any other session it started."""
    bench.start(spec_of(marked, "--say", "up", "--child", "--grandchild"))
    until(lambda: len(marked.left()) == 3)
    bench.spawner.stop("w")
    bench.run_until(bench.gone)
    assert marked.left() == []


def test_wrapper_that_does_not_pass_signals_on(bench: Bench, marked: Marked) -> None:
    """A program under a shell that knows nothing of signals is asked to end, too, when the shell has."""
    argv = ["/bin/sh", "-c", '"$@" & wait', "sh", *fake("--say", "up")]
    bench.spawner.start(process("w", argv, "http://h/", env=marked.env))
    bench.run_until(lambda: bench.lines)
    bench.spawner.stop("w")
    bench.run_until(bench.gone)
    assert bench.lines[-1][2].startswith("TERM at")


def test_output_pipe_that_stays_open_holds_nobody(bench: Bench, marked: Marked) -> None:
    """The end of a program is reported though something it started still has its output open."""
    bench.start(spec_of(marked, "--say", "up", "--grandchild", "--exit", "3", "--after", "0.3"))
    bench.run_until(lambda: bench.of(Exited))
    bench.run_until(bench.gone)


@pytest.mark.parametrize("options", [[], ["--child", "--grandchild"], ["--ignore-term", "--child", "--grandchild"]])
def test_guard_that_is_killed(bench: Bench, marked: Marked, options: list[str]) -> None:
    """kill -9 of a guard leaves nothing of its process, and the process counts as dead for an unknown reason."""
    bench.start(spec_of(marked, "--say", "up", *options))
    until(lambda: len(marked.left()) == 1 + max(0, len(options) - ("--ignore-term" in options)))
    (pid,) = (report.pid for report in bench.of(Started))
    os.kill(parent_of(pid), signal.SIGKILL)
    bench.run_until(bench.gone)
    assert bench.of(Exited) == [Exited("w", pid, Exit(None), ("up",))]
    assert marked.left() == []


def test_guard_that_is_held_is_worked_around(bench: Bench, marked: Marked) -> None:
    """A second kill does not need the guard: it works though the guard is held by SIGSTOP."""
    bench.start(spec_of(marked, "--say", "up", "--grandchild"))
    (pid,) = (report.pid for report in bench.of(Started))
    os.kill(parent_of(pid), signal.SIGSTOP)
    bench.spawner.kill("w")
    bench.turn(0.2)
    assert not bench.gone()
    bench.spawner.kill("w")
    bench.run_until(bench.gone)
    assert marked.left() == []


def test_guard_that_is_asked_to_end_ends_its_process(bench: Bench, marked: Marked) -> None:
    """A SIGTERM to a guard, as an init system may send to all, stops its process within the grace."""
    bench.start(spec_of(marked, "--say", "up", "--ignore-term"))
    (pid,) = (report.pid for report in bench.of(Started))
    os.kill(parent_of(pid), signal.SIGTERM)
    bench.run_until(bench.gone)
    assert bench.of(Exited)[0].exit == Exit(-signal.SIGKILL)


def test_close_leaves_nothing(marked: Marked) -> None:
    """A spawner that is closed has its guards stop what runs, and waits for them."""
    bench = Bench(grace=0.3)
    bench.start(spec_of(marked, "--say", "up", "--ignore-term", "--grandchild"))
    bench.spawner.close()
    assert marked.left() == []
    bench.selector.close()


LAUNCHER = """
import os, selectors, sys
from launch.test_spawn import Bench, spec_of
from launch.plans import Marked
bench, marked = Bench(grace=0.5, own_sessions=sys.argv[2] != "one session"), Marked()
marked.env = (("SMGCFG_TEST_MARK", sys.argv[1]),)
for name in "abc":
    bench.spawner.start(spec_of(marked, "--say", "up", "--child", "--grandchild", *sys.argv[3:], name=name))
bench.run_until(lambda: len(bench.lines) == 3)
if sys.argv[2] == "fork" and os.fork() == 0:
    os.environ.clear()
    __import__("time").sleep(3)
    os._exit(0)
print("up", flush=True)
bench.run_until(lambda: False, 60.0)
"""


@pytest.mark.parametrize("fork", ["fork", "no fork", "one session"])
@pytest.mark.parametrize("ignore", [[], ["--ignore-term"]])
def test_launcher_that_is_killed_leaves_nothing(marked: Marked, ignore: list[str], fork: str) -> None:
    """kill -9 of a launcher leaves 0 of its workers, children and setsid grandchildren, within the grace.

    Also when a process that the launcher forked still holds all of its descriptors, and when they were to stay in its
    session.
    """
    argv = [sys.executable, "-c", LAUNCHER, marked.token, fork, *ignore]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"up\n"
        until(lambda: len(marked.left()) == 9)
        assert len(marked.left()) == 9
        launcher.kill()
        launcher.wait()
        assert until(lambda: not marked.left(), 5.0)


def test_launcher_and_guards_killed_at_once(marked: Marked) -> None:
    """When a launcher and its guards are killed before either can act, the programs themselves end with the guards."""
    argv = [sys.executable, "-c", LAUNCHER, marked.token, "no fork"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        launcher.send_signal(signal.SIGSTOP)
        guards = {parent_of(pid) for pid in marked.left()}
        programs = [pid for pid in marked.left() if b"guard.py" in cmdline(parent_of(pid))]
        assert len(programs) == 3
        for guard in guards - set(programs):
            os.kill(guard, signal.SIGKILL)
        launcher.kill()
        launcher.wait()
    assert until(lambda: not set(programs) & set(marked.left()), 5.0)
    # What remains is documented: what the programs had started.
    for pid in marked.left():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not marked.left())


def cmdline(pid: int) -> bytes:
    """Return the words of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def parent_of(pid: int) -> int:
    """Return the parent of a process: the guard of a worker."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
