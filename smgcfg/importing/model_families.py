"""The models for which `ts serve` chooses parsers by itself (TokenSpeed 0.1.0 and 0.1.1)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple


class Family(NamedTuple):
    """Models that are alike to `ts serve`.

    Attributes:
        pattern: What is searched in the model's name, in lower case with `_` as `-`.
        dashes: Whether the name's dashes count.
        types: The `model_type` of its `config.json`.
        architectures: The architectures of its `config.json`.
        reasoning_parser: What is added for engine and gateway.
        tool_call_parser: What is added for the gateway.
        attention_backend: What is added for the engine on NVIDIA GPUs, or empty.
    """

    pattern: str
    dashes: bool
    types: tuple[str, ...]
    architectures: tuple[str, ...]
    reasoning_parser: str
    tool_call_parser: str
    attention_backend: str = ""


#: In the order in which they are tried.
FAMILIES: Final = {
    "deepseek_v41": Family(
        r"deepseek-?v4[.-]?1(?:[-/]|$)",
        True,
        ("deepseek_v41", "deepseek_v41_text"),
        ("DeepseekV41ForCausalLM",),
        "deepseek_v41",
        "deepseek_v41",
    ),
    "deepseek_v4": Family(
        "deepseekv4", False, ("deepseek_v4",), ("DeepseekV4ForCausalLM",), "deepseek_v31", "deepseek_v4"
    ),
    "glm_dsa": Family(
        "glm5",
        False,
        ("glm_moe_dsa",),
        ("GlmMoeDsaForCausalLM", "GlmMoeDsaForCausalLMNextN"),
        "glm45",
        "glm47_moe",
    ),
    "inkling": Family(
        "inkling", True, ("inkling_mm_model",), ("InklingForConditionalGeneration",), "inkling", "inkling", "fa4"
    ),
    "kimi_k3": Family(
        "kimik3",
        False,
        ("kimi_k3",),
        ("KimiK3ForConditionalGeneration", "KimiK3ForConditionalGenerationNextN"),
        "kimi_k3",
        "kimi_k3",
    ),
}


def family_of(model: str, known: Sequence[str], read_config: Callable[[str], Mapping[str, Any]]) -> Family | None:
    """Return the family of a model, by its name or by its `config.json`.

    Args:
        model: A path or a name.
        known: The families that the release knows.
        read_config: Returns the contents of a model's `config.json`, or nothing where it can not be read.
    """
    if not model:
        return None
    name = model.lower().replace("_", "-")
    config = read_config(model)
    architectures = config.get("architectures") or ()
    for key in known:
        family = FAMILIES[key]
        if (
            re.search(family.pattern, name if family.dashes else name.replace("-", ""))
            or config.get("model_type") in family.types
            or not set(family.architectures).isdisjoint(architectures)
        ):
            return family
    return None
