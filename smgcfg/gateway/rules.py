"""The gateway's rules across settings, as a table: what smg refuses after its parser took the words.

The rows were measured against smg 1.13.0 and tokenspeed-smg 1.10.1 (the words of their Rust side, which has no sources
in the wheel). What depends on files, on the machine or on the environment is not here.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from smgcfg import rules
from smgcfg.endpoint import is_address
from smgcfg.errors import Finding
from smgcfg.gateway.args import GatewayArgs
from smgcfg.gateway.args_models import LEGACY_REASONING_PARSERS, LEGACY_TOOL_CALL_PARSERS
from smgcfg.gateway.versions import VERSIONS
from smgcfg.gateway.view import GatewayView
from smgcfg.rules import ANYTHING, Program, Rule, flag_of, needs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot

_WORKER_SCHEMES: Final = ("http://", "https://", "grpc://", "grpcs://", "ipc://")
_CLASSES: Final = ("system", "interactive", "default", "bulk")
_HEADER: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SELECTORS: Final = ("selector", "encode_selector", "prefill_selector", "decode_selector", "router_selector")
_EVERYWHERE: Final = ("0.0.0.0", "::", "[::]")
_MESH_TLS: Final = ("mesh_tls_ca_cert", "mesh_tls_cert", "mesh_tls_key")


def _is_header(text: str) -> bool:
    return re.fullmatch(_HEADER, text) is not None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < int(text) < 65536


def _is_collector(text: str) -> bool:
    """Whether a text is host:port, behind http:// or https:// if anything."""
    host, _, port = re.sub(r"^https?://", "", text).rpartition(":")
    return bool(host) and _is_port(port) and (":" not in host or host.startswith("["))


