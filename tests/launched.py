"""What a launch command gives to engine and gateway: by the real programs, and by the plan of what was imported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oracles import launchers, smg, tokenspeed

from smgcfg.backends.tokenspeed.backend import dist_port
from smgcfg.config import Deployment
from smgcfg.endpoint import LOOPBACK
from smgcfg.environment import Environment
from smgcfg.errors import errors_in
from smgcfg.flags import specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.importing import Decided
from smgcfg.planning.plan import plan
from smgcfg.process import Plan, ProcessSpec

#: A machine with as many GPUs as it takes.
SOMEWHERE: Final = Environment(uid=1000, python="python3")

#: Settings that the real programs and our plan give different values on purpose, with the reason.
ENGINE_DIFFERENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "ts serve": {
        "host": "the engine listens where the plan says; ts serve takes a free port",
        "port": "the same",
    },
    "smg serve": {
        "data_parallel_rpc_port": "it follows from the socket's path, and the run directory is the plan's own",
        "zmq_msgpack": "--headless implies it",
        "skip_tokenizer_init": "the same",
    },
    "headless": {
        "port": "where the command names none, the plan does",
        "dist_init_addr": "the same",
        "data_parallel_address": "the same",
        "data_parallel_rpc_port": "it follows from the socket's path, and the run directory is the plan's own",
        "zmq_engine_index": "the same",
        "zmq_msgpack": "--headless implies it",
        "skip_tokenizer_init": "the same",
    },
    "servicer": {
        "host": "where the command names none, the plan writes out the engine's default",
        "port": "the same",
    },
}
GATEWAY_DIFFERENCES: Final[Mapping[str, str]] = {
    "worker_urls": "the workers stand where the plan puts them",
    "backend": "the plan says what its workers are; ts serve lets the gateway find out",
}

#: Where the gateway listens when nobody says.
_OPEN: Final = {"host": "0.0.0.0"}

#: What TokenSpeed 0.1.1 spells in another way than 0.1.0.
RENAMED: Final = {"--no-enable-prefix-caching": "--disable-prefix-caching"}


class Given(NamedTuple):
    """What the processes of a launch get.

    Attributes:
        engines: What each engine reads, by its parser's destinations.
        gateway: What the gateway reads; None where the command starts none.
    """

    engines: list[dict[str, object]]
    gateway: dict[str, object] | None


def original(program: str, words: Sequence[str]) -> Given:
    """What a launcher gives its processes, by the real programs.

    Args:
        program: A key of the tables of differences.
        words: The words behind the program and its subcommand.

    Raises:
        Refused: Launcher, engine or gateway refuse the words.
    """
    engine = tokenspeed.oracle("0.1.1")
    if program == "ts serve":
        worker, gateway, _ = launchers.ts_serve().split(words)
        return Given([engine.parse(worker)], _OPEN | smg.oracle("1.10.1").parse(gateway))
    if program == "smg serve":
        workers = launchers.smg_serve().workers(words)
        # smg hands the word `--` on to the engine, whose parser then refuses the flags behind it (Python 3.11).
        parsed = [engine.parse([word for word in command[5:] if word != "--"]) for command in workers]
        return Given(parsed, _unspecified_host(launchers.smg_serve().gateway(words)))
    if program == "smg launch":
        return Given([], _unspecified_host(launchers.smg_serve().launch(words)))
    return Given([engine.parse([word for word in words if word != "--headless"])], None)


def planned(program: str, deployment: Deployment) -> Given:
    """What the plan of a deployment gives its processes, by the real programs."""
    made = good_plan(deployment)
    engine = tokenspeed.oracle("0.1.1")
    engines = [engine.parse(_flags(worker.argv)) for worker in made.workers]
    words = [*made.gateway.argv[made.gateway.argv.index("launch") + 1 :], *_said_by_variables(made.gateway)]
    if program == "ts serve":
        return Given(engines, _OPEN | smg.oracle("1.10.1").parse(words))
    if program == "smg launch":
        return Given([], _unspecified_host(launchers.smg_serve().launch(words)))
    return Given(engines, _unspecified_host(launchers.smg_serve().launch(words)) if program == "smg serve" else None)


def good_plan(deployment: Deployment) -> Plan:
    """The plan of a deployment that has nothing wrong with it."""
    result = plan(deployment, SOMEWHERE)
    assert errors_in(result.findings) == []
    assert result.plan is not None
    return result.plan


def alike(program: str, given: Given, decided: Iterable[Decided]) -> Given:
    """What remains once the differences on purpose are taken out, and those that the operator is told of.

    Args:
        program: A key of the table of differences.
        given: What the processes get.
        decided: The settings that only the plan has, as the import tells.
    """
    engines = [_less(_unmet(values), ENGINE_DIFFERENCES.get(program, {})) for values in given.engines]
    for values in engines:
        # The positional model has a destination of its own.
        values["model"] = values.pop("model_path", values.get("model"))
    told = [one.key.removeprefix("gateway.") for one in decided]
    return Given(engines, given.gateway and _less(given.gateway, [*GATEWAY_DIFFERENCES, *told]))


def _unmet(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out where data-parallel ranks meet if the plan says it: without, the engine would refuse to start."""
    derived = values.get("port") and f"{LOOPBACK}:{dist_port(values['port'])}"
    return {key: value for key, value in values.items() if key != "dist_init_addr" or value != derived}


def _less(values: Mapping[str, object], differences: Iterable[str]) -> dict[str, object]:
    left_out = set(differences)
    # Some flags take a word for "not set", which leaves None.
    return {key: _read(value) for key, value in values.items() if key not in left_out and value is not None}


def _read(value: object) -> object:
    """The value; of a JSON object's text what it says, because smgcfg writes it compact."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _flags(argv: Sequence[str]) -> list[str]:
    """The words of a worker that the engine's parser reads."""
    behind = argv.index("--headless") if "--headless" in argv else argv.index("-m") + 1
    return list(argv[behind + 1 :])


def _said_by_variables(gateway: ProcessSpec) -> list[str]:
    """The flags that say what the plan says by variables, so that no secret stands in a list of processes."""
    specs = {spec.env: spec for spec in specs_of(GatewayArgs) if spec.env}
    return [f"{specs[name].names[0]}={text}" for name, text in gateway.env if name in specs]


def _unspecified_host(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the address of the metrics as the gateway resolves it: every interface of its own family."""
    family = "::" if ":" in settings["host"] else "0.0.0.0"
    return {**settings, "prometheus_host": settings["prometheus_host"] or family}


def program_of(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The program of a plain command line, and the words behind it."""
    line = " ".join(argv)
    for program, pattern in {
        "headless": r"^(ts|tokenspeed|python3? -m tokenspeed\.cli) serve --headless",
        "ts serve": r"^(ts|tokenspeed) serve",
        "servicer": r"^python3? -m smg_grpc_servicer\.tokenspeed",
        "smg serve": r"^smg serve",
        "smg launch": r"^smg launch",
    }.items():
        if found := re.match(pattern, line):
            return program, list(argv[len(found[0].split()) :])
    raise ValueError(line)
