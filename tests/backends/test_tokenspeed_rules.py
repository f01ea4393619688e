"""TokenSpeed's rules across settings, held against the real engine's own checks."""

import functools
import shlex
from typing import Any

import attrs
import pytest
from backends.tokenspeed_examples import EXAMPLES, IDLE
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import tokenspeed

from smgcfg.backends.tokenspeed import TokenspeedArgs
from smgcfg.backends.tokenspeed.rules import PROGRAM
from smgcfg.backends.tokenspeed.versions import VERSIONS
from smgcfg.backends.tokenspeed.view import TokenspeedView
from smgcfg.errors import errors_in
from smgcfg.flags import FlagSpec, spec_of, specs_of
from smgcfg.rules import Rule, UndecidedError
from smgcfg.snapshots import snapshot

#: What every line begins with: a model, a meeting place (which the launcher decides), and nothing that enforces.
BEGINNING = ("m", "--dist-init-addr", "127.0.0.1:4000", "--grammar-backend", "none")

#: Checks that the engine makes only when it starts: its argument module lets these pass.
AT_START = {"prefix_granularity"}


def args_of(line: str, version: str) -> TokenspeedArgs:
    """The args of a line, behind the usual beginning."""
    return TokenspeedArgs.from_argv([*BEGINNING, *shlex.split(line)], version=version)


def broken(args: TokenspeedArgs, version: str) -> list[Rule]:
    """The rules that args break."""

    def breaks(rule: Rule) -> bool:
        try:
            return bool(rule.broken(TokenspeedView(args, version)))
        except UndecidedError:
            return False

    return [rule for rule in PROGRAM.rules[version] if breaks(rule)]


@pytest.mark.parametrize(("version", "bad", "good"), EXAMPLES)
def test_what_the_engine_refuses_is_an_error(version: str, bad: str, good: str) -> None:
    """The engine refuses the first line and so do the findings, naming the flags; both take the second."""
    engine = tokenspeed.real(version)
    refused, taken = args_of(bad, version), args_of(good, version)
    found = errors_in(refused.findings(version))
    assert engine.resolve(refused.to_argv(version)) is not None
    assert found
    assert taken.findings(version) == []
    assert engine.resolve(taken.to_argv(version)) is None
    assert not [finding for finding in found if "--" not in finding.message]


@pytest.mark.parametrize(("version", "bad", "good"), IDLE)
def test_what_has_no_effect_is_a_warning(version: str, bad: str, good: str) -> None:
    """The engine takes the first line, of which a warning says what is wrong with it; the second has none."""
    idle = args_of(bad, version)
    (finding,) = idle.findings(version)
    assert finding.severity == "warning"
    assert tokenspeed.real(version).resolve(idle.to_argv(version)) is None
    assert args_of(good, version).findings(version) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_rule_has_an_example(version: str) -> None:
    """Each rule is broken by some example, and holds in the line beside it."""
    rules = {id(rule): rule for rule in PROGRAM.rules[version]}
    examples = [
        (args_of(bad, theirs), args_of(good, theirs))
        for theirs, bad, good in (*EXAMPLES, *IDLE)
        if theirs == version or version == "0.1.1"
    ]
    without_place = attrs.evolve(args_of("--data-parallel-size 2", version), dist_init_addr=None)
    no_place = attrs.evolve(args_of("", version), dist_init_addr="host")
    examples += [(without_place, args_of("", version)), (no_place, args_of("", version))]
    for bad, good in examples:
        for rule in broken(bad, version):
            if rule not in broken(good, version):
                rules.pop(id(rule), None)
    # What 0.1.0 and 0.1.1 share is shown with 0.1.1.
    shown_there = {id(rule) for rule in PROGRAM.rules["0.1.1"]} if version == "0.1.0" else set()
    assert [rule.says for number, rule in rules.items() if number not in shown_there] == []


@pytest.mark.parametrize("rule", {rule.says: rule for version in VERSIONS for rule in PROGRAM.rules[version]}.values())
def test_a_rule_names_its_flags(rule: Rule) -> None:
    """The words of a rule hold the canonical flag of every setting it is about; for caching, the one that turns off."""
    flags = {key: spec_of(TokenspeedArgs, key).names[0] for key in rule.keys}
    flags |= {key: spec_of(TokenspeedArgs, key).off[0] for key in rule.keys if key == "enable_prefix_caching"}
    assert [flag for flag in flags.values() if flag not in rule.says] == []


