"""References: what they are, that they stay what they are, and that nothing shows what they stand for."""

import copy
import pickle
from typing import Any

import pytest
from planning import deployment, pool

from smgcfg import ConfigError, GatewayArgs, Reference, TokenspeedArgs, converter
from smgcfg.config import Deployment
from smgcfg.flags import specs_of
from smgcfg.loading import load_sources
from smgcfg.reference import reference_in, text_of
from smgcfg.toml_write import deployment_text

KEY = Reference("env", "KEY")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"env": "KEY"}, KEY),
        ({"file": "/run/secrets/key"}, Reference("file", "/run/secrets/key")),
        (KEY, KEY),
        ({"env": ""}, None),
        ({"env": "1X"}, None),
        ({"env": "A-B"}, None),
        ({"env": 1}, None),
        ({"file": ""}, None),
        ({"file": "a\0b"}, None),
        ({"env": "A", "file": "b"}, None),
        ({"ENV": "A"}, None),
        ({}, None),
        ("KEY", None),
    ],
)
def test_a_reference_is_a_table_of_one_key(value: object, expected: Reference | None) -> None:
    """`{ env = NAME }` and `{ file = PATH }` are references; everything else is what it was."""
    assert reference_in(value) == expected


def test_a_reference_never_shows_what_it_stands_for() -> None:
    """Neither a reference that is read nor anything that holds one shows its text; the words do have it."""
    read = KEY.evolve(text="s3cret")
    args = GatewayArgs(api_key=read, tenant_api_key=("a:s3cret", read))
    for holder in (read, args, deployment(pool(env=(("T", read),)), env=(("U", read),))):
        assert "s3cret" not in repr(holder)
        assert "s3cret" not in str(holder)
        assert "KEY" in repr(holder)
    assert args.to_argv() == ["--api-key", "s3cret", "--tenant-api-key", "a:s3cret", "--tenant-api-key", "s3cret"]
    assert read.source == KEY != read
    assert [str(KEY), str(Reference("file", "/a b"))] == ["$KEY", "$(cat '/a b')"]


def test_references_are_values() -> None:
    """They compare, hash, copy and pickle, alone and inside of settings; reading one makes another value."""
    args = GatewayArgs(api_key=KEY)
    assert args == GatewayArgs(api_key={"env": "KEY"})  # type: ignore[arg-type]  # as TOML gives it
    assert hash(args) == hash(GatewayArgs(api_key=Reference("env", "KEY")))
    assert args != GatewayArgs(api_key=KEY.evolve(text="x")) != GatewayArgs(api_key="$KEY")
    assert pickle.loads(pickle.dumps(args)) == args == copy.deepcopy(args)
    assert text_of((KEY, KEY.evolve(text="x"), "y")) == (KEY, "x", "y")


def test_a_command_line_wants_what_a_reference_stands_for() -> None:
    """No words are made of a reference that nobody has read."""
    with pytest.raises(ConfigError) as refused:
        GatewayArgs(api_key=KEY).to_argv()
    assert [(f.code, f.key) for f in refused.value.findings] == [("SMG018", "api_key")]
    assert GatewayArgs(api_key=KEY.evolve(text="-x")).to_argv() == ["--api-key=-x"]


@pytest.mark.parametrize("cls", [TokenspeedArgs, GatewayArgs])
def test_every_secret_may_stand_elsewhere(cls: type[Any]) -> None:
    """What is secret may be a reference in the typed object, and of what is not only the gateway's user name."""
    may = {spec.key for spec in specs_of(cls) if spec.refers}
    secret = {spec.key for spec in specs_of(cls) if spec.secret}
    assert may == secret | ({"oracle_username"} if cls is GatewayArgs else set())
    assert secret


def test_other_settings_of_an_object_take_no_reference() -> None:
    """An object whose value would be missing is not made; the report says where a reference may stand."""
    with pytest.raises(ConfigError) as refused:
        TokenspeedArgs(max_num_seqs=KEY)  # type: ignore[arg-type]
    (finding,) = refused.value.findings
    assert (finding.code, finding.message) == ("SMG003", "expected an integer, got $KEY")
    assert "deployment file" in finding.hint
    with pytest.raises(ConfigError) as refused:
        GatewayArgs(api_key={"environ": "KEY"})  # type: ignore[arg-type]
    assert "{ env =" in refused.value.findings[0].hint


def example() -> Deployment:
    """A deployment with references wherever they stay."""
    return deployment(
        pool(engine={"rl_control_api_key": Reference("file", "/run/a")}, env=(("HF_TOKEN", Reference("env", "HF")),)),
        gateway={"api_key": KEY, "control_plane_api_keys": ("i:n:admin:k", Reference("env", "ADMIN"))},
        env=(("X", Reference("file", "./x")),),
    )


def test_files_and_data_keep_references() -> None:
    """A deployment with references is written and read back as TOML, in tables of one line, and as plain data."""
    made = example()
    text = deployment_text(made)
    assert 'api_key = {env = "KEY"}' in text
    assert load_sources([("d.toml", text.encode())]).deployment == made
    assert GatewayArgs.from_toml(made.gateway.args.to_toml()) == made.gateway.args
    data = converter().unstructure(made)
    assert data["gateway"]["args"]["api_key"] == {"env": "KEY"}
    assert converter().structure(data, Deployment) == made
