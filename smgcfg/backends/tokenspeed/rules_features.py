"""TokenSpeed's rules about features: speculation, experts, numerics, caches."""

from typing import Final

from smgcfg.backends.tokenspeed.view import CHAIN_ALGORITHMS, DEFAULT_STEPS
from smgcfg.rules import ANYTHING, Rule, needs

_FLASHINFER: Final = ("flashinfer", "flashinfer_full")
_STATIC: Final = ("static", "static_with_zero_expert")
_REBALANCE: Final = ("eplb_rebalance_num_iterations", "eplb_rebalance_layers_per_chunk")
_PLACEMENT: Final = (
    "ep_num_redundant_experts",
    "init_expert_location",
    "expert_distribution_recorder_mode",
)
_UPDATE: Final = ("model_update_sdk_module", "model_update_engine_type", "model_update_draft_weights")


def _are_integers(text: str) -> bool:
    try:
        list(map(int, text.split(",")))
    except ValueError:
        return False
    return True


#: What TokenSpeed 0.1.0 and 0.1.1 check alike.
SHARED: Final = (
    Rule(
        ("enable_prefix_caching", "disable_kvstore"),
        lambda s: s.kvstore and not s.enable_prefix_caching and s.disaggregation_mode != "decode",
        "prefix caching off (enable_prefix_caching = false, --disable-prefix-caching) needs --disable-kvstore",
    ),
    Rule(
        ("speculative_config",),
        lambda s: s.speculative_config is not None and not s.has_whole_tokens,
        "--speculative-config: num_speculative_tokens must be a whole number",
    ),
    Rule(
        ("eagle3_layers_to_capture",),
        lambda s: s.eagle3_layers_to_capture is not None and not _are_integers(s.eagle3_layers_to_capture),
        "--eagle3-layers-to-capture must be integers with commas, got {s.eagle3_layers_to_capture!r}",
    ),
    Rule(
        ("disable_any_whitespace", "grammar_backend"),
        lambda s: s.disable_any_whitespace and s.grammar_backend != "xgrammar",
        "--disable-any-whitespace has no effect without --grammar-backend xgrammar",
        warns=True,
    ),
    Rule(
        ("ext_yaml", "load_format"),
        lambda s: s.ext_yaml is not None and s.load_format != "extensible",
        "--ext-yaml has no effect without --load-format extensible",
        warns=True,
    ),
    Rule(
        # The cache gets what is free, less (1 - share) of the card: no release looks whether that can be.
        ("gpu_memory_utilization",),
        lambda s: s.gpu_memory_utilization is not None and not 0 < s.gpu_memory_utilization <= 1,
        "--gpu-memory-utilization must be a share, more than 0 and at most 1; the engine takes"
        " {s.gpu_memory_utilization} as it is, and finds no room for its cache, or more than there is",
        warns=True,
    ),
    Rule(
        ("speculative_num_steps", "speculative_num_draft_tokens", "speculative_algorithm"),
        lambda s: (
            s.speculation.algorithm in s.block_algorithms
            and s.speculation.steps not in (DEFAULT_STEPS, max(s.speculation.draft_tokens - 1, 0))
        ),
        "--speculative-num-steps {s.speculation.steps} must be one less than --speculative-num-draft-tokens"
        " {s.speculation.draft_tokens} with --speculative-algorithm {s.speculation.algorithm}",
    ),
)

ONLY_0_1_0: Final = needs(
    "mm_encoder_tp_mode",
    {"disaggregation_mode": ("null",), "nnodes": (None, 1)},
    "data",
    lambda s: s.mm_encoder_tp_mode == "data",
)