# --- any combination of settings ---

_SIZES = st.sampled_from([1, 1, 2, 2, 4, 3, 0])
_ON = st.just(True)


def _some(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


_CONFIGS = _some(
    {"method": "mtp"},
    {"method": "eagle3", "num_speculative_tokens": 4},
    {"method": "dspark", "num_speculative_tokens": 2, "model": "d"},
    {"method": "dflash", "num_speculative_tokens": 5},
    {"num_speculative_tokens": "x"},
)
#: Settings that rules are about, in groups that have to do with each other. (Processes per node are left out: without
#: a number of nodes they depend on the environment.)
GROUPS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "ranks": {
        **dict.fromkeys(("tensor_parallel_size", "data_parallel_size", "world_size", "pipeline_parallel_size"), _SIZES),
        **dict.fromkeys(("dense_tp_size", "moe_tp_size", "expert_parallel_size", "attn_tp_size"), _SIZES),
        "enable_expert_parallel": _ON,
        "nnodes": _some(1, 1, 2),
        "disaggregation_mode": _some("null", "prefill", "prefill", "decode", "encode"),
        "load_balance_method": _some("round_robin", "shortest_queue"),
        "pp_layer_partition": _some((1, 2), (3,)),
        "max_num_seqs": _some(1, 64, 2000),
        "chunked_prefill_size": _some(-1, 512, 20000),
        "max_prefill_tokens": _some(512, 30000),
    },
    "shards": {
        **dict.fromkeys(
            ("tensor_parallel_size", "data_parallel_size", "dense_tp_size", "expert_parallel_size"), _SIZES
        ),
        **dict.fromkeys(("lm_head_tp_size", "attn_head_tp_size"), _SIZES),
        **dict.fromkeys(("decode_context_parallel_size", "prefill_context_parallel_size"), _SIZES),
        **dict.fromkeys(("dp_sampling", "disable_kvstore", "disable_prefill_graph", "enable_mixed_batch"), _ON),
        "tp_batch_invariant": _some("none", "attn", "attn+dense"),
        "disaggregation_mode": _some("null", "prefill", "prefill", "decode"),
        "load_balance_method": _some("round_robin"),
        "attention_backend": _some("dsa", "mha"),
        "kv_cache_dtype": _some("auto", "fp8"),
    },
    "speculation": {
        "speculative_algorithm": _some("EAGLE3", "MTP", "DFLASH", "DSPARK", "PLUGIN"),
        "speculative_config": _CONFIGS,
        "speculative_num_steps": _some(0, 1, 2, 3, 4, 11),
        "speculative_num_draft_tokens": _some(2, 3, 4, 5, 8, 70),
        "speculative_eagle_topk": _some(1, 1, 2, 4, 17, 0),
        "speculative_draft_model_path": _some("m", "d"),
        "draft_model_path_use_base": _ON,
        "grammar_backend": _some("none", "xgrammar"),
        "enable_speculative_sampling": _ON,
        "sampling_backend": _some("greedy", "flashinfer", "triton"),
        "spec_reject_draft_prob_threshold": _some(2.0, 0.5, 1e9),
        "pipeline_parallel_size": _SIZES,
        "disaggregation_mode": _some("null", "prefill"),
    },
    "experts": {
        "tensor_parallel_size": _SIZES,
        **dict.fromkeys(("enable_expert_parallel", "enable_eplb"), _ON),
        **dict.fromkeys(("eplb_rebalance_num_iterations", "eplb_rebalance_layers_per_chunk"), _some(0, 1)),
        "expert_distribution_recorder_mode": _some("stat"),
        "ep_dispatch_algorithm": _some("static", "dynamic"),
        "ep_num_redundant_experts": _some(0, 2, -1),
        "init_expert_location": _some("trivial", "x.pt"),
        "numerics": _some("auto", "rl-bitwise"),
        "moe_combine_order": _some("rank", "slot"),
        "moe_backend": _some("auto", "gluon_petit", "aok", "triton"),
        "draft_moe_backend": _some("auto", "gluon_petit", "aok"),
        "all2all_backend": _some("none", "gluon_petit", "deepep"),
        "speculative_algorithm": _some("MTP"),
        "dtype": _some("bfloat16", "auto"),
    },
    "switches": {
        "enable_prefix_caching": st.booleans(),
        "disable_kvstore": _ON,
        "kvstore_storage_backend": _some("mooncake"),
        "disaggregation_mode": _some("null", "prefill", "decode", "encode"),
        "mm_encoder_tp_mode": _some("weights", "data"),
        "device": _some("cuda", "npu"),
        **dict.fromkeys(("disable_pdl", "disable_prefill_graph"), _ON),
        "model_update_config": st.just({"a": 1}),
        **dict.fromkeys(("model_update_sdk_module", "model_update_engine_type"), _some("m")),
        "model_update_draft_weights": _some("retain"),
        "eagle3_layers_to_capture": _some("1,2", "x"),
        **dict.fromkeys(("input_logprob_chunk_tokens", "deepseek_v4_prefill_chunk_size"), _some(0, 1)),
        **dict.fromkeys(("base_gpu_id", "gpu_id_step"), _some(-1, 0, 1)),
    },
}


