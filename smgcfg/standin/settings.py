"""What the stand-in needs to know of its command line and environment, free of how it is written there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import attrs

from smgcfg.standin.tokenizer import MAX_MODEL_LEN

#: The release whose behaviour the stand-in plays
TOKENSPEED_VERSION = "0.1.1"

UNSUPPORTED = "SMGCFG_STANDIN_UNSUPPORTED"
LOAD_SECONDS = "SMGCFG_STANDIN_LOAD_SECONDS"
STEP_SECONDS = "SMGCFG_STANDIN_STEP_SECONDS"


class SettingsError(ValueError):
    """A setting that the engine refuses at start; the message says which and why."""


@attrs.frozen(kw_only=True)
class Play:
    """How the stand-in plays its part: the settings a real engine has no flags for.

    Attributes:
        ignore_unsupported: Without a grammar backend, answer constrained requests as if they were free, and without
            output logprobs those that ask for logprobs without any. TokenSpeed 0.1.1 aborts both; ignoring them is the
            failure that a deployment has to be protected from.
        load_seconds: How long to play a model that loads, before dialling.
        step_seconds: Least time between two steps of generation; every running request gains a token per step.
    """

    ignore_unsupported: bool = False
    load_seconds: float = 0.0
    step_seconds: float = 0.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Play:
        """Read the variables SMGCFG_STANDIN_UNSUPPORTED (abort or ignore), _LOAD_SECONDS and _STEP_SECONDS.

        Raises:
            SettingsError: A variable holds something else.
        """
        unsupported = environ.get(UNSUPPORTED, "abort")
        if unsupported not in ("abort", "ignore"):
            raise SettingsError(f"{UNSUPPORTED}: expected 'abort' or 'ignore', got {unsupported!r}")
        return cls(
            ignore_unsupported=unsupported == "ignore",
            load_seconds=_seconds(environ, LOAD_SECONDS),
            step_seconds=_seconds(environ, STEP_SECONDS),
        )


@attrs.frozen(kw_only=True)
class EngineSettings:
    """One engine process.

    Attributes:
        model: Name or directory of the model.
        served_model_name: The name to report; the model's when None.
        address: Host of the gateway's handshake socket.
        port: TCP port of the gateway's handshake socket.
        first_index: Engine index of rank 0; rank r is ``first_index + r``.
        ranks: Data-parallel ranks, each an engine to the gateway.
        world_size: GPUs that a real engine would use, as reported.
        tensor_parallel_size: Attention tensor parallelism, as reported.
        pipeline_parallel_size: Pipeline parallelism, as reported.
        decode_context_parallel_size: Decode context parallelism, as reported.
        enforce: Whether a grammar backend is on.
        output_logprobs: Whether requests may ask for logprobs.
        max_model_len: Most tokens of prompt and answer together.
        max_num_seqs: Most requests that run at once, on all ranks together.
        max_num_batched_tokens: Prefill budget per step, as reported; 0 is no cap.
        page_size: Tokens in a page of the KV cache.
        stream_interval: Tokens between two outputs of a streamed request.
        play: How to play the engine's part.
    """

    model: str
    served_model_name: str | None = None
    address: str = "127.0.0.1"
    port: int = 30500
    first_index: int = 0
    ranks: int = 1
    world_size: int = 1
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    enforce: bool = False
    output_logprobs: bool = False
    max_model_len: int = MAX_MODEL_LEN
    max_num_seqs: int = 160
    max_num_batched_tokens: int = 8192
    page_size: int = 64
    stream_interval: int = 1
    play: Play = Play()

    def __attrs_post_init__(self) -> None:
        last = self.first_index + self.ranks - 1
        if self.ranks < 1:
            raise SettingsError(f"an engine has one rank or more, got {self.ranks}")
        if self.first_index < 0 or last > 0xFFFF:
            raise SettingsError(f"engine indices are two bytes, got {self.first_index} to {last}")

    @property
    def rank_seqs(self) -> int:
        """Most requests that run at once on one rank."""
        return max(1, self.max_num_seqs // self.ranks)

    @property
    def kv_pages(self) -> int:
        """Pages of the KV cache of one rank: every running request could use the whole context."""
        return self.rank_seqs * math.ceil(self.max_model_len / self.page_size)


def context_length(model: str) -> int:
    """Return the context length that the model's config.json names, or the stand-in's own.

    Args:
        model: Name or directory of the model; nothing is downloaded.
    """
    try:
        config = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return MAX_MODEL_LEN
    length = config.get("max_position_embeddings") if isinstance(config, dict) else None
    return length if isinstance(length, int) and length > 1 else MAX_MODEL_LEN


def _seconds(environ: Mapping[str, str], name: str) -> float:
    text = environ.get(name, "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise SettingsError(f"{name}: expected seconds, got {text!r}")
    return seconds
