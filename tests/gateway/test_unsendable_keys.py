"""API keys that no header of HTTP carries."""

from pathlib import Path

import pytest

from smgcfg import GatewayArgs, load, plan
from smgcfg.gateway.command import unsendable_keys
from smgcfg.reading import read_references
from smgcfg.reference import Reference


@pytest.mark.parametrize("key", ["k", "a b", "a\tb", "a:b", "sk-_.~+/="])
def test_keys_that_can_be_sent(key: str) -> None:
    """A key of visible ASCII is fine, with blanks inside it too, in whichever setting it stands."""
    entries = {"tenant_api_key": (f"t\u00e9:{key}",), "control_plane_api_keys": (f"i\u00e9:n:admin:{key}",)}
    assert unsendable_keys(GatewayArgs(api_key=key, **entries)) == []


@pytest.mark.parametrize("key", [" k", "k ", "\t", "a\nb", "k\r", "sch\u00fcssel", "\x01"])
def test_keys_that_can_not(key: str) -> None:
    """What a client could not put into a header is found in each setting; what is not read yet is nothing to judge."""
    entries = {"tenant_api_key": ("t:fine", f"t:{key}"), "control_plane_api_keys": (f"i:n:admin:{key}",)}
    assert unsendable_keys(GatewayArgs(api_key=key, **entries)) == [
        *("api_key", "tenant_api_key", "control_plane_api_keys"),
    ]
    assert unsendable_keys(GatewayArgs(api_key=Reference("file", f"/{key}"))) == []


def test_a_file_with_more_than_the_key(tmp_path: Path) -> None:
    """A key of two lines that is read from a file stops a launch before it starts, and is not shown."""
    (tmp_path / "key").write_text("sword\nfish\n")
    file = tmp_path / "d.toml"
    file.write_text(
        '[pools.a]\nbackend = "tokenspeed"\nmodel = "m"\n'
        f'[gateway]\nport = 8080\napi_key = {{ file = "{tmp_path / "key"}" }}\n'
    )
    loaded = load(file)
    assert plan(loaded).plan is not None
    planned = plan(read_references(loaded))
    assert planned.plan is None
    (finding,) = planned.findings
    assert (finding.code, finding.key) == ("SMG003", "gateway.api_key")
    assert "sword" not in str(finding)