@functools.cache
def combinations(version: str) -> st.SearchStrategy[TokenspeedArgs]:
    """Args with a few settings that have to do with each other, all of them known to a version."""

    def there(key: str, value: Any) -> bool:
        taken = spec_of(TokenspeedArgs, key).taken(version)
        return taken is None or value in taken

    def made(chosen: dict[str, Any]) -> TokenspeedArgs:
        kept = {key: value for key, value in chosen.items() if there(key, value)}
        return TokenspeedArgs(**{"model": "m", "dist_init_addr": "h:1", "grammar_backend": "none"} | kept)

    groups = []
    for group in GROUPS.values():
        known = {key: values for key, values in group.items() if spec_of(TokenspeedArgs, key).has(version)}
        some_keys = st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=6, unique=True)
        groups.append(
            some_keys.flatmap(lambda keys, known=known: st.fixed_dictionaries({key: known[key] for key in keys}))
        )
    return st.one_of(groups).map(made)


@pytest.mark.parametrize(("version", "examples"), [("0.1.1", 2000), ("0.1.0", 500)])
def test_errors_are_what_the_engine_refuses(version: str, examples: int) -> None:
    """For any combination the findings hold an error exactly when the engine's own checks refuse it."""
    engine = tokenspeed.real(version)
    verdicts = []

    @settings(max_examples=examples)
    @given(combinations(version))
    def law(args: TokenspeedArgs) -> None:
        refusal = engine.resolve(args.to_argv(version))
        verdicts.append(refusal is None)
        assert bool(errors_in(args.findings(version))) == (refusal is not None), refusal

    law()
    assert min(verdicts.count(True), verdicts.count(False)) > examples // 10


# --- late bounds ---

#: Where the engine checks a bound only with another setting: a line that makes it check.
CHECKED_WITH = {
    "enable_eplb": "--tp 2 --ep-size 2 --enable-eplb --expert-distribution-recorder-mode stat"
    " --ep-dispatch-algorithm static --eplb-rebalance-num-iterations 9 --eplb-rebalance-layers-per-chunk 9",
    "enable_speculative_sampling": "--enable-speculative-sampling --speculative-algorithm MTP",
    "speculative_eagle_topk": "--speculative-algorithm EAGLE3 --speculative-num-draft-tokens 2",
}


@pytest.mark.parametrize(
    "spec", [spec for spec in specs_of(TokenspeedArgs) if spec.limits != (None, None)], ids=lambda spec: spec.key
)
def test_late_bounds_are_those_of_the_engine(spec: FlagSpec) -> None:
    """Just outside a late bound is an error to the engine and to the findings."""
    line = " ".join(CHECKED_WITH.get(key, "") for key in (spec.key, *dict(spec.limits_when)))
    low, high = spec.limits
    for outside in ([] if low is None else [low - 1]) + ([] if high is None else [high + 1]):
        args = attrs.evolve(args_of(line, "0.1.1"), **{spec.key: spec.type(outside)})
        assert "SMG005" in {finding.code for finding in args.findings("0.1.1")}
        assert (tokenspeed.real().resolve(args.to_argv("0.1.1")) is None) == (spec.key in AT_START)


