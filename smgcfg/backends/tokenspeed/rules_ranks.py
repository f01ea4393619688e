"""TokenSpeed's rules about ranks: how many there are, and what they share."""

from typing import Final

from smgcfg.rules import Rule, needs


def _is_meeting_place(text: str) -> bool:
    _, colon, port = text.partition(":")
    return bool(colon) and port.strip().isdecimal()


#: How many ranks there are, and how they are shared.
RANKS: Final = (
    Rule(
        ("tensor_parallel_size", "attn_tp_size"),
        lambda s: s.tensor_parallel_size is not None and s.attn_tp_size is not None,
        "--tensor-parallel-size and --attn-tp-size set the same width; only one of them is allowed",
    ),
    Rule(
        ("world_size", "data_parallel_size", "tensor_parallel_size"),
        lambda s: not s.attention_fits,
        "--tensor-parallel-size (or --attn-tp-size) times --data-parallel-size must make up the {s.stage} ranks that"
        " --world-size gives a pipeline stage",
    ),
    Rule(
        ("dense_tp_size", "world_size"),
        lambda s: s.stage % s.dense_tp,
        "--dense-tp-size {s.dense_tp} does not divide the {s.stage} ranks of a pipeline stage (--world-size)",
    ),
    Rule(
        ("expert_parallel_size", "moe_tp_size"),
        lambda s: not s.experts_fit,
        "--expert-parallel-size {s.moe_ep} times --moe-tp-size {s.moe_tp} does not divide the {s.stage} ranks of a"
        " pipeline stage",
    ),
    Rule(
        ("expert_parallel_size", "moe_tp_size"),
        lambda s: s.layout.moe_tp > 1 and s.layout.moe_ep > 1,
        "--expert-parallel-size {s.moe_ep} and --moe-tp-size {s.moe_tp} may not both exceed 1; where it is not set,"
        " --moe-tp-size takes what the experts leave over",
    ),
    Rule(
        ("nprocs_per_node", "nnodes", "world_size"),
        lambda s: not s.nodes_fit,
        "--nprocs-per-node times --nnodes must make up the {s.world} ranks (--world-size)",
    ),
    Rule(
        ("dist_init_addr", "data_parallel_size"),
        lambda s: s.dist_init_addr is None and s.nodes == 1 and s.layout.attn_dp > 1,
        "--dist-init-addr is required where --data-parallel-size, or what --world-size leaves for it, is above 1",
    ),
    Rule(
        ("dist_init_addr",),
        lambda s: s.dist_init_addr is not None and not _is_meeting_place(s.dist_init_addr),
        "--dist-init-addr must be host:port, got {s.dist_init_addr!r}",
    ),
    Rule(
        ("max_num_seqs", "data_parallel_size"),
        lambda s: s.requests < s.layout.attn_dp,
        "--max-num-seqs {s.requests} is less than the {s.layout.attn_dp} replicas of --data-parallel-size",
    ),
    Rule(
        ("chunked_prefill_size", "max_prefill_tokens", "data_parallel_size"),
        lambda s: s.layout.attn_dp > 1 and s.chunked_prefill_size > s.max_prefill_tokens,
        "--chunked-prefill-size {s.chunked_prefill_size} may not exceed --max-prefill-tokens {s.max_prefill_tokens}"
        " with --data-parallel-size above 1",
    ),
    Rule(
        ("load_balance_method", "disaggregation_mode", "data_parallel_size"),
        lambda s: (
            s.disaggregation_mode == "prefill" and s.load_balance_method != "round_robin" and s.layout.attn_dp > 1
        ),
        "--load-balance-method must be round_robin with --disaggregation-mode prefill and --data-parallel-size above 1;"
        " it is {s.load_balance_method}",
    ),
    Rule(
        ("disaggregation_mode", "data_parallel_size"),
        lambda s: s.disaggregation_mode == "encode" and s.layout.attn_dp > 1,
        "--disaggregation-mode encode needs --data-parallel-size 1",
    ),
)

