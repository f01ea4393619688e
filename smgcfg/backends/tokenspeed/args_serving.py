"""How the engine is reached, what it answers and what it reports."""

from typing import Literal

from smgcfg.backends.tokenspeed.versions import V010, V011
from smgcfg.flags import flag
from smgcfg.groups import group
from smgcfg.json_value import Json
from smgcfg.reference import Text


@group(kw_only=True)
class ServingSettings:
    """How the engine is reached, what it answers and what it reports."""

    __slots__ = ()

    # endpoints
    host: str | None = flag("the address the engine listens on")
    port: int | None = flag("the port the engine listens on; further ports are counted from it")
    api_key: Text | None = flag("the key that requests must carry", secret=True, versions=V010)
    zmq_msgpack: bool | None = flag(
        "speak msgpack over ZeroMQ with the gateway", off=("--no-zmq-msgpack",), versions=V011
    )
    data_parallel_address: str | None = flag("host of the gateway's handshake socket", reads="nonempty", versions=V011)
    data_parallel_rpc_port: int | None = flag(
        "port of the gateway's handshake socket", bounds=(0, 65535), versions=V011
    )
    zmq_engine_index: int | None = flag(
        "the number by which the gateway addresses this engine", bounds=(0, 65535), versions=V011
    )

    # structured output and answers
    grammar_backend: Literal["xgrammar", "llguidance", "none"] | None = flag(
        "what enforces JSON schemas, tools, regexes and grammars; none enforces nothing",
        default="xgrammar",
        narrow={"0.1.0": ("xgrammar", "none"), "0.1.1": ("xgrammar", "none")},
    )
    reasoning_parser: str | None = flag("the model's reasoning format: grammars start behind the reasoning")
    grammar_compile_timeout_secs: float | None = flag("longest compilation of one grammar, in seconds")
    grammar_compile_max_retries: int | None = flag("timeouts after which a grammar is refused for good")
    disable_any_whitespace: bool | None = flag("allow no free whitespace in JSON output")
    disable_capturable_grammar: bool | None = flag("apply grammars outside CUDA graphs")
    enable_output_logprobs: bool | None = flag(
        "return log probabilities of the tokens when a request asks for them", default=True
    )
    input_logprob_chunk_tokens: int | None = flag(
        "prompt tokens scored at once when a request asks for their log probabilities", limits=(1, None), versions=V011
    )
    stream_interval: int | None = flag("tokens between two streamed pieces")
    stream_output: bool | None = flag("stream pieces that do not repeat earlier text")
    enable_cache_report: bool | None = flag("report cached prompt tokens in the usage of an answer", versions=V010)
    enable_custom_logit_processor: bool | None = flag("let requests bring logit processors of their own", versions=V010)

    # warm-up
    skip_server_warmup: bool | None = flag("start without warm-up requests", versions=V010)
    warmups: str | None = flag("names of the warm-up functions to run, with commas", versions=V010)

    # logging and metrics
    log_level: str | None = flag("level of all loggers")
    log_level_http: str | None = flag("level of the HTTP server's logger; unset is the same as all", versions=V010)
    enable_log_requests: bool | None = flag("log every request", off=("--no-enable-log-requests",))
    log_requests_level: Literal[0, 1, 2] | None = flag("how much of a request is logged: 0 metadata, 1 a part, 2 all")
    enable_log_request_stats: bool | None = flag(
        "log one line of timings and counts per finished request", off=("--no-enable-log-request-stats",)
    )
    enable_metrics: bool | None = flag("collect metrics")
    metrics_reporters: tuple[Literal["prometheus"], ...] | None = flag("where metrics are reported", style="append")
    app_key: str | None = flag("the application label on metrics")
    decode_log_interval: int | None = flag("decode steps between two log lines")
    kv_events_config: Json | None = flag("how changes of the prefix cache are published")
    enable_nvtx: bool | None = flag("mark the stages of a step for the profiler")
    enable_nan_detection: bool | None = flag("end a request whose logits hold NaN instead of answering with garbage")

    # control of weights in reinforcement learning
    rl_control_port: int | None = flag("port of the in-engine control server")
    rl_control_host: str | None = flag(
        "address of the in-engine control server; unset is the engine's host", versions=V011
    )
    rl_control_api_key: Text | None = flag("the bearer token that the control server wants", secret=True, versions=V011)
    model_update_config: Json | None = flag("settings handed to the model updater", versions=V011)
    model_update_sdk_module: str | None = flag("import path of the model updater", versions=V011)
    model_update_engine_type: str | None = flag("name of the model updater's engine type", versions=V011)
    model_update_draft_weights: Literal["retain", "refresh"] | None = flag(
        "whether an update also refreshes the draft model", versions=V011
    )
    weight_transfer_config: Json | None = flag("how new weights reach the engine", versions=V010)
