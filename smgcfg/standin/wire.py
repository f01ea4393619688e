"""The messages between a headless TokenSpeed engine and the smg gateway, as msgpack.

The start-up handshake travels as maps with named keys; requests and outputs travel as arrays whose positions are the
contract. Read from TokenSpeed 0.1.1 (``zmq_wire.py``, ``io_struct.py``, ``sampling_params.py``) and measured against
smg 1.13.0. A sender may stop early in an array and a newer one may go on: missing fields keep their defaults, further
ones are ignored.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from smgcfg.standin.settings import TOKENSPEED_VERSION

ADD = b"\x00"
ABORT = b"\x01"
#: The death notice: one raw frame on the output socket, after which the gateway gives the worker up
ENGINE_CORE_DEAD = b"ENGINE_CORE_DEAD"


class Status(msgspec.Struct):
    """An engine's word on the handshake socket: HELLO, later READY."""

    status: str
    local: bool = True
    headless: bool = True
    parallel_config_hash: str | None = None


class Addresses(msgspec.Struct):
    """The data sockets that the gateway has bound."""

    inputs: list[str] = []
    outputs: list[str] = []


class Init(msgspec.Struct):
    """The gateway's answer to HELLO."""

    addresses: Addresses


class ReadyResponse(msgspec.Struct, kw_only=True):
    """What an engine tells about itself when it registers: the 19 fields of TokenSpeed 0.1.1.

    There is no field for the grammar backend or for logprobs, so the gateway cannot know whether an engine enforces
    constraints.
    """

    max_model_len: int
    num_gpu_blocks: int
    prefix_granularity: int
    dp_stats_address: str | None = None
    dtype: str = "bfloat16"
    multimodal_encoder_dtype: str | None = None
    vllm_version: str = f"tokenspeed-{TOKENSPEED_VERSION}"
    world_size: int = 1
    data_parallel_size: int = 1
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    data_parallel_rank: int = 0
    max_num_seqs: int
    max_num_batched_tokens: int
    instance_id: str
    kv_cache_size_tokens: int | None = None
    kv_cache_max_concurrency: float | None = None
    kv_events_config: dict[str, Any] | None = None


class SamplingParams(msgspec.Struct, array_like=True, kw_only=True):
    """How to generate; at most one of the four constraints is set."""

    max_new_tokens: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    min_new_tokens: int = 0
    json_schema: str | None = None
    regex: str | None = None
    ebnf: str | None = None
    structural_tag: str | None = None
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    no_stop_trim: bool = False
    thinking_budget: int | None = None
    custom_params: dict[str, Any] | None = None
    stream_interval: int | None = None
    logit_bias: dict[str, float] | None = None
    seed: int | None = None
    logprobs: int | None = None
    n: int = 1


class GenerateRequest(msgspec.Struct, array_like=True, kw_only=True, tag="TokenizedGenerateReqInput"):
    """One request to generate; ``stream`` says whether tokens are wanted as they come."""

    rid: str
    http_worker_ipc: str | None = None
    input_text: str | None = None
    input_ids: list[int] | None = None
    sampling_params: SamplingParams
    return_logprob: bool = False
    logprob_start_len: int = -1
    top_logprobs_num: int = 0
    token_ids_logprob: list[int] | None = None
    stream: bool = False


class OutputBatch(msgspec.Struct, array_like=True, kw_only=True, tag="BatchTokenIDOutSlim"):
    """What one rank produced in one step: columns parallel by request, then the rank's load."""

    rids: list[str] = []
    output_ids: list[list[int]] = []
    finished_reasons: list[str] = []
    prompt_tokens: list[int] = []
    completion_tokens: list[int] = []
    cached_tokens: list[int] = []
    output_token_logprobs_val: list[list[float]] = []
    output_token_logprobs_idx: list[list[int]] = []
    engine_index: int = 0
    num_running: int = 0
    num_waiting: int = 0
    kv_active_pages: int = 0
    kv_total_pages: int = 0


_encoder = msgspec.msgpack.Encoder()
_init_decoder = msgspec.msgpack.Decoder(Init)
_request_decoder = msgspec.msgpack.Decoder(GenerateRequest)
_abort_decoder = msgspec.msgpack.Decoder(list[str])


def identity(engine_index: int) -> bytes:
    """The routing identity of an engine: its index, two bytes, little-endian."""
    return struct.pack("<H", engine_index)


def encode(message: Status | ReadyResponse | OutputBatch) -> bytes:
    """The msgpack payload of an outgoing message."""
    return _encoder.encode(message)


def decode_init(payload: bytes) -> Init:
    """Read the gateway's INIT.

    Raises:
        msgspec.DecodeError: The payload is no INIT.
    """
    return _init_decoder.decode(payload)


def decode_request(frames: list[bytes]) -> GenerateRequest | list[str]:
    """Read a message from the input socket.

    Args:
        frames: The type byte and the payload; the gateway may append buffers of multimodal requests.

    Returns:
        The request of an ADD, or the request ids of an ABORT.

    Raises:
        ValueError: It is neither (msgspec's decode errors are ValueErrors, too).
    """
    if len(frames) < 2:
        raise ValueError(f"a request has a type and a payload, got {len(frames)} frames")
    if frames[0] == ADD:
        return _request_decoder.decode(frames[1])
    if frames[0] == ABORT:
        return _abort_decoder.decode(frames[1])
    raise ValueError(f"unknown request type {frames[0]!r}")