#: Pipelines of a prefill engine, since TokenSpeed 0.1.1.
PIPELINE: Final = (
    Rule(
        ("world_size", "pipeline_parallel_size"),
        lambda s: s.world % s.pipeline_parallel_size,
        "--world-size {s.world} is not divisible by --pipeline-parallel-size {s.pipeline_parallel_size}",
    ),
    *needs(
        "pipeline_parallel_size",
        {"disaggregation_mode": ("prefill",)},
        "above 1",
        lambda s: s.pipeline_parallel_size > 1,
    ),
    Rule(
        ("pipeline_parallel_size", "data_parallel_size"),
        lambda s: s.pipeline_parallel_size > 1 and s.layout.attn_dp > 1,
        "--pipeline-parallel-size above 1 needs --data-parallel-size 1",
    ),
    Rule(
        ("pipeline_parallel_size", "speculative_algorithm"),
        lambda s: s.pipeline_parallel_size > 1 and s.speculation.algorithm not in (None, "MTP", "DSPARK"),
        "--pipeline-parallel-size above 1 needs --speculative-algorithm MTP or DSPARK, or none given",
    ),
    Rule(
        ("speculative_algorithm", "dense_tp_size", "pipeline_parallel_size"),
        lambda s: (
            s.pipeline_parallel_size > 1
            and s.speculation.algorithm == "DSPARK"
            and s.layout.dense_tp != s.layout.attn_tp
        ),
        "--speculative-algorithm DSPARK with --pipeline-parallel-size above 1 needs --dense-tp-size to be the"
        " attention's width of {s.layout.attn_tp}",
    ),
    Rule(
        ("pp_layer_partition", "pipeline_parallel_size"),
        lambda s: s.pp_layer_partition is not None and s.pipeline_parallel_size <= 1,
        "--pp-layer-partition needs --pipeline-parallel-size above 1",
    ),
    Rule(
        ("pp_layer_partition", "pipeline_parallel_size"),
        lambda s: (
            s.pp_layer_partition is not None
            and s.pipeline_parallel_size > 1
            and len(s.pp_layer_partition) != s.pipeline_parallel_size
        ),
        "--pp-layer-partition must have one number per stage of --pipeline-parallel-size {s.pipeline_parallel_size}",
    ),
)

