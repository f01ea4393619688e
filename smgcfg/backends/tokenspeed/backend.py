"""TokenSpeed as a backend: how its workers are started and what they occupy."""

from typing import Any, Final

from smgcfg.backends._base import Backend, Promise
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.backends.tokenspeed.versions import VERSIONS
from smgcfg.endpoint import HANDSHAKE_PORTS, LOOPBACK, Endpoint, bare
from smgcfg.process import Port

#: How far the port where a worker's processes meet lies from its own: TokenSpeed's own distance
#: (`ZMQ_TCP_PORT_DELTA` in 0.1.0 and 0.1.1), which smg 1.13.0 keeps.
DIST_DISTANCE: Final = 233

_HIGHEST_PORT: Final = 65535


def dist_port(port: int) -> int:
    """Return the port where the processes of a zmq worker meet, as smg 1.13.0 derives it.

    It is `port` + 233, reflected where that is no port, and moved out of the handshake band, where it could meet the
    handshake of some worker.

    Args:
        port: The worker's port.
    """
    there = port + DIST_DISTANCE if port + DIST_DISTANCE <= _HIGHEST_PORT else port - DIST_DISTANCE
    return there + len(HANDSHAKE_PORTS) if there in HANDSHAKE_PORTS else there


def _place(args: TokenspeedArgs, endpoint: Endpoint) -> dict[str, Any]:
    meeting_place = f"{LOOPBACK}:{dist_port(endpoint.port)}"
    if endpoint.transport == "grpc":
        place = {"host": endpoint.host, "port": endpoint.port}
        # Without data parallelism the engine takes the same place by itself; with it, it wants to be told.
        return place | ({"dist_init_addr": meeting_place} if args.dist_init_addr is None and _ranks(args) > 1 else {})
    return {
        "port": endpoint.port,
        "dist_init_addr": meeting_place,
        "data_parallel_address": LOOPBACK,
        "data_parallel_rpc_port": endpoint.handshake,
        "zmq_engine_index": 0,
    }


def _ports(args: TokenspeedArgs, endpoint: Endpoint) -> dict[str, Port]:
    if endpoint.transport == "zmq":
        # A headless engine has no server of its own: it binds nothing on `--port`, which only seeds other ports.
        return {"dist_init_addr": Port(dist_port(endpoint.port), LOOPBACK, "dist")}
    host = bare(endpoint.host)
    ports = {"port": Port(endpoint.port, host, "worker")}
    meeting_place = _place(args, endpoint).get("dist_init_addr", args.dist_init_addr) or ""
    meeting_host, _, meeting_port = meeting_place.rpartition(":")
    if meeting_host and meeting_port.isdecimal():
        ports["dist_init_addr"] = Port(int(meeting_port), bare(meeting_host), "dist")
    if args.rl_control_port:
        ports["rl_control_port"] = Port(args.rl_control_port, bare(args.rl_control_host or host), "control")
    if args.disaggregation_mode == "prefill" and args.disaggregation_bootstrap_port:
        ports["disaggregation_bootstrap_port"] = Port(args.disaggregation_bootstrap_port, host, "bootstrap")
    return ports


def _unbuilt(args: TokenspeedArgs) -> dict[str, str]:
    if args.nnodes is not None and args.nnodes > 1:
        return {"nnodes": f"a worker on {args.nnodes} nodes: smgcfg starts workers on one machine"}
    return {}


def _attention_tp(args: TokenspeedArgs) -> int | None:
    # `--tensor-parallel-size` is the attention's width; both at once is an error of the args.
    return args.tensor_parallel_size if args.tensor_parallel_size is not None else args.attn_tp_size


def _gpus(args: TokenspeedArgs) -> int:
    """Return the GPUs that one worker has to see (TokenSpeed 0.1.1, `resolve_parallelism` and `run_event_loop`)."""
    processes = args.world_size
    if processes is None:
        processes = (args.pipeline_parallel_size or 1) * (_attention_tp(args) or 1) * (args.data_parallel_size or 1)
    # The processes take the GPUs from this one on, counted among those that are visible.
    return max(processes, 0) + max(args.base_gpu_id or 0, 0)


def _ranks(args: TokenspeedArgs) -> int:
    """Return how many engines dial the gateway for one worker: the attention's data-parallel size."""
    if args.data_parallel_size is not None:
        return max(args.data_parallel_size, 1)
    width = _attention_tp(args)
    if args.world_size is None or width is None:
        return 1
    # What a given world size leaves over once a stage's tensor-parallel width is taken is data-parallel.
    return max(args.world_size // max((args.pipeline_parallel_size or 1) * width, 1), 1)


def _summary(args: TokenspeedArgs) -> str:
    widths = {
        "tp": _attention_tp(args) or 1,
        "pp": args.pipeline_parallel_size or 1,
        "dp": _ranks(args),
        "ep": args.expert_parallel_size or 1,
    }
    return " ".join(f"{name} {width}" for name, width in widths.items() if width > 1 or name == "tp")


TOKENSPEED: Final = Backend(
    name="tokenspeed",
    title="TokenSpeed",
    distribution="tokenspeed",
    args=TokenspeedArgs,
    transports=("zmq", "grpc"),
    module={"zmq": "tokenspeed.cli", "grpc": "smg_grpc_servicer.tokenspeed"},
    words={"zmq": ("serve", "--headless"), "grpc": ()},
    owned={
        "zmq": {
            "port": "port",
            "dist_init_addr": "port",
            "data_parallel_address": "",
            "data_parallel_rpc_port": "launch.run_dir",
            "zmq_engine_index": "",
            "zmq_msgpack": "",
            "skip_tokenizer_init": "",
        },
        "grpc": {"host": "host", "port": "port"},
    },
    facts={
        "model": "model",
        "tokenizer": "tokenizer",
        "served_model_name": "served_model_name",
        "reasoning_parser": "reasoning_parser",
    },
    unheard={"zmq": ("served_model_name",), "grpc": ()},
    place=_place,
    ports=_ports,
    gpus=_gpus,
    ranks=_ranks,
    most={"zmq": (DIST_DISTANCE, f"the processes of a worker meet on its port + {DIST_DISTANCE}")},
    summary=_summary,
    promises=(
        Promise("json_schema tools regex ebnf", "grammar_backend", lambda value: value not in (None, "none")),
        Promise("logprobs", "enable_output_logprobs", bool),
    ),
    unbuilt=_unbuilt,
    versions=VERSIONS,
)
