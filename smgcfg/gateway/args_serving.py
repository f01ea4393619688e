"""How clients reach the gateway, what they may do, and what it reports."""

from typing import Literal

from smgcfg.flags import flag
from smgcfg.gateway.limits import I32_AT_MOST, NATURAL, PORT, POSITIVE, U32
from smgcfg.gateway.versions import V1130
from smgcfg.groups import group
from smgcfg.reference import Text


@group(kw_only=True)
class ServingSettings:
    """How clients reach the gateway, what they may do, and what it reports."""

    __slots__ = ()

    # endpoint
    host: str | None = flag("the address clients connect to")
    port: int | None = flag("the port clients connect to", limits=PORT)
    health_check_port: int | None = flag("a port of its own for liveness and readiness probes", limits=PORT)
    request_timeout_secs: int | None = flag("longest request, in seconds", limits=POSITIVE)
    shutdown_grace_period_secs: int | None = flag(
        "seconds that open requests have when the gateway stops", limits=NATURAL
    )
    header_read_timeout_secs: int | None = flag(
        "seconds a connection has to send the head of a request", limits=NATURAL, versions=V1130
    )
    idle_connection_timeout_secs: int | None = flag(
        "seconds an idle connection is kept open", limits=NATURAL, versions=V1130
    )
    stream_body_stall_timeout_secs: int | None = flag("seconds a streamed upload may stand still", limits=NATURAL)
    sse_keepalive_secs: int | None = flag(
        "seconds of silence after which an open stream carries a sign of life", bounds=NATURAL, versions=V1130
    )
    max_payload_size: int | None = flag("largest request, in bytes", limits=POSITIVE)
    max_buffered_request_bytes: int | None = flag(
        "bytes of a request that are kept only so that it can be retried", limits=NATURAL
    )
    request_id_headers: tuple[str, ...] | None = flag(
        "headers that may carry a request's id, the first one there wins", extends=True
    )
    cors_allowed_origins: tuple[str, ...] | None = flag("origins a browser may call from; * is any", extends=True)

    # authentication
    api_key: Text | None = flag("the key that clients must send", secret=True)
    tenant_api_key: tuple[Text, ...] | None = flag(
        "keys of tenants, each tenant:key", style="append", secret=True, versions=V1130
    )
    control_plane_api_keys: tuple[Text, ...] | None = flag(
        "keys for managing the gateway, each id:name:role:key", extends=True, secret=True
    )
    control_plane_audit_enabled: bool | None = flag("log who manages the gateway")
    jwt_issuer: str | None = flag("URL of the issuer of login tokens")
    jwt_audience: str | None = flag("the audience that login tokens must name")
    jwt_jwks_uri: str | None = flag("where the issuer's keys are; unset asks the issuer")
    jwt_role_mapping: tuple[str, ...] | None = flag(
        "roles of login tokens to gateway roles, each role=admin or role=user", extends=True
    )
    trust_tenant_header: bool | None = flag("believe a header that names the tenant", versions=V1130)
    tenant_header_name: str | None = flag("the header that names the tenant", versions=V1130)

    # limits
    max_concurrent_requests: int | None = flag("most requests at once; -1 follows from the host", limits=I32_AT_MOST)
    queue_size: int | None = flag("most requests that wait for their turn; 0 lets none wait", limits=NATURAL)
    queue_timeout_secs: int | None = flag("longest wait for a turn, in seconds", limits=NATURAL)
    rate_limit_tokens_per_second: int | None = flag(
        "requests admitted per second; 0 is no limit", limits=(0, 2**31 - 1)
    )
    max_background_responses: int | None = flag(
        "most background responses at once; 0 runs them in the foreground", limits=NATURAL, versions=V1130
    )
    priority_scheduler_enabled: bool | None = flag("admit requests by priority", versions=V1130)
    priority_scheduler_default_max_class: str | None = flag(
        "highest priority of a tenant that has no entry", versions=V1130
    )
    priority_scheduler_config: str | None = flag("file with the tenants' priorities", versions=V1130)
    priority_scheduler_tenant_metric_top_n: int | None = flag(
        "tenants that have metrics of their own", limits=U32, versions=V1130
    )
    tenant_rate_limit_enabled: bool | None = flag("limit the rate of each tenant", versions=V1130)
    tenant_rate_limit_config: str | None = flag("file with the tenants' rates", versions=V1130)

    # encryption
    tls_cert_path: str | None = flag("certificate the gateway shows to clients")
    tls_key_path: str | None = flag("private key of that certificate")

    # logs, metrics, traces
    log_dir: str | None = flag("folder for log files; unset logs to the console alone")
    log_level: Literal["debug", "info", "warn", "error"] | None = flag("least severe message that is logged")
    log_json: bool | None = flag("log as JSON")
    log_mm_timing: bool | None = flag("log how long each request's media took", versions=V1130)
    prometheus_port: int | None = flag("port of the metrics", limits=PORT)
    prometheus_host: str | None = flag("address of the metrics")
    prometheus_duration_buckets: tuple[float, ...] | None = flag(
        "bounds of the duration histograms, in seconds", least=1, extends=True
    )
    jemalloc_prof_dir: str | None = flag("folder for heap profiles", versions=V1130)
    enable_trace: bool | None = flag("send traces")
    otlp_traces_endpoint: str | None = flag("host:port that traces are sent to")
