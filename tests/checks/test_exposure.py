"""Addresses and open ports."""

import pytest
from checking import GRPC, POOL, found, told

CONTROL = '[pools.a.engine]\nrl_control_port = 7000\nrl_control_host = "0.0.0.0"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POOL + 'host = "10.0.0.1"\n', ["warning SMG057 pools.a.host d.toml:4"]),
        (POOL + 'host = "127.0.0.1"\n', []),
        (GRPC + 'host = "127.0.0.1"\n', []),
        (GRPC + 'host = "::1"\n', []),
        (GRPC + 'host = "[::1]"\n', []),
        (GRPC + 'host = "localhost"\n', ["warning SMG057 pools.a.host d.toml:5"]),
        (POOL + '[gateway]\nhost = "::"\napi_key = { env = "K" }\n', ["warning SMG057 gateway.host d.toml:5"]),
        (POOL + '[gateway]\nhost = "0.0.0.0"\napi_key = { env = "K" }\n', []),
    ],
)
def test_an_address_is_fit_for_its_use(text: str, expected: list[str]) -> None:
    """Wildcards, names and addresses that nobody uses are found; literal addresses of either kind are fine."""
    assert [line for line in told(found(text)) if "SMG059" not in line] == expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "fe80::1", "node-1"])
def test_a_worker_has_an_address_that_the_gateway_can_call(host: str) -> None:
    """Over grpc the gateway dials what the pool says: each of these is doubtful, and open to the network."""
    assert told(found(GRPC + f'host = "{host}"\n')) == [
        "warning SMG057 pools.a.host d.toml:5",
        "warning SMG058 pools.a.host d.toml:5",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POOL + '[gateway]\nprometheus_host = "0.0.0.0"\n', ["warning SMG058 gateway.prometheus_host d.toml:5"]),
        (POOL + '[gateway]\nunset = ["prometheus_host"]\n', ["warning SMG058 gateway.prometheus_host d.toml:5"]),
        (POOL + '[gateway]\nprometheus_host = "::1"\n', []),
        (GRPC + 'host = "10.0.0.1"\n', ["warning SMG058 pools.a.host d.toml:5"]),
        (GRPC + CONTROL, ["warning SMG058 pools.a.engine.rl_control_port d.toml:6"]),
        (
            GRPC + CONTROL + 'rl_control_api_key = { env = "K" }\n',
            ["warning SMG059 pools.a.engine.rl_control_api_key d.toml:8"],
        ),
        (GRPC + CONTROL.replace("0.0.0.0", "127.0.0.1"), []),
        (
            POOL + '[gateway]\nenable_mesh = true\nmesh_host = "10.0.0.1"\n',
            ["warning SMG058 gateway.mesh_host d.toml:6"],
        ),
    ],
)
def test_ports_that_ask_for_no_key_are_found(text: str, expected: list[str]) -> None:
    """Metrics, workers, weight control and mesh are found where others reach them; a key or loopback answers it."""
    assert told(found(text)) == expected
