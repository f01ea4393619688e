"""How `smg launch` is started and reached: facts of smg 1.13.0 that a plan has to keep to."""

import re
from typing import Final

from smgcfg.codec import word
from smgcfg.endpoint import bare, bracketed
from smgcfg.errors import Finding, error
from smgcfg.gateway.args import GatewayArgs
from smgcfg.gateway.versions import VERSIONS as VERSIONS
from smgcfg.process import Port
from smgcfg.reference import references_in

#: The words behind `PYTHON -m`.
WORDS: Final = ("smg", "launch")

#: The setting of the port of its metrics.
METRICS: Final = "prometheus_port"

#: What the gateway does when a flag is not passed.
DEFAULT_HOST: Final = "0.0.0.0"
DEFAULT_PORT: Final = 30000
DEFAULT_POLICY: Final = "cache_aware"
DEFAULT_METRICS_HOST: Final = "0.0.0.0"
DEFAULT_METRICS_PORT: Final = 29000
DEFAULT_HEALTH_INTERVAL: Final = 60
DEFAULT_MESH_PORT: Final = 39527

#: The settings that the plan decides, each with the key that an operator uses instead, or an empty text.
OWNED: Final = {
    "worker_urls": "[pools.NAME] host, port and replicas",
    "backend": "[pools.NAME] backend",
    "zmq_engine_count": "[pools.NAME.engine] data_parallel_size",
    "prefill": "",
    "decode": "",
    "encode": "",
}

#: A key as a header of HTTP carries it.
_SENDABLE: Final = r"[!-~](?:[\t -~]*[!-~])?"

#: The addresses that mean "every interface", and where such a listener is reached on its own machine.
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def gateway_url(args: GatewayArgs) -> str:
    """Return where a gateway with these settings answers, seen from its own machine."""
    host = bare(args.host or DEFAULT_HOST)
    scheme = "https" if args.tls_cert_path and args.tls_key_path else "http"
    return f"{scheme}://{bracketed(_EVERYWHERE.get(host, host))}:{args.port or DEFAULT_PORT}"


def gateway_ports(args: GatewayArgs) -> dict[str, Port]:
    """Return the ports that a gateway with these settings listens on, each by the setting that chooses it."""
    host = bare(args.host or DEFAULT_HOST)
    metrics_host = bare(args.prometheus_host or DEFAULT_METRICS_HOST)
    ports = {
        "port": Port(DEFAULT_PORT if args.port is None else args.port, host, "gateway"),
        METRICS: Port(
            DEFAULT_METRICS_PORT if args.prometheus_port is None else args.prometheus_port, metrics_host, "metrics"
        ),
    }
    if args.health_check_port is not None:
        ports["health_check_port"] = Port(args.health_check_port, host, "health check")
    if args.enable_mesh:
        mesh_port = DEFAULT_MESH_PORT if args.mesh_port is None else args.mesh_port
        ports["mesh_port"] = Port(mesh_port, bare(args.mesh_host or DEFAULT_HOST), "mesh")
    return ports


def workers_key(args: GatewayArgs) -> str | Finding | None:
    """Return the key with which a gateway with these settings shows its workers.

    Measured with smg 1.13.0: once any kind of key is configured, `/workers` wants one. A control-plane key of any role
    opens it; `--api-key` does so while there are neither control-plane keys nor JWT; a tenant's key never does.

    Returns:
        The key; None where `/workers` is open, or the keys are not read; a finding where no configured key opens it.
    """
    entries = args.control_plane_api_keys or ()
    keys = [word(entry).split(":", 3) for entry in entries]
    usable = [key for key in keys if len(key) == 4]
    if any(reference.text is None for reference in references_in(entries)):
        return None
    if usable:
        return next((key[3] for key in usable if key[2].lower() == "admin"), usable[0][3])
    if args.jwt_issuer is not None and args.jwt_audience is not None:
        reason = "with JWT the gateway shows its workers to none but holders of a token"
        return _closed("jwt_issuer", reason, "add an entry to gateway.control_plane_api_keys")
    if args.api_key:
        return word(args.api_key)
    if args.tenant_api_key:
        reason = "with tenant keys alone the gateway shows its workers to nobody"
        return _closed("tenant_api_key", reason, "set gateway.api_key too")
    return None


def request_key(args: GatewayArgs) -> str | None:
    """Return the key that requests to a gateway with these settings want; None where they want none."""
    if args.api_key:
        return word(args.api_key)
    # A tenant's entry is its name, a colon and its key.
    return next((word(entry).partition(":")[2] for entry in args.tenant_api_key or ()), None)


def unsendable_keys(args: GatewayArgs) -> list[str]:
    """Return the settings with a key that no client can send, as far as they are read.

    A header of HTTP carries it only without blanks at its ends, line breaks, and characters that are not ASCII.
    Measured with smg 1.13.0: it takes such a key, and answers everybody with 401.
    """
    found = []
    for setting, before in (("api_key", 0), ("tenant_api_key", 1), ("control_plane_api_keys", 3)):
        value = getattr(args, setting) or ()
        if any(reference.text is None for reference in references_in(value)):
            continue
        # In front of the key in an entry stand others, each with a colon.
        keys = [word(entry).split(":", before)[-1] for entry in (value if isinstance(value, tuple) else (value,))]
        if any(key and not re.fullmatch(_SENDABLE, key) for key in keys):
            found.append(setting)
    return found


def _closed(key: str, reason: str, hint: str) -> Finding:
    return error("SMG014", key, f"{reason}, so nobody could see when they are ready", hint=hint)
