"""Where the workers of a plan stand: ports, sockets, GPUs, and what stands in the way."""

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from planning import HERE, codes, flag, good, planned, pool

from smgcfg.config import Deployment, Pool
from smgcfg.endpoint import HANDSHAKE_PORTS, handshake_port
from smgcfg.environment import Environment
from smgcfg.planning.plan import plan
from smgcfg.process import DeathNotice
from smgcfg.testing import strategies

# --- ports -----------------------------------------------------------------------------------------------------------


def test_ports_go_on_from_pool_to_pool_unless_they_are_set() -> None:
    """Worker i has its pool's port + i, and a pool without a port begins where the one before it ends."""
    pools = [pool("a", replicas=2), pool("b"), pool("c", port=32000, replicas=2), pool("d")]
    ports = [slot.endpoint.port for slot in planned(*pools).slots]
    assert ports == [31000, 31001, 31002, 32000, 32001, 32002]


def test_workers_behind_the_last_port_are_refused() -> None:
    """A pool whose last worker would have no port is one error, at the pool's port."""
    assert codes(pool(port=65535, replicas=1)) == []
    assert codes(pool(port=65535, replicas=2)) == [("SMG020", "pools.chat.port")]
    assert codes(pool(replicas=10**12)) == [("SMG020", "pools.chat.port")]


def test_two_pools_on_one_port_are_one_error_that_names_both() -> None:
    """Ports that overlap are reported once for two pools, with an example of each."""
    (finding,) = planned(
        pool("a", port=31000, transport="grpc", replicas=5), pool("b", port=31003, transport="grpc", replicas=5)
    ).findings
    assert finding.code == "SMG020"
    assert finding.message == "the worker port of b-0 is 31003, which is the worker port of a-3 (and 1 more like it)"
    assert "pools.a.port" in finding.hint


def test_a_zmq_pool_holds_at_most_233_workers() -> None:
    """A worker's processes meet on its port + 233, which must not be another worker's port: the error says so."""
    assert ("SMG020", "pools.chat.replicas") not in codes(pool(replicas=233))
    (finding,) = planned(pool(replicas=234)).findings
    assert (finding.code, finding.key) == ("SMG020", "pools.chat.replicas")
    assert "233" in finding.message
    assert codes(pool(replicas=234, transport="grpc")) == []


def test_a_zmq_pool_in_the_meeting_ports_of_another_is_refused() -> None:
    """The ports where processes meet count as taken, for another pool too."""
    (finding,) = planned(pool("a", port=31000), pool("b", port=31233)).findings
    assert finding.code == "SMG020"
    assert "the worker port of b-0 is 31233, which is the dist port of a-0" in finding.message


@pytest.mark.parametrize(
    "gateway",
    [
        {"port": 31000},
        {"health_check_port": 31000},
        {"prometheus_port": 31000},
        {"enable_mesh": True, "mesh_host": "127.0.0.1", "mesh_port": 31000},
    ],
)
def test_a_port_of_the_gateway_on_a_workers_is_refused(gateway: dict[str, object]) -> None:
    """Every port that a setting of the gateway opens is held against the workers'."""
    ((code, key),) = codes(gateway=gateway)
    assert code == "SMG020"
    assert key.startswith("gateway.")


def test_an_engines_own_port_is_claimed_by_every_replica() -> None:
    """A port that stands in the engine's settings can not be used by two workers."""
    one = pool(engine={"rl_control_port": 9000}, transport="grpc")
    assert codes(one) == []
    assert codes(attrs.evolve(one, replicas=2)) == [("SMG020", "pools.chat.engine.rl_control_port")]


def test_meeting_places_are_claimed() -> None:
    """Where the ranks of grpc workers meet is held against every other port: what follows from a worker's port too."""
    ranks = {"data_parallel_size": 2}
    one = pool(transport="grpc", port=31000, engine=ranks)
    assert codes(one, gateway={"port": 31233}) == [("SMG020", "gateway.port")]
    assert codes(attrs.evolve(one, replicas=234)) == [("SMG020", "pools.chat.port")]
    chosen = pool(transport="grpc", replicas=2, engine={**ranks, "dist_init_addr": "127.0.0.1:4000"})
    assert codes(chosen) == [("SMG020", "pools.chat.engine.dist_init_addr")]


def test_workers_with_one_handshake_port_are_refused_and_named() -> None:
    """Two socket paths that hash to one port are an error that names both workers."""
    seen: dict[int, int] = {}
    for port in range(1024, 20000):
        number = handshake_port(f"/run/user/1000/smgcfg-1000/d/engine-{port}")
        if number in seen and abs(seen[number] - port) != 233:
            break
        seen.setdefault(number, port)
    (finding,) = planned(pool("a", port=seen[number]), pool("b", port=port)).findings
    assert finding.code == "SMG021"
    assert "a-0 and b-0" in finding.message
    assert str(number) in finding.message


