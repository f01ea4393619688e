"""Memory, scheduling, caches and CUDA graphs."""

from typing import Literal

from smgcfg.backends.tokenspeed.versions import V010, V011
from smgcfg.flags import flag
from smgcfg.groups import group
from smgcfg.json_value import Json


@group(kw_only=True)
class MemorySettings:
    """Memory, scheduling, caches and CUDA graphs."""

    __slots__ = ()

    # memory and scheduling
    gpu_memory_utilization: float | None = flag("share of GPU memory for weights and KV cache, 0 to 1")
    max_num_seqs: int | None = flag("most requests processed at once")
    max_total_tokens: int | None = flag("size of the token pool; unset follows from the memory share")
    chunked_prefill_size: int | None = flag("most prompt tokens in one step; -1 does not split prompts")
    max_prefill_tokens: int | None = flag("most prompt tokens in one step when prompts are not split")
    enable_mixed_batch: bool | None = flag("let one step hold both prefill and decode")
    disable_overlap_schedule: bool | None = flag("plan a step only after the one before it has ended")
    seed: int | None = flag("seed of the random numbers")

    # caches
    prefix_granularity: int | None = flag(
        "granularity of prefix reuse, in tokens",
        aliases=("--block-size",),
        limits=(1, None),
        spelled={"--prefix-granularity": V011},
    )
    enable_prefix_caching: bool | None = flag(
        "reuse the KV cache of equal prompt beginnings",
        off=("--disable-prefix-caching", "--no-enable-prefix-caching"),
        one_spelling=True,
        spelled={"--disable-prefix-caching": V011, "--no-enable-prefix-caching": V010},
    )
    disable_kvstore: bool | None = flag("keep no second tier of the KV cache in host memory")
    kvstore_ratio: float | None = flag("size of the host tier, as a multiple of the device pool")
    kvstore_size: int | None = flag("size of the host tier, in GB; wins over the ratio")
    kvstore_io_backend: Literal["direct", "kernel"] | None = flag("how the tiers exchange data")
    kvstore_mem_layout: Literal["layer_first", "page_first", "page_head"] | None = flag(
        "memory layout of the host tier", versions=V010
    )
    kvstore_storage_backend: Literal["mooncake", "memory"] | None = flag(
        "the third tier behind host memory", narrow={"0.1.0": ("mooncake",)}
    )
    kvstore_storage_backend_extra_config: Json | None = flag("settings of the third tier")
    enable_mla_l1_5_cache: bool | None = flag(
        "keep an extra cache level between prefill and decode engines", versions=V010
    )

    # state of recurrent layers
    mamba_ssm_dtype: Literal["float32", "bfloat16"] | None = flag("number type of the recurrent state")
    mamba_track_interval: int | None = flag("decode steps between two snapshots of the recurrent state", versions=V010)
    max_mamba_cache_size: int | None = flag(
        "most chunks of recurrent state; unset follows from the memory", versions=V010
    )
    mamba_full_memory_ratio: float | None = flag(
        "how the cache memory is shared between recurrent state and attention", versions=V010
    )
    enable_mamba_l2: bool | None = flag("keep a second tier of the recurrent state in host memory", versions=V010)
    mamba_l2_host_slots: int | None = flag("slots of the host tier; 0 follows from its size or ratio", versions=V010)
    mamba_l2_ratio: float | None = flag("slots of the host tier, as a multiple of the device's", versions=V010)
    mamba_l2_layout: Literal["layer_first"] | None = flag("memory layout of the host tier", versions=V010)
    mamba_l2_io_backend: Literal["direct", "kernel"] | None = flag(
        "how the tiers exchange recurrent state", versions=V010
    )
    mamba_l2_host_gb: int | None = flag("size of the host tier, in GiB; wins over the ratio", versions=V010)
    enable_replay_ssm: bool | None = flag(
        "replay accepted tokens instead of keeping every recurrent state", off=("--disable-replay-ssm",), versions=V011
    )

    # CUDA graphs
    enforce_eager: bool | None = flag("use no CUDA graphs")
    disable_cuda_graph_padding: bool | None = flag("use a CUDA graph only where the batch fits without padding")
    enable_cudagraph_gc: bool | None = flag("collect garbage while graphs are captured")
    max_cudagraph_capture_size: int | None = flag("largest batch that is captured")
    cudagraph_capture_sizes: tuple[int, ...] | None = flag("batch sizes that are captured", least=1)
    disable_cudagraph_memory_reserve: bool | None = flag("reserve no memory for CUDA graphs", versions=V011)
    disable_prefill_graph: bool | None = flag("use no CUDA graphs for prefill", engine_sets=True)
    disable_kda_prefill_graph: bool | None = flag("use no CUDA graphs for prefill of delta attention", versions=V011)
    prefill_graph_max_tokens: int | None = flag("largest prefill that is captured, in tokens; 0 captures none")
    prefill_graph_capture_token_sizes: tuple[int, ...] | None = flag(
        "prefill sizes that are captured, in tokens",
        aliases=("--prefill-graph-capture-sizes",),
        least=1,
        one_spelling=True,
        spelled={"--prefill-graph-capture-token-sizes": V011},
    )
    prefill_graph_capture_batch_sizes: tuple[int, ...] | None = flag(
        "request counts for which prefill attention is captured", least=1, versions=V011
    )