#: Ranks that share heads, the output layer or the context of a request, since TokenSpeed 0.1.1.
SHARDS: Final = (
    Rule(
        ("lm_head_tp_size", "tensor_parallel_size"),
        lambda s: s.lm_head_tp_size and s.layout.attn_dp == 1 and s.lm_head_tp_size != s.layout.attn_tp,
        "--lm-head-tp-size {s.lm_head_tp_size} must be the attention's width (--tensor-parallel-size) of"
        " {s.layout.attn_tp} without data parallelism",
    ),
    Rule(
        ("lm_head_tp_size", "tensor_parallel_size", "data_parallel_size"),
        lambda s: s.shards_lm_head and s.layout.attn_tp != 1,
        "--lm-head-tp-size above 1 needs --tensor-parallel-size 1 where --data-parallel-size is above 1",
    ),
    Rule(
        ("lm_head_tp_size", "data_parallel_size"),
        lambda s: s.shards_lm_head and s.layout.stage % s.lm_head_tp_size,
        "--lm-head-tp-size {s.lm_head_tp_size} does not divide the {s.layout.stage} ranks of --data-parallel-size",
    ),
    *needs("lm_head_tp_size", {"dp_sampling": (False,)}, "above 1 with data parallelism", lambda s: s.shards_lm_head),
    Rule(
        ("attn_head_tp_size", "tensor_parallel_size", "prefill_context_parallel_size"),
        lambda s: s.shares_heads and s.row_group != 1,
        "--attn-head-tp-size needs --tensor-parallel-size 1, or --prefill-context-parallel-size {s.head_tp}",
    ),
    Rule(
        ("attn_head_tp_size", "prefill_context_parallel_size"),
        lambda s: s.shares_heads and s.row_group == 1 and s.prefill_context_parallel_size not in (1, s.head_tp),
        "--attn-head-tp-size {s.head_tp} must equal --prefill-context-parallel-size {s.prefill_context_parallel_size}",
    ),
    Rule(
        ("attn_head_tp_size", "world_size"),
        lambda s: s.shares_heads and s.head_tp > 0 and s.layout.stage % s.head_tp,
        "--attn-head-tp-size {s.head_tp} does not divide the {s.layout.stage} ranks of a pipeline stage (--world-size)",
    ),
    *needs(
        "attn_head_tp_size",
        {"disaggregation_mode": ("decode",)},
        "above 1",
        lambda s: s.shares_heads and s.prefill_context_parallel_size == 1,
    ),
    Rule(
        ("tp_batch_invariant", "attn_head_tp_size"),
        lambda s: s.tp_batch_invariant != "none" and not s.shares_heads,
        "--tp-batch-invariant {s.tp_batch_invariant} needs --attn-head-tp-size above 1",
    ),
    Rule(
        ("tp_batch_invariant", "dense_tp_size"),
        lambda s: s.tp_batch_invariant == "attn+dense" and s.layout.dense_tp <= s.layout.attn_tp,
        "--tp-batch-invariant attn+dense needs --dense-tp-size above the attention's width of {s.layout.attn_tp}",
    ),
    Rule(
        ("decode_context_parallel_size", "tensor_parallel_size"),
        lambda s: s.decode_context_parallel_size > 1 and s.layout.attn_tp % s.decode_context_parallel_size,
        "--decode-context-parallel-size {s.decode_context_parallel_size} does not divide the attention's width"
        " (--tensor-parallel-size) of {s.layout.attn_tp}",
    ),
    *needs(
        "decode_context_parallel_size",
        {"disaggregation_mode": ("null", "prefill"), "disable_kvstore": (True,)},
        "above 1",
        lambda s: s.decode_context_parallel_size > 1,
    ),
    Rule(
        ("prefill_context_parallel_size", "tensor_parallel_size"),
        lambda s: s.prefill_context_parallel_size not in (1, s.layout.attn_tp),
        "--prefill-context-parallel-size {s.prefill_context_parallel_size} must be the attention's width"
        " (--tensor-parallel-size) of {s.layout.attn_tp}",
    ),
    Rule(
        ("prefill_context_parallel_size", "data_parallel_size"),
        lambda s: s.prefill_context_parallel_size > 1 and s.layout.attn_dp > 1,
        "--prefill-context-parallel-size above 1 needs --data-parallel-size 1",
    ),
    Rule(
        ("prefill_context_parallel_size", "dense_tp_size"),
        lambda s: s.prefill_context_parallel_size > 1 and s.layout.dense_tp not in (1, s.layout.attn_tp),
        "--prefill-context-parallel-size above 1 needs --dense-tp-size 1 or {s.layout.attn_tp}",
    ),
    Rule(
        ("prefill_context_parallel_size", "moe_tp_size", "expert_parallel_size"),
        lambda s: (
            s.prefill_context_parallel_size > 1 and s.layout.moe_tp * s.layout.moe_ep not in (1, s.layout.attn_tp)
        ),
        "--prefill-context-parallel-size above 1 needs --moe-tp-size times --expert-parallel-size to be 1 or"
        " {s.layout.attn_tp}",
    ),
    Rule(
        ("decode_context_parallel_size", "prefill_context_parallel_size"),
        lambda s: (
            s.prefill_context_parallel_size > 1
            and s.decode_context_parallel_size not in (1, s.prefill_context_parallel_size)
        ),
        "--decode-context-parallel-size must be 1 or the --prefill-context-parallel-size of"
        " {s.prefill_context_parallel_size}",
    ),
    *needs(
        "prefill_context_parallel_size",
        {
            "disaggregation_mode": ("prefill",),
            "disable_prefill_graph": (True,),
            "enable_mixed_batch": (False,),
            "attention_backend": ("dsa", None),
            "kv_cache_dtype": ("auto", "bfloat16"),
            "kv_cache_quant_method": ("none",),
        },
        "above 1",
        lambda s: s.prefill_context_parallel_size > 1,
    ),
)