#: Speculative decoding, since TokenSpeed 0.1.1.
SPECULATION: Final = (
    Rule(
        ("speculative_num_draft_tokens", "speculative_num_steps", "speculative_algorithm"),
        lambda s: (
            s.speculation.algorithm in CHAIN_ALGORITHMS
            and s.speculative_eagle_topk == 1
            and s.speculation.draft_tokens != s.speculation.steps + 1
        ),
        "--speculative-num-draft-tokens {s.speculation.draft_tokens} must be one more than --speculative-num-steps"
        " {s.speculation.steps} with --speculative-algorithm {s.speculation.algorithm}",
    ),
    Rule(
        ("speculative_eagle_topk", "speculative_algorithm"),
        lambda s: s.speculative_eagle_topk != 1 and s.speculation.algorithm not in CHAIN_ALGORITHMS,
        "--speculative-eagle-topk above 1 needs --speculative-algorithm EAGLE3 or MTP",
    ),
    Rule(
        ("speculative_eagle_topk", "speculative_num_draft_tokens"),
        lambda s: s.speculative_eagle_topk != 1 and s.speculation.given_draft_tokens is None,
        "--speculative-eagle-topk above 1 needs --speculative-num-draft-tokens",
    ),
    Rule(
        ("speculative_num_steps", "speculative_eagle_topk"),
        lambda s: s.drafts_tree and not 1 <= s.speculation.steps <= 10,
        "--speculative-num-steps must be 1 to 10 with --speculative-eagle-topk above 1, got {s.speculation.steps}",
    ),
    Rule(
        ("speculative_num_draft_tokens", "speculative_eagle_topk", "speculative_num_steps"),
        lambda s: s.drafts_tree and (s.speculation.steps - 1) * s.speculative_eagle_topk > s.speculation.draft_tokens,
        "--speculative-num-draft-tokens {s.speculation.draft_tokens} is less than --speculative-eagle-topk"
        " {s.speculative_eagle_topk} for all but one of the --speculative-num-steps {s.speculation.steps}",
    ),
    Rule(
        ("speculative_num_draft_tokens", "speculative_eagle_topk", "speculative_num_steps"),
        lambda s: s.drafts_tree and not 2 <= s.speculation.draft_tokens <= s.most_nodes,
        "--speculative-num-draft-tokens must be 2 to {s.most_nodes}, got {s.speculation.draft_tokens}, with"
        " --speculative-eagle-topk {s.speculative_eagle_topk} and --speculative-num-steps {s.speculation.steps}",
    ),
    Rule(
        ("speculative_eagle_topk", "data_parallel_size"),
        lambda s: s.drafts_tree and s.layout.attn_dp > 1,
        "--speculative-eagle-topk above 1 needs --data-parallel-size 1",
    ),
    *needs(
        "speculative_eagle_topk",
        {
            "grammar_backend": ("none",),
            "disaggregation_mode": ("null",),
            "pipeline_parallel_size": (1,),
            "enable_mixed_batch": (False,),
        },
        "above 1",
        lambda s: s.drafts_tree,
    ),
    Rule(
        ("enable_speculative_sampling", "speculative_algorithm"),
        lambda s: (
            s.enable_speculative_sampling
            and (s.speculation.algorithm is None or s.speculation.algorithm in s.block_algorithms)
        ),
        "--enable-speculative-sampling needs --speculative-algorithm EAGLE3 or MTP",
    ),
    *needs(
        "enable_speculative_sampling",
        {
            "speculative_eagle_topk": (1,),
            "sampling_backend": (*_FLASHINFER, None),
            "disaggregation_mode": ("null", "decode", "encode"),
        },
    ),
)

