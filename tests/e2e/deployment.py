"""Real deployments of stand-ins: a place of its own for each, and `smgcfg serve` as an operator runs it."""

import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from e2e.ports import Ports
from launch.plans import Marked, until

#: How `smgcfg` is run unless a test is about that.
MODULE: Final = (sys.executable, "-m", "smgcfg")

#: How long anything may take on a busy machine, in seconds.
PATIENCE: Final = 30.0

_BASE: Final = """\
[pools.demo]
backend = "tokenspeed"
model = "demo"
served_model_name = ["public", "alias"]
port = {worker}

[gateway]
port = {gateway}
# An idle gateway takes 5 s to stop when it may wait longer than that for requests.
shutdown_grace_period_secs = 1
"""


class Place:
    """Where one deployment lives: its files, its ports, a runtime directory of its own, and a mark on its processes.

    Args:
        directory: Where to make it.
        name: The deployment's name.

    Attributes:
        home: The directory of all its files, on a path short enough for sockets. It is the user's runtime directory.
        run_dir: Where its sockets will be.
        ports: Its ports.
        marked: Finds all processes of the deployment, whatever became of their parents.
    """

    def __init__(self, directory: Path, name: str = "trial") -> None:
        self.name = name
        self.ports = Ports()
        self.run_dir = self.ports.run_dir(
            directory / str(number) / f"smgcfg-{os.getuid()}" / name for number in itertools.count()
        )
        self.home = self.run_dir.parent.parent
        self.home.mkdir()
        self.marked = Marked()
        self.base = self.file(name, _BASE.format(worker=self.ports.worker, gateway=self.ports.gateway))

    @property
    def url(self) -> str:
        """Where the gateway will answer, unless its file says otherwise."""
        return f"http://127.0.0.1:{self.ports.gateway}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of everything that runs here: no GPU is visible, and nothing is fetched."""
        own = {"XDG_RUNTIME_DIR": str(self.home), "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
        return {**os.environ, **own, **dict(self.marked.env)}

    def file(self, stem: str, text: str) -> str:
        """Write a deployment file, and return its path."""
        path = self.home / f"{stem}.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    @property
    def sockets(self) -> list[str]:
        """The sockets that are there."""
        return sorted(path.name for path in self.home.rglob("*") if path.is_socket())

    def left(self) -> tuple[list[int], list[str]]:
        """Return the processes and sockets that are there."""
        return self.marked.left(), self.sockets


@contextmanager
def new_place() -> Iterator[Place]:
    """Make a place, and see to it that nothing is left there in the end."""
    # The directories of pytest are too deep for the sockets.
    with tempfile.TemporaryDirectory(prefix="smgcfg-e2e-", dir="/tmp") as directory:
        place = Place(Path(directory))
        try:
            yield place
            assert place.left() == ([], [])
        finally:
            for pid in place.marked.left():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            place.ports.close()


class Serve:
    """`smgcfg serve`, its output in files.

    Args:
        place: Where it runs.
        words: The words behind `serve`.
        program: How smgcfg is started.
        env: Further environment.
        stdout: Where its standard output goes instead of a file.
    """

    def __init__(
        self,
        place: Place,
        words: Sequence[str],
        *,
        program: Sequence[str] = MODULE,
        env: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        run = len(list(place.home.glob("*.out")))
        self._out, self._err = place.home / f"{run}.out", place.home / f"{run}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.popen = subprocess.Popen(
                [*program, "serve", *words],
                stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=err,
                env={**place.environment, **(env or {})},
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        """What it has printed so far, the escapes that colour the gateway's lines left out."""
        return re.sub(r"\x1b\[\d+m", "", self._out.read_text(encoding="utf-8"))

    @property
    def err(self) -> str:
        """What it has printed to standard error so far."""
        return self._err.read_text(encoding="utf-8")

    def said(self, pattern: str, seconds: float = PATIENCE) -> re.Match[str]:
        """Wait until it has printed a line that a pattern matches from its start, and return the match.

        Args:
            pattern: A regular expression.
            seconds: How long to wait.
        """

        def found() -> re.Match[str] | None:
            return re.search(f"^{pattern}", self.out, re.MULTILINE)

        until(lambda: found() or self.popen.poll() is not None, seconds)
        match = found()
        assert match, f"no line like {pattern!r}, exit code {self.popen.poll()}:\n{self.out}\n{self.err}"
        return match

    def ready(self) -> str:
        """Wait until it says that it is ready, and return the URL that it names."""
        return self.said(r"READY (\S+)")[1]

    def pid_of(self, name: str) -> int:
        """Return the process id of a process that it said to be ready."""
        return int(self.said(rf"{name} +(?:up|ready) .* pid (\d+)$")[1])

    def send(self, signum: int) -> None:
        """Send it a signal."""
        self.popen.send_signal(signum)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until it has ended, and return its exit code."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"still running after {seconds} s:\n{self.out}\n{self.err}") from late

    def stop(self, signum: int = signal.SIGTERM) -> int:
        """Send it a signal, wait until it has ended, and return its exit code."""
        self.send(signum)
        return self.wait()


@contextmanager
def serving(place: Place, *words: str, **how: object) -> Iterator[Serve]:
    """Run `smgcfg serve` until the block ends; should it run then, it is killed.

    Args:
        place: Where it runs.
        words: The words behind `serve`.
        how: See `Serve`.
    """
    serve = Serve(place, words, **how)  # type: ignore[arg-type]
    try:
        yield serve
    finally:
        if serve.popen.poll() is None:
            serve.popen.kill()
            serve.popen.wait()
