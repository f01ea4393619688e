"""Plans: ports, GPUs, sockets, words, environments, and what stands against a plan."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import tokenspeed
from planning import HERE, codes, deployment, flag, good, planned, pool

from smgcfg.config import Deployment
from smgcfg.errors import errors_in
from smgcfg.origin import FromFile
from smgcfg.overlay import Layer, Overlay
from smgcfg.planning.plan import plan
from smgcfg.process import Port
from smgcfg.testing import strategies

# --- words and environments ------------------------------------------------------------------------------------------


def test_placeholders_are_filled_in_wrapper_command_and_environment() -> None:
    """Each worker gets its own index, name, port and GPUs; doubled braces are braces."""
    made = good(
        pool(
            replicas=2,
            wrapper=("numactl", "--cpunodebind={index}"),
            command=("run", "{name}", "{{x}}"),
            env=(("AT", "{port}/{gpus}/{run_dir}"),),
        )
    )
    second = made.workers[1]
    assert second.argv[:7] == ("numactl", "--cpunodebind=1", "run", "chat-1", "{x}", "serve", "--headless")
    assert dict(second.env)["AT"] == f"31001/1/{made.run_dir}"


def test_the_gateway_has_no_index_and_no_gpus() -> None:
    """A placeholder that is not there is an error that names those that are, for workers and gateway alike."""
    result = planned(pool(env=(("A", "{indx}"),)), wrapper=("{index}",), env=(("B", "{"),))
    assert [(f.code, f.key) for f in result.findings] == [
        ("SMG016", "pools.chat.env.A"),
        ("SMG016", "gateway.wrapper"),
        ("SMG016", "gateway.env.B"),
    ]
    assert "{index}, {name}, {port}, {gpus}, {run_dir}" in result.findings[0].message
    assert "there are {name}, {port}, {run_dir}" in result.findings[1].message
    made = good(wrapper=("{name}:{port}",), command=("smg", "launch"))
    assert made.gateway.argv[:4] == ("gateway:30000", "smg", "launch", "--host")


def test_nothing_is_no_program_and_no_model() -> None:
    """A command and a wrapper begin with a program, and an engine has a model: blank text is neither."""
    assert codes(pool(wrapper=("", "x"), command=(" ",)), command=("",)) == [
        ("SMG003", "pools.chat.wrapper"),
        ("SMG003", "pools.chat.command"),
        ("SMG003", "gateway.command"),
    ]
    assert codes(pool(model=None, engine={"model": " "})) == [("SMG007", "pools.chat.engine.model")]
    assert codes(gateway={"model_path": "", "tokenizer_path": " "}) == [
        ("SMG003", "gateway.model_path"),
        ("SMG003", "gateway.tokenizer_path"),
    ]
    assert good(pool(wrapper=(), command=("run", ""))).workers[0].argv[:2] == ("run", "")


def test_the_operators_environment_wins() -> None:
    """A pool's variables stand on top of the derived ones."""
    (worker,) = good(pool(env=(("CUDA_VISIBLE_DEVICES", "7"), ("X", "1")))).workers
    assert worker.env == (("CUDA_VISIBLE_DEVICES", "7"), ("PYTHONUNBUFFERED", "1"), ("X", "1"))


def test_an_environment_name_that_no_shell_takes_is_refused() -> None:
    """A variable's name is checked: '=' or a blank in it would make another variable."""
    assert codes(pool(env=(("A=B", "x"),))) == [("SMG006", 'pools.chat.env."A=B"')]


def test_interpreters_are_the_pools_own_or_the_planners() -> None:
    """Each process runs with the interpreter that the file names for it, else with that of the environment."""
    made = good(pool(python="/opt/ts/bin/python"))
    assert made.workers[0].argv[:3] == ("/opt/ts/bin/python", "-m", "tokenspeed.cli")
    assert made.gateway.argv[:4] == ("/usr/bin/python3", "-m", "smg", "launch")
    assert good(python="/opt/smg/bin/python").gateway.argv[0] == "/opt/smg/bin/python"


def test_a_grpc_worker_runs_the_servicer() -> None:
    """Over grpc the same settings go to the servicer's module, which listens where the gateway looks."""
    made = good(
        pool(transport="grpc", host="::1", port=50051, served_model_name=("m", "n"), engine={"max_num_seqs": 8})
    )
    (worker,) = made.workers
    words = (
        "/usr/bin/python3",
        "-m",
        "smg_grpc_servicer.tokenspeed",
        "--model",
        "org/m",
        "--host",
        "::1",
        "--port",
        "50051",
    )
    assert worker.argv[: len(words)] == words
    assert worker.argv[len(words) : len(words) + 3] == ("--grammar-backend", "xgrammar", "--enable-output-logprobs")
    assert flag(worker.argv, "--served-model-name") == "m"
    assert worker.ready.url == "grpc://[::1]:50051"
    assert flag(made.gateway.argv, "--worker-urls") == "grpc://[::1]:50051"
    assert flag(made.gateway.argv, "--health-check-interval-secs") is None