def test_a_bound_with_a_condition_holds_only_then() -> None:
    """The threshold of speculative sampling is checked only where that is on."""
    assert args_of("--spec-reject-draft-prob-threshold 0.5", "0.1.1").findings() == []
    (finding,) = args_of(
        "--spec-reject-draft-prob-threshold 0.5 --enable-speculative-sampling --speculative-algorithm MTP", "0.1.1"
    ).findings()
    assert finding.message == "expected 1.0 to 1048576.0, got 0.5 (with --enable-speculative-sampling)"


def test_bounds_that_came_with_a_version_are_not_checked_before() -> None:
    """What only 0.1.1 refuses is no error for 0.1.0."""
    args = args_of("--block-size 0 --ep-num-redundant-experts=-1 --low-latency-max-num-tokens-per-gpu 0", "0.1.0")
    assert args.findings("0.1.0") == []
    assert len(args.findings("0.1.1")) >= 3


# --- versions ---


@pytest.mark.parametrize(
    ("version", "severity"), [(None, "warning"), ("0.1.0", "error"), ("0.1.1", "error"), ("9.9", "warning")]
)
def test_llguidance_is_an_error_of_the_version_check(version: str | None, severity: str) -> None:
    """No release takes llguidance: an error where the version is known, a warning where it is not."""
    (finding,) = TokenspeedArgs(grammar_backend="llguidance").findings(version)
    assert (finding.code, finding.severity, finding.key) == ("SMG013", severity, "grammar_backend")
    assert "takes xgrammar, none; got 'llguidance'" in finding.message
    assert finding.hint == "leave it out for 'xgrammar'"


@pytest.mark.parametrize(
    ("chosen", "version", "code", "hint"),
    [
        ({"enable_cache_report": True}, "0.1.1", "SMG012", "it has no successor in 0.1.1; leave it out"),
        ({"enable_cache_report": True}, None, "SMG012", "it has no successor in 0.1.1; leave it out"),
        (
            {"enable_nccl_nvls": True},
            "0.1.1",
            "SMG012",
            "it is the default now; leave it out, and use --disable-nccl-nvls for the opposite",
        ),
        ({"kda_backend": "fla"}, "0.1.0", "SMG012", "it came with 0.1.1"),
        ({"enable_replay_ssm": False}, "0.1.0", "SMG012", "it came with 0.1.1"),
        ({"attention_backend": "gluon"}, "0.1.0", "SMG013", ""),
        ({"kv_cache_dtype": "bfloat16"}, "0.1.0", "SMG013", ""),
        ({"disaggregation_transfer_backend": "mooncake_async"}, "0.1.1", "SMG013", ""),
    ],
)
def test_what_a_version_lacks_is_found(chosen: dict[str, Any], version: str | None, code: str, hint: str) -> None:
    """A flag or choice that a version lacks is named with the version and what to do; without one it is a warning."""
    (finding,) = TokenspeedArgs(**chosen).findings(version)
    assert (finding.code, finding.key, finding.hint) == (code, *chosen, hint)
    assert finding.severity == ("error" if version else "warning")
    assert f"TokenSpeed {version or '0.1.1'} " in finding.message


def test_what_a_version_has_is_not_found() -> None:
    """A setting that its version has, and a switch that is off, are no findings."""
    assert TokenspeedArgs(enable_cache_report=True, attention_backend="mha").findings("0.1.0") == []
    assert TokenspeedArgs(enable_cache_report=False, attention_backend="of a plugin").findings("0.1.1") == []


def test_findings_stand_in_the_order_of_the_settings() -> None:
    """What was found comes in the order in which the settings are written."""
    args = TokenspeedArgs(enable_eplb=True, tensor_parallel_size=2, attn_tp_size=2, enable_cache_report=True)
    order = [spec.key for spec in specs_of(TokenspeedArgs)]
    keys = [finding.key for finding in args.findings("0.1.1")]
    assert keys == sorted(keys, key=order.index)
    assert len(set(keys)) >= 3


def test_the_defaults_of_the_view_are_those_of_the_engine() -> None:
    """What the rules take for "not set" is the default of the engine's own parser."""
    flags = {flag["dest"]: flag for flag in snapshot("tokenspeed", "0.1.1").flags}
    for key, value in TokenspeedView.defaults.items():
        assert flags[key].get("default", flags[key].get("resolved_default")) == value, key