@pytest.mark.parametrize(("key", "port"), [("port", 0), ("prometheus_port", 99999), ("health_check_port", -1)])
def test_a_number_that_is_no_port_is_one_problem(key: str, port: int) -> None:
    """A port of the gateway outside the range is reported by its bounds, and not as a port of the plan too."""
    assert codes(gateway={key: port}) == [("SMG005", f"gateway.{key}")]


def test_workers_of_one_port_are_one_problem() -> None:
    """What workers derive from a port that two of them have is not reported again; ports of their own are."""
    assert codes(pool("a", replicas=3), pool("b", port=31001)) == [("SMG020", "pools.b.port")]
    control = {"rl_control_port": 9000}
    pools = (pool(name, port=50051, transport="grpc", engine=control) for name in ("a", "b"))
    assert codes(*pools) == [("SMG020", "pools.b.port"), ("SMG020", "pools.b.engine.rl_control_port")]


@pytest.mark.parametrize("place", ["/run/\udcff", "/run/a\nb"])
def test_a_derived_run_directory_that_is_no_text_is_refused(place: str) -> None:
    """What stands in the environment may be any bytes; in the URL of a worker it may not."""
    assert codes(environment=HERE.evolve(xdg_runtime_dir=place)) == [("SMG003", "launch.run_dir")]


@pytest.mark.parametrize("transport", ["zmq", "grpc"])
@pytest.mark.parametrize(
    ("host", "right"),
    [
        *((host, True) for host in ("::1", "[::1]", "node-7.local", "10.0.0.1", "gpu_1")),
        *((host, False) for host in ("[::1", "http://x", "10.0.0.1:80", "10.0.0", "a b", "-x", "256.1.1.1")),
    ],
)
def test_a_host_is_an_address_or_a_name(host: str, right: bool, transport: Any) -> None:
    """What a URL could not hold as a host is an error before anything starts."""
    assert codes(pool(transport=transport, host=host)) == ([] if right else [("SMG003", "pools.chat.host")])


def test_the_metrics_port_keeps_clear_of_every_other() -> None:
    """The derived metrics port follows from the gateway's, is nobody else's, and lies outside the handshake band."""
    assert flag(good(gateway={"port": 8080}).gateway.argv, "--prometheus-port") == "30080"
    assert flag(good().gateway.argv, "--prometheus-port") == "30001"
    crowded = good(pool(port=30080, replicas=3), gateway={"port": 8080})
    assert flag(crowded.gateway.argv, "--prometheus-port") == "30083"
    full = codes(pool(port=30000, replicas=1000, transport="grpc"), gateway={"port": 8080})
    assert full == [("SMG020", "gateway.prometheus_port")]


@given(strategies.deployments())
@settings(max_examples=100)
def test_no_port_of_a_plan_is_used_twice(made: Deployment) -> None:
    """In a plan without errors every port belongs to one process, and no handshake leaves its band."""
    result = plan(made, HERE)
    if result.plan is not None:
        ports = [port for process in result.plan.processes for port in process.ports]
        assert len({port.number for port in ports}) == len(ports)
        assert all((port.number in HANDSHAKE_PORTS) == (port.use == "handshake") for port in ports)


# --- sockets ---------------------------------------------------------------------------------------------------------


def test_the_run_directory_follows_from_user_and_name() -> None:
    """The sockets lie under the runtime directory, else the temporary one; relative ones do not count."""
    assert good().run_dir == "/run/user/1000/smgcfg-1000/d"
    for environment, expected in [
        (Environment(uid=7, python="p", tmpdir="/var/tmp/"), "/var/tmp/smgcfg-7/d"),
        (Environment(uid=7, python="p"), "/tmp/smgcfg-7/d"),
        (Environment(uid=7, python="p", xdg_runtime_dir="run", tmpdir=""), "/tmp/smgcfg-7/d"),
    ]:
        assert good(environment=environment).run_dir == expected
    assert good(run_dir="/x/y/").workers[0].sockets == ("/x/y/engine-31000-in.sock", "/x/y/engine-31000-out.sock")


def test_a_relative_run_directory_is_refused() -> None:
    """What a relative path means depends on where one stands."""
    assert codes(run_dir="run") == [("SMG003", "launch.run_dir")]


