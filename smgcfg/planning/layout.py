"""Where everything stands: the pools of a deployment with their ports, GPUs and sockets."""

import re
from collections.abc import Sequence
from typing import Any, Final

from smgcfg.args import set_settings
from smgcfg.backends import BACKENDS
from smgcfg.backends._base import Backend
from smgcfg.config import FIRST_WORKER_PORT, Deployment, Pool
from smgcfg.endpoint import Endpoint, Transport, is_host
from smgcfg.environment import Environment
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import spec_of
from smgcfg.origin import Derived
from smgcfg.planning.compose import Slot
from smgcfg.planning.derive import Shape, engine_filling
from smgcfg.planning.filling import Choices, Derivations
from smgcfg.planning.gpus import GpuSlices, Overlap, Shortage, visible_gpus
from smgcfg.planning.owned import in_pool, owned_findings
from smgcfg.planning.ports import HANDSHAKE, HIGHEST, WORKER, Claim, PortBook
from smgcfg.planning.worker import socket_path_finding
from smgcfg.rules import covering
from smgcfg.schema import Path, dotted

RUN_DIR: Final[Path] = ("launch", "run_dir")


class Layout:
    """Lays the pools out, in file order.

    Attributes:
        run_dir: The directory of the sockets.
        shapes: The pools that could be understood.
        places: The places of each of these pools' workers; none where its ports can not be.
        book: The ports that are taken.
        gpus: The GPUs that are taken.
        derived: What was filled in.
        findings: Everything found.
    """

    def __init__(self, deployment: Deployment, environment: Environment, choices: Choices) -> None:
        self.deployment = deployment
        self.environment = environment
        self.choices = choices
        self.findings: list[Finding] = []
        self.derived: Derivations = {}
        self.gpus = GpuSlices(visible_gpus(environment.cuda_visible_devices))
        self.book = PortBook()
        self.next_port = FIRST_WORKER_PORT
        self.run_dir = self._run_dir()
        self.shapes: list[Shape] = []
        self.places: list[tuple[Slot, ...]] = []
        if not deployment.pools:
            self.findings.append(error("SMG007", "pools", "no pool; a deployment has at least one"))
        for pool in deployment.pools:
            backend = self._backend(pool)
            if backend is not None:
                self.shapes.append(self._shape(pool, backend))
                self.places.append(self._slots(self.shapes[-1]))

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The places of all workers."""
        return tuple(slot for places in self.places for slot in places)

    def _run_dir(self) -> str:
        chosen = self.deployment.launch.run_dir
        if chosen is None:
            run_dir = self.environment.run_dir(self.deployment.name)
            rule = "one directory for each user and deployment, the same at every launch"
            self.derived[RUN_DIR] = (run_dir, Derived(rule, ("name", "XDG_RUNTIME_DIR", "TMPDIR")))
            if not run_dir.isprintable():
                message = f"XDG_RUNTIME_DIR or TMPDIR makes it {run_dir!r}, which can not stand in a worker's URL"
                self._error("SMG003", RUN_DIR, message, "set launch.run_dir")
                # For what else there is to find: nothing is started.
                return ascii(run_dir)[1:-1]
            return run_dir
        if not chosen.startswith("/") or not chosen.isprintable() or not chosen.strip("/"):
            self._error("SMG003", RUN_DIR, f"expected the absolute path of a directory of its own, got {chosen!r}")
        return chosen.rstrip("/")

    def _error(self, code: str, path: Path, message: str, hint: str = "") -> None:
        self.findings.append(error(code, dotted(path), message, self.choices.where(path), hint))

    def _backend(self, pool: Pool[Any]) -> Backend[Any] | None:
        path = ("pools", pool.name)
        backend = BACKENDS.get(pool.backend)
        if backend is None:
            self._error("SMG004", (*path, "backend"), f"expected one of {', '.join(BACKENDS)}; got {pool.backend!r}")
        elif type(pool.engine) is not backend.args:
            message = f"expected {backend.args.__name__}, got {type(pool.engine).__name__}"
            self._error("SMG003", (*path, "engine"), message)
        elif pool.transport is not None and pool.transport not in backend.transports:
            message = f"{backend.title} speaks {', '.join(backend.transports)}; got {pool.transport!r}"
            self._error("SMG004", (*path, "transport"), message)
        else:
            return backend
        return None

    def _shape(self, pool: Pool[Any], backend: Backend[Any]) -> Shape:
        path: Path = ("pools", pool.name)
        if not is_host(pool.host):
            message = f"expected an IP address or the name of a machine, got {pool.host!r}"
            with_port = re.fullmatch(r"[^:]+:[0-9]+", pool.host)
            self._error("SMG003", (*path, "host"), message, "the port is a key of its own" if with_port else "")
        transport: Transport = pool.transport or backend.transports[0]
        if pool.transport is None:
            where = (*path, "transport")
            self.derived[where] = (transport, Derived(f"what {backend.title} speaks by default"))
        filling = engine_filling(pool, backend, transport, self.choices, self.derived)
        engine = filling.result()
        shape = Shape(
            pool=pool,
            backend=backend,
            transport=transport,
            engine=engine,
            port=self._first_port(pool, path),
            ranks=backend.ranks(engine),
        )
        self.findings += filling.findings
        self.findings += owned_findings(
            [*set_settings(pool.engine), *self.deployment.unset_in(*path, "engine")],
            in_pool(backend.owned[transport], dotted((pool.name,))),
            lambda key: dotted(filling.path(key)),
            lambda key: self.choices.where(filling.path(key)),
        )
        for key, why in backend.unbuilt(engine).items():
            self.findings.append(filling.placed(error("SMG017", key, why)))
        # The engine's rules are about its whole command line, the owned settings included.
        somewhere = Endpoint(transport, pool.host, min(shape.port, HIGHEST), self.run_dir)
        placed = self._placed(shape, somewhere)
        whole = engine.evolve(**placed)
        version = covering(pool.engine_version, backend.versions)
        if pool.engine_version is not None and version is None and pool.release is None:
            here = (*path, "engine_version")
            self.findings.append(
                unknown_version(here, backend.title, pool.engine_version, backend.versions, self.choices)
            )
        if version is not None and not all(spec_of(backend.args, key).has(version) for key in placed):
            # Said once, of what the operator chose, and not of each flag that the launcher would add.
            can = [t for t in backend.transports if t != transport]
            hint = f'set transport = "{can[0]}"' if can else ""
            self._error("SMG012", (*path, "transport"), f"{backend.title} {version} does not speak {transport}", hint)
            whole = engine
        self.findings += map(filling.placed, whole.findings(pool.release or version))
        return shape

    def _placed(self, shape: Shape, endpoint: Endpoint) -> dict[str, Any]:
        """Return what follows from an endpoint, and note what of it an operator could set, and did not."""
        placed = dict(shape.backend.place(shape.engine, endpoint))
        for key in placed.keys() - shape.backend.owned[shape.transport]:
            path = (*shape.path, "engine", key)
            if self.choices.unset(path):
                del placed[key]  # the engine's rules say what comes of it
            else:
                self.derived[path] = (
                    placed[key],
                    Derived("each worker's follows from its port", (f"{dotted(shape.path)}.port",)),
                )
        return placed

    def _first_port(self, pool: Pool[Any], path: Path) -> int:
        port = pool.port
        if port is None:
            port = self.next_port
            rule = "the first pool begins here" if port == FIRST_WORKER_PORT else "the ports go on from pool to pool"
            where = (*path, "port")
            self.derived[where] = (port, Derived(rule))
        return port

    def _slots(self, shape: Shape) -> tuple[Slot, ...]:
        """Return the places of a pool's workers; none where its ports can not be."""
        pool = shape.pool
        if not self._ports_fit(shape):
            return ()
        self.next_port = shape.port + pool.replicas
        gpus = self._gpus(shape)
        endpoints = [
            Endpoint(shape.transport, pool.host, shape.port + index, self.run_dir if shape.transport == "zmq" else "")
            for index in range(pool.replicas)
        ]
        too_long = socket_path_finding(endpoints[-1], dotted(RUN_DIR), "set launch.run_dir to a shorter path")
        if too_long is not None:
            too_long = too_long.evolve(where=self.choices.where(RUN_DIR))
            self.findings += [] if too_long in self.findings else [too_long]
        self._claim_for_workers(shape, endpoints)
        return tuple(
            Slot(name=f"{pool.name}-{index}", pool=pool.name, index=index, endpoint=endpoint, gpus=names)
            for index, (endpoint, names) in enumerate(zip(endpoints, gpus, strict=True))
        )

    def _ports_fit(self, shape: Shape) -> bool:
        pool, path = shape.pool, (*shape.path, "port")
        last = shape.port + pool.replicas - 1
        if last > HIGHEST:
            message = f"{pool.replicas} workers from port {shape.port} on would end at {last}; a port is 1 to {HIGHEST}"
            self._error("SMG020", path, message)
            return False
        most, why = shape.backend.most.get(shape.transport, (HIGHEST, ""))
        if pool.replicas > most:
            message = f"at most {most} {shape.transport} workers in one pool, got {pool.replicas}: {why}"
            hint = f"make a second pool of them, with port = {shape.port + 2 * most}"
            self._error("SMG020", (*shape.path, "replicas"), message, hint)
            return False
        return True

    def _gpus(self, shape: Shape) -> list[tuple[str, ...]]:
        pool, path = shape.pool, (*shape.path, "gpus")
        uses, each = shape.backend.gpus(shape.engine), shape.gpus
        if each and each != uses:
            chosen = (*shape.path, "gpus_per_replica")
            message = f"{each}, but with its settings the engine uses {uses}"
            self.findings.append(warning("SMG025", dotted(chosen), message, self.choices.where(chosen)))
        taken = self.gpus.take(pool.name, pool.replicas, each, pool.gpus)
        if isinstance(taken, list):
            names = tuple(name for names in taken for name in names)
            if pool.gpus is None and names:
                known = self.environment.cuda_visible_devices is not None
                rule = "the next of CUDA_VISIBLE_DEVICES" if known else "counted from 0, pool after pool"
                self.derived[path] = (names, Derived(rule))
            return taken
        where = self.choices.where(path) or self.choices.where((*shape.path, "replicas"))
        self.findings.append(error("SMG023", dotted(path), _gpu_message(pool.replicas, each, taken), where))
        return [()] * pool.replicas

    def _claim_for_workers(self, shape: Shape, endpoints: list[Endpoint]) -> None:
        owned = shape.backend.owned[shape.transport]
        own_path = (*shape.path, "port")
        own_key, own_where = dotted(own_path), self.choices.where(own_path)
        group = dotted(shape.path)
        for index, endpoint in enumerate(endpoints):
            name = f"{shape.pool.name}-{index}"
            self.book.claim(endpoint.port, Claim(name, WORKER, group, own_key, own_where))
            if endpoint.handshake is not None:
                self.book.claim(endpoint.handshake, Claim(name, HANDSHAKE, group, own_key, own_where))
            for key, port in shape.backend.ports(shape.engine, endpoint).items():
                follows = key in owned or getattr(shape.engine, key) is None
                if follows and port.number != endpoint.port:
                    self.book.claim(port.number, Claim(name, port.use, group, own_key, own_where))
                elif not follows:
                    path = (*shape.path, "engine", key)
                    self.book.claim(port.number, Claim(name, port.use, group, dotted(path), self.choices.where(path)))


def unknown_version(path: Path, title: str, version: str, known: Sequence[str], choices: Choices) -> Finding:
    """Return the finding about a version whose flags nobody knows."""
    message = f"the flags of {title} {version} are not known; the settings are checked against {known[-1]}"
    hint = "smgcfg drift --write makes a file of what is installed, which this key can name"
    return warning("SMG033", dotted(path), message, choices.where(path), hint)


def _gpu_message(workers: int, each: int, why: Shortage | Overlap) -> str:
    if isinstance(why, Overlap):
        return f"GPU {why.gpu} is taken by {dotted(('pools', why.pool))} already"
    one = workers == 1
    need = f"{workers} worker{'s' * (not one)} of {each} GPU{'s' * (each != 1)} need{'s' * one} {why.need}"
    if not why.source:
        return f"{need}: more than any machine has"
    return f"{need}; {why.source} has {why.left} for them"
