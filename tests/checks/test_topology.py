"""Numbers that disagree."""

import pytest
from checking import POOL, SECOND, found, told

TWO_GPUS = "[pools.a.engine]\ntensor_parallel_size = 2\n"


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        ('env = { CUDA_VISIBLE_DEVICES = "0,1" }\n' + TWO_GPUS, "warning"),
        ('env = { CUDA_VISIBLE_DEVICES = "0" }\n' + TWO_GPUS, "error"),
        ('env = { CUDA_VISIBLE_DEVICES = "" }\n', "error"),
        ('replicas = 2\nenv = { CUDA_VISIBLE_DEVICES = "0,1" }\n', "error"),
        ('wrapper = ["env", "CUDA_VISIBLE_DEVICES=3"]\nreplicas = 2\n', "error"),
        ('env = { CUDA_VISIBLE_DEVICES = "{gpus}" }\nreplicas = 2\n', ""),
        ('env = { CUDA_VISIBLE_DEVICES = "{index}" }\nreplicas = 2\n', "warning"),
        ('env = { CUDA_VISIBLE_DEVICES = { env = "X" } }\n', "warning"),
        ('wrapper = ["numactl"]\nenv = { OTHER = "0" }\nreplicas = 2\n', ""),
        ('gpus_per_replica = 0\nenv = { CUDA_VISIBLE_DEVICES = "0" }\n', "warning"),
    ],
)
def test_gpus_set_past_the_plan_are_found(lines: str, severity: str) -> None:
    """A CUDA_VISIBLE_DEVICES of the operator's is an error where it can not be meant, and else a warning."""
    found_here = [finding for finding in found(POOL + lines) if finding.code == "SMG054"]
    assert [finding.severity for finding in found_here] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("lines", "idle"),
    [
        ('gpus = "0-7"\n' + TWO_GPUS, "2 of 8 GPUs are used, and 2,3,4,5,6,7 by no worker"),
        ('gpus = ["GPU-a", "GPU-b", "GPU-c"]\nreplicas = 2\n', "2 of 3 GPUs are used, and GPU-c by no worker"),
        ('gpus = "0-3"\nreplicas = 2\n' + TWO_GPUS, ""),
        ("replicas = 2\n", ""),
    ],
)
def test_gpus_that_are_listed_and_idle_are_found(lines: str, idle: str) -> None:
    """What a pool lists beyond what its workers use is named; without a list nothing is idle."""
    said = [finding.message for finding in found(POOL + lines) if finding.code == "SMG069"]
    assert len(said) == bool(idle)
    assert all(idle in message for message in said)


def test_a_step_of_several_nodes_is_refused() -> None:
    """TokenSpeed 0.1.1 would take itself for a part of an engine on them; setting the variable back answers it."""
    environ = {"SLURM_STEP_NUM_NODES": "2"}
    assert told(found(POOL + SECOND, environ)) == [
        "error SMG055 pools.a.env.SLURM_STEP_NUM_NODES None",
        "error SMG055 pools.b.env.SLURM_STEP_NUM_NODES None",
    ]
    assert found(POOL + 'env = { SLURM_STEP_NUM_NODES = "1" }\n', environ) == []
    assert told(found(POOL + 'env = { SLURM_STEP_NUM_NODES = "3" }\n')) == [
        "error SMG055 pools.a.env.SLURM_STEP_NUM_NODES d.toml:4"
    ]
    assert found(POOL, {"SLURM_STEP_NUM_NODES": "1"}) == found(POOL, {"SLURM_NNODES": "2"}) == []


@pytest.mark.parametrize(
    ("environ", "codes"),
    [
        ({"SLURM_STEP_NUM_TASKS": "2"}, ["SMG055"]),
        ({"SLURM_STEP_NUM_TASKS": "1"}, []),
        ({"SLURM_STEP_NUM_TASKS": "x"}, []),
        ({"SLURM_GPUS_ON_NODE": "1"}, ["SMG055"]),
        ({"SLURM_GPUS_ON_NODE": "2"}, []),
        ({"SLURM_GPUS_ON_NODE": "1", "CUDA_VISIBLE_DEVICES": "0,1"}, []),
    ],
)
def test_what_a_job_has_is_held_against_what_the_plan_wants(environ: dict[str, str], codes: list[str]) -> None:
    """Several tasks and too few GPUs are found; with CUDA_VISIBLE_DEVICES set, the plan has seen to the GPUs."""
    assert [finding.code for finding in found(POOL + TWO_GPUS, environ)] == codes


def test_ranks_are_chosen_among_only_where_there_are_some() -> None:
    """dp_aware wants workers with more than one data-parallel rank."""
    gateway = "[gateway]\ndp_aware = true\ndp_minimum_tokens_scheduler = true\n"
    assert told(found(POOL + gateway)) == [
        "warning SMG056 gateway.dp_aware d.toml:5",
        "warning SMG056 gateway.dp_minimum_tokens_scheduler d.toml:6",
    ]
    assert found(POOL + "[pools.a.engine]\ndata_parallel_size = 2\n" + gateway) == []