@pytest.mark.parametrize("engine", [{"data_parallel_size": 2}, {"world_size": 4, "tensor_parallel_size": 2}])
def test_data_parallel_ranks_over_grpc_meet_on_a_port_of_their_own(engine: dict[str, Any]) -> None:
    """Each grpc worker whose engine asks for a meeting place has one, which TokenSpeed takes; others have none."""
    made = good(pool(transport="grpc", host="10.0.0.1", port=50051, replicas=2, engine=engine))
    for worker, port in zip(made.workers, (50051, 50052), strict=True):
        meeting_place = ("--dist-init-addr", f"127.0.0.1:{port + 233}")
        assert worker.argv[5:11] == ("--host", "10.0.0.1", "--port", str(port), *meeting_place)
        assert worker.ports == (Port(port, "10.0.0.1", "worker"), Port(port + 233, "127.0.0.1", "dist"))
        assert tokenspeed.oracle().resolve(worker.argv[3:]) is None
    (alone,) = good(pool(transport="grpc", port=50051)).workers
    assert flag(alone.argv, "--dist-init-addr") is None
    assert [port.number for port in alone.ports] == [50051]


def test_a_meeting_place_that_an_operator_chose_stays() -> None:
    """A meeting place of one's own is passed as it is, and its port is the worker's; without any there is no plan."""
    engine = {"data_parallel_size": 2, "dist_init_addr": "localhost:4000"}
    (worker,) = good(pool(transport="grpc", engine=engine)).workers
    assert flag(worker.argv, "--dist-init-addr") == "localhost:4000"
    assert worker.ports[1] == Port(4000, "localhost", "dist")
    without = deployment(pool(transport="grpc", engine={"data_parallel_size": 2}))
    refused = plan(without.evolve(unset=(("pools", "chat", "engine", "dist_init_addr"),)), HERE)
    assert [(finding.code, finding.key) for finding in refused.findings] == [
        ("SMG014", "pools.chat.engine.data_parallel_size")
    ]


# --- keys -------------------------------------------------------------------------------------------------------------

SECRETS = {"api_key": "-s1", "control_plane_api_keys": ("i:n:user:s2", "i:n:admin:s3"), "tenant_api_key": ("t:s4",)}


@pytest.mark.parametrize(
    ("gateway", "key"),
    [
        ({}, None),
        ({"api_key": "k"}, "k"),
        ({"api_key": "k", "tenant_api_key": ("t:x",)}, "k"),
        (SECRETS, "s3"),
        ({"control_plane_api_keys": ("i:n:user:a:b",), "api_key": "k"}, "a:b"),
    ],
)
def test_the_key_for_the_list_of_workers(gateway: dict[str, object], key: str | None) -> None:
    """The plan carries the key that opens the gateway's list of workers: a control-plane key once there is one."""
    assert good(gateway=gateway).api_key == key


@pytest.mark.parametrize(
    "gateway", [{"tenant_api_key": ("t:x",)}, {"jwt_issuer": "u", "jwt_audience": "a", "api_key": "k"}]
)
def test_a_gateway_that_shows_its_workers_to_nobody_is_refused(gateway: dict[str, object]) -> None:
    """Where no configured key opens the list, nobody could see when the workers are ready."""
    ((code, key),) = codes(gateway=gateway)
    assert code == "SMG014"
    assert key in ("gateway.tenant_api_key", "gateway.jwt_issuer")


# --- what is refused -------------------------------------------------------------------------------------------------


def test_owned_settings_are_refused_with_the_key_to_use() -> None:
    """A setting that the plan decides is an error that names what to use instead."""
    result = planned(
        pool(engine={"port": 1, "zmq_engine_index": 0, "data_parallel_rpc_port": 20000}),
        gateway={"worker_urls": ("u",), "zmq_engine_count": 2},
    )
    hints = {finding.key: finding.hint for finding in errors_in(result.findings) if finding.code == "SMG008"}
    assert hints == {
        "pools.chat.engine.port": "use pools.chat.port instead",
        "pools.chat.engine.zmq_engine_index": "leave it out",
        "pools.chat.engine.data_parallel_rpc_port": "use launch.run_dir instead",
        "gateway.worker_urls": "use [pools.NAME] host, port and replicas instead",
        "gateway.zmq_engine_count": "use [pools.NAME.engine] data_parallel_size instead",
    }
    assert codes(pool(transport="grpc", engine={"zmq_engine_index": 0, "host": "h"})) == [
        ("SMG008", "pools.chat.engine.host")
    ]


def test_an_owned_setting_is_one_problem() -> None:
    """What the value of a setting would break that only the plan may set is not reported, too."""
    assert codes(gateway={"worker_urls": ("10.0.0.1:8000",)}) == [("SMG008", "gateway.worker_urls")]


