"""The public converter: every type of smgcfg to plain data and back, strictly."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from smgcfg import ConfigError, Deployment, Environment, Finding, GatewayArgs, Plan, TokenspeedArgs, converter, plan
from smgcfg.origin import Derived, FromArgv, FromCall, FromDefault, FromFile
from smgcfg.testing import strategies

MACHINE = Environment(uid=1, python="/usr/bin/python3", tmpdir="/tmp")


def there_and_back(value: Any, cls: Any) -> Any:
    """Return a value after a trip through JSON text."""
    return converter().structure(json.loads(json.dumps(converter().unstructure(value))), cls)


@settings(max_examples=100)
@given(made=strategies.tokenspeed_args(None, extra=True))
def test_engine_args_survive_json(made: TokenspeedArgs) -> None:
    """Engine settings are read back from JSON, a default that was taken away included."""
    assert there_and_back(made, TokenspeedArgs) == made


@settings(max_examples=100)
@given(made=strategies.gateway_args(None, extra=True))
def test_gateway_args_survive_json(made: GatewayArgs) -> None:
    """Gateway settings are read back from JSON."""
    assert there_and_back(made, GatewayArgs) == made


@settings(max_examples=50)
@given(deployment=strategies.deployments())
def test_deployments_and_plans_survive_json(deployment: Deployment) -> None:
    """A deployment and the plan for it are read back from JSON."""
    assert there_and_back(deployment, Deployment) == deployment
    made = plan(deployment, MACHINE).plan
    assert made is not None
    assert there_and_back(made, Plan) == made


@pytest.mark.parametrize(
    "where",
    [None, FromDefault(), FromFile("a.toml", 3), FromFile("a"), FromArgv(2, "--x"), FromCall(), Derived("r", ("k",))],
)
def test_findings_survive_json(where: Any) -> None:
    """A finding keeps its place, whatever kind of place it is."""
    finding = Finding("SMG002", "error", "k", "no such key", where, "hint")
    assert there_and_back(finding, Finding) == finding


@pytest.mark.parametrize(
    ("data", "cls", "code"),
    [
        ({"max_num_seqs": "4"}, TokenspeedArgs, "SMG003"),
        ({"max_num_seqz": 4}, TokenspeedArgs, "SMG002"),
        ([], TokenspeedArgs, "SMG003"),
        ({"code": "SMG002"}, Finding, "SMG007"),
        ({"code": 1, "severity": "error", "key": "", "message": ""}, Finding, "SMG003"),
        ({"code": "", "severity": "error", "key": "", "message": "", "more": 1}, Finding, "SMG002"),
        ({"name": "x"}, Deployment, "SMG007"),
        ({"name": "x", "pools": [], "more": 1}, Deployment, "SMG002"),
        ({"name": "x", "pools": [{"name": "a", "backend": "none"}]}, Deployment, "SMG004"),
        ({"name": "x", "pools": [], "unset": ["gateway.policy"]}, Deployment, "SMG003"),
        ({"name": "x", "pools": [], "unset": [["gateway", 5]]}, Deployment, "SMG003"),
        ({"name": "x", "pools": [], "unset": [["gateway", "nope"]]}, Deployment, "SMG002"),
    ],
)
def test_structuring_is_strict(data: Any, cls: Any, code: str) -> None:
    """What a type does not take is refused with a finding, never dropped or converted."""
    with pytest.raises(ConfigError) as raised:
        converter().structure(data, cls)
    assert code in [finding.code for finding in raised.value.findings]


def test_everything_wrong_with_a_deployment_is_told_at_once() -> None:
    """The problems of every part stand in one report, each with the way to it."""
    pool = {"name": "a", "backend": "tokenspeed", "replicas": "2", "engine": {"seed": True}}
    data = {"pools": [pool, 3], "gateway": {"args": {"port": "1"}}, "launch": {"grace": "x"}, "more": 1}
    with pytest.raises(ConfigError) as raised:
        converter().structure(data, Deployment)
    assert [(finding.code, finding.key) for finding in raised.value.findings] == [
        ("SMG002", "more"),
        ("SMG007", "name, pools"),
        ("SMG003", "pools[0].engine.seed"),
        ("SMG003", "pools[0].replicas"),
        ("SMG003", "pools[1]"),
        ("SMG003", "gateway.args.port"),
        ("SMG003", "launch.grace"),
    ]