def _is_peer(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return _is_port(port) and is_address(host) and (":" not in host or host.startswith("["))


def _has_role(entry: str) -> bool:
    """Whether an id:name:role:key has all its parts and a role that there is."""
    parts = entry.split(":", 3)
    return len(parts) == 4 and parts[2].lower() in ("admin", "user")


def _maps_role(entry: str) -> bool:
    _, equals, role = entry.partition("=")
    return bool(equals) and role.lower() in ("admin", "user")


def _is_disaggregated(entry: tuple[str, ...]) -> bool:
    """Whether an entry is a URL and a bootstrap port or the word none, if anything."""
    return len(entry) < 2 or entry[1].lower() == "none" or (entry[1].isdecimal() and int(entry[1]) < 65536)


def _is_alias(entry: str) -> bool:
    alias, _, name = entry.partition("=")
    return bool(alias and name) and alias != name


def _has_pairs_only(item: str) -> bool:
    return all("=" in word for word in item.split())


def _every(key: str, holds: Callable[[Any], object], says: str, warns: bool = False) -> Rule:
    """Return the rule that every item of a list is of some form."""
    return Rule((key,), lambda s: not all(map(holds, getattr(s, key) or ())), f"{flag_of(key)} {says}", warns, holds)


def _together(*keys: str, when: Callable[[Any], object] = bool) -> tuple[Rule, ...]:
    """Return the rules that settings are given all or none."""
    return tuple(
        rule
        for key in keys
        for rule in needs(
            key, dict.fromkeys((other for other in keys if other != key), ANYTHING), "", _given(key, when)
        )
    )


def _given(key: str, when: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda s: getattr(s, key) is not None and when(s)


def _read_by_symphony(key: str, legacy: tuple[str, ...]) -> Rule:
    """Return the rule that a parser that is not among the legacy ones is read with `--parser symphony`."""
    return Rule(
        (key, "parser"),
        _given(key, lambda s: getattr(s, key) not in legacy and s.parser != "symphony"),
        f"{flag_of(key)} {{s.{key}}} needs --parser symphony; without it: {', '.join(sorted(legacy))}",
    )


#: What both releases check.
SHARED: Final = (
    # endpoint
    Rule(
        ("host",),
        lambda s: s.host is not None and not is_address(s.host),
        "--host must be an IP address, got {s.host!r}",
    ),
    Rule(
        ("cors_allowed_origins",),
        lambda s: "*" in (s.cors_allowed_origins or ()) and len(s.cors_allowed_origins) > 1,
        "--cors-allowed-origins is either * or a list of origins",
    ),
    *_together("tls_cert_path", "tls_key_path"),
    *_together("client_cert_path", "client_key_path"),
    _every("control_plane_api_keys", _has_role, "must each be id:name:role:key, the role admin or user"),
    _every("jwt_role_mapping", _maps_role, "must each be ROLE=admin or ROLE=user"),
    Rule(
        ("queue_timeout_secs", "queue_size"),
        lambda s: s.queue_size > 0 and s.queue_timeout_secs == 0,
        "--queue-timeout-secs must be at least 1 unless --queue-size is 0",
    ),
    Rule(
        ("otlp_traces_endpoint", "enable_trace"),
        lambda s: s.enable_trace and not _is_collector(s.otlp_traces_endpoint),
        "--otlp-traces-endpoint must be host:port with --enable-trace, got {s.otlp_traces_endpoint!r}",
    ),
    # routing
    Rule(
        ("policy", "worker_urls"),
        lambda s: (
            s.policy == "power_of_two"
            and s.worker_urls is not None
            and len(s.worker_urls) < 2
            and not (s.splits_prefill or s.discovery or s.enable_igw)
        ),
        "--policy power_of_two needs two or more --worker-urls",
    ),
    Rule(
        ("cache_boundaries",),
        lambda s: sorted({0, *(s.cache_boundaries or ())}) != [0, *(s.cache_boundaries or ())],
        "--cache-boundaries must be ascending numbers of at least 1, got {s.cache_boundaries}",
    ),
    Rule(
        ("cache_index", "cache_boundaries"),
        lambda s: s.cache_index == "hash" and not s.cache_boundaries and s.holds("policy", "cache_aware"),
        "--cache-index hash needs --cache-boundaries",
    ),
    _every("routing_key_headers", _is_header, "must each be a header's name"),
    # workers
    _every(
        "worker_urls",
        lambda url: url.startswith(_WORKER_SCHEMES),
        f"must each begin with one of {', '.join(_WORKER_SCHEMES)}",
    ),
    _every("encode", _is_disaggregated, "must each be a URL, and a bootstrap port or none"),
    _every("prefill", _is_disaggregated, "must each be a URL, and a bootstrap port or none"),
    Rule(
        ("retry_max_backoff_ms", "retry_initial_backoff_ms"),
        lambda s: s.retry_max_backoff_ms < s.retry_initial_backoff_ms,
        "--retry-max-backoff-ms {s.retry_max_backoff_ms} is less than --retry-initial-backoff-ms"
        " {s.retry_initial_backoff_ms}",
    ),
    Rule(
        ("service_discovery", "selector", "prefill_selector", "decode_selector", "encode_selector"),
        lambda s: s.discovery == "kubernetes" and not s.finds_workers,
        "--service-discovery needs --selector key=value; with --pd-disaggregation --prefill-selector or"
        " --decode-selector instead, with --epd-disaggregation both and --encode-selector",
    ),
    *(_every(key, _has_pairs_only, "skips what is not key=value", warns=True) for key in _SELECTORS),
    Rule(
        ("enable_mesh", "mesh_host", "mesh_advertise_host"),
        lambda s: s.enable_mesh and (s.mesh_advertise_host or s.mesh_host) in _EVERYWHERE,
        "--enable-mesh needs an address that others reach: --mesh-advertise-host, or another --mesh-host than"
        " {s.mesh_host}",
    ),
    Rule(
        ("mesh_server_name", "enable_mesh"),
        lambda s: s.enable_mesh and ":" in (s.mesh_server_name or ""),
        "--mesh-server-name may hold no colon with --enable-mesh, got {s.mesh_server_name!r}",
    ),
    Rule(
        ("mesh_peer_urls", "enable_mesh"),
        lambda s: s.enable_mesh and not all(map(_is_peer, s.mesh_peer_urls or ())),
        "--mesh-peer-urls must each be an IP address and a port with --enable-mesh",
        fits=_is_peer,
    ),
    Rule(
        ("mesh_host", "mesh_advertise_host", "enable_mesh"),
        lambda s: s.enable_mesh and not all(map(is_address, filter(None, (s.mesh_host, s.mesh_advertise_host)))),
        "--mesh-host and --mesh-advertise-host must be IP addresses with --enable-mesh",
    ),
    # models
    _every("model_alias", _is_alias, "must each be two different names, alias=name"),
    Rule(
        ("model_alias",),
        lambda s: len(dict(s.aliases)) < len(set(s.aliases)),
        "--model-alias gives one alias two names",
    ),
    # storage
    _every("storage_context_headers", _has_pairs_only, "skips what is not header=name", warns=True),
    _every(
        "storage_context_headers",
        lambda item: all(word.split("=", 1)[-1] for word in item.split()),
        "must each be header=name, the name not empty",
    ),
    *needs(
        "oracle_external_auth",
        {"oracle_username": (None,), "oracle_password": (None,)},
        "",
        lambda s: s.oracle_external_auth and s.history_backend == "oracle",
    ),
    Rule(
        ("oracle_pool_max", "oracle_pool_min"),
        lambda s: s.history_backend == "oracle" and s.oracle_pool_max < s.oracle_pool_min,
        "--oracle-pool-max {s.oracle_pool_max} is less than --oracle-pool-min {s.oracle_pool_min}",
    ),
)

#: What smg 1.13.0 checks beyond that.
ONLY_1_13_0: Final = (
    # endpoint
    Rule(("api_key",), lambda s: s.api_key == "", "--api-key may not be empty"),
    _every("tenant_api_key", lambda entry: all(entry.partition(":")[::2]), "must each be tenant:key"),
    Rule(
        ("tenant_api_key", "api_key"),
        lambda s: len(set(s.tenant_keys)) < len(s.tenant_keys),
        "--tenant-api-key and --api-key must all be different keys",
    ),
    *_together("jwt_issuer", "jwt_audience"),
    *needs("tenant_rate_limit_enabled", {"tenant_rate_limit_config": ANYTHING}),
    Rule(
        ("priority_scheduler_default_max_class", "priority_scheduler_enabled"),
        lambda s: s.priority_scheduler_enabled and s.priority_scheduler_default_max_class not in _CLASSES,
        "--priority-scheduler-default-max-class must be one of "
        + ", ".join(_CLASSES)
        + " with --priority-scheduler-enabled",
    ),
    _every("request_id_headers", _is_header, "must each be a header's name"),
    Rule(
        ("tenant_header_name",),
        lambda s: s.tenant_header_name is not None and not _is_header(s.tenant_header_name),
        "--tenant-header-name must be a header's name, got {s.tenant_header_name!r}",
    ),
    Rule(
        ("prometheus_host",),
        lambda s: s.prometheus_host is not None and not is_address(s.prometheus_host),
        "--prometheus-host must be an IP address, got {s.prometheus_host!r}",
    ),
    # routing
    Rule(
        ("kv_index",),
        lambda s: s.kv_index not in (None, "positional", "chain"),
        "--kv-index must be positional or chain, got {s.kv_index!r}",
    ),
    Rule(
        ("selection_policy",),
        lambda s: s.selection_policy not in (None, "cache-aware-default"),
        "--selection-policy must be cache-aware-default, got {s.selection_policy!r}",
    ),
    # workers
    Rule(
        ("health_check_endpoint",),
        lambda s: s.health_check_endpoint is not None and not s.health_check_endpoint.startswith("/"),
        "--health-check-endpoint must begin with '/', got {s.health_check_endpoint!r}",
    ),
    *(
        rule
        for key in ("discovery_file", "discovery_check_interval_secs")
        for rule in needs(key, {"discovery_provider": ("file",)})
    ),
    *needs("discovery_provider", {"discovery_file": ANYTHING}, "file", lambda s: s.discovery_provider == "file"),
    Rule(
        ("prefill_max_inflight_requests_per_worker", "pd_disaggregation", "epd_disaggregation"),
        lambda s: s.limits_prefills and not s.splits_prefill,
        "--prefill-max-inflight-requests-per-worker needs --pd-disaggregation or --epd-disaggregation",
    ),
    *(
        Rule(
            (key, "prefill_max_inflight_requests_per_worker"),
            _given(key, lambda s: not s.limits_prefills),
            f"{flag_of(key)} needs --prefill-max-inflight-requests-per-worker above 0",
        )
        for key in ("prefill_queue_size", "prefill_queue_timeout_secs")
    ),
    Rule(
        ("prefill_queue_timeout_secs", "prefill_queue_size"),
        lambda s: s.limits_prefills and s.prefill_queue_size != 0 and s.prefill_queue_timeout_secs == 0,
        "--prefill-queue-timeout-secs must be at least 1 unless --prefill-queue-size is 0",
    ),
    Rule(
        ("mesh_server_name", "enable_mesh"),
        lambda s: s.enable_mesh and s.mesh_server_name == "",
        "--mesh-server-name may not be empty with --enable-mesh",
    ),
    *_together(*_MESH_TLS, when=lambda s: s.enable_mesh),
    # models; the gateway looks at parsers once it listens
    _read_by_symphony("reasoning_parser", LEGACY_REASONING_PARSERS),
    _read_by_symphony("tool_call_parser", LEGACY_TOOL_CALL_PARSERS),
    # storage
    Rule(
        ("redis_retention_days", "history_backend"),
        lambda s: s.history_backend == "redis" and s.redis_retention_days != -1 and s.redis_retention_days < 1,
        "--redis-retention-days must be at least 1, or -1, with --history-backend redis; got {s.redis_retention_days}",
    ),
)

PROGRAM: Final = Program(
    title="smg",
    versions=VERSIONS,
    view=GatewayView,
    rules={"1.10.1": SHARED, "1.13.0": (*SHARED, *ONLY_1_13_0)},
    # 1.10.1 takes any number here, or infinity.
    unchecked={
        "1.10.1": (
            "balance_rel_threshold",
            "balance_token_usage_threshold",
            "health_check_interval_secs",
            "health_check_timeout_secs",
            "health_failure_threshold",
            "health_success_threshold",
            "mesh_port",
            "overload_token_usage_threshold",
            "postgres_pool_max",
            "prefix_hash_load_factor",
            "redis_pool_max",
            "retry_backoff_multiplier",
        )
    },
    successor=lambda flag: "",
)


def findings(args: GatewayArgs, version: "str | Snapshot | None" = None) -> list[Finding]:
    """Check finished args: late bounds, rules across settings, and what a version of the gateway lacks.

    Args:
        args: The args of the gateway, with everything that the launcher itself decides.
        version: The gateway's version: "1.13.0" (smg) or "1.10.1" (tokenspeed-smg); None checks the rules of 1.13.0.

    Returns:
        What was found, in the order of the settings.
    """
    return rules.findings(PROGRAM, args, version)