#: Where experts stand and how they are reached, since TokenSpeed 0.1.1.
EXPERTS: Final = (
    *needs(
        "enable_eplb",
        {
            "expert_distribution_recorder_mode": ("stat",),
            "ep_dispatch_algorithm": _STATIC,
            **dict.fromkeys(_REBALANCE, ANYTHING),
        },
    ),
    *(rule for key in _REBALANCE for rule in needs(key, {"enable_eplb": (True,)})),
    Rule(
        ("enable_eplb", "expert_parallel_size"),
        lambda s: s.enable_eplb and s.layout.moe_ep <= 1,
        "--enable-eplb needs --expert-parallel-size above 1",
    ),
    Rule(
        ("ep_num_redundant_experts", "expert_parallel_size"),
        lambda s: s.ep_num_redundant_experts > 0 and s.layout.moe_ep <= 1,
        "--ep-num-redundant-experts above 0 needs --expert-parallel-size above 1",
    ),
    Rule(
        (*_PLACEMENT, "ep_dispatch_algorithm"),
        lambda s: s.places_experts and not s.enable_eplb and s.ep_dispatch_algorithm is None,
        "--ep-num-redundant-experts, --init-expert-location and --expert-distribution-recorder-mode need"
        " --ep-dispatch-algorithm: static_with_zero_expert for models with zero experts, else static",
    ),
    Rule(
        ("ep_dispatch_algorithm", *_PLACEMENT, "enable_eplb"),
        lambda s: not s.places_experts and s.ep_dispatch_algorithm is not None,
        "--ep-dispatch-algorithm needs --ep-num-redundant-experts above 0, --init-expert-location other than trivial,"
        " --expert-distribution-recorder-mode or --enable-eplb",
    ),
    Rule(
        ("ep_dispatch_algorithm", "numerics"),
        lambda s: s.is_bitwise and s.places_experts and s.ep_dispatch_algorithm not in (None, *_STATIC),
        "--ep-dispatch-algorithm must be static or static_with_zero_expert with --numerics rl-bitwise",
    ),
    Rule(
        ("all2all_backend", "moe_backend", "draft_moe_backend"),
        lambda s: len({name == "gluon_petit" for name in (s.all2all_backend, *s.moe_backends)}) > 1,
        "--all2all-backend, --moe-backend and the --draft-moe-backend in use must be gluon_petit all or none",
    ),
    *needs("moe_backend", {"dtype": ("bfloat16",)}, "gluon_petit", lambda s: s.uses_petit),
    Rule(
        ("moe_backend", "tensor_parallel_size", "dense_tp_size"),
        lambda s: s.uses_petit and (s.layout.attn_tp, s.layout.dense_tp) != (1, 1),
        "--moe-backend gluon_petit needs --tensor-parallel-size 1 and --dense-tp-size 1",
    ),
    Rule(
        ("moe_backend", "max_num_seqs"),
        lambda s: s.uses_petit and s.decode_tokens_per_rank > 1024,
        "--moe-backend gluon_petit takes 1024 tokens per rank and step, which --max-num-seqs {s.requests} exceeds",
    ),
    Rule(
        ("moe_backend", "chunked_prefill_size"),
        lambda s: s.uses_petit and not 1 <= s.chunked_prefill_size <= 1024,
        "--moe-backend gluon_petit needs --chunked-prefill-size 1 to 1024, it is {s.chunked_prefill_size}",
    ),
    Rule(
        ("moe_backend", "max_prefill_tokens"),
        lambda s: s.uses_petit and s.max_prefill_tokens > 1024,
        "--moe-backend gluon_petit needs --max-prefill-tokens of at most 1024, it is {s.max_prefill_tokens}",
    ),
)

#: What is left, since TokenSpeed 0.1.1.
OTHERS: Final = (
    *needs(
        "mm_encoder_tp_mode",
        {"disaggregation_mode": ("null", "prefill")},
        "data",
        lambda s: s.mm_encoder_tp_mode == "data",
    ),
    *needs(
        "kvstore_storage_backend",
        {"disable_kvstore": (False,), "disaggregation_mode": ("null", "prefill", "decode")},
    ),
    *needs(
        "numerics",
        {
            "moe_backend": ("auto", "aok"),
            "draft_moe_backend": ("auto", "aok", None),
            "sampling_backend": (*_FLASHINFER, "greedy", None),
        },
        "rl-bitwise",
        lambda s: s.is_bitwise,
    ),
    Rule(
        ("moe_combine_order", "numerics", "moe_tp_size"),
        lambda s: s.combines_in_slot_order and s.layout.moe_tp != 1,
        "--moe-combine-order slot, which --numerics rl-bitwise sets, needs --moe-tp-size 1; it is {s.layout.moe_tp}"
        " (unset, it is what the experts' ranks leave over)",
    ),
    Rule(
        ("moe_combine_order", "numerics", "all2all_backend"),
        lambda s: s.combines_in_slot_order and s.all2all_backend == "deepep",
        "--moe-combine-order slot, which --numerics rl-bitwise sets, excludes --all2all-backend deepep",
    ),
    *needs("device", {"disable_prefill_graph": (True,), "disable_pdl": (True,)}, "npu", lambda s: s.device == "npu"),
    *needs("model_update_config", dict.fromkeys(_UPDATE, ANYTHING)),
    *(rule for key in _UPDATE for rule in needs(key, {"model_update_config": ANYTHING})),
    Rule(
        ("engram_host_table_dir", "engram_host_table", "engram_host_table_layout"),
        lambda s: (
            s.engram_host_table_dir is not None and (not s.engram_host_table or s.engram_host_table_layout == "sharded")
        ),
        "--engram-host-table-dir has no effect without --engram-host-table, or with --engram-host-table-layout sharded",
        warns=True,
    ),
)
