"""Our workers against those of `smg serve` 1.13.0: the real engine reads the same from both commands."""

from collections.abc import Callable
from typing import Any, Final

import attrs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import smg, tokenspeed
from planning import HERE, deployment, pool

from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.endpoint import handshake_port
from smgcfg.errors import errors_in
from smgcfg.planning.plan import plan
from smgcfg.process import ProcessSpec
from smgcfg.testing import strategies

RUN_DIR = "/run/x"

#: What both can express: `smg serve` always passes a grammar backend and `--enable-output-logprobs`.
_ALWAYS: Final = ("grammar_backend", "enable_output_logprobs")


def _drop_separator(words: list[str]) -> list[str]:
    return [word for word in words if word != "--"]


#: How the two commands differ on purpose, with the reason, and what makes them alike.
DIFFERENCES: Final[dict[str, Callable[[list[str]], list[str]]]] = {
    # smg serve hands the `--` in front of engine flags on to the engine, whose parser then takes the flags for
    # positional words and refuses them (Python 3.11); behind it stand the flags that both parsers know.
    "the word --": _drop_separator,
}

#: Settings with which smg serve gives a worker too few GPUs: it counts the tensor-parallel width alone.
GPU_SETTINGS: Final = (
    "attn_tp_size", "data_parallel_size", "pipeline_parallel_size", "world_size", "base_gpu_id"
)  # fmt: skip


def smg_words(args: TokenspeedArgs, port: int, replicas: int) -> list[str]:
    """The words behind `smg serve` that ask for the same workers."""
    own = ["--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "org/m", "--router-model-path", "org/m"]
    own += ["--worker-base-port", str(port), "--data-parallel-size", str(replicas)]
    if args.tensor_parallel_size is not None:
        # In front of the `--`, where smg serve looks for it to count GPUs.
        own += ["--tensor-parallel-size", str(args.tensor_parallel_size)]
        args = attrs.evolve(args, tensor_parallel_size=None)
    return [*own, "--", *args.to_argv()]


def compare(args: TokenspeedArgs, port: int, replicas: int, index: int) -> None:
    """Hold one of our workers against that of smg serve."""
    owned = BACKENDS["tokenspeed"].owned["zmq"]
    args = attrs.evolve(args, model=None, **dict.fromkeys((*owned, "nnodes")))
    one = attrs.evolve(pool(port=port, replicas=replicas), engine=args)
    result = plan(deployment(one, gateway={"port": 1}, run_dir=RUN_DIR), HERE)
    assume(not errors_in(result.findings))
    assert result.plan is not None
    ours = result.plan.workers[index]
    theirs = smg.real().serve_worker_command(smg_words(args, port, replicas), RUN_DIR, index)
    command = theirs.command
    for alike in DIFFERENCES.values():
        command = alike(command)
    assert command[1:5] == list(ours.argv[1:5]) == ["-m", "tokenspeed.cli", "serve", "--headless"]
    engine = tokenspeed.oracle()
    assert engine.parse(command[5:]) == engine.parse(ours.argv[5:])
    assert theirs.worker_url == ours.ready.url
    if all(getattr(args, key) is None for key in GPU_SETTINGS):
        assert theirs.env == dict(ours.env)


def expressible(args: TokenspeedArgs) -> TokenspeedArgs:
    """The settings with the two flags that smg serve never leaves out."""
    kept: dict[str, Any] = {"enable_output_logprobs": True}
    if args.grammar_backend is None:
        kept["grammar_backend"] = "xgrammar"
    return attrs.evolve(args, **kept)


PORTS = st.one_of(st.integers(1024, 65000), st.sampled_from([19766, 19767, 29999, 65302, 65303, 65535]))


@given(strategies.tokenspeed_args().map(expressible), PORTS)
@settings(max_examples=300)
def test_any_engine_settings_read_the_same(args: TokenspeedArgs, port: int) -> None:
    """For random engine settings and ports the real engine reads the same values from both commands."""
    compare(attrs.evolve(args, tensor_parallel_size=None), port, 1, 0)


@given(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
    PORTS,
    st.none() | st.integers(1, 8),
    st.none() | st.integers(1, 4),
    st.sampled_from(["xgrammar", "none"]),
)
@settings(max_examples=200)
def test_any_layout_reads_the_same(
    replica: tuple[int, int], port: int, tp: int | None, ranks: int | None, grammar: str
) -> None:
    """For replicas, ports, widths, grouped engines and grammar flags: the same values, URL and GPUs."""
    replicas, index = replica
    assume(port + replicas <= 65536)
    args = TokenspeedArgs(tensor_parallel_size=tp, data_parallel_size=ranks, grammar_backend=grammar)  # type: ignore[arg-type]
    compare(args, port, replicas, index)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(1, 65535))
@settings(max_examples=200)
def test_handshake_ports_are_those_of_smg(directory: str, port: int) -> None:
    """The hash of a socket's path is the one that smg derives, whatever the path's characters."""
    assume("\0" not in directory)
    words = ["--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "m", "--worker-base-port", str(port)]
    command = smg.real().serve_worker_command(words, "/" + directory).command
    theirs = command[command.index("--data-parallel-rpc-port") + 1]
    assert str(handshake_port(f"/{directory}/engine-{port}")) == theirs


def test_the_gateway_of_a_grouped_worker_waits_for_every_engine() -> None:
    """What smg serve tells its gateway of a grouped worker, ours is told too; the real gateway's parser reads it."""
    one = pool(engine={"data_parallel_size": 4})
    made = plan(deployment(one, run_dir=RUN_DIR), HERE).plan
    assert made is not None
    read = smg.oracle().parse(gateway_flags(made.gateway))
    assert read == {
        "host": "127.0.0.1",
        "port": 30000,
        "worker_urls": ["ipc:///run/x/engine-31000"],
        "backend": "tokenspeed",
        "zmq_engine_count": 4,
        "model_path": "org/m",
        "policy": "passthrough",
        "disable_retries": True,
        "disable_circuit_breaker": True,
        "health_check_interval_secs": 1,
        "health_failure_threshold": 1,
        "prometheus_host": "127.0.0.1",
        "prometheus_port": 30001,
    }


def gateway_flags(gateway: ProcessSpec) -> list[str]:
    """The words behind `smg launch`."""
    return list(gateway.argv[gateway.argv.index("launch") + 1 :])
