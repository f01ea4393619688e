"""The stand-in's process on the wire, with the gateway's side played in the test."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.processes import FakeGateway, Process, free_port, standin

CONSTRAINED = ("--grammar-backend", "xgrammar")


@pytest.fixture
def port() -> int:
    """A port for the handshake."""
    return free_port()


@pytest.fixture
def gateway(tmp_path: Path, port: int) -> Iterator[FakeGateway]:
    """A played gateway that has bound its sockets."""
    fake = FakeGateway(tmp_path, port)
    yield fake
    fake.close()


def cpu_seconds(process: Process) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process.popen.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_handshake_request_and_death(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """An engine registers with its facts, answers, and on SIGTERM says goodbye once and ends with 0."""
    flags = (*CONSTRAINED, "--max-model-len", "2048", "--served-model-name", "public", "--tensor-parallel-size", "2")
    with standin(port, tmp_path / "log", *flags) as engine:
        ready = gateway.greet()[b"\0\0"]
        facts = ("max_model_len", "instance_id", "world_size", "tensor_parallel_size", "data_parallel_rank", "dtype")
        assert [ready[fact] for fact in facts] == [2048, "public", 2, 2, 0, "bfloat16"]
        assert len(ready) == 19
        gateway.add("r", regex="ab|cd")
        tokens, reason = gateway.answer("r")
        assert bytes(tokens[:-1]) in (b"ab", b"cd")
        assert reason == "stop"
        assert engine.stop() == 0
        assert gateway.output() == b"ENGINE_CORE_DEAD"
        assert not gateway.outputs.poll(200)
        assert "engine 0: registered at the gateway, ready" in engine.output


def test_a_gateway_that_comes_late(port: int, tmp_path: Path) -> None:
    """An engine that dialled first is registered as soon as the gateway binds, and does not spin until then."""
    with standin(port, tmp_path / "log") as engine:
        engine.says("dialling the gateway")
        before = cpu_seconds(engine)
        time.sleep(0.7)
        assert cpu_seconds(engine) - before < 0.1
        assert before < 1.0
        gateway = FakeGateway(tmp_path, port)
        assert list(gateway.greet()) == [b"\0\0"]
        engine.says("ready")
        before = cpu_seconds(engine)
        time.sleep(0.5)
        assert cpu_seconds(engine) - before < 0.05
        gateway.close()


def test_ranks_of_one_process(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """A grouped engine registers each rank under its own index, answers as that rank, and dies once for all."""
    with standin(port, tmp_path / "log", "--data-parallel-size", "3", "--zmq-engine-index", "4") as engine:
        ready = gateway.greet(3)
        assert sorted(ready) == [b"\4\0", b"\5\0", b"\6\0"]
        assert sorted((each["data_parallel_rank"], each["data_parallel_size"]) for each in ready.values()) == [
            (0, 3), (1, 3), (2, 3),
        ]  # fmt: skip
        for index in (5, 6):
            gateway.add(f"r{index}", bytes([index, 0]), max_new_tokens=3, ignore_eos=True)
        batches = [gateway.output() for _ in range(6)]
        assert {(batch[1][0], batch[9]) for batch in batches} == {("r5", 5), ("r6", 6)}
        assert engine.stop() == 0
        assert gateway.output() == b"ENGINE_CORE_DEAD"
        assert not gateway.outputs.poll(200)


def test_abort_of_a_running_request(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """An aborted request falls silent while another one goes on to its end, at the pace that was set."""
    with standin(port, tmp_path / "log", SMGCFG_STANDIN_STEP_SECONDS="0.01"):
        gateway.greet()
        gateway.add("gone", ignore_eos=True)
        gateway.add("stays", ignore_eos=True, max_new_tokens=30)
        while "gone" not in gateway.output()[1]:
            pass
        gateway.abort("gone")
        started = time.monotonic()
        gateway.answer("stays")
        assert not gateway.outputs.poll(300)
        assert time.monotonic() - started > 0.2  # 30 steps of 10 ms, most of them still to come


def test_death_in_the_middle_of_an_answer(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """SIGINT ends a busy engine at once; the death notice is its last word."""
    with standin(port, tmp_path / "log", SMGCFG_STANDIN_STEP_SECONDS="0.01") as engine:
        gateway.greet()
        gateway.add("r", ignore_eos=True)
        gateway.output()
        assert engine.stop(signal.SIGINT) == 0
        said = [gateway.output() for _ in iter(lambda: gateway.outputs.poll(200), 0)]
        assert said.count(b"ENGINE_CORE_DEAD") == 1
        assert said[-1] == b"ENGINE_CORE_DEAD"


def test_a_malformed_message_is_dropped(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """A message that can not be read is logged and does not end the engine."""
    with standin(port, tmp_path / "log") as engine:
        gateway.greet()
        gateway.inputs.send_multipart([b"\0\0", b"\7", b"nonsense"])
        gateway.add("r", max_new_tokens=1)
        assert gateway.answer("r")[1] == "length"
        engine.says("dropping a malformed message")


def test_an_engine_that_loads(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """A loading engine does not dial, and can be stopped while it loads."""
    with standin(port, tmp_path / "log", SMGCFG_STANDIN_LOAD_SECONDS="0.6") as engine:
        engine.says("loading tiny")
        assert not gateway.handshake.poll(200)
        gateway.greet()
        assert engine.stop() == 0
    with standin(port, tmp_path / "log2", SMGCFG_STANDIN_LOAD_SECONDS="60") as engine:
        engine.says("loading tiny")
        assert engine.stop() == 0
        assert "dialling" not in engine.output


def test_stopped_before_the_gateway_is_there(port: int, tmp_path: Path) -> None:
    """An engine that nobody answers still ends with 0 on SIGTERM."""
    with standin(port, tmp_path / "log") as engine:
        engine.says("dialling")
        assert engine.stop() == 0


@pytest.mark.parametrize("init", [{"addresses": {"inputs": [], "outputs": []}}, {"addresses": 3}, []])
def test_an_init_without_sockets(gateway: FakeGateway, port: int, tmp_path: Path, init: object) -> None:
    """An INIT that names no sockets ends the engine with 1 and a line that says so."""
    with standin(port, tmp_path / "log") as engine:
        gateway.greet(init=init)
        assert engine.popen.wait(10) == 1
        assert "no usable INIT" in engine.output


def test_a_gateway_that_goes_away(gateway: FakeGateway, port: int, tmp_path: Path) -> None:
    """An engine whose gateway vanished under load does not block: it still ends on SIGTERM."""
    with standin(port, tmp_path / "log") as engine:
        gateway.greet()
        gateway.add("r", ignore_eos=True)
        gateway.output()
        gateway.inputs.close(linger=0)
        gateway.outputs.close(linger=0)
        assert engine.stop() == 0
