"""Kernels, sampling, numerics and speculative decoding."""

from typing import Literal

from smgcfg.backends.tokenspeed.versions import V010, V011
from smgcfg.flags import flag
from smgcfg.groups import group
from smgcfg.json_value import Json


@group(kw_only=True)
class KernelSettings:
    """Kernels, sampling, numerics and speculative decoding."""

    __slots__ = ()

    # kernels
    attention_backend: str | None = flag(
        "attention kernels",
        narrow={
            "0.1.0": (
                "mha",
                "mla",
                "fa3",
                "fa4",
                "triton",
                "flashinfer",
                "trtllm",
                "trtllm_mla",
                "flashmla",
                "tokenspeed_mla",
                "hybrid_linear_attn",
            )
        },
    )
    drafter_attention_backend: str | None = flag(
        "attention kernels of the draft model; unset is the model's",
        narrow={
            "0.1.0": (
                "mha",
                "mla",
                "fa3",
                "fa4",
                "triton",
                "flashinfer",
                "trtllm",
                "trtllm_mla",
                "flashmla",
                "tokenspeed_mla",
                "hybrid_linear_attn",
            )
        },
    )
    kda_backend: Literal["auto", "fla", "flashkda", "cutedsl_kda"] | None = flag(
        "prefill kernels of delta attention", versions=V011
    )
    mla_disable_ragged: bool | None = flag("prefill latent attention without ragged batches")
    mla_chunk_multiplier: int | None = flag("how many prefill chunks of latent attention are held at once")
    skip_softmax_threshold: float | None = flag(
        "attention blocks below this weight are skipped; 0 skips none", versions=V011
    )
    attention_use_fp4_indexer_cache: bool | None = flag(
        "keep the cache of the sparse indexer in 4 bits",
        aliases=("--attention-config.use-fp4-indexer-cache", "--attention_config.use_fp4_indexer_cache"),
        style="optional",
    )
    attention_config_use_trtllm_ragged_deepseek_prefill: bool | None = flag(
        "prefill DeepSeek's latent attention in ragged batches",
        name="--attention-config.use-trtllm-ragged-deepseek-prefill",
        aliases=(
            "--attention-config.use_trtllm_ragged_deepseek_prefill",
            "--attention_config.use_trtllm_ragged_deepseek_prefill",
        ),
        style="optional",
    )
    deepseek_v4_mega_moe_max_num_tokens: int | None = flag(
        "tokens one step may send through DeepSeek V4's fused experts; 0 derives it"
    )
    deepseek_v4_indexer_prefill_max_logits_mb: int | None = flag("workspace of DeepSeek V4's indexer, in MiB")
    deepseek_v4_prefill_chunk_size: int | None = flag("requests per prefill chunk of DeepSeek V4", limits=(1, None))
    dense_gemm_backend: Literal["auto", "trtllm_cutedsl"] | None = flag(
        "matrix kernels of block-quantized dense layers", versions=V011
    )
    moe_backend: str | None = flag("kernels of the experts")
    draft_moe_backend: str | None = flag("kernels of the draft model's experts; unset is the model's")
    moe_mxfp4_fp8_activation: bool | None = flag("run 4-bit experts on 8-bit activations", versions=V011)
    disable_flashinfer_cutlass_moe_fp4_allgather: bool | None = flag("gather expert inputs at full width")
    triton_attention_reduce_in_fp32: bool | None = flag("reduce Triton attention in 32 bits", versions=V010)
    disable_pdl: bool | None = flag("launch no kernel before the one it depends on has ended")
    disable_autotune: bool | None = flag(
        "measure no kernels at start", aliases=("--disable-flashinfer-autotune",), versions=V011
    )
    disable_tf32: bool | None = flag("do not multiply in TF32")

    # sampling
    sampling_backend: Literal["greedy", "flashinfer", "flashinfer_full", "triton", "triton_full"] | None = flag(
        "kernels that choose the next token"
    )
    sampling_stream: Literal["batch", "per-request"] | None = flag(
        "whether random numbers belong to the batch or to the request", versions=V011
    )
    dp_sampling: bool | None = flag("verify drafts in shards of the batch")
    dp_sampling_min_bs: int | None = flag("smallest batch that is verified in shards")

    # numerics
    numerics: Literal["auto", "rl-bitwise"] | None = flag(
        "a named set of switches for reproducible results", versions=V011
    )
    yarn_ramp_mask_device: Literal["cuda", "cpu"] | None = flag("where rotary frequencies are computed", versions=V011)
    mla_lora_scale: Literal["folded", "runtime"] | None = flag(
        "where the scale of low-rank attention norms is applied", versions=V011
    )
    layer_boundary_norm: Literal["fused", "unfused"] | None = flag(
        "whether the norm between layers is fused with the addition", versions=V011
    )
    router_topk: Literal["fused", "torch"] | None = flag("how experts are chosen for a token", versions=V011)
    logprob_order: Literal["torch", "megatron"] | None = flag(
        "order of the sums behind log probabilities", versions=V011
    )
    moe_combine_order: Literal["rank", "slot"] | None = flag(
        "order in which the experts' results are added", versions=V011
    )
    dsa_slot_order: Literal["selection", "sorted"] | None = flag(
        "order in which sparse attention reads its slots", versions=V011
    )

    # speculative decoding
    speculative_config: Json | None = flag(
        "method, draft model and draft tokens in one JSON object", aliases=("--speculative_config",)
    )
    speculative_algorithm: str | None = flag("how drafts are made", narrow={"0.1.0": ("EAGLE3", "MTP", "DFLASH")})
    speculative_draft_model_path: str | None = flag("the draft model")
    draft_model_path_use_base: bool | None = flag("take the draft from the model itself", engine_sets=True)
    speculative_draft_model_quantization: str | None = flag("how the draft model is quantized")
    speculative_num_steps: int | None = flag("draft steps before a verification")
    speculative_eagle_topk: int | None = flag("drafts followed at each step", limits=(1, 16), narrow={"0.1.0": (1,)})
    speculative_num_draft_tokens: int | None = flag("draft tokens verified at once")
    enable_speculative_sampling: bool | None = flag(
        "accept drafts by their probability instead of by equality", versions=V011
    )
    spec_reject_draft_prob_threshold: float | None = flag(
        "draft probability above which a draft counts as missing",
        limits=(1.0, 1048576.0),
        limits_when=(("enable_speculative_sampling", True),),
        versions=V011,
    )
    eagle3_layers_to_capture: str | None = flag("layers whose states the draft model reads, with commas")
