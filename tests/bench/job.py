"""The job that everything is measured with: thirty keys of a file, ten choices on top; in every program's own form."""

import json
from collections.abc import Mapping
from typing import Final

from smgcfg import GatewayArgs, TokenspeedArgs
from smgcfg.flags import FlagSpec, specs_of
from smgcfg.json_value import Json

Settings = Mapping[str, object]

#: What stands on the pool: seven keys.
POOL: Final[Settings] = {
    "backend": "tokenspeed",
    "transport": "zmq",
    "model": "Qwen/Qwen3-8B",
    "served_model_name": "qwen3-8b",
    "tool_call_parser": "qwen",
    "replicas": 2,
    "port": 31000,
}

#: Settings of the engine: fifteen keys.
ENGINE: Final[Settings] = {
    "tensor_parallel_size": 2,
    "max_num_seqs": 256,
    "max_model_len": 32768,
    "gpu_memory_utilization": 0.9,
    "chunked_prefill_size": 8192,
    "max_prefill_tokens": 16384,
    "dtype": "bfloat16",
    "kv_cache_dtype": "auto",
    "quantization": "fp8",
    "seed": 7,
    "trust_remote_code": True,
    "enable_prefix_caching": True,
    "load_format": "auto",
    "revision": "main",
    "cudagraph_capture_sizes": [1, 2, 4, 8],
}

#: Settings of the gateway: eight keys.
GATEWAY: Final[Settings] = {
    "host": "127.0.0.1",
    "port": 8080,
    "policy": "cache_aware",
    "cache_threshold": 0.5,
    "request_timeout_secs": 600,
    "max_concurrent_requests": 512,
    "queue_size": 256,
    "retry_max_retries": 3,
}

#: What is chosen on top.
ENGINE_CHOICES: Final[Settings] = {
    "max_num_seqs": 128,
    "gpu_memory_utilization": 0.85,
    "seed": 11,
    "disable_overlap_schedule": True,
    "max_total_tokens": 500000,
    "attention_backend": "fa3",
}
GATEWAY_CHOICES: Final[Settings] = {
    "port": 8081,
    "queue_size": 64,
    "log_level": "warn",
    "cb_failure_threshold": 5,
}

#: What the other libraries read in place of the pool's keys, which are none of the engine's or the gateway's settings.
INSTEAD_OF_POOL: Final[Settings] = {
    "model": "Qwen/Qwen3-8B",
    "served_model_name": "qwen3-8b",
    "data_parallel_size": 2,
    "host": "127.0.0.1",
    "port": 31000,
    "tokenizer": "Qwen/Qwen3-8B",
    "reasoning_parser": "qwen3",
}


def deployment_text() -> str:
    """Return the deployment file."""
    return _text({"pools.chat": POOL, "pools.chat.engine": ENGINE, "gateway": GATEWAY})


def deployment_words() -> list[str]:
    """Return the choices on top of it, as `smgcfg plan` takes them."""
    chosen = {"pools.chat.engine": ENGINE_CHOICES, "gateway": GATEWAY_CHOICES}
    return [
        word
        for path, settings in chosen.items()
        for key, value in settings.items()
        for word in ("--set", f"{path}.{key}={_word(value)}")
    ]


def engine_text() -> str:
    """Return all the engine's settings of the file, as one table."""
    return _lines({**ENGINE, **INSTEAD_OF_POOL})


def engine_words() -> list[str]:
    """Return the engine's settings that are chosen on top, as its own flags."""
    return _flags(TokenspeedArgs, ENGINE_CHOICES)


def smg_words() -> list[str]:
    """Return the same as words of `smg serve` 1.13.0, which reads no file."""
    words = ["--backend", "tokenspeed", "--connection-mode", "zmq", "--model", str(POOL["model"])]
    words += ["--data-parallel-size", str(POOL["replicas"]), "--worker-base-port", str(POOL["port"])]
    words += ["--router-model-path", str(POOL["served_model_name"])]
    words += ["--router-tool-call-parser", str(POOL["tool_call_parser"])]
    for gateway, engine in ((GATEWAY, ENGINE), (GATEWAY_CHOICES, ENGINE_CHOICES)):
        for key, value in gateway.items():
            prefix = "--" if key in ("host", "port") else "--router-"
            words += [prefix + key.replace("_", "-"), str(value)]
        words += _flags(TokenspeedArgs, engine)
    return words


def other_text() -> str:
    """Return the file of the other libraries."""
    return _text({"engine": {**ENGINE, **INSTEAD_OF_POOL}, "gateway": GATEWAY})


def other_choices() -> dict[str, str]:
    """Return the choices on top of it, by dotted key."""
    chosen = {"engine": ENGINE_CHOICES, "gateway": GATEWAY_CHOICES}
    return {f"{path}.{key}": _word(value) for path, settings in chosen.items() for key, value in settings.items()}


def classes_source() -> str:
    """Return a module of dataclasses with every setting of the engine and the gateway, for the other libraries."""
    lines = ["import dataclasses", "from typing import Literal", ""]
    for name, cls in (("Engine", TokenspeedArgs), ("Gateway", GatewayArgs)):
        lines += ["", "@dataclasses.dataclass(frozen=True)", f"class {name}:"]
        lines += [f"    {spec.key}: {_annotation(spec)} | None = None" for spec in specs_of(cls)]
        lines.append("")
    lines += ["", "@dataclasses.dataclass(frozen=True)", "class Settings:"]
    lines += [f"    {n.lower()}: {n} = dataclasses.field(default_factory={n})" for n in ("Engine", "Gateway")]
    return "\n".join(lines) + "\n"


def _annotation(spec: FlagSpec) -> str:
    # typed-settings knows literals of text alone, and none of the libraries a type like Json.
    closed = bool(spec.choices) and spec.type is str
    one = f"Literal{list(spec.choices or ())!r}" if closed else "str" if spec.type is Json else spec.type.__name__
    return f"tuple[{one}, ...]" if spec.many else one


def _flags(cls: type[TokenspeedArgs], settings: Settings) -> list[str]:
    return cls(**{"grammar_backend": None, "enable_output_logprobs": None, **settings}).to_argv()


def _text(tables: Mapping[str, Settings]) -> str:
    return "\n".join(f"[{path}]\n{_lines(settings)}" for path, settings in tables.items())


def _lines(settings: Settings) -> str:
    # What JSON writes of numbers, text, booleans and lists is TOML too.
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
