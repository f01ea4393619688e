"""Args against the flag table of a release that does not ship."""

from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.codec import words
from smgcfg.config import Pool
from smgcfg.errors import ConfigError, Finding
from smgcfg.flags import FlagSpec, specs_of
from smgcfg.release import release_findings
from smgcfg.snapshots import Snapshot, read_snapshot, snapshot, snapshot_text
from smgcfg.testing.strategies import tokenspeed_args

NEWEST = snapshot("tokenspeed", "0.1.1")


def changed(flag: str, **facts: Any) -> Snapshot:
    """TokenSpeed 0.1.2: 0.1.1 with another record of one flag; a fact that is None is gone."""
    (before,) = [record for record in NEWEST.flags if record["name"] == flag]
    now = {key: value for key, value in (before | facts).items() if value is not None}
    flags = tuple(now if record is before else record for record in NEWEST.flags)
    return attrs.evolve(NEWEST, version="0.1.2", flags=flags)


def said(args: TokenspeedArgs, release: Snapshot) -> list[tuple[str, str, str]]:
    """Code, key and message of what a release refuses."""
    return [(f.code, f.key, f.message) for f in args.findings(release)]


@given(args=tokenspeed_args("0.1.1"))
def test_a_shipped_table_refuses_nothing_of_its_own_version(args: TokenspeedArgs) -> None:
    """Whatever 0.1.1 takes by the declarations it takes by its table."""
    assert list(release_findings("TokenSpeed", args, NEWEST)) == []


@given(data=st.data())
def test_a_flag_that_is_gone_is_found(data: st.DataObject) -> None:
    """Any setting that writes a word is refused once its flags are gone, at its key, and no other is."""
    args = data.draw(tokenspeed_args("0.1.1"))
    written = [spec for spec in specs_of(TokenspeedArgs) if words_of(args, spec)]
    assume(written)
    spec = data.draw(st.sampled_from(written))
    flags = tuple(flag for flag in NEWEST.flags if flag["name"] not in (*spec.names, *spec.off))
    found = list(release_findings("TokenSpeed", args, attrs.evolve(NEWEST, version="0.1.2", flags=flags)))
    assert {(finding.code, finding.key) for finding in found} == {("SMG012", spec.key)}


def words_of(args: TokenspeedArgs, spec: FlagSpec) -> list[str]:
    """The words of one setting."""
    value = getattr(args, spec.key)
    return [] if value is None else words(spec, value)


@pytest.mark.parametrize(
    ("flag", "facts", "settings", "message"),
    [
        ("--seed", {"kind": "switch_true"}, {"seed": 1}, "takes --seed with no value"),
        ("--seed", {"kind": "list", "nargs": 2}, {"seed": 1}, "takes --seed with 2 values"),
        ("--stream-output", {"kind": "value"}, {"stream_output": True}, "takes --stream-output with one value"),
        ("--cudagraph-capture-sizes", {"kind": "value"}, {"cudagraph_capture_sizes": (1, 2)}, "with one value"),
        ("--metrics-reporters", {"nargs": "+"}, {"metrics_reporters": ("prometheus",)}, None),
        ("--seed", {"kind": "list", "nargs": "*"}, {"seed": 1}, None),
        ("--seed", {"kind": "optional_value"}, {"seed": 1}, None),
        ("--seed", {"kind": "switch_true", "unknown": {"action": "its own"}}, {"seed": 1}, None),
    ],
)
def test_a_flag_that_stands_otherwise_is_found(
    flag: str, facts: dict[str, Any], settings: dict[str, Any], message: str | None
) -> None:
    """A flag that now takes more or fewer words is refused; one that takes these, or may, is not."""
    found = said(TokenspeedArgs(**settings), changed(flag, **facts))
    if message is None:
        assert found == []
    else:
        ((code, key, text),) = found
        assert (code, key) == ("SMG012", next(iter(settings)))
        assert text.startswith("TokenSpeed 0.1.2 ")
        assert message in text


def test_a_new_choice_is_taken_and_an_old_one_refused() -> None:
    """Choices are those of the table, whatever the shipped releases take."""
    release = changed("--grammar-backend", choices=["llguidance"])
    assert said(TokenspeedArgs(grammar_backend="llguidance"), release) == []
    assert said(TokenspeedArgs(), release) == [
        ("SMG013", "grammar_backend", "TokenSpeed 0.1.2 takes llguidance; got 'xgrammar'")
    ]
    assert [f.severity for f in TokenspeedArgs(grammar_backend="llguidance").findings()] == ["warning"]


