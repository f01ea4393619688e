"""What stands in front of a program: variables, wrappers, interpreters, and what can not be looked through."""

import attrs
import pytest
from launched import good_plan

from smgcfg.config import Deployment, Pool
from smgcfg.errors import ConfigError, Finding
from smgcfg.importing import import_command

ENGINE = ["python3", "-m", "smg_grpc_servicer.tokenspeed", "--model", "m"]
TS = ["ts", "serve", "m"]
SMG = ["smg", "serve", "--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "m", "--router-model", "m"]
LAUNCH = ["smg", "launch", "--backend", "tokenspeed", "--model", "m", "--worker-urls", "grpc://127.0.0.1:50051"]


def imported(*words: str) -> Deployment:
    """The deployment of a command of which nothing is lost."""
    result = import_command(words)
    assert result.lost == ()
    return result.deployment


def lost(*words: str) -> list[str]:
    """The first words of what is lost."""
    return [entry.name for entry in import_command(words).lost]


def refusal(*words: str) -> Finding:
    """Why a command is refused."""
    with pytest.raises(ConfigError) as refused:
        import_command(words)
    return refused.value.findings[0]


def pool(deployment: Deployment) -> Pool[object]:
    """The only pool."""
    (only,) = deployment.pools
    return only


@pytest.mark.parametrize("front", [["A=1", "B=x=y"], ["env", "A=1", "B=x=y"], ["A=1", "env", "B=x=y"]], ids=" ".join)
def test_variables_reach_every_process_that_had_them(front: list[str]) -> None:
    """Variables in front of a launcher are those of its engine and of its gateway."""
    plan = good_plan(imported(*front, *SMG))
    for process in plan.processes:
        assert {("A", "1"), ("B", "x=y")} <= set(process.env)


def test_a_variable_of_the_gateway_is_kept_from_the_engine() -> None:
    """A database's password goes to the gateway that reads it, and to nobody else."""
    plan = good_plan(imported("POSTGRES_DB_URL=postgres://u:p@h/d", *SMG))
    assert "POSTGRES_DB_URL" in dict(plan.gateway.env)
    assert "POSTGRES_DB_URL" not in dict(plan.workers[0].env)


def test_braces_are_no_placeholders() -> None:
    """A brace in a variable or a wrapper's word arrives as a brace."""
    plan = good_plan(imported("numactl", "{index}", "env", 'J={"a": 1}', *ENGINE))
    assert dict(plan.workers[0].env)["J"] == '{"a": 1}'
    assert plan.workers[0].argv[:2] == ("numactl", "{index}")


def test_visible_gpus_are_the_pools() -> None:
    """CUDA_VISIBLE_DEVICES is the pool's list, of which each worker gets its share."""
    deployment = imported("CUDA_VISIBLE_DEVICES=4, 5,GPU-7", *SMG, "--dp-size", "3")
    assert pool(deployment).gpus == ("4", "5", "GPU-7")
    assert [worker.gpus for worker in good_plan(deployment).workers] == [("4",), ("5",), ("GPU-7",)]
    assert dict(pool(imported("CUDA_VISIBLE_DEVICES=", *ENGINE)).env)["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize(
    "front", [["numactl", "-N", "0", "-m", "0"], ["taskset", "-c", "0-3"], ["nice", "numactl", "--all"]], ids=" ".join
)
def test_a_wrapper_stands_in_front_of_every_process(front: list[str]) -> None:
    """What binds a launcher to cores or memory binds what it starts."""
    for process in good_plan(imported(*front, *SMG)).processes:
        assert list(process.argv[: len(front)]) == front


def test_a_profiler_watches_the_engine() -> None:
    """A profiler in front of a launcher is there for the engine; one in front of a gateway for the gateway."""
    plan = good_plan(imported("nsys", "profile", "-o", "ts", *TS))
    assert plan.workers[0].argv[:4] == ("nsys", "profile", "-o", "ts")
    assert plan.gateway.argv[0] != "nsys"
    assert good_plan(imported("perf", "record", *LAUNCH)).gateway.argv[0] == "perf"


@pytest.mark.parametrize(
    ("words", "python"),
    [
        (["/opt/ts/bin/python3.11", *ENGINE[1:]], "/opt/ts/bin/python3.11"),
        (["/opt/ts/bin/ts", "serve", "m"], "/opt/ts/bin/python"),
        (["python3", "/opt/ts/bin/ts", "serve", "m"], "python3"),
        (["uv", "run", "ts", "serve", "m"], "python"),
        (["ts", "serve", "m"], None),
        (["python3", "-u", "-m", "tokenspeed.cli", "serve", "--headless", "--model", "m"], "python3"),
        (["python3", "-m", "tokenspeed.runtime.entrypoints.engine", "--model", "m"], "python3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_interpreter_is_the_pools(words: list[str], python: str | None) -> None:
    """The interpreter that ran the engine runs it again; a script's stands beside it."""
    assert pool(imported(*words)).python == python


def test_options_of_an_engines_interpreter_are_kept() -> None:
    """An engine's whole program is kept where its interpreter has options; those of a launcher never reached it."""
    words = ["python3", "-X", "dev", "-O", *ENGINE[1:]]
    assert good_plan(imported(*words)).workers[0].argv[:6] == ("python3", "-X", "dev", "-O", "-m", ENGINE[2])
    gateway = good_plan(imported("python3", "-O", "-m", *LAUNCH)).gateway
    assert gateway.argv[:5] == ("python3", "-O", "-m", "smg", "launch")
    assert lost("python3", "-O", "-m", *SMG) == ["-O"]


@pytest.mark.parametrize("word", ["nohup", "timeout", "sudo", "time"])
def test_what_is_about_the_launch_is_lost_aloud(word: str) -> None:
    """Words about the launch as a whole belong in front of `smgcfg serve`, and the report says so."""
    assert lost(word, *(["60"] if word == "timeout" else []), *TS) == [word]
    assert lost("env", "-u", "HOME", *TS) == ["-u"]


@pytest.mark.parametrize(
    ("front", "where"),
    [
        (["docker", "run", "--gpus", "all", "img"], "container"),
        (["kubectl", "exec", "pod", "--"], "container"),
        (["srun", "-N", "1"], "machines"),
        (["bash", "-c"], "shell"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_runs_elsewhere_is_refused(front: list[str], where: str) -> None:
    """A command that runs another one somewhere else is refused, with the way out where it is clear."""
    finding = refusal(*front, *TS)
    assert (finding.code, finding.key) == ("SMG011", front[0])
    assert where in finding.message
    assert "smgcfg import -- ts serve m" in finding.hint


@pytest.mark.parametrize(
    "words",
    [["vllm", "serve", "m"], ["python3", "-m", "vllm"], ["frobnicate", *TS], [], ["A=1"], ["smg"], ["ts", "env"]],
    ids=" ".join,
)
def test_what_is_not_known_is_refused(words: list[str]) -> None:
    """A program that is not understood is refused, and the report says which are."""
    finding = refusal(*words)
    assert finding.code == "SMG011"
    assert "smg serve" in finding.message


def test_an_engine_on_several_machines_is_refused() -> None:
    """Over several machines, by flag or by Slurm's variable, no deployment can be made; of one machine it can."""
    assert refusal(*ENGINE, "--nnodes", "2", "--dist-init-addr", "h:1").code == "SMG017"
    assert refusal("SLURM_STEP_NUM_NODES=2", *SMG).code == "SMG017"
    assert imported("SLURM_STEP_NUM_NODES=1", *ENGINE)


def test_problems_name_the_word_of_the_whole_command() -> None:
    """A problem stands at its number in the command line, whatever stands in front and wherever a launcher sends it."""
    words = ["A=1", *TS, "--policy", "nonsense"]
    with pytest.raises(ConfigError) as refused:
        import_command(words, first=3)
    assert str(refused.value.findings[0].where) == "argument 7"


def test_a_name_can_be_chosen() -> None:
    """The deployment is named after the model, or as it is told; what can not be a name becomes one."""
    assert imported("ts", "serve", "/models/Qwen 3 (x)/").name == "Qwen-3-x"
    assert imported("ts", "serve", "/").name == "main"
    assert import_command(TS, name="mine").deployment.name == "mine"


def test_another_release_reads_other_flags() -> None:
    """A flag that is gone in 0.1.1 is carried over for 0.1.0, whose name the file then bears; other defaults hold."""
    words = [*TS, "--enable-cache-report"]
    assert lost(*words) == ["--enable-cache-report"]
    old = import_command(words, engine_version="0.1.0")
    assert old.lost == ()
    only = pool(old.deployment)
    assert (only.engine_version, only.startup_timeout) == ("0.1.0", 1800)
    assert attrs.asdict(only.engine)["enable_cache_report"] is True  # type: ignore[call-overload]
    with pytest.raises(ConfigError):
        import_command(words, engine_version="9")
