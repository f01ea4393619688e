"""The stand-in's model directory: a byte-level tokenizer and a chat template, both generated.

Every byte is one token whose id is the byte, so the engine needs no tokenizer of its own: it writes bytes, and the
gateway, which tokenizes and detokenizes in headless mode, reads the same ids from ``tokenizer.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EOS_ID = 256
SPECIAL_TOKENS = {"<|im_end|>": EOS_ID, "<|im_start|>": 257, "<|endoftext|>": 258}
VOCAB_SIZE = 256 + len(SPECIAL_TOKENS)
#: Context length in tokens when neither the command line nor the model directory names one
MAX_MODEL_LEN = 32768

CHAT_TEMPLATE = """\
{%- if tools %}<|im_start|>system
You may call these functions:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif -%}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.content %}{{ message.content }}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}
{{ call.function | tojson }}{% endfor %}{% endif %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""


def byte_characters() -> list[str]:
    """The printable stand-in character of each byte, as byte-level tokenizers write them (GPT-2's table).

    Returns:
        256 distinct characters; the one at index ``b`` stands for byte ``b`` in ``tokenizer.json``.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def model_files() -> dict[str, dict[str, Any]]:
    """The files of the model directory.

    Returns:
        File name to JSON document. The gateway needs ``tokenizer.json`` and, for chat, the template in
        ``tokenizer_config.json`` (smg 1.13.0); ``config.json`` is for tools that expect a model directory.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    added = [
        {"id": token_id, "content": text, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for text, token_id in SPECIAL_TOKENS.items()
    ]
    bpe: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": {character: byte for byte, character in enumerate(byte_characters())},
        "merges": [],
    }
    return {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": byte_level,
            "post_processor": None,
            "decoder": byte_level,
            "model": bpe,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "model_max_length": MAX_MODEL_LEN,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
        "config.json": {
            "architectures": ["SmgcfgStandIn"],
            "model_type": "smgcfg_standin",
            "vocab_size": VOCAB_SIZE,
            "eos_token_id": EOS_ID,
            "max_position_embeddings": MAX_MODEL_LEN,
            "torch_dtype": "bfloat16",
        },
    }


def write_model_dir(path: str | Path) -> Path:
    """Write the stand-in's model directory; the same bytes each time.

    Args:
        path: The directory, made when it is missing. Files of the same names are overwritten.

    Returns:
        The directory, for ``smg launch --tokenizer-path``.
    """
    directory = Path(path)
    directory.mkdir(parents=True, exist_ok=True)
    for name, document in model_files().items():
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        (directory / name).write_text(text + "\n", encoding="utf-8")
    return directory