def test_unknown_flags_of_the_release_pass_in_extra() -> None:
    """A flag that only the table has is no finding; one that it lacks is a warning."""
    flags = (*NEWEST.flags, {"name": "--fresh", "kind": "value", "type": "str", "choices": ["fast"]})
    release = attrs.evolve(NEWEST, version="0.1.2", flags=flags)
    assert said(TokenspeedArgs(extra=("--fresh", "fast")), release) == []
    assert said(TokenspeedArgs(extra=("--fresh", "slow")), release) == [
        ("SMG013", "extra", "TokenSpeed 0.1.2 takes fast; got 'slow'")
    ]
    (finding,) = TokenspeedArgs(extra=("--else", "1")).findings(release)
    assert (finding.code, finding.severity, finding.key) == ("SMG012", "warning", "extra")


def test_extra_takes_a_choice_that_the_setting_does_not_have() -> None:
    """A choice of tomorrow is passed in `extra`, and only that: what the key can say is said by the key."""
    args = TokenspeedArgs(extra=("--quantization", "fp3", "--kv-cache-dtype=int4"))
    assert args.to_argv()[-3:] == ["--quantization", "fp3", "--kv-cache-dtype=int4"]
    known = [("--quantization", "fp8"), ("--quantization=fp8",), ("--quantization",), ("--seed", "1"), ("--port", "1")]
    for extra in known:
        with pytest.raises(ConfigError, match="is known"):
            TokenspeedArgs(extra=extra)
    assert [f.code for f in args.findings("0.1.1")] == ["SMG013", "SMG013"]
    release = changed("--quantization", choices=["fp3"])
    assert [(f.code, f.key) for f in args.findings(release)] == [("SMG013", "extra")], "--kv-cache-dtype has no int4"


def test_a_setting_is_not_given_twice() -> None:
    """A choice in `extra` beside the set key is an error: the last of the two would win unseen."""
    args = TokenspeedArgs(grammar_backend="xgrammar", extra=("--grammar-backend", "own"))
    found = [f for f in args.findings() if f.code == "SMG009"]
    assert [(f.key, f.message, f.hint) for f in found] == [
        ("extra", "--grammar-backend stands in extra, and grammar_backend is set", 'unset = ["grammar_backend"]')
    ]
    assert not [f for f in TokenspeedArgs(grammar_backend=None, extra=args.extra).findings() if f.code == "SMG009"]


def test_no_secret_is_shown() -> None:
    """What a release says of a secret setting never holds its value."""
    release = changed("--rl-control-api-key", choices=["a"])
    found: list[Finding] = list(release_findings("TokenSpeed", TokenspeedArgs(rl_control_api_key="hunter2"), release))
    assert len(found) == 1
    assert "hunter2" not in str(found)


def test_the_rules_are_those_of_the_nearest_release() -> None:
    """A table of an older release is checked with the older rules."""
    args = TokenspeedArgs(enable_prefix_caching=False)
    assert [f.code for f in args.findings(NEWEST)] == [f.code for f in args.findings("0.1.1")]
    assert [f.code for f in args.findings(snapshot("tokenspeed", "0.1.0"))] != [f.code for f in args.findings(NEWEST)]


def test_a_table_is_read_as_it_was_written(tmp_path: Any) -> None:
    """Writing and reading a snapshot keeps its program, version and records."""
    path = tmp_path / "t.snapshot.json"
    path.write_text(snapshot_text(NEWEST), encoding="utf-8")
    read = read_snapshot(path)
    assert (read.program, read.version, read.flags) == (NEWEST.program, NEWEST.version, NEWEST.flags)


def test_a_pool_with_a_table_is_a_value() -> None:
    """Pools with equal tables are equal, and can be hashed; a table shows itself short."""
    made = [
        Pool(name="a", backend="tokenspeed", engine=TokenspeedArgs(), release=snapshot("tokenspeed", "0.1.1"))
        for _ in "ab"
    ]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert len(repr(made[0].release)) < 100
