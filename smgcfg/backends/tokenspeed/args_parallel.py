"""How the model is spread over GPUs and nodes."""

from typing import Literal

from smgcfg.backends.tokenspeed.versions import V010, V011
from smgcfg.flags import flag
from smgcfg.groups import group


@group(kw_only=True)
class ParallelSettings:
    """How the model is spread over GPUs and nodes."""

    __slots__ = ()

    # GPUs and nodes
    base_gpu_id: int | None = flag("the first GPU", limits=(0, None))
    gpu_id_step: int | None = flag("distance between the numbers of two GPUs in use", limits=(1, None))
    nprocs_per_node: int | None = flag("processes on each node", limits=(1, None))
    world_size: int | None = flag("processes on all nodes together", limits=(1, None))
    nnodes: int | None = flag("number of nodes", limits=(1, None))
    node_rank: int | None = flag("the number of this node")
    dist_init_addr: str | None = flag("host:port where the processes meet")
    distributed_timeout_seconds: int | None = flag("longest wait of a collective operation, in seconds")

    # tensor, pipeline and context parallelism
    tensor_parallel_size: int | None = flag(
        "tensor-parallel width of the attention, and of all that has no width of its own",
        aliases=("--tp",),
        limits=(1, None),
    )
    attn_tp_size: int | None = flag("another name for tensor_parallel_size", limits=(1, None))
    dense_tp_size: int | None = flag("tensor-parallel width of the dense layers", limits=(1, None))
    moe_tp_size: int | None = flag("tensor-parallel width of the experts", limits=(1, None))
    lm_head_tp_size: int | None = flag(
        "ranks that share the output layer's vocabulary", limits=(1, None), versions=V011
    )
    attn_head_tp_size: int | None = flag("ranks that share the attention's heads", limits=(1, None), versions=V011)
    tp_batch_invariant: Literal["none", "attn", "attn+dense"] | None = flag(
        "which projections give the same bits in every batch", versions=V011
    )
    decode_context_parallel_size: int | None = flag(
        "ranks that share the KV cache of one request", limits=(1, None), versions=V011
    )
    prefill_context_parallel_size: int | None = flag(
        "ranks that share the tokens of one prefill", limits=(1, None), versions=V011
    )
    pipeline_parallel_size: int | None = flag("pipeline stages of a prefill engine", limits=(1, None), versions=V011)
    pp_layer_partition: tuple[int, ...] | None = flag(
        "layers of each pipeline stage, front to back", style="csv", least=1, versions=V011
    )

    # data parallelism
    data_parallel_size: int | None = flag("engine replicas behind one scheduler", limits=(1, None))
    load_balance_method: Literal["round_robin", "shortest_queue", "minimum_cache_usage"] | None = flag(
        "how requests are spread over the replicas"
    )
    load_watch_interval: float | None = flag("pause between two load reports, in seconds")

    # experts
    enable_expert_parallel: bool | None = flag("spread the experts over all ranks")
    expert_parallel_size: int | None = flag("ranks that share the experts", limits=(1, None), aliases=("--ep-size",))
    init_expert_location: str | None = flag("where the experts stand at first: trivial, JSON, a file or recorded loads")
    ep_num_redundant_experts: int | None = flag(
        "extra expert slots per layer for copies of busy experts", limits=(0, None)
    )
    ep_dispatch_algorithm: (
        Literal["static", "dynamic", "fake", "static_with_zero_expert", "dynamic_with_zero_expert"] | None
    ) = flag("how a token chooses among the copies of an expert")
    eplb_algorithm: str | None = flag("how a placement follows from recorded loads")
    enable_eplb: bool | None = flag("move experts between ranks while serving")
    eplb_rebalance_num_iterations: int | None = flag(
        "steps between two rounds of moving experts",
        limits=(1, None),
        limits_when=(("enable_eplb", True),),
        versions=V011,
    )
    eplb_rebalance_layers_per_chunk: int | None = flag(
        "layers whose experts move at once", limits=(1, None), limits_when=(("enable_eplb", True),), versions=V011
    )
    expert_distribution_recorder_mode: Literal["stat"] | None = flag("what is recorded of the experts' load")
    expert_distribution_recorder_buffer_size: int | None = flag(
        "steps the load recorder keeps; -1 keeps all", versions=V010
    )
    enable_expert_distribution_metrics: bool | None = flag("log how evenly the experts are loaded", versions=V010)
    all2all_backend: Literal["none", "agrs", "deepep", "flashinfer", "gluon_petit"] | None = flag(
        "how tokens travel between the experts' ranks"
    )
    deepep_mode: Literal["normal", "low_latency", "auto"] | None = flag("which DeepEP kernels are used")
    low_latency_max_num_tokens_per_gpu: int | None = flag("tokens a rank may send at low latency", limits=(1, None))

    # collectives
    disable_nccl_nvls: bool | None = flag("do without NVLink SHARP even where the fabric has it", versions=V011)
    enable_nccl_nvls: bool | None = flag("use NVLink SHARP where the fabric has it", versions=V010)
    disable_symm_mem: bool | None = flag("do without symmetric memory even where the fabric has it", versions=V011)
    enable_symm_mem: bool | None = flag("use symmetric memory for collectives", versions=V010)
    disable_custom_all_reduce: bool | None = flag("reduce with NCCL alone", versions=V010)
    enable_p2p_check: bool | None = flag("test the GPUs' peer access instead of trusting the driver", versions=V010)
    enable_allreduce_fusion: bool | None = flag("fuse the all-reduce with what follows it", engine_sets=True)
    comm_fusion_max_num_tokens: int | None = flag("tokens that fit the workspace of fused communication")
    force_deterministic_rsag: bool | None = flag("reduce in rank order, always the same way")
    batch_invariant_collectives: bool | None = flag("reduce in one order whatever the batch", versions=V011)
    disable_sampling_tp_sync: bool | None = flag("do not share the sampled tokens between ranks")

    # prefill and decode on separate engines
    disaggregation_mode: Literal["null", "prefill", "decode", "encode"] | None = flag(
        "this engine's role where prefill, decode and encode are apart"
    )
    disaggregation_bootstrap_port: int | None = flag("port where a prefill engine meets its decode engines")
    disaggregation_transfer_backend: Literal["mooncake", "mooncake_async"] | None = flag(
        "how the KV cache travels between engines", narrow={"0.1.1": ("mooncake",)}
    )
    disaggregation_ib_device: str | None = flag("InfiniBand devices for the transfer, with commas")
    disaggregation_layerwise_interval: int | None = flag("layers between two transfers")
    pdlb_url: str | None = flag("the load balancer of the split engines to register with")
