"""Command lines that break the gateway's rules across settings, each with one beside it that keeps them."""

from typing import Final

_MESH: Final = "--enable-mesh --mesh-host 127.0.0.1"
_PREFILLS: Final = "--pd-disaggregation --prefill-max-inflight-requests-per-worker 4"
_ORACLE: Final = "--history-backend oracle --oracle-tns-alias a"

#: A line that both releases refuse, and one that both take.
SHARED: Final = (
    ("--host localhost", "--host 127.0.0.1"),
    ("--cors-allowed-origins * http://a", "--cors-allowed-origins http://a"),
    ("--control-plane-api-keys a:b:admin", "--control-plane-api-keys a:b:admin:k a:b:USER:k:l"),
    ("--control-plane-api-keys a:b:other:k", "--control-plane-api-keys a:b:user:k"),
    ("--jwt-role-mapping a", "--jwt-role-mapping a=admin"),
    ("--jwt-role-mapping a=other", "--jwt-role-mapping a=User"),
    ("--queue-timeout-secs 0", "--queue-timeout-secs 0 --queue-size 0"),
    ("--enable-trace --otlp-traces-endpoint a", "--enable-trace --otlp-traces-endpoint a:4317"),
    ("--enable-trace --otlp-traces-endpoint ::1:4317", "--enable-trace --otlp-traces-endpoint [::1]:4317"),
    ("--enable-trace --otlp-traces-endpoint a:0", "--otlp-traces-endpoint a:0"),
    (
        "--policy power_of_two --worker-urls http://a:1",
        "--policy power_of_two --worker-urls http://a:1 http://b:1",
    ),
    ("--policy power_of_two --worker-urls http://a:1", "--policy power_of_two --worker-urls http://a:1 --enable-igw"),
    ("--cache-boundaries 4,2", "--cache-boundaries 2,4"),
    ("--cache-boundaries 0,2", "--cache-boundaries 1"),
    ("--cache-index hash", "--cache-index hash --cache-boundaries 4"),
    ("--cache-index hash", "--cache-index hash --policy random"),
    ("--routing-key-headers a b=c,", "--routing-key-headers a x-b"),
    ("--worker-urls a:1", "--worker-urls http://a:1 https://a:1 grpc://a:1 grpcs://a:1 ipc:///a"),
    ("--encode http://a:1 x", "--encode http://a:1 9000"),
    ("--prefill http://a:1 x", "--prefill http://a:1 none --prefill http://b:1"),
    ("--retry-max-backoff-ms 10", "--retry-max-backoff-ms 10 --retry-initial-backoff-ms 10"),
    ("--service-discovery", "--service-discovery --selector a=b"),
    ("--service-discovery --selector a", "--service-discovery --selector a=b c=d"),
    (
        "--service-discovery --pd-disaggregation --selector a=b",
        "--service-discovery --pd-disaggregation --decode-selector a=b",
    ),
    ("--enable-mesh", "--enable-mesh --mesh-advertise-host 127.0.0.1"),
    ("--enable-mesh --mesh-host ::", _MESH),
    ("--enable-mesh --mesh-host a", _MESH),
    (f"{_MESH} --mesh-advertise-host a", f"{_MESH} --mesh-advertise-host 127.0.0.2"),
    (f"{_MESH} --mesh-server-name a:b", f"{_MESH} --mesh-server-name a"),
    (f"{_MESH} --mesh-peer-urls a:1", f"{_MESH} --mesh-peer-urls 127.0.0.1:1 [::1]:2"),
    ("--model-alias a", "--model-alias a=b"),
    ("--model-alias a=", "--model-alias a=b=c"),
    ("--model-alias a=a", "--model-alias a=b --model-alias b=c"),
    ("--model-alias a=b --model-alias a=c", "--model-alias a=b --model-alias a=b"),
    ("--storage-context-headers a=", "--storage-context-headers a=b"),
    (f"{_ORACLE} --oracle-external-auth --oracle-username u", "--oracle-external-auth --oracle-username u"),
    (f"{_ORACLE} --oracle-external-auth --oracle-password p", "--oracle-external-auth --oracle-password p"),
    (
        f"{_ORACLE} --oracle-username u --oracle-password p --oracle-pool-min 20",
        "--oracle-pool-min 20",
    ),
)

