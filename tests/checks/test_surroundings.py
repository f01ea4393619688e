"""Variables of the environment that the programs read."""

import pytest
from checking import POOL, found, told

REDIS = POOL + '[gateway]\nhistory_backend = "redis"\n'


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"SMG_PORT": "tcp://10.0.0.1:8080"}, ["SMG_PORT"]),
        ({"TOKENSPEED_PORT_80_TCP": "tcp://10.0.0.2:80"}, ["TOKENSPEED_PORT_80_TCP"]),
        ({"SMG_PORT": "8080", "REDIS_PORT": "tcp://10.0.0.1:6379"}, []),
        ({"REDIS_POOL_MAX": "16", "ATP_POOL_MIN": " 1 "}, []),
        ({"REDIS_POOL_MAX": "tcp://10.0.0.1:1"}, ["gateway.env.REDIS_POOL_MAX"]),
        ({"POSTGRES_POOL_MAX": ""}, ["gateway.env.POSTGRES_POOL_MAX"]),
    ],
)
def test_variables_about_something_else_are_found(environ: dict[str, str], expected: list[str]) -> None:
    """Addresses of services with a program's name, and numbers that are none, are found; ordinary values are not."""
    assert [finding.key for finding in found(POOL, environ) if finding.code == "SMG062"] == expected


def test_a_number_of_ones_own_answers_a_bad_one() -> None:
    """What counts is the environment that the gateway will have: its own table wins over what is inherited."""
    text = POOL + '[gateway.env]\nREDIS_POOL_MAX = "{}"\n'
    assert found(text.format("4"), {"REDIS_POOL_MAX": "x"}) == []
    assert told(found(text.format("x"))) == ["error SMG062 gateway.env.REDIS_POOL_MAX d.toml:5"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REDIS, ["warning SMG063 gateway.redis_url None"]),
        (REDIS + 'redis_url = { env = "REDIS_URL" }\n', []),
        (REDIS + 'env = { REDIS_URL = { env = "REDIS_URL" } }\n', []),
        (POOL, []),
        (POOL + '[gateway]\nhistory_backend = "postgres"\n', []),
    ],
)
def test_what_only_the_environment_sets_is_found(text: str, expected: list[str]) -> None:
    """A variable that the storage in use is set by is found, unless the deployment says so itself."""
    environ = {"REDIS_URL": "redis://u:s3cret@h"}
    findings = found(text, environ)
    assert told(findings) == expected
    assert "s3cret" not in str(findings)
