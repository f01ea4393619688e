"""`smg launch`: a gateway for workers that something else has started (smg 1.13.0)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.endpoint import Transport
from smgcfg.gateway import GatewayArgs, command
from smgcfg.importing.parts import Parts
from smgcfg.importing.settings import SMG, read, without
from smgcfg.importing.words import Word, refuse

_IPC: Final = re.compile(r"ipc://(/.*)/engine-(\d{1,5})")
_GRPC: Final = re.compile(r"grpcs?://(127\.0\.0\.1|localhost|\[::1\]|::1):(\d{1,5})")

#: Settings that say that a gateway's workers are not those of a deployment, and why.
_FOREIGN: Final = {
    **dict.fromkeys(
        ("pd_disaggregation", "epd_disaggregation", "prefill", "decode", "encode"),
        "smgcfg starts no workers that only prefill, decode or encode",
    ),
    **dict.fromkeys(
        ("service_discovery", "discovery_provider"),
        "the gateway finds its workers by itself; a deployment starts its own",
    ),
}


def refuse_foreign_workers(args: GatewayArgs, prefix: str = "--") -> None:
    """Say why a deployment can not have a gateway's workers, where it can not.

    Raises:
        ConfigError: It can not.
    """
    for key, why in _FOREIGN.items():
        if getattr(args, key):
            refuse("SMG017", prefix + key.replace("_", "-"), why)


def defaults(args: GatewayArgs) -> dict[str, Any]:
    """Return what the gateway does where nothing is said and the plan would choose otherwise."""
    host = args.host or command.DEFAULT_HOST
    return {
        "policy": command.DEFAULT_POLICY,
        "disable_retries": False,
        "disable_circuit_breaker": False,
        "prometheus_host": "::" if ":" in host else command.DEFAULT_METRICS_HOST,
        "prometheus_port": command.DEFAULT_METRICS_PORT,
    }


def smg_launch(words: Sequence[Word], env: Mapping[str, str]) -> Parts:
    """Read the command of a gateway.

    Args:
        words: The words behind `launch`.
        env: The variables that are set.

    Raises:
        ConfigError: The gateway refuses the words, or its workers can not be those of a deployment.
    """
    found = read(GatewayArgs, words, SMG)
    args: GatewayArgs = found.args
    refuse_foreign_workers(args)
    if not args.worker_urls:
        refuse("SMG007", "--worker-urls", "the command names no workers; a deployment has at least one")
    transport, places, more = _workers(args.worker_urls or ())
    backend = args.backend or env.get("SMG_DEFAULT_BACKEND") or "sglang"
    if backend != "tokenspeed":
        hint = "where the workers are TokenSpeed's, add --backend tokenspeed to the command"
        refuse("SMG017", "--backend", f"smgcfg starts tokenspeed, not {backend}", hint=hint)
    if args.model_path is None:
        message = "the command does not say which model its workers serve"
        refuse("SMG007", "--model-path", message, hint="add --model-path to the command")
    parts = Parts(
        transport=transport,
        engine=TokenspeedArgs(model=args.model_path, data_parallel_size=args.zmq_engine_count),
        gateway=without(args, command.OWNED),
        places=tuple(places),
        **more,
    )
    parts.take(found)
    own = {"host": command.DEFAULT_HOST, "port": command.DEFAULT_PORT}
    parts.implied = {key: value for key, value in (own | defaults(args)).items() if getattr(args, key) is None}
    parts.notes.append(
        "the command starts no engines: the plan starts them with smgcfg's defaults; write their settings into "
        "[pools.main.engine], or import the engine's own command"
    )
    return parts


def _workers(urls: Sequence[str]) -> tuple[Transport, list[tuple[int, int]], dict[str, Any]]:
    """Return how workers are reached, the places of each run of ports, and further parts that say where they are."""
    parsed = [_worker(url) for url in urls]
    ways = dict.fromkeys((transport, home) for transport, home, _ in parsed)
    if len(ways) > 1:
        one, other = (f"{transport} at {home}" for transport, home in [*ways][:2])
        refuse("SMG024", "--worker-urls", f"workers are reached in more than one way: {one}, and {other}")
    ((transport, home),) = ways
    places: list[tuple[int, int]] = []
    for _, _, port in parsed:
        if places and port == sum(places[-1]):
            places[-1] = (places[-1][0], places[-1][1] + 1)
        else:
            places.append((port, 1))
    return transport, places, {"launch": {"run_dir": home}} if transport == "zmq" else {"pool": {"host": home}}


def _worker(url: str) -> tuple[Transport, str, int]:
    """Return how a worker is reached, its directory or host, and its port."""
    if found := _IPC.fullmatch(url):
        return "zmq", found[1], int(found[2])
    if found := _GRPC.fullmatch(url):
        return "grpc", found[1].strip("[]"), int(found[2])
    url = re.sub(r"//.*@", "//***@", url)
    message = (
        f"{url!r}: a deployment starts its workers on this machine, at grpc://127.0.0.1:PORT or ipc://DIR/engine-PORT"
    )
    return refuse("SMG017", "--worker-urls", message)
