"""For each code one example that has it: what an operator would have done, and what is said."""

import os
import resource
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from checking import POOL, SECOND, found
from e2e.ports import free_port
from planning import HERE, deployment, good, planned, pool

from smgcfg.errors import ConfigError, Finding
from smgcfg.installed import with_installed_versions
from smgcfg.launch.holdings import Holdings, gpu_findings
from smgcfg.launch.host import port_findings
from smgcfg.launch.limits import limit_findings
from smgcfg.launch.programs import program_findings
from smgcfg.launch.run_dir import run_dir_findings
from smgcfg.loading import EngineFlags, load_sources
from smgcfg.reading import Reader, read_references
from smgcfg.reference import Reference
from smgcfg.standin.deploy import left_out
from smgcfg.verify.answers import Answer
from smgcfg.verify.gateway import Target, refusal

Findings = Iterable[Finding]


def loaded(text: str, *flags: str) -> Findings:
    """What reading a file finds, with engine flags behind it."""
    return load_sources([("d.toml", text.encode())], engine_flags=EngineFlags(flags), environ={}).findings


def engine(**settings: object) -> Findings:
    """What planning one pool with these engine settings finds."""
    return planned(pool(engine=settings, engine_version="0.1.1")).findings


def raised(act: Callable[[], object]) -> Findings:
    """What something is refused for."""
    try:
        act()
    except ConfigError as bad:
        return bad.findings
    return ()


def run(*words: str) -> Findings:
    """What a command is refused for."""
    from importlib import import_module

    return raised(lambda: import_module(f"smgcfg.cli.{words[0]}").run(list(words)))


def refused_key(folder: Path) -> Findings:
    """A gateway that wants a key."""
    refused = refusal(Target(url="http://127.0.0.1:1"), Answer(status=401))
    return () if refused is None else refused.findings


def few_files(folder: Path) -> Findings:
    """As many workers as no limit allows descriptors for."""
    made = good(pool())
    many = resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 3
    return limit_findings(made.evolve(workers=made.workers * many))


def shared_gpu(folder: Path) -> Findings:
    """Two launches that have one GPU, which no machine has."""
    gpu = f"GPU-{folder.name}"
    made = good(pool(gpus=(gpu,), port=free_port()), gateway={"port": free_port(), "prometheus_port": free_port()})
    with Holdings(made):
        return gpu_findings(made.evolve(name="other"))


def readable_by_all(folder: Path) -> Findings:
    """A secret in a file of mode 644."""
    path = folder / "key"
    path.write_text("k")
    os.chmod(path, 0o644)
    reader = Reader({})
    reader(Reference("file", str(path)))
    return reader.findings()


def taken_port(folder: Path) -> Findings:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        spec = good(gateway={"port": listener.getsockname()[1]}).gateway
        return port_findings([(spec, spec.ports[0])])


def open_run_dir(folder: Path) -> Findings:
    """A run directory that everybody may write."""
    os.chmod(folder, 0o777)
    return run_dir_findings(str(folder))


def other_version(folder: Path) -> Findings:
    """An interpreter that has another smg than the file names."""
    python = folder / "python"
    python.write_text("#!/bin/sh\necho smg 1.10.1\n")
    python.chmod(0o755)
    made = deployment(pool(command=("x",)), python=str(python), version="1.13.0")
    return with_installed_versions(made, HERE)[1]


def model(folder: Path, *files: str) -> Findings:
    """What is found about a model folder with these files."""
    for name in files:
        (folder / name).write_text("{}")
    return found(POOL.replace("org/m", str(folder)), look=True)


def table(name: str, line: str) -> str:
    """A file with one line in a table."""
    return f"{POOL}[{name}]\n{line}\n"


_ENGINE: Final = "pools.a.engine"