#: A line that smg 1.13.0 refuses and one that it takes; tokenspeed-smg 1.10.1 takes the first one too, or lacks a flag.
ONLY_1_13_0: Final = (
    ("--api-key=", "--api-key k"),
    ("--tenant-api-key k", "--tenant-api-key a:k:l"),
    ("--tenant-api-key a:", "--tenant-api-key a:k"),
    ("--tenant-api-key a:k --tenant-api-key b:k", "--tenant-api-key a:k --tenant-api-key a:l"),
    ("--tenant-api-key a:k --api-key k", "--tenant-api-key a:k --api-key l"),
    ("--jwt-issuer https://a", "--jwt-issuer https://a --jwt-audience b"),
    ("--jwt-audience b", "--jwt-issuer https://a --jwt-audience b"),
    (
        "--priority-scheduler-enabled --priority-scheduler-default-max-class a",
        "--priority-scheduler-enabled --priority-scheduler-default-max-class bulk",
    ),
    ("--request-id-headers a(b)", "--request-id-headers x-a x-b"),
    ("--tenant-header-name a(b)", "--tenant-header-name x-a"),
    ("--prometheus-host localhost", "--prometheus-host 127.0.0.1"),
    ("--kv-index a", "--kv-index chain"),
    ("--selection-policy a", "--selection-policy cache-aware-default"),
    ("--health-check-endpoint a", "--health-check-endpoint /a"),
    ("--discovery-file /a", "--discovery-file /a --discovery-provider file"),
    (
        "--discovery-check-interval-secs 9",
        "--discovery-check-interval-secs 9 --discovery-provider file --discovery-file /a",
    ),
    ("--discovery-provider file", "--discovery-provider file --discovery-file /a"),
    ("--prefill-max-inflight-requests-per-worker 4", _PREFILLS),
    ("--pd-disaggregation --prefill-queue-size 4", f"{_PREFILLS} --prefill-queue-size 4"),
    ("--pd-disaggregation --prefill-queue-timeout-secs 4", f"{_PREFILLS} --prefill-queue-timeout-secs 4"),
    (
        f"{_PREFILLS} --prefill-queue-timeout-secs 0",
        f"{_PREFILLS} --prefill-queue-timeout-secs 0 --prefill-queue-size 0",
    ),
    (f"{_MESH} --mesh-server-name=", f"{_MESH} --mesh-server-name a"),
    (f"{_MESH} --mesh-tls-ca-cert /a --mesh-tls-cert /b", "--mesh-tls-ca-cert /a --mesh-tls-cert /b"),
    (f"{_MESH} --mesh-tls-ca-cert /a --mesh-tls-key /b", "--mesh-tls-ca-cert /a --mesh-tls-key /b"),
    (f"{_MESH} --mesh-tls-cert /a --mesh-tls-key /b", "--mesh-tls-cert /a --mesh-tls-key /b"),
    ("--history-backend redis --redis-url redis://127.0.0.1:1 --redis-retention-days 0", "--redis-retention-days 0"),
)

#: A line that 1.13.0 refuses, and one that keeps the rule although the gateway then finds no file or server there.
WITHOUT_A_MACHINE: Final = (
    ("--discovery-provider kubernetes", "--discovery-provider kubernetes --selector a=b"),
    ("--tls-cert-path /a", "--tls-cert-path /a --tls-key-path /b"),
    ("--tls-key-path /b", "--tls-cert-path /a --tls-key-path /b"),
    ("--client-cert-path /a", "--client-cert-path /a --client-key-path /b"),
    ("--client-key-path /b", "--client-cert-path /a --client-key-path /b"),
    ("--tenant-rate-limit-enabled", "--tenant-rate-limit-enabled --tenant-rate-limit-config /a"),
    (
        "--service-discovery --epd-disaggregation --encode-selector a=b --prefill-selector a=b",
        "--service-discovery --epd-disaggregation --encode-selector a=b --prefill-selector a=b --decode-selector c=d",
    ),
    (
        f"{_MESH} --mesh-tls-ca-cert /a",
        f"{_MESH} --mesh-tls-ca-cert /a --mesh-tls-cert /b --mesh-tls-key /c",
    ),
)

#: A line that 1.13.0 refuses only once it listens, and one that it takes.
LISTENING: Final = (
    ("--reasoning-parser glm", "--reasoning-parser glm --parser symphony"),
    ("--tool-call-parser qwen3", "--tool-call-parser qwen --parser legacy"),
)

#: A line of which the gateway skips a part without a word, and one of which it takes everything.
IDLE: Final = (
    *(
        (f"--{role}selector a b=c", f"--{role}selector a=b b=c")
        for role in ("", "encode-", "prefill-", "decode-", "router-")
    ),
    ("--storage-context-headers a", "--storage-context-headers a=b"),
)