def test_a_socket_path_has_at_most_107_bytes() -> None:
    """The longest path that Linux binds is taken; one byte more is an error with the numbers and the key."""
    rest = len("/engine-31000-out.sock")
    assert codes(run_dir="/" + "x" * (106 - rest)) == []
    (finding,) = planned(run_dir="/" + "é" * ((108 - rest) // 2)).findings
    assert (finding.code, finding.key) == ("SMG022", "launch.run_dir")
    assert "109 bytes" in finding.message
    assert "107" in finding.message
    assert codes(pool(transport="grpc"), run_dir="/" + "x" * 200) == []


def test_a_zmq_worker_says_how_to_notice_its_death() -> None:
    """The plan carries what supervision needs: readiness as the gateway sees it, the death notice, the stop order."""
    made = good()
    (worker,) = made.workers
    assert worker.ready.seen_by == "gateway"
    assert worker.ready.url == "ipc:///run/user/1000/smgcfg-1000/d/engine-31000"
    assert worker.ready.url in made.gateway.argv
    handshake = next(port.number for port in made.gateway.ports if port.use == "handshake")
    assert worker.death_notice == DeathNotice(worker.sockets[1], b"ENGINE_CORE_DEAD", handshake)
    assert made.gateway.stop_order < worker.stop_order
    assert made.gateway.ready.url == f"{made.url}/liveness"
    (grpc,) = good(pool(transport="grpc")).workers
    assert (grpc.death_notice, grpc.sockets) == (None, ())


# --- GPUs ------------------------------------------------------------------------------------------------------------


def gpus(*pools: Pool[Any], visible: str | None = None) -> list[str]:
    """The GPUs of each worker, as its environment names them."""
    made = good(*pools, environment=HERE.evolve(cuda_visible_devices=visible))
    return [dict(worker.env)["CUDA_VISIBLE_DEVICES"] for worker in made.workers]


@pytest.mark.parametrize(
    ("engine", "count"),
    [
        ({}, 1),
        ({"tensor_parallel_size": 4}, 4),
        ({"attn_tp_size": 4}, 4),
        ({"tensor_parallel_size": 2, "data_parallel_size": 2}, 4),
        ({"world_size": 8}, 8),
        ({"world_size": 8, "tensor_parallel_size": 2}, 8),
        ({"base_gpu_id": 2, "tensor_parallel_size": 2}, 4),
    ],
)
def test_a_worker_gets_the_gpus_that_its_engine_uses(engine: dict[str, int], count: int) -> None:
    """The world size decides; else pipeline, attention and data-parallel widths, counted from the first GPU."""
    assert gpus(pool(engine=engine)) == [",".join(map(str, range(count)))]


def test_gpus_go_on_from_pool_to_pool() -> None:
    """Slices are consecutive, from 0, from what is visible, or from what a pool names."""
    two = {"tensor_parallel_size": 2}
    assert gpus(pool("a", two, replicas=2), pool("b")) == ["0,1", "2,3", "4"]
    assert gpus(pool("a"), pool("b", two), visible="GPU-5f, MIG-7e/1/0,3") == ["GPU-5f", "MIG-7e/1/0,3"]
    assert gpus(pool("a", two, gpus=("6", "7")), pool("b")) == ["6,7", "8"]
    assert gpus(pool("a", gpus=("2",)), pool("b"), visible="0,1,2,3") == ["2", "3"]


def test_too_few_gpus_are_an_error_with_the_numbers() -> None:
    """What is missing is said before anything starts, and who says what there is."""
    for visible, left in [("0,1,2", 3), ("", 0), ("0,-1,1", 1)]:
        environment = HERE.evolve(cuda_visible_devices=visible)
        (finding,) = planned(pool(engine={"tensor_parallel_size": 2}, replicas=2), environment=environment).findings
        assert (finding.code, finding.key) == ("SMG023", "pools.chat.gpus")
        assert finding.message == f"2 workers of 2 GPUs need 4; CUDA_VISIBLE_DEVICES has {left} for them"
    (finding,) = planned(pool(replicas=2, gpus=("0",))).findings
    assert finding.message == "2 workers of 1 GPU need 2; gpus has 1 for them"
    assert codes(pool(engine={"tensor_parallel_size": 2**63})) == [("SMG023", "pools.chat.gpus")]


def test_no_gpu_has_two_workers() -> None:
    """A GPU that two pools name, or one pool twice, is an error."""
    assert codes(pool("a", gpus=("0",)), pool("b", gpus=("0",))) == [("SMG023", "pools.b.gpus")]
    assert codes(pool(replicas=2, gpus=("0", "0"))) == [("SMG023", "pools.chat.gpus")]


def test_gpus_per_replica_wins_with_a_warning() -> None:
    """The operator's number is used; that it is not the engine's is said, unless it is none at all."""
    (finding,) = planned(pool(engine={"tensor_parallel_size": 2}, gpus_per_replica=3)).findings
    assert (finding.code, finding.severity) == ("SMG025", "warning")
    assert gpus(pool(engine={"tensor_parallel_size": 2}, gpus_per_replica=3)) == ["0,1,2"]
    assert codes(pool(gpus_per_replica=0)) == []
    assert gpus(pool(gpus_per_replica=0)) == [""]
