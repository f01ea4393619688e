"""What the gateway knows of the model: tokenizer, template, parsers, media."""

from typing import Final, Literal

from smgcfg.flags import flag
from smgcfg.gateway.limits import NATURAL, POSITIVE
from smgcfg.gateway.versions import V1130
from smgcfg.groups import group

# The names that smg 1.13.0 registers, and those of them that tokenspeed-smg 1.10.1 has.
# fmt: off
ReasoningParser = Literal[
    "base", "cohere_cmd", "deepseek_r1", "deepseek_v31", "deepseek_v4", "deepseek_v4.1", "deepseek_v41", "dots3",
    "function_gemma", "gemma4", "glm", "glm4", "glm45", "hf", "hy4", "hy_v4", "inkling", "iquest", "json", "k2_horizon",
    "kimi", "kimi_k25", "kimi_k3", "kimi_thinking", "lfm2.5", "ling", "llama_nemotron", "minicpm5", "minimax",
    "minimax_m2", "minimax_m3", "mistral_v13", "nano_v3", "olmo3", "passthrough", "plain", "qwen2.5", "qwen3",
    "qwen3_tagged", "qwen3_tagged_direct", "qwen3_thinking", "seed_oss", "step3", "xlam",
]
REASONING_PARSERS_1_10_1: Final = (
    "base", "cohere_cmd", "deepseek_r1", "deepseek_v31", "deepseek_v4", "deepseek_v41", "glm45", "inkling", "kimi",
    "kimi_k25", "kimi_k3", "kimi_thinking", "minimax", "minimax_m3", "nano_v3", "passthrough", "qwen3",
    "qwen3_thinking", "step3",
)
ToolCallParser = Literal[
    "cohere", "deepseek", "deepseek31", "deepseek32", "deepseek_v4", "deepseek_v4.1", "deepseek_v41", "dots3",
    "function_gemma", "gemma4", "glm", "glm4", "glm45_moe", "glm47_moe", "hf", "hy4", "hy_v4", "inkling", "iquest",
    "json", "k2_horizon", "kimi_k3", "kimik2", "lfm2.5", "ling", "llama", "llama_nemotron", "minicpm5", "minimax_m2",
    "minimax_m3", "mistral", "mistral_v13", "nemotron", "olmo3", "passthrough", "plain", "pythonic", "qwen", "qwen2.5",
    "qwen3", "qwen3_tagged", "qwen3_tagged_direct", "qwen_coder", "qwen_xml", "sarashina", "seed_oss", "step3", "xlam",
]
TOOL_CALL_PARSERS_1_10_1: Final = (
    "cohere", "deepseek", "deepseek31", "deepseek32", "deepseek_v4", "deepseek_v41", "glm45_moe", "glm47_moe",
    "inkling", "json", "kimi_k3", "kimik2", "llama", "minimax_m2", "minimax_m3", "mistral", "nemotron", "passthrough",
    "pythonic", "qwen", "qwen_coder", "qwen_xml", "sarashina", "step3",
)
# fmt: on

# What smg 1.13.0 reads without `--parser symphony`: the rest names a Symphony table, or the model's own template (hf).
LEGACY_REASONING_PARSERS: Final = (*REASONING_PARSERS_1_10_1, "gemma4", "hy_v4")
LEGACY_TOOL_CALL_PARSERS: Final = (*TOOL_CALL_PARSERS_1_10_1, "gemma4", "hy_v4")


@group(kw_only=True)
class ModelSettings:
    """What the gateway knows of the model: tokenizer, template, parsers, media."""

    __slots__ = ()

    # model and tokenizer
    model_path: str | None = flag("the model whose tokenizer is loaded", aliases=("--model",))
    tokenizer_path: str | None = flag("the tokenizer; unset is the model's own")
    model_alias: tuple[str, ...] | None = flag("further public names, each alias=name", style="append")
    chat_template: str | None = flag("file with the chat template; unset is the model's own")
    disable_tokenizer_autoload: bool | None = flag("load no tokenizer at start")
    tokenizer_cache_enable_l0: bool | None = flag("cache whole tokenized texts")
    tokenizer_cache_l0_max_entries: int | None = flag(
        "most whole texts that are cached", limits=POSITIVE, limits_when=(("tokenizer_cache_enable_l0", True),)
    )
    tokenizer_cache_l0_max_memory: int | None = flag(
        "largest cache of whole texts, in bytes",
        limits=POSITIVE,
        limits_when=(("tokenizer_cache_enable_l0", True),),
        versions=V1130,
    )
    tokenizer_cache_enable_l1: bool | None = flag("cache tokenized beginnings")
    tokenizer_cache_l1_max_memory: int | None = flag(
        "largest cache of beginnings, in bytes", limits=POSITIVE, limits_when=(("tokenizer_cache_enable_l1", True),)
    )

    # parsers
    parser: Literal["legacy", "symphony"] | None = flag(
        "which family of parsers reads reasoning and tool calls", versions=V1130
    )
    reasoning_parser: ReasoningParser | None = flag(
        "the model's reasoning format", narrow={"1.10.1": REASONING_PARSERS_1_10_1}
    )
    tool_call_parser: ToolCallParser | None = flag(
        "the model's tool-call format", narrow={"1.10.1": TOOL_CALL_PARSERS_1_10_1}
    )

    # media
    multimodal_tensor_transport: Literal["inline", "shm", "auto", "rdma"] | None = flag("how media reaches the workers")
    multimodal_shm_min_bytes: int | None = flag("bytes from which shared memory is used", limits=NATURAL)
    multimodal_max_inflight_bytes: int | None = flag(
        "most bytes of prepared media at once", limits=(1024, None), versions=V1130
    )
    mm_per_request_image_limit: int | None = flag("most images in a request", limits=POSITIVE)
    mm_processing: Literal["auto", "router", "worker"] | None = flag(
        "whether gateway or worker prepares media", reads="lower", versions=V1130
    )
    mm_pixel_cache_mb: int | None = flag("cache of prepared media, in MiB; 0 is none", bounds=NATURAL, versions=V1130)
    mm_pixel_rdma: bool | None = flag("hand cached media over by RDMA", versions=V1130)
    mm_allowed_media_domains: tuple[str, ...] | None = flag(
        "hosts that media is fetched from; unset is any", style="csv", reads="stripped", versions=V1130
    )
    mm_allow_private_media_hosts: bool | None = flag("fetch media from private addresses as well", versions=V1130)
    rdma_listen_ip: str | None = flag("address of the RDMA handshake", versions=V1130)
    rdma_slot_ttl_s: int | None = flag(
        "seconds an RDMA slot lives without word from the worker", bounds=NATURAL, limits=POSITIVE, versions=V1130
    )
