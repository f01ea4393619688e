"""`TokenspeedArgs` and the shipped snapshots of TokenSpeed say the same."""

import attrs
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

from smgcfg.backends.tokenspeed import TokenspeedArgs
from smgcfg.backends.tokenspeed.versions import VERSIONS
from smgcfg.errors import ConfigError
from smgcfg.flags import find_key, spec_of, specs_of
from smgcfg.snapshots import snapshot

SPECS = specs_of(TokenspeedArgs)
SNAPSHOTS = {version: snapshot("tokenspeed", version).flags for version in VERSIONS}
#: An operator may choose any grammar backend; the version check says which ones an engine takes.
WIDER = {"grammar_backend": ("llguidance",)}


def test_class_and_snapshots_agree() -> None:
    """Every setting, kind, choice, spelling, bound, secret and version is the same in the class and the snapshots."""
    assert differences(SPECS, SNAPSHOTS, WIDER) == []


@pytest.mark.parametrize("change", RECORD_CHANGES)
def test_a_changed_snapshot_is_seen(change: str) -> None:
    """A flag that changes in any way in a snapshot is a difference."""
    assert [
        name for name, changed in changed_records(SNAPSHOTS, change) if not differences(SPECS, changed, WIDER)
    ] == []


@pytest.mark.parametrize("change", SPEC_CHANGES)
def test_a_changed_declaration_is_seen(change: str) -> None:
    """A declaration that changes in any way is a difference."""
    assert [key for key, changed in changed_specs(SPECS, change) if not differences(changed, SNAPSHOTS, WIDER)] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_flag_that_comes_or_goes_is_seen(version: str) -> None:
    """A flag that only a snapshot has, or that a snapshot has lost, is a difference."""
    records = SNAPSHOTS[version]
    more = [*records, {"name": "--x", "dest": "x", "kind": "value", "type": "str"}]
    assert differences(SPECS, {**SNAPSHOTS, version: more}, WIDER)
    for at in range(1, len(records), 7):
        assert differences(SPECS, {**SNAPSHOTS, version: [*records[:at], *records[at + 1 :]]}, WIDER), records[at][
            "name"
        ]


def test_only_the_grammar_backend_is_wider_than_the_engine() -> None:
    """Without the one exception the comparison reports the grammar backend, and nothing else."""
    (line,) = differences(SPECS, SNAPSHOTS)
    assert line.startswith("grammar_backend: ")


def test_one_field_per_setting() -> None:
    """The class has the 182 settings of 0.1.1 (its 183 destinations but for the positional model) and 27 of 0.1.0."""
    assert [len([spec for spec in SPECS if spec.has(version)]) for version in VERSIONS] == [
        len({flag["dest"] for flag in SNAPSHOTS[version]} - {"model_path"}) for version in VERSIONS
    ]
    assert len([spec for spec in SPECS if spec.has("0.1.1")]) == 182
    assert len([spec for spec in SPECS if not spec.has("0.1.1")]) == 27


def test_two_settings_have_a_default() -> None:
    """Without arguments the two settings that the wire needs are set, and nothing else."""
    assert unset(TokenspeedArgs()) == {"grammar_backend": "xgrammar", "enable_output_logprobs": True}


def test_the_class_is_frozen_slotted_and_keyword_only() -> None:
    """A field can not be set again, there is no room for others, and no argument is positional."""
    args = TokenspeedArgs(seed=1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        args.seed = 2  # type: ignore[misc]
    assert not hasattr(args, "__dict__")
    assert all(field.kw_only for field in attrs.fields(TokenspeedArgs) if field.init)


def test_every_key_means_one_setting() -> None:
    """No alias and no disabling spelling is a key of another setting, and none is a key of the table itself."""
    assert shared_keys(SPECS) == {}
    assert not {"extra", "unset"} & {key for spec in SPECS for key in spec.keys}


@pytest.mark.parametrize(
    ("key", "setting", "as_it_is"),
    [
        ("tp", "tensor_parallel_size", True),
        ("ep_size", "expert_parallel_size", True),
        ("block_size", "prefix_granularity", True),
        ("model_path", "model", True),
        ("disable_prefix_caching", "enable_prefix_caching", False),
        ("no_enable_prefix_caching", "enable_prefix_caching", False),
        ("disable_replay_ssm", "enable_replay_ssm", False),
        ("no_trust_remote_code", "trust_remote_code", False),
        ("prefill_graph_capture_sizes", "prefill_graph_capture_token_sizes", True),
        ("attention_config_use_fp4_indexer_cache", "attention_use_fp4_indexer_cache", True),
    ],
)
def test_aliases_are_keys(key: str, setting: str, as_it_is: bool) -> None:
    """Every spelling of a flag is a key; a disabling one says the opposite."""
    found = find_key(TokenspeedArgs, key)
    assert found is not None
    assert (found[0].key, found[1]) == (setting, as_it_is)


def test_every_setting_has_a_help_text() -> None:
    """Each help text is one short lower-case sentence without a full stop."""
    assert clumsy_helps(SPECS) == {}


@pytest.mark.parametrize("key", ["enable_allreduce_fusion", "draft_model_path_use_base", "disable_prefill_graph"])
def test_what_the_engine_may_turn_on_can_not_be_turned_off(key: str) -> None:
    """A switch that TokenSpeed sets by itself refuses False: no flag says it."""
    with pytest.raises(ConfigError, match="no flag to turn it off"):
        TokenspeedArgs(**{key: False})


def test_old_and_new_spellings_are_written_for_their_version() -> None:
    """A setting whose flag was renamed is written as each version spells it."""
    args = TokenspeedArgs(prefix_granularity=64, enable_prefix_caching=False, enable_output_logprobs=None)
    assert args.to_argv("0.1.0")[2:] == ["--block-size", "64", "--no-enable-prefix-caching"]
    assert args.to_argv("0.1.1")[2:] == ["--prefix-granularity", "64", "--disable-prefix-caching"]


def test_the_two_meanings_of_prefetching_are_two_settings() -> None:
    """What 0.1.0 turns on and 0.1.1 turns off by a flag are two settings, each with its version."""
    assert spec_of(TokenspeedArgs, "weight_loader_prefetch_checkpoints").versions == ("0.1.0",)
    assert spec_of(TokenspeedArgs, "disable_weight_loader_prefetch_checkpoints").versions == ("0.1.1",)
