"""Numbers that disagree: between engine, pool and gateway, and with what a scheduler or a wrapper says."""

from collections.abc import Iterator, Mapping
from typing import Final

from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.planning.gpus import visible_gpus
from smgcfg.schema import Path, dotted

_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"

#: What Slurm says inside a step, to the processes that `srun` starts.
_STEP_NODES: Final = "SLURM_STEP_NUM_NODES"
_STEP_TASKS: Final = "SLURM_STEP_NUM_TASKS"
_NODE_GPUS: Final = "SLURM_GPUS_ON_NODE"


def gpus_overridden(subject: Subject) -> Iterator[Finding]:
    """SMG054: the operator's own CUDA_VISIBLE_DEVICES takes the place of the GPUs that the plan gave to a worker."""
    for shape in subject.shapes:
        need = shape.backend.gpus(shape.engine)
        for path, text in _visible(shape):
            # What holds the placeholder is the plan's own slice again.
            if need and "{gpus}" not in text:
                yield _overridden(subject, shape, path, text, need)


def _visible(shape: Shape) -> Iterator[tuple[Path, str]]:
    for name, text in shape.pool.env:
        if name == _VISIBLE:
            yield (*shape.path, "env", name), str(text)
    for word in shape.pool.wrapper or ():
        name, glued, text = word.partition("=")
        if name == _VISIBLE and glued:
            yield (*shape.path, "wrapper"), text


def _overridden(subject: Subject, shape: Shape, path: Path, text: str, need: int) -> Finding:
    names = visible_gpus(text) or ()
    hint = f"leave it out, and set {dotted((*shape.path, 'gpus'))} to the GPUs of the whole pool"
    if "{" not in text and shape.pool.replicas > 1:
        message = f"{_VISIBLE}={text} gives all {shape.pool.replicas} workers of the pool the same GPUs"
        return subject.finding("error", "SMG054", path, message, hint)
    if "{" not in text and len(names) < need:
        message = f"{_VISIBLE}={text} shows {len(names)} GPU{'s' * (len(names) != 1)}, and a worker uses {need}"
        return subject.finding("error", "SMG054", path, message, hint)
    message = f"{_VISIBLE}={text} takes the place of the GPUs that the plan gives to each worker"
    return subject.finding("warning", "SMG054", path, message, hint)


def gpus_idle(subject: Subject) -> Iterator[Finding]:
    """SMG069: a pool lists more GPUs than its workers use."""
    for shape in subject.shapes:
        listed = shape.pool.gpus or ()
        used = shape.gpus * shape.pool.replicas
        if listed[used:]:
            message = f"{used} of {len(listed)} GPUs are used, and {','.join(listed[used:])} by no worker of the pool"
            hint = f"set {dotted((*shape.path, 'replicas'))} or the engine's parallel sizes, or list fewer"
            yield subject.finding("warning", "SMG069", (*shape.path, "gpus"), message, hint)


def scheduler_disagrees(subject: Subject) -> Iterator[Finding]:
    """SMG055: a Slurm job says other numbers than the deployment."""
    for shape in subject.shapes:
        yield from _step_nodes(subject, shape)
    tasks = _number(subject.environ, _STEP_TASKS)
    if tasks is not None and tasks > 1:
        message = f"{tasks} tasks in this Slurm step ({_STEP_TASKS}): each would start the whole deployment"
        yield subject.finding("warning", "SMG055", (), message, "start it with srun -n 1")
    gpus = _number(subject.environ, _NODE_GPUS)
    if gpus is not None and _VISIBLE not in subject.environ and gpus < subject.planned.gpus_used:
        message = f"the workers use {subject.planned.gpus_used} GPUs; Slurm gave this node {gpus} ({_NODE_GPUS})"
        yield subject.finding("warning", "SMG055", (), message, "ask for more, or use fewer")


def _step_nodes(subject: Subject, shape: Shape) -> Iterator[Finding]:
    # TokenSpeed 0.1.1, `launcher.detect_topology`: in a step of several nodes it takes itself for one of them, and
    # refuses an --nnodes that says otherwise. 0.1.0 does not look.
    nodes = _number(subject.environment(shape.pool), _STEP_NODES)
    if shape.backend.name == "tokenspeed" and shape.pool.engine_version != "0.1.0" and nodes is not None and nodes > 1:
        variable = (*shape.path, "env", _STEP_NODES)
        message = f"{_STEP_NODES}={nodes}: TokenSpeed takes each worker for a part of an engine on {nodes} machines"
        hint = f'start smgcfg with srun -N 1, or set {dotted(variable)} = "1"'
        yield subject.finding("error", "SMG055", variable, message, hint)


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def ranks_disagree(subject: Subject) -> Iterator[Finding]:
    """SMG056: the gateway is to choose among data-parallel ranks, and no worker has more than one."""
    if any(shape.ranks > 1 for shape in subject.shapes):
        return
    for key in ("dp_aware", "dp_minimum_tokens_scheduler"):
        if getattr(subject.gateway, key):
            message = "chooses among a worker's data-parallel ranks, and every worker has one"
            sizes = ", ".join(dotted((*shape.path, "engine", "data_parallel_size")) for shape in subject.shapes)
            yield subject.finding("warning", "SMG056", (*GATEWAY, key), message, f"leave it out, or set {sizes}")
