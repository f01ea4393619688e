"""The workers behind the gateway: where they are, and whether they are well."""

from typing import Literal

from smgcfg.flags import flag
from smgcfg.gateway.limits import I32_AT_MOST, NATURAL, PORT, POSITIVE, POSITIVE_U32, SHARE
from smgcfg.gateway.versions import V1130
from smgcfg.groups import group


@group(kw_only=True)
class WorkerSettings:
    """The workers behind the gateway: where they are, and whether they are well."""

    __slots__ = ()

    # workers
    worker_urls: tuple[str, ...] | None = flag("the workers", extends=True)
    backend: Literal["sglang", "openai", "anthropic", "vllm", "tokenspeed"] | None = flag(
        "the workers' engine", env="SMG_DEFAULT_BACKEND"
    )
    zmq_engine_count: int | None = flag("engines behind each ZeroMQ worker", limits=NATURAL)
    worker_startup_timeout_secs: int | None = flag("seconds a worker has to come up", limits=POSITIVE)
    worker_startup_delay: int | None = flag("seconds before a worker is first asked whether it is up", limits=NATURAL)
    worker_startup_check_interval: int | None = flag("seconds between two such questions", limits=POSITIVE)
    job_queue_capacity: int | None = flag("most management jobs that wait", limits=(1, 1_000_000))
    job_queue_concurrency: int | None = flag("most management jobs at once", limits=(1, 100_000))
    load_monitor_interval: int | None = flag("seconds between two load reports", limits=POSITIVE)
    disable_load_monitoring: bool | None = flag("ask for loads only where something needs them")
    upstream_http2: bool | None = flag("speak HTTP/2 to workers")
    upstream_pool_idle_timeout_secs: int | None = flag("seconds an idle connection to a worker is kept", limits=NATURAL)
    client_cert_path: str | None = flag("certificate the gateway shows to workers")
    client_key_path: str | None = flag("private key of that certificate")
    ca_cert_paths: tuple[str, ...] | None = flag("authorities that workers' certificates must come from", extends=True)

    # prefill, decode and encode apart
    pd_disaggregation: bool | None = flag("prefill and decode run on workers of their own")
    epd_disaggregation: bool | None = flag("encode, prefill and decode run on workers of their own")
    encode: tuple[tuple[str, ...], ...] | None = flag(
        "encode workers, each a URL and a bootstrap port if it has one", style="groups"
    )
    prefill: tuple[tuple[str, ...], ...] | None = flag(
        "prefill workers, each a URL and a bootstrap port if it has one", style="groups"
    )
    decode: tuple[str, ...] | None = flag("decode workers", style="append")
    prefill_max_inflight_requests_per_worker: int | None = flag(
        "most prefills at once on a worker; 0 or less is no limit", limits=I32_AT_MOST, versions=V1130
    )
    prefill_queue_size: int | None = flag(
        "most requests that wait for a prefill; 0 lets none wait", limits=NATURAL, versions=V1130
    )
    prefill_queue_timeout_secs: int | None = flag(
        "longest wait for a prefill, in seconds", limits=NATURAL, versions=V1130
    )
    pd_admission_wait_secs: int | None = flag("seconds a request waits for room on a decode worker", limits=NATURAL)

    # health
    health_failure_threshold: int | None = flag("failed checks after which a worker is unhealthy", limits=POSITIVE_U32)
    health_success_threshold: int | None = flag("passed checks after which a worker is healthy", limits=POSITIVE_U32)
    health_check_timeout_secs: int | None = flag("seconds a check may take", limits=POSITIVE)
    health_check_interval_secs: int | None = flag("seconds between two checks", limits=POSITIVE)
    health_check_endpoint: str | None = flag("the path that is asked")
    disable_health_check: bool | None = flag("check no worker")
    remove_unhealthy_workers: bool | None = flag(
        "drop unhealthy workers, so that discovery adds them anew",
        aliases=("--worker-auto-recovery",),
        off=("--no-remove-unhealthy-workers", "--no-worker-auto-recovery"),
    )

    # retries and circuit breaker
    retry_max_retries: int | None = flag(
        "attempts for one request", limits=POSITIVE_U32, limits_when=(("disable_retries", False),)
    )
    retry_initial_backoff_ms: int | None = flag("milliseconds before the first retry", limits=POSITIVE)
    retry_max_backoff_ms: int | None = flag("most milliseconds before a retry", limits=NATURAL)
    retry_backoff_multiplier: float | None = flag("factor from one wait to the next", limits=POSITIVE)
    retry_jitter_factor: float | None = flag("random share of a wait, 0 to 1", limits=SHARE)
    disable_retries: bool | None = flag("try every request once")
    cb_failure_threshold: int | None = flag(
        "failures after which a worker is shut off",
        limits=POSITIVE_U32,
        limits_when=(("disable_circuit_breaker", False),),
    )
    cb_success_threshold: int | None = flag("successes after which it is let in again", limits=POSITIVE_U32)
    cb_timeout_duration_secs: int | None = flag("seconds before a shut-off worker is tried again", limits=POSITIVE)
    cb_window_duration_secs: int | None = flag("seconds over which failures are counted", limits=POSITIVE)
    disable_circuit_breaker: bool | None = flag("shut off no worker")

    # discovery
    service_discovery: bool | None = flag("find workers through Kubernetes", rivals="discovery_provider")
    discovery_provider: Literal["kubernetes", "file"] | None = flag(
        "what workers are found through", rivals="service_discovery", versions=V1130
    )
    discovery_file: str | None = flag("file that lists the workers", versions=V1130)
    discovery_check_interval_secs: int | None = flag(
        "seconds between two readings of that file",
        limits=POSITIVE,
        limits_when=(("discovery_provider", "file"),),
        versions=V1130,
    )
    selector: tuple[str, ...] | None = flag("labels of worker pods, each key=value", least=1, extends=True)
    encode_selector: tuple[str, ...] | None = flag("labels of encode pods, each key=value", least=1, extends=True)
    prefill_selector: tuple[str, ...] | None = flag("labels of prefill pods, each key=value", least=1, extends=True)
    decode_selector: tuple[str, ...] | None = flag("labels of decode pods, each key=value", least=1, extends=True)
    router_selector: tuple[str, ...] | None = flag(
        "labels of other gateways' pods, each key=value", least=1, extends=True
    )
    service_discovery_port: int | None = flag(
        "port of the pods that are found", limits=PORT, limits_when=(("discovery_provider", "kubernetes"),)
    )
    service_discovery_namespace: str | None = flag("namespace that is watched; unset watches all")
    kv_connector_annotation: str | None = flag("annotation that names a pod's cache connector")
    kv_engine_id_annotation: str | None = flag("annotation that names a pod's cache engine")
    model_id_from: str | None = flag("where a pod says which model it serves")

    # reinforcement learning
    enable_rl: bool | None = flag("offer the workers' weight control")
    rl_control_timeout_secs: int | None = flag(
        "seconds one control call may take", limits=POSITIVE, limits_when=(("enable_rl", True),)
    )
    rl_fanout_concurrency: int | None = flag(
        "control calls at once", limits=POSITIVE, limits_when=(("enable_rl", True),)
    )

    # several gateways
    enable_mesh: bool | None = flag("share state with other gateways")
    mesh_server_name: str | None = flag("this gateway's name in the mesh")
    mesh_host: str | None = flag("address of the mesh")
    mesh_advertise_host: str | None = flag("address that other gateways reach this one at")
    mesh_port: int | None = flag("port of the mesh", limits=PORT, limits_when=(("enable_mesh", True),))
    mesh_peer_urls: tuple[str, ...] | None = flag("gateways to join, each host:port", extends=True)
    mesh_tls_ca_cert: str | None = flag("authority of the mesh's certificates", versions=V1130)
    mesh_tls_cert: str | None = flag("this gateway's certificate in the mesh", versions=V1130)
    mesh_tls_key: str | None = flag("private key of that certificate", versions=V1130)
