"""Secrets that others can see."""

import pytest
from checking import GRPC, POOL, found, told

LITERAL = POOL + '[gateway]\napi_key = "s3cret"\n'
ELSEWHERE = POOL + '[gateway]\napi_key = { env = "K" }\n'
REDIS = POOL + '[gateway]\nhistory_backend = "redis"\nredis_url = { file = "/k" }\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LITERAL, ["SMG059 gateway.api_key", "SMG060 gateway.api_key"]),
        (ELSEWHERE, ["SMG059 gateway.api_key"]),
        (REDIS, []),
        (REDIS.replace('{ file = "/k" }', '"redis://u:s3cret@h"'), ["SMG060 gateway.redis_url"]),
        (
            POOL + '[gateway]\ncontrol_plane_api_keys = [{ env = "K" }, "i:n:admin:s3cret"]\n',
            ["SMG059 gateway.control_plane_api_keys", "SMG060 gateway.control_plane_api_keys"],
        ),
        (POOL + 'env = { HF_TOKEN = "s3cret" }\n', ["SMG060 pools.a.env.HF_TOKEN"]),
        (POOL + 'env = { HF_TOKEN = { env = "HF_TOKEN" }, OTHER = "x" }\n', []),
        (POOL + '[pools.a.engine]\nextra = ["--hub-token", "s3cret"]\n', ["SMG059 pools.a.engine.extra"]),
    ],
)
def test_secrets_in_sight_are_found(text: str, expected: list[str]) -> None:
    """A secret in a process's words and one in clear text are found, each at its key; what is neither is not."""
    findings = found(text)
    assert [f"{finding.code} {finding.key}" for finding in findings] == expected
    assert "s3cret" not in str(findings)


def test_every_process_that_shows_a_secret_is_named() -> None:
    """A secret of a pool stands in the command of each of its workers, and is reported once."""
    text = GRPC + 'replicas = 2\n[pools.a.engine]\nrl_control_api_key = { env = "K" }\n'
    (finding,) = found(text)
    assert (finding.code, finding.key) == ("SMG059", "pools.a.engine.rl_control_api_key")
    assert "a-0, a-1" in finding.message


def test_a_secret_behind_set_is_in_a_command_line() -> None:
    """An override with a secret is found with its argument, and a reference there is fine."""
    findings = found(POOL, sets=("gateway.api_key=s3cret",))
    assert told(findings)[1] == "warning SMG060 gateway.api_key argument 4 '--set gateway.api_key'"
    assert "command line" in findings[1].message
    assert [finding.code for finding in found(POOL, sets=('gateway.api_key={env="K"}',))] == ["SMG059"]