#: Per code how it comes about; a function gets an empty folder.
EXAMPLES: Final[Mapping[str, Callable[[Path], Findings]]] = {
    "SMG001": lambda _: loaded("[pools"),
    "SMG002": lambda _: loaded(table(_ENGINE, "max_num_seq = 1")),
    "SMG003": lambda _: loaded(table(_ENGINE, 'max_num_seqs = "1"')),
    "SMG004": lambda _: loaded(table(_ENGINE, 'grammar_backend = "outlines"')),
    "SMG005": lambda _: loaded(POOL + "replicas = 0\n"),
    "SMG006": lambda _: loaded(table(_ENGINE, 'model = "a\\u0000b"')),
    "SMG007": lambda _: loaded("[pools.a]\n"),
    "SMG008": lambda _: engine(zmq_engine_index=1),
    "SMG009": lambda _: loaded(table(_ENGINE, "tp = 1\ntensor_parallel_size = 2")),
    "SMG010": lambda _: loaded(POOL, "--max-num-seq", "1"),
    "SMG011": lambda _: loaded(POOL, "--max-num-seqs"),
    "SMG012": lambda _: engine(warmups="x"),
    "SMG013": lambda _: engine(grammar_backend="llguidance"),
    "SMG014": lambda _: engine(tensor_parallel_size=2, attn_tp_size=2),
    "SMG015": lambda _: loaded(table(_ENGINE, 'extra = ["--max-num-seqs", "1"]')),
    "SMG016": lambda _: planned(pool(command=("run-{rank}",))).findings,
    "SMG017": lambda _: engine(nnodes=2),
    "SMG018": lambda _: raised(lambda: read_references(deployment(gateway={"api_key": Reference("env", "K")}), {})),
    "SMG019": readable_by_all,
    "SMG020": lambda _: planned(pool(port=30000), gateway={"port": 65536 - 1, "prometheus_port": 65535}).findings,
    "SMG021": lambda _: planned(pool(port=31078), pool("b", port=31412)).findings,
    "SMG022": lambda _: planned(run_dir="/" + "d" * 120).findings,
    "SMG023": lambda _: planned(pool(replicas=2, gpus=("0",))).findings,
    "SMG024": lambda _: planned(pool(), pool("b", model="org/other")).findings,
    "SMG025": lambda _: planned(gateway={"policy": "random"}).findings,
    "SMG026": lambda _: left_out(deployment(pool(wrapper=("numactl",))), lambda _: None),
    "SMG030": taken_port,
    "SMG031": open_run_dir,
    "SMG032": lambda _: program_findings(good(pool(command=("no-such-program",))).workers[0]),
    "SMG033": other_version,
    "SMG034": few_files,
    "SMG035": shared_gpu,
    "SMG040": refused_key,
    "SMG041": lambda _: run("verify", "no-such-launch"),
    "SMG050": lambda _: found(table(_ENGINE, 'grammar_backend = "none"')),
    "SMG051": lambda _: found(table(_ENGINE, "enable_output_logprobs = false")),
    "SMG052": lambda _: found(POOL + SECOND + 'engine = { grammar_backend = "none" }\n'),
    "SMG053": lambda _: found(table("gateway", 'reasoning_parser = "qwen3"')),
    "SMG054": lambda _: found(POOL + 'replicas = 2\nenv = { CUDA_VISIBLE_DEVICES = "0" }\n'),
    "SMG055": lambda _: found(POOL, {"SLURM_STEP_NUM_NODES": "2"}),
    "SMG056": lambda _: found(table("gateway", "dp_aware = true")),
    "SMG057": lambda _: found(POOL + 'transport = "grpc"\nhost = "0.0.0.0"\n'),
    "SMG058": lambda _: found(table("gateway", 'prometheus_host = "0.0.0.0"')),
    "SMG059": lambda _: found(table("gateway", 'api_key = { env = "KEY" }')),
    "SMG060": lambda _: found(table("gateway", 'redis_url = "redis://u:p@h"')),
    "SMG061": lambda _: found(table("gateway", 'extra = ["--polic", "random"]')),
    "SMG062": lambda _: found(POOL, {"REDIS_POOL_MAX": "tcp://10.0.0.1:80"}),
    "SMG063": lambda _: found(table("gateway", 'history_backend = "redis"'), {"REDIS_URL": "redis://h"}),
    "SMG064": lambda folder: found(POOL.replace("org/m", f"{folder}/none"), look=True),
    "SMG065": lambda folder: model(folder, "chat_template.jinja"),
    "SMG066": lambda folder: model(folder, "tokenizer.json"),
    "SMG067": lambda folder: found(table("gateway", f'mcp_config_path = "{folder}/none"'), look=True),
    "SMG068": lambda _: found(POOL + 'env = { CACHE = "$HOME/cache" }\n'),
    "SMG069": lambda _: found(POOL + 'gpus = "0-1"\n'),
}
