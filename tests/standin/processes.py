"""Stand-in processes and gateways for the tests, on loopback, each stopped by the one who started it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import openai
import zmq

from smgcfg.standin.tokenizer import write_model_dir

SECONDS = 15.0


def free_port() -> int:
    """Return a TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait for a condition, and fail by its name when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Process:
    """A program whose output goes to a file."""

    def __init__(self, words: Sequence[str], log: Path, **env: str) -> None:
        self.log = log
        with log.open("wb") as out:
            self.popen = subprocess.Popen(
                words, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **env}
            )

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()

    def says(self, text: str) -> None:
        """Wait until it has printed a text."""
        wait_until(lambda: text in self.output or self.popen.poll() is not None, f"{text!r} in {self.log.name}")
        assert text in self.output, self.output

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and return its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        try:
            return self.popen.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise


def standin_words(port: int, *flags: str) -> list[str]:
    """Return the command of a stand-in, as a launcher writes it."""
    return [
        sys.executable, "-m", "smgcfg.standin", "serve", "--headless", "--model", "tiny",
        "--data-parallel-address", "127.0.0.1", "--data-parallel-rpc-port", str(port), "--zmq-engine-index", "0",
        *flags,
    ]  # fmt: skip


@contextmanager
def standin(port: int, log: Path, *flags: str, **env: str) -> Iterator[Process]:
    """Run a stand-in; it ends with the block."""
    process = Process(standin_words(port, *flags), log, **env)
    try:
        yield process
    finally:
        process.stop(signal.SIGKILL)


def handshake_port(path: str) -> int:
    """Return the port that smg 1.13.0 derives from a worker's socket path."""
    state = 0xCBF29CE484222325
    for byte in path.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return 20000 + state % 10000


class RealGateway:
    """An `smg launch` for one worker that serves the stand-in's generated model as "tiny".

    Attributes:
        url: The base address of its HTTP interface.
        handshake_port: Where an engine has to dial.
    """

    def __init__(self, directory: Path, *flags: str) -> None:
        self.worker = f"{directory}/engine"
        self.handshake_port = handshake_port(self.worker)
        port, metrics = free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}"
        model = write_model_dir(directory / "model")
        words = [
            str(Path(sys.executable).with_name("smg")), "launch", "--host", "127.0.0.1", "--port", str(port),
            "--worker-urls", f"ipc://{self.worker}", "--backend", "tokenspeed", "--model-path", "tiny",
            "--tokenizer-path", str(model), "--policy", "passthrough", "--disable-retries",
            "--disable-circuit-breaker", "--health-check-interval-secs", "1",
            "--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics), *flags,
        ]  # fmt: skip
        self.process = Process(words, directory / "gateway.log", HF_HUB_OFFLINE="1")
        self.client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=SECONDS)

    def ready(self) -> bool:
        """Whether an engine is registered and healthy."""
        try:
            return httpx.get(f"{self.url}/readiness", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False

    def close(self) -> None:
        """Kill it: a gateway asked politely drains for five seconds."""
        self.client.close()
        self.process.stop(signal.SIGKILL)


@contextmanager
def deployment(
    directory: Path, *flags: str, gateway_flags: Sequence[str] = (), **env: str
) -> Iterator[tuple[RealGateway, Process]]:
    """Run a real gateway with one stand-in behind it, until the block ends."""
    gateway = RealGateway(directory, *gateway_flags)
    try:
        with standin(gateway.handshake_port, directory / "engine.log", *flags, **env) as engine:
            wait_until(gateway.ready, "the gateway has an engine")
            yield gateway, engine
    finally:
        gateway.close()


class FakeGateway:
    """The gateway's side of the wire, in plain msgpack, one message at a time."""

    def __init__(self, directory: Path, port: int) -> None:
        self.context = zmq.Context()
        self.handshake = self._bound(zmq.ROUTER, f"tcp://127.0.0.1:{port}")
        self.inputs = self._bound(zmq.ROUTER, f"ipc://{directory}/in.sock")
        self.outputs = self._bound(zmq.PULL, f"ipc://{directory}/out.sock")
        self.addresses = {"inputs": [f"ipc://{directory}/in.sock"], "outputs": [f"ipc://{directory}/out.sock"]}

    def _bound(self, kind: int, address: str) -> zmq.Socket[bytes]:
        bound = self.context.socket(kind)
        bound.setsockopt(zmq.RCVTIMEO, int(SECONDS * 1000))
        bound.bind(address)
        return bound

    def greet(self, count: int = 1, init: Any = None) -> dict[bytes, dict[str, Any]]:
        """Take every engine through the handshake; return the ready responses by identity."""
        answer = {"addresses": self.addresses, "parallel_config": {}} if init is None else init
        waiting = {"HELLO": count, "READY": 0 if init is not None else count}
        while any(waiting.values()):
            engine, said = self.handshake.recv_multipart()
            message = msgspec.msgpack.decode(said)
            status = message.pop("status")
            waiting[status] -= 1
            assert message == {"local": True, "headless": True, "parallel_config_hash": None}
            if status == "HELLO":
                self.handshake.send_multipart([engine, msgspec.msgpack.encode(answer)])
        registered = [self.inputs.recv_multipart() for _ in range(count if init is None else 0)]
        return {engine: msgspec.msgpack.decode(ready) for engine, ready in registered}

    def add(self, rid: str, engine: bytes = b"\0\0", stream: bool = True, **params: Any) -> None:
        """Send a request with the prompt "hi"; parameters by their position's name."""
        names = ["max_new_tokens", "stop", "stop_token_ids", *("_" * 7), "min_new_tokens", "json_schema", "regex"]
        names += ["ebnf", "structural_tag", "ignore_eos"]
        defaults = [None, None, None, 1.0, 1.0, 1 << 30, 0.0, 0.0, 0.0, 1.0, 0, None, None, None, None, False]
        values = [params.get(name, default) for name, default in zip(names, defaults, strict=True)]
        request = ["TokenizedGenerateReqInput", rid, None, None, [104, 105], values, False, -1, 0, None, stream]
        self.inputs.send_multipart([engine, b"\0", msgspec.msgpack.encode(request)])

    def abort(self, *rids: str, engine: bytes = b"\0\0") -> None:
        """Send an abort."""
        self.inputs.send_multipart([engine, b"\1", msgspec.msgpack.encode(list(rids))])

    def output(self) -> Any:
        """Receive the next output: a decoded batch, or a raw frame that is none."""
        frame = self.outputs.recv()
        return frame if frame.startswith(b"ENGINE") else msgspec.msgpack.decode(frame)

    def answer(self, rid: str) -> tuple[list[int], str]:
        """Receive until a request has finished; return its tokens and its finish reason."""
        tokens: list[int] = []
        while True:
            batch = self.output()
            if rid in batch[1]:
                row = batch[1].index(rid)
                tokens += batch[2][row]
                if batch[3][row]:
                    return tokens, batch[3][row]

    def close(self) -> None:
        """Close all sockets."""
        self.context.destroy(linger=0)
