"""One worker's command for a harness: exactly what a plan has."""

import sys

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import tokenspeed
from planning import HERE, deployment, good, pool

from smgcfg import worker_command, worker_url
from smgcfg.args import set_settings
from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.endpoint import Endpoint
from smgcfg.errors import ConfigError, errors_in
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.plan import plan
from smgcfg.testing import strategies

ENGINE = BACKENDS["tokenspeed"]
RUN_DIR = "/run/x"


def free(args: TokenspeedArgs, transport: str) -> TokenspeedArgs:
    """The settings with a model and without those that the launcher decides."""
    return attrs.evolve(args, model="org/m", **dict.fromkeys(ENGINE.owned[transport]))  # type: ignore[index]


@given(strategies.tokenspeed_args(extra=True), st.sampled_from(["zmq", "grpc"]), st.integers(1, 65535))
@settings(max_examples=150)
def test_it_is_the_command_of_the_plan(args: TokenspeedArgs, transport: str, port: int) -> None:
    """A harness that asks for one worker gets the very words and the URL of a plan with that worker; or both refuse."""
    args = free(args, transport)
    one = attrs.evolve(pool(port=port, transport=transport, gpus_per_replica=0, python="py"), engine=args, model=None)
    result = plan(deployment(one, gateway={"port": 1 if port != 1 else 2}, run_dir=RUN_DIR), HERE)
    ask = {"port": port, "transport": transport, "run_dir": RUN_DIR if transport == "zmq" else None}
    if result.plan is None:
        refused = {f.code for f in errors_in(result.findings)}
        assume(not refused <= {"SMG020", "SMG021"})  # ports that meet others: a lone worker has no others
        with pytest.raises(ConfigError) as caught:
            worker_command(args, python="py", **ask)  # type: ignore[arg-type]
        assert {f.code for f in caught.value.findings} & refused
        return
    (worker,) = result.plan.workers
    assert worker_command(args, python="py", **ask) == list(worker.argv)  # type: ignore[arg-type]
    assert worker_url(**ask) == worker.ready.url  # type: ignore[arg-type]


@given(strategies.tokenspeed_args(), st.integers(1, 65535))
@settings(max_examples=150)
def test_the_real_engine_reads_what_was_meant(args: TokenspeedArgs, port: int) -> None:
    """The engine's own parser reads from the command exactly the settings and the owned values."""
    args = free(args, "zmq")
    try:
        words = worker_command(args, port=port, run_dir=RUN_DIR)
    except ConfigError:
        assume(False)
    placed = attrs.evolve(args, **ENGINE.place(args, Endpoint("zmq", "", port, RUN_DIR)))
    start = [sys.executable, "-m", "tokenspeed.cli", "serve", "--headless"]
    assert words[: len(start)] == start
    assert TokenspeedArgs.from_argv(words[len(start) :]) == placed
    oracle = tokenspeed.oracle()
    assert oracle.parse(words[len(start) :]) == oracle.parse(placed.to_argv())


def test_the_flags_stand_in_a_fixed_order() -> None:
    """The model, what the launcher decides, the two defaults, then the rest: a change of one moves no other."""
    args = TokenspeedArgs(model="org/m", tensor_parallel_size=2, max_num_seqs=8, extra=("--new", "1"))
    words = worker_command(args, port=31000, run_dir="/r", python="py", command=["run", "it"])
    assert " ".join(words) == (
        "run it serve --headless --model org/m --port 31000 --dist-init-addr 127.0.0.1:31233 "
        "--data-parallel-address 127.0.0.1 --data-parallel-rpc-port 25358 --zmq-engine-index 0 "
        "--grammar-backend xgrammar --enable-output-logprobs --max-num-seqs 8 --tensor-parallel-size 2 --new 1"
    )


@pytest.mark.parametrize(
    ("port", "dist"),
    [(31000, 31233), (65302, 65535), (65303, 65070), (65535, 65302), (19766, 19999), (19767, 30000), (29766, 39999)],
)
def test_the_meeting_port_keeps_out_of_the_handshake_band(port: int, dist: int) -> None:
    """It is port + 233, reflected at the last port and hopping over 20000 to 29999, as smg serve 1.13.0 has it."""
    words = worker_command(TokenspeedArgs(model="m"), port=port, run_dir="/r")
    assert words[words.index("--dist-init-addr") + 1] == f"127.0.0.1:{dist}"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "grpc://127.0.0.1:50051"),
        ("::1", "grpc://[::1]:50051"),
        ("[::1]", "grpc://[::1]:50051"),
        ("node7", "grpc://node7:50051"),
    ],
)
def test_a_grpc_worker_listens_where_its_url_says(host: str, url: str) -> None:
    """An IPv6 address is bracketed in the URL and stands as given in the flag."""
    assert worker_url(port=50051, transport="grpc", host=host) == url
    words = worker_command(TokenspeedArgs(model="m"), port=50051, transport="grpc", host=host, python="py")
    assert words[:9] == ["py", "-m", "smg_grpc_servicer.tokenspeed", "--model", "m", "--host", host, "--port", "50051"]


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ({"port": 1}, "use the argument port instead"),
        ({"dist_init_addr": "a:1"}, "use the argument port instead"),
        ({"data_parallel_rpc_port": 1}, "use the argument run_dir instead"),
        ({"data_parallel_address": "a"}, "leave it out"),
        ({"zmq_engine_index": 0}, "leave it out"),
        ({"zmq_msgpack": True}, "leave it out"),
        ({"skip_tokenizer_init": False}, "leave it out"),
    ],
)
def test_owned_settings_are_refused(setting: dict[str, object], hint: str) -> None:
    """What the launcher decides is refused with the argument to use, as loading a file refuses it."""
    with pytest.raises(ConfigError) as caught:
        worker_command(TokenspeedArgs(model="m", **setting), port=31000, run_dir="/r")  # type: ignore[arg-type]
    (finding,) = caught.value.findings
    assert (finding.code, finding.key, finding.hint) == ("SMG008", next(iter(setting)), hint)


def test_everything_wrong_is_told_at_once() -> None:
    """A refusal holds every problem: model, port, directory, nodes, an owned setting."""
    with pytest.raises(ConfigError) as caught:
        worker_command(TokenspeedArgs(nnodes=2, port=1), port=0, run_dir="r")
    assert [f.code for f in caught.value.findings][:5] == ["SMG020", "SMG007", "SMG008", "SMG007", "SMG017"]
    with pytest.raises(ConfigError, match="107"):
        worker_url(port=31000, run_dir="/" + "x" * 100)
    with pytest.raises(ConfigError, match="zmq, grpc"):
        worker_url(port=31000, transport="http")  # type: ignore[arg-type]


def test_what_is_no_engines_settings_is_a_type_error() -> None:
    """A developer's mistake is not dressed up as an operator's."""
    with pytest.raises(TypeError, match="GatewayArgs"):
        worker_command(GatewayArgs(), port=31000, run_dir="/r")
    with pytest.raises(TypeError, match="list of words"):
        worker_command(TokenspeedArgs(model="m"), port=31000, run_dir="/r", command="python x")


def test_worker_command_needs_nothing_of_this_machine() -> None:
    """The default interpreter is the caller's; everything else is given."""
    assert good().workers[0].argv[0] == HERE.python
    assert worker_command(TokenspeedArgs(model="m"), port=31000, run_dir="/r")[0] == sys.executable
    assert set_settings(TokenspeedArgs(model="m")).keys() == {"model", "grammar_backend", "enable_output_logprobs"}
