"""The model, its tokenizer and its weights."""

from typing import Literal

from smgcfg.backends.tokenspeed.versions import V010, V011
from smgcfg.flags import flag
from smgcfg.groups import group
from smgcfg.json_value import Json


@group(kw_only=True)
class ModelSettings:
    """The model, its tokenizer and its weights."""

    __slots__ = ()

    # the model and its tokenizer
    model: str | None = flag("the model: a local folder or a Hugging Face repository", aliases=("--model-path",))
    tokenizer: str | None = flag("the tokenizer's folder or repository; unset is the model's own")
    tokenizer_mode: Literal["auto", "slow", "deepseek_v4"] | None = flag("which tokenizer implementation is loaded")
    skip_tokenizer_init: bool | None = flag(
        "load no tokenizer; requests then carry token ids", off=("--no-skip-tokenizer-init",)
    )
    served_model_name: str | None = flag("the model's name in answers; unset is the model path")
    revision: str | None = flag("the branch, tag or commit of the repository")
    trust_remote_code: bool | None = flag(
        "run model code that the repository itself brings", off=("--no-trust-remote-code",)
    )
    max_model_len: int | None = flag("longest context, in tokens; unset is the model's own")
    hf_overrides: Json | None = flag("entries laid over the model's configuration")
    preferred_sampling_params: Json | None = flag("default sampling settings that the model's description announces")
    language_model_only: bool | None = flag("load no vision or audio encoder and refuse such requests")
    mm_attention_backend: Literal["fa3", "fa4", "triton_attn", "flashinfer_cudnn"] | None = flag(
        "attention kernels of the multimodal encoder"
    )
    mm_encoder_tp_mode: Literal["weights", "data"] | None = flag(
        "whether tensor-parallel ranks split the encoder's weights or its items"
    )

    # weights
    load_format: Literal["auto", "pt", "safetensors", "instanttensor", "npcache", "dummy", "extensible"] | None = flag(
        "how the weights are stored; dummy makes random ones",
        narrow={"0.1.0": ("auto", "pt", "safetensors", "npcache", "dummy", "extensible")},
    )
    ext_yaml: str | None = flag("description file of a model in the extensible format")
    download_dir: str | None = flag("where downloaded models are kept")
    dtype: Literal["auto", "half", "float16", "bfloat16", "float", "float32"] | None = flag(
        "number type of weights and activations"
    )
    quantization: Literal["fp8", "mxfp4", "nvfp4", "w8a8_fp8", "compressed-tensors"] | None = flag(
        "how the weights are quantized"
    )
    quantization_param_path: str | None = flag("JSON file with scaling factors of the KV cache", reads="nullable")
    kv_cache_dtype: Literal["auto", "bfloat16", "fp8", "fp8_e4m3", "mxfp8"] | None = flag(
        "number type of the KV cache", narrow={"0.1.0": ("auto", "fp8", "fp8_e4m3", "mxfp8")}
    )
    kv_cache_quant_method: Literal["none", "per_token_head"] | None = flag("how the KV cache is quantized")
    device: Literal["cuda", "npu"] | None = flag("the kind of accelerator", narrow={"0.1.0": ("cuda",)})
    disable_weight_loader_prefetch_checkpoints: bool | None = flag(
        "do not read checkpoint files into the page cache ahead of loading", versions=V011
    )
    weight_loader_prefetch_checkpoints: bool | None = flag(
        "read checkpoint files into the page cache ahead of loading", versions=V010
    )
    weight_loader_prefetch_num_threads: int | None = flag("concurrent readers per rank while weights are prefetched")
    delete_ckpt_after_loading: bool | None = flag("delete the checkpoint once it is loaded", versions=V010)
    enable_memory_saver: bool | None = flag("let weights and caches be released and resumed at run time")
    weight_version: str | None = flag("the version of the weights that answers carry at first", versions=V011)

    # host tables of Engram models
    engram_host_table: bool | None = flag(
        "keep the n-gram tables in host memory instead of GPU memory", off=("--no-engram-host-table",), versions=V011
    )
    engram_host_table_dir: str | None = flag("folder of the shared table files", versions=V011)
    engram_host_table_layout: Literal["auto", "shared", "sharded"] | None = flag(
        "one shared table per node, or one shard per rank", versions=V011
    )
