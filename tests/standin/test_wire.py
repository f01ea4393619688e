"""The messages on the wire, against what smg 1.13.0 sends and reads."""

import msgspec
import pytest

from smgcfg.standin import wire

READY_FIELDS = (
    "max_model_len num_gpu_blocks prefix_granularity dp_stats_address dtype multimodal_encoder_dtype vllm_version "
    "world_size data_parallel_size tensor_parallel_size pipeline_parallel_size decode_context_parallel_size "
    "data_parallel_rank max_num_seqs max_num_batched_tokens instance_id kv_cache_size_tokens "
    "kv_cache_max_concurrency kv_events_config"
)
PARAMS = [
    16, None, [97], 0.800000011920929, 1, 1 << 30, 0.0, 0.0, 0.0, 1.0, 0, None, "a+", None, None, False, True, True,
    False, None, None, None, None, 7, None, 1, [], 0, True,
]  # fmt: skip
REQUEST = ["TokenizedGenerateReqInput", "r-1", None, None, [104, 105], PARAMS, True, -1, 0, None, True]


def test_a_request_of_the_gateway() -> None:
    """The eleven elements of a request and the 29 of its sampling parameters land in their fields."""
    request = wire.decode_request([wire.ADD, msgspec.msgpack.encode(REQUEST)])
    assert isinstance(request, wire.GenerateRequest)
    assert (request.rid, request.input_ids, request.return_logprob, request.stream) == ("r-1", [104, 105], True, True)
    params = request.sampling_params
    assert (params.max_new_tokens, params.stop_token_ids, params.regex, params.seed, params.n) == (16, [97], "a+", 7, 1)


def test_senders_may_stop_early_or_go_on() -> None:
    """A shorter request keeps the defaults; buffers behind it and further elements are no error."""
    short = wire.decode_request([wire.ADD, msgspec.msgpack.encode([*REQUEST[:5], []])])
    assert isinstance(short, wire.GenerateRequest)
    assert (short.stream, short.sampling_params.max_new_tokens) == (False, None)
    wire.decode_request([wire.ADD, msgspec.msgpack.encode([*REQUEST, None, "new"]), b"tensor"])


def test_an_abort_of_the_gateway() -> None:
    """An abort is a list of request ids."""
    assert wire.decode_request([wire.ABORT, msgspec.msgpack.encode(["a", "b"])]) == ["a", "b"]


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [wire.ADD],
        [b"\x07", b""],
        [wire.ADD, b"\xc1"],
        [wire.ADD, msgspec.msgpack.encode(["Other", "r"])],
        [wire.ADD, msgspec.msgpack.encode({"rid": "r"})],
        [wire.ABORT, msgspec.msgpack.encode("r")],
    ],
)
def test_malformed_messages_are_value_errors(frames: list[bytes]) -> None:
    """Whatever arrives, the error is one that the receiver drops the message for."""
    with pytest.raises(ValueError, match=r".+"):
        wire.decode_request(frames)


def test_ready_has_the_nineteen_fields() -> None:
    """The ready response is a map with the fields of TokenSpeed 0.1.1, and no other."""
    ready = wire.ReadyResponse(
        max_model_len=1, num_gpu_blocks=1, prefix_granularity=1, max_num_seqs=1, max_num_batched_tokens=1,
        instance_id="m",
    )  # fmt: skip
    decoded = msgspec.msgpack.decode(wire.encode(ready))
    assert list(decoded) == READY_FIELDS.split()
    assert len(decoded) == 19
    assert decoded["vllm_version"] == "tokenspeed-0.1.1"


def test_an_output_is_fourteen_elements() -> None:
    """An output batch is a positional array, its tag first and the rank's load last."""
    batch = wire.OutputBatch(rids=["a"], engine_index=3, num_running=1)
    assert msgspec.msgpack.decode(wire.encode(batch)) == [
        "BatchTokenIDOutSlim", ["a"], [], [], [], [], [], [], [], 3, 1, 0, 0, 0,
    ]  # fmt: skip


def test_identities_are_two_bytes() -> None:
    """An engine's identity is its index in little-endian order."""
    assert wire.identity(258) == b"\x02\x01"


def test_init_is_read_by_name() -> None:
    """Unknown keys of the gateway's INIT are no error; a missing address list is empty."""
    payload = {"addresses": {"inputs": ["ipc://i"], "coordinator_input": None}, "parallel_config": {}}
    assert wire.decode_init(msgspec.msgpack.encode(payload)).addresses == wire.Addresses(["ipc://i"], [])
