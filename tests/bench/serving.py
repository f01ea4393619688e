"""A whole launch: what `smgcfg serve` adds to starting gateway and engine by hand, and what the launcher holds."""

import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from measure import Row, python, table

#: The most that a launch may take beyond what its processes take, in seconds.
_ADDED: Final = 0.3

#: The most that the launcher may hold once everything is ready, in MiB.
_HELD: Final = 40

_PATIENCE: Final = 60.0

_FILE: Final = """\
name = "bench"
[pools.chat]
backend = "tokenspeed"
model = "Qwen/Qwen3-8B"
served_model_name = "qwen3-8b"
[gateway]
log_level = "warn"
[launch]
verify = "off"
"""


def run(folder: Path, rounds: int) -> str:
    """Measure, and return the table.

    Args:
        folder: Where files and sockets may stand.
        rounds: How often to launch.
    """
    file = folder / "serving.toml"
    file.write_text(_FILE)
    by_hand, served, held = [], [], []
    for number in range(rounds + 1):
        words = [str(file), "--stand-in", "--set", f"launch.run_dir={folder / f'run-{number}'}"]
        words += ["--set", f"gateway.port={_free_port()}", "--set", f"gateway.prometheus_port={_free_port()}"]
        taken, size = _served(words)
        if number:  # the first launch writes the stand-in's model, and fills the caches
            served.append(taken)
            held.append(size)
            by_hand.append(_by_hand(words))
    # A gateway that asks a moment too early asks again a second later, by hand as in a launch: the fastest round of
    # each is one without such a second.
    added, size = min(served) - min(by_hand), max(held)
    rows = [
        Row("gateway and engine by hand", _seconds(by_hand)),
        Row("smgcfg serve --stand-in", _seconds(served)),
        Row("what serve adds", ("", f"{added:.2f} s"), f"{_ADDED} s", added <= _ADDED),
        Row("resident size of the launcher", ("", f"{size:.1f} MiB"), f"{_HELD} MiB", size < _HELD),
    ]
    return table("from nothing to ready", ("median", "fastest"), rows)


def _seconds(times: Sequence[float]) -> tuple[str, str]:
    return f"{statistics.median(times):.2f} s", f"{min(times):.2f} s"


def _served(words: Sequence[str]) -> tuple[float, float]:
    """Launch with `smgcfg serve`; return the seconds until it says READY, and the launcher's size in MiB."""
    started = time.monotonic()
    with _started([python("-u", "-m", "smgcfg", "serve", *words)], [{}], stdout=subprocess.PIPE) as (launcher,):
        assert launcher.stdout is not None
        said = []
        for line in launcher.stdout:
            said.append(line)
            if line.startswith(b"READY"):
                break
        else:
            raise RuntimeError(b"".join(said[-20:]).decode())
        return time.monotonic() - started, _resident(launcher.pid)


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _by_hand(words: Sequence[str]) -> float:
    """Start the processes of the same plan at once; return the seconds until the gateway calls every worker healthy."""
    said = subprocess.run(
        python("-m", "smgcfg", "plan", *words, "--json", "--show-secrets"), capture_output=True, check=True
    ).stdout
    plan = json.loads(said)
    processes = [plan["gateway"], *plan["workers"]]
    for path in {worker["url"].removeprefix("ipc://").rpartition("/")[0] for worker in plan["workers"]}:
        os.makedirs(path, mode=0o700, exist_ok=True)
    started = time.monotonic()
    with _started([process["argv"] for process in processes], [process["env"] for process in processes]):
        while not _ready(plan["gateway"]["url"], len(plan["workers"])):
            if time.monotonic() > started + _PATIENCE:
                raise RuntimeError("what was started by hand does not become ready")
            time.sleep(0.01)
        return time.monotonic() - started


def _ready(url: str, workers: int) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/workers", timeout=1) as answer:
            listed = json.load(answer)["workers"]
    except (OSError, urllib.error.URLError):
        return False
    return len(listed) == workers and all(worker["is_healthy"] for worker in listed)


@contextlib.contextmanager
def _started(
    commands: Sequence[Sequence[str]], environments: Sequence[dict[str, str]], stdout: int = subprocess.DEVNULL
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start processes, and stop them in their order at the end."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command, env in zip(commands, environments, strict=True):
            running.append(_process(command, env, stdout))
        yield running
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
            if process.stdout is not None:
                process.stdout.close()
            process.wait(_PATIENCE)


def _process(command: Sequence[str], env: dict[str, str], stdout: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env={**os.environ, **env}, stdout=stdout, stderr=subprocess.STDOUT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
