"""What clients would get: features that silently stop working, and workers that answer differently."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from smgcfg.backends._base import Promise
from smgcfg.checks.subject import Subject, said
from smgcfg.errors import Finding, Severity, errors_in
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.schema import dotted

#: The features of the API that a word of `Promise.what` stands for, as clients name them.
_FEATURES: Final = {
    "json_schema": "response_format json_schema and json_object, text.format",
    "tools": "tool_choice required and named tools",
    "regex": "regex",
    "ebnf": "ebnf",
    "logprobs": "logprobs, top_logprobs",
}

#: Engine settings by which two workers give different answers to one request: what one enforces, parses or takes, the
#: other does not.
_DECIDE: Final = ("reasoning_parser", "language_model_only", "disable_any_whitespace", "enable_custom_logit_processor")

#: Engine settings by which the answers only vary: the operator may be comparing the two.
_VARY: Final = ("max_model_len", "revision", "dtype", "quantization", "kv_cache_dtype", "hf_overrides")


def constraints_off(subject: Subject) -> Iterator[Finding]:
    """SMG050: no grammar backend, so that no schema, tool, regex or grammar is enforced.

    TokenSpeed 0.1.0 and 0.1.1 abort such a request; smg 1.13.0 passes that on as HTTP 200 without content.
    """
    for shape, promise in _broken(subject):
        if promise.key == "grammar_backend":
            yield _off(subject, "SMG050", shape, promise, "is aborted: HTTP 200, no content")
    for shape in subject.shapes:
        # TokenSpeed 0.1.0, `GrammarManager`: without a tokenizer it makes no grammar backend, whatever the flag says.
        if getattr(shape.engine, "skip_tokenizer_init", None) and shape.pool.engine_version == "0.1.0":
            path = (*shape.path, "engine", "skip_tokenizer_init")
            message = f"{shape.backend.title} 0.1.0 enforces no constraint without a tokenizer"
            yield subject.finding("warning", "SMG050", path, message, "leave it out")


def logprobs_off(subject: Subject) -> Iterator[Finding]:
    """SMG051: output logprobs are off, so that a request for them is aborted (TokenSpeed 0.1.1, measured)."""
    for shape, promise in _broken(subject):
        if promise.key == "enable_output_logprobs":
            yield _off(subject, "SMG051", shape, promise, "is aborted: HTTP 200, no content")


def _broken(subject: Subject) -> Iterator[tuple[Shape, Promise]]:
    for shape in subject.shapes:
        for promise in shape.backend.promises:
            if not promise.kept(getattr(shape.engine, promise.key)):
                yield shape, promise


def _off(subject: Subject, code: str, shape: Shape, promise: Promise, effect: str) -> Finding:
    features = ", ".join(_FEATURES.get(word, word) for word in promise.what.split())
    path = (*shape.path, "engine", promise.key)
    message = f"{said(shape.engine, promise.key)}: a request that asks for {features} {effect}"
    return subject.finding("warning", code, path, message, f"remove what sets {promise.key}: its default keeps them")


def workers_differ(subject: Subject) -> Iterator[Finding]:
    """SMG052: two pools answer one model differently, and the gateway chooses between them.

    Measured with smg 1.13.0: with the grammar backend on in one of two workers, answers alternate between valid and
    freeform.
    """
    first, *others = subject.shapes or (None,)
    for other in others:
        if first is None or type(first.engine) is not type(other.engine):
            continue
        kept = {promise.key: promise.kept for promise in first.backend.promises}
        for key in (*kept, *_DECIDE, *_VARY):
            mine, its = (getattr(shape.engine, key, None) for shape in (first, other))
            means: Callable[[Any], Any] = kept.get(key, _meaning)
            if means(mine) != means(its):
                path = (*other.path, "engine", key)
                message = (
                    f"{said(other.engine, key)}; in {dotted(first.path)} it is {said(first.engine, key)}, and both "
                    "answer under one name: it depends on the worker what a client gets"
                )
                severity: Severity = "warning" if key in _VARY else "error"
                yield subject.finding(severity, "SMG052", path, message, "make them the same")


def _meaning(value: Any) -> Any:
    # A switch that is off is one that is not set.
    return None if value is False else value


def parser_on_one_side(subject: Subject) -> Iterator[Finding]:
    """SMG053: only engine or gateway knows how reasoning is marked.

    The engine begins a grammar behind the reasoning, the gateway separates the reasoning from the answer.
    """
    theirs = subject.gateway.reasoning_parser
    wrong = {finding.key for finding in errors_in(subject.planned.findings)}
    for shape in subject.shapes:
        once = dotted((*shape.path, "reasoning_parser"))
        # What no gateway takes is wrong already.
        if once in wrong or not hasattr(shape.engine, "reasoning_parser"):
            continue
        own = shape.engine.reasoning_parser
        hint = f"say it once: {once}"
        if own is not None and theirs is None:
            message = f"{own!r} in the engine only: the gateway takes the reasoning for a part of the answer"
            yield subject.finding("warning", "SMG053", (*shape.path, "engine", "reasoning_parser"), message, hint)
        elif own is None and theirs is not None:
            message = f"{theirs!r} in the gateway only: a constraint begins with the first token, not behind reasoning"
            yield subject.finding("warning", "SMG053", (*GATEWAY, "reasoning_parser"), message, hint)