@pytest.mark.parametrize("version", ["9", "v0.1.1", "0.1", "0.1.10"])
def test_a_version_that_nobody_knows_is_reported(version: str) -> None:
    """A version without a flag table is a warning: otherwise a typing mistake would turn checks off in silence."""
    found = planned(pool(engine_version=version), version=version).findings
    assert [(f.severity, f.code, f.key) for f in found] == [
        ("warning", "SMG033", "pools.chat.engine_version"),
        ("warning", "SMG033", "gateway.version"),
    ]


@pytest.mark.parametrize(
    "path", [("gateway", "worker_urls"), ("gateway", "backend"), ("pools", "chat", "engine", "port")], ids=".".join
)
def test_owned_settings_can_not_be_unset_either(path: tuple[str, ...]) -> None:
    """Without worker URLs a gateway would start, and have no worker: what the launcher decides, nobody takes away."""
    refused = plan(deployment(pool()).evolve(unset=(path,)), HERE)
    assert [(finding.code, finding.key) for finding in refused.findings] == [("SMG008", ".".join(path))]


def test_a_later_build_has_the_flags_of_its_release() -> None:
    """A post-release is checked against the release it is of."""
    gateway = {"api_key": ""}
    assert codes(version="1.13.0.post2", gateway=gateway) == [("SMG014", "gateway.api_key")]
    assert codes(version="1.10.1.post20260920", gateway=gateway) == codes(version="1.10.1", gateway=gateway)


def test_what_is_not_built_yet_is_refused() -> None:
    """Several nodes, and workers that only prefill or decode, are errors and no surprises."""
    assert ("SMG017", "pools.chat.engine.nnodes") in codes(pool(engine={"nnodes": 2}))
    assert codes(pool(engine={"nnodes": 1})) == []
    assert ("SMG017", "gateway.pd_disaggregation") in codes(gateway={"pd_disaggregation": True})


def test_the_findings_of_the_settings_have_whole_keys_and_places() -> None:
    """What the engine's and the gateway's own rules say is told at the key in the file, with its line."""
    places = {
        ("pools", "chat", "engine", "attn_tp_size"): (2, FromFile("d.toml", 8)),
        ("pools", "chat", "engine", "tensor_parallel_size"): (2, FromFile("d.toml", 9)),
        ("gateway", "request_timeout_secs"): (0, FromFile("d.toml", 12)),
    }
    made = deployment(pool(engine={"attn_tp_size": 2, "tensor_parallel_size": 2}), gateway={"request_timeout_secs": 0})
    findings = plan(made, HERE, overlay=Overlay([Layer(places)])).findings
    engine, gateway = findings
    assert engine.key in ("pools.chat.engine.tensor_parallel_size", "pools.chat.engine.attn_tp_size")
    assert str(engine.where) in ("d.toml:8", "d.toml:9")
    assert (gateway.key, str(gateway.where)) == ("gateway.request_timeout_secs", "d.toml:12")


def test_a_deployment_without_a_usable_pool_has_no_plan() -> None:
    """No pool, an unknown backend, another engine's settings: each is an error, and nothing raises."""
    empty = attrs.evolve(deployment(), pools=())
    assert [f.code for f in plan(empty, HERE).findings] == ["SMG007"]
    assert codes(attrs.evolve(pool(), backend="vlm")) == [("SMG004", "pools.chat.backend")]
    assert codes(attrs.evolve(pool(), engine=deployment().gateway.args)) == [("SMG003", "pools.chat.engine")]


# --- purity ----------------------------------------------------------------------------------------------------------

_PROGRAM = """
from planning import HERE, deployment, pool
from smgcfg.cli.render_plan import commands, document_text, short_form
from smgcfg.planning.plan import plan
for made in (
    deployment(pool("a", replicas=3, env=(("B", "1"), ("A", "2")))),
    deployment(pool("a", port=29999), pool("b", port=29999), gateway={"port": 29999, "health_check_port": 29999}),
):
    result = plan(made, HERE)
    print(document_text(result, result.findings))
    if result.plan:
        print(short_form(result, result.plan), commands(result.plan))
"""


def test_a_plan_is_a_pure_function() -> None:
    """Two processes with other hash seeds, environments and directories print the same bytes."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={
                "PYTHONPATH": ":".join(paths),
                "PYTHONHASHSEED": seed,
                "CUDA_VISIBLE_DEVICES": seed,
                "TMPDIR": "/nowhere",
            },
            cwd=directory,
            capture_output=True,
            check=True,
        ).stdout
        for seed, directory in (("1", "/"), ("2", "/tmp"))
    }
    assert len(outputs) == 1
    assert outputs != {b""}


@given(st.sampled_from(["zmq", "grpc"]).flatmap(strategies.deployments))
@settings(max_examples=50)
def test_planning_changes_nothing_and_repeats(made: Deployment) -> None:
    """The same deployment gives the same plan again."""
    first = plan(made, HERE)
    assert plan(made, HERE) == first
