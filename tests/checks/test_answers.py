"""What clients would get."""

import pytest
from checking import GRPC, POOL, SECOND, found, told


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", []),
        ('grammar_backend = "xgrammar"\n', []),
        ('grammar_backend = "none"\n', ["warning SMG050 pools.a.engine.grammar_backend d.toml:5"]),
        ('unset = ["grammar_backend"]\n', ["warning SMG050 pools.a.engine.grammar_backend d.toml:5"]),
        ("enable_output_logprobs = false\n", ["warning SMG051 pools.a.engine.enable_output_logprobs d.toml:5"]),
    ],
)
def test_what_silently_stops_working_is_named(lines: str, expected: list[str]) -> None:
    """A grammar backend of none and logprobs that are off are found, whichever way they come about."""
    assert told(found(POOL + "[pools.a.engine]\n" + lines)) == expected


def test_the_features_are_named_as_clients_know_them() -> None:
    """The report names the fields of a request that no longer do anything."""
    (finding,) = found(POOL + '[pools.a.engine]\ngrammar_backend = "none"\n')
    for field in ("response_format", "json_schema", "tool_choice", "regex", "ebnf", "'none'", "HTTP 200"):
        assert field in finding.message
    (finding,) = found(POOL + "[pools.a.engine]\nenable_output_logprobs = false\n")
    assert "logprobs, top_logprobs" in finding.message


def test_an_old_engine_without_a_tokenizer_enforces_nothing() -> None:
    """TokenSpeed 0.1.0 makes no grammar backend without a tokenizer, whatever the flag says; 0.1.1 does."""
    text = GRPC + 'engine_version = "{}"\n[pools.a.engine]\nskip_tokenizer_init = true\n'
    assert told(found(text.format("0.1.0"))) == ["warning SMG050 pools.a.engine.skip_tokenizer_init d.toml:7"]
    assert found(text.format("0.1.1")) == []


@pytest.mark.parametrize(
    ("mine", "its", "severity"),
    [
        ("", 'grammar_backend = "none"', "error"),
        ("enable_output_logprobs = false", "enable_output_logprobs = true", "error"),
        ('reasoning_parser = "qwen3"', 'reasoning_parser = "kimi"', "error"),
        ("", "language_model_only = true", "error"),
        ("", "max_model_len = 4096", "warning"),
        ('quantization = "fp8"', "", "warning"),
        ("", "language_model_only = false", ""),
        ("max_num_seqs = 1", "max_num_seqs = 2", ""),
        ('reasoning_parser = "qwen3"', 'reasoning_parser = "qwen3"', ""),
    ],
)
def test_two_pools_answer_alike(mine: str, its: str, severity: str) -> None:
    """What makes an answer depend on the worker is an error, what lets it vary a warning, the rest is nobody's."""
    text = f"{POOL}[pools.a.engine]\n{mine}\n{SECOND}[pools.b.engine]\n{its}\n[gateway]\nreasoning_parser = 'qwen3'\n"
    differing = [finding for finding in found(text) if finding.code == "SMG052"]
    assert [finding.severity for finding in differing] == ([severity] if severity else [])
    assert all("pools.a" in finding.message and finding.key.startswith("pools.b") for finding in differing)


def test_each_pool_is_held_against_the_first() -> None:
    """A third pool that differs is found, and is not mistaken for the second."""
    third = SECOND.replace("pools.b", "pools.c") + '[pools.c.engine]\ngrammar_backend = "none"\n'
    assert [f.key for f in found(POOL + SECOND + third) if f.code == "SMG052"] == ["pools.c.engine.grammar_backend"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POOL + 'reasoning_parser = "qwen3"\n', []),
        (POOL + '[gateway]\nreasoning_parser = "qwen3"\n', ["warning SMG053 gateway.reasoning_parser d.toml:5"]),
        (
            POOL + '[pools.a.engine]\nreasoning_parser = "qwen3"\n',
            ["warning SMG053 pools.a.engine.reasoning_parser d.toml:5"],
        ),
        (
            POOL + 'reasoning_parser = "qwen3"\n[gateway]\nunset = ["reasoning_parser"]\n',
            ["warning SMG053 pools.a.engine.reasoning_parser d.toml:4"],
        ),
        (POOL + 'tool_call_parser = "qwen"\n', []),
    ],
)
def test_a_parser_is_known_on_both_sides(text: str, expected: list[str]) -> None:
    """A reasoning parser that only engine or gateway has is found; said once on the pool, both have it."""
    assert told(found(text)) == expected
