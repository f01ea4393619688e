"""`GatewayArgs` and the shipped snapshots of the gateways say the same."""

import pytest
from declarations import (
    RECORD_CHANGES,
    SPEC_CHANGES,
    changed_records,
    changed_specs,
    clumsy_helps,
    shared_keys,
    unset,
)
from declared import differences

from smgcfg.flags import specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.gateway.versions import VERSIONS
from smgcfg.snapshots import snapshot

SPECS = specs_of(GatewayArgs)
SNAPSHOTS = {
    "1.10.1": snapshot("tokenspeed-smg", "1.10.1").flags,
    "1.13.0": snapshot("smg", "1.13.0").flags,
}


def test_every_version_has_a_snapshot() -> None:
    """The versions of the declarations are those of the two gateways that ship a snapshot."""
    assert tuple(SNAPSHOTS) == VERSIONS


def test_class_and_snapshots_agree() -> None:
    """Every setting, kind, choice, spelling, bound, secret, variable and version is the same in class and snapshots."""
    assert differences(SPECS, SNAPSHOTS) == []


@pytest.mark.parametrize("change", RECORD_CHANGES)
def test_a_changed_snapshot_is_seen(change: str) -> None:
    """A flag that changes in any way in a snapshot is a difference."""
    assert [name for name, changed in changed_records(SNAPSHOTS, change) if not differences(SPECS, changed)] == []


@pytest.mark.parametrize("change", SPEC_CHANGES)
def test_a_changed_declaration_is_seen(change: str) -> None:
    """A declaration that changes in any way is a difference."""
    assert [key for key, changed in changed_specs(SPECS, change) if not differences(changed, SNAPSHOTS)] == []


def test_one_field_per_flag() -> None:
    """smg 1.13.0 has 212 flags, tokenspeed-smg 1.10.1 has 159 of them, and each is one setting."""
    assert [len([spec for spec in SPECS if spec.has(version)]) for version in VERSIONS] == [159, 212]
    assert len(SPECS) == 212


def test_nothing_has_a_default() -> None:
    """Without arguments nothing is set: what the workers need is derived by the plan."""
    assert unset(GatewayArgs()) == {}


def test_every_key_means_one_setting() -> None:
    """No alias and no disabling spelling is a key of another setting."""
    assert shared_keys(SPECS) == {}


def test_the_reserved_keys_are_free() -> None:
    """No flag of the gateway is named as a key that the `[gateway]` table reserves for the launcher."""
    reserved = {"python", "wrapper", "command", "env", "version", "startup_timeout", "extra", "unset"}
    assert not reserved & {key for spec in SPECS for key in spec.keys}


def test_every_setting_has_a_help_text() -> None:
    """Each help text is one short lower-case sentence without a full stop."""
    assert clumsy_helps(SPECS) == {}


def test_secrets_are_not_shown() -> None:
    """The settings that carry credentials are redacted in a repr."""
    secret = {spec.key for spec in SPECS if spec.secret}
    assert secret == {
        "api_key",
        "control_plane_api_keys",
        "oracle_connect_descriptor",
        "oracle_password",
        "postgres_db_url",
        "redis_url",
        "tenant_api_key",
    }
    assert "hunter2" not in repr(GatewayArgs(api_key="hunter2", tenant_api_key=("a:hunter2",)))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (
            ["--prefill", "http://a", "9000", "--prefill", "http://b"],
            {"prefill": (("http://a", "9000"), ("http://b",))},
        ),
        (["--decode", "http://a", "--decode", "http://b"], {"decode": ("http://a", "http://b")}),
        (["--selector", "a=b", "--selector", "c=d", "e=f"], {"selector": ("a=b", "c=d", "e=f")}),
        (["--cache-boundaries", "1,,2"], {"cache_boundaries": (1, 2)}),
        (["--mm-allowed-media-domains", " a ,,b"], {"mm_allowed_media_domains": ("a", "b")}),
        (["--mm-processing", "AUTO"], {"mm_processing": "auto"}),
        (["--model", "m", "--sticky-sessions"], {"model_path": "m", "routing_key_override": True}),
        (["--no-worker-auto-recovery"], {"remove_unhealthy_workers": False}),
    ],
)
def test_lists_are_read_as_the_gateway_reads_them(line: list[str], value: dict[str, object]) -> None:
    """Lists that extend, append, group or are cut at commas become tuples; aliases name the same setting."""
    assert unset(GatewayArgs.from_argv(line)) == value
