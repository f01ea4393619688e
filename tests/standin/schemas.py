"""JSON schemas of a modest kind, and an independent reading of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

_NAMES = st.sampled_from(["a", "city", "größe", 'quo"te', "$ref", "a b"])


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.dictionaries(_NAMES, inner, max_size=3).flatmap(
        lambda properties: st.builds(
            lambda required, extra: {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": extra,
            },
            st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([]),
            st.booleans(),
        )
    )


def _arrays(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(
        lambda items, least, more: {"type": "array", "items": items, "minItems": least, "maxItems": least + more},
        inner,
        st.integers(0, 2),
        st.integers(0, 3),
    )


def schemas() -> st.SearchStrategy[Schema]:
    """Objects, arrays, choices, enums, bounded numbers and strings, nested a little."""
    leaves: st.SearchStrategy[Schema] = st.one_of(
        st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]),
        st.builds(lambda low, span: {"type": "integer", "minimum": low, "maximum": low + span}, _BOUNDS, _SPANS),
        st.builds(lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more}, _SPANS, _SPANS),
        st.lists(st.text(max_size=4) | st.integers(-9, 99) | st.booleans(), min_size=1, max_size=3).map(
            lambda values: {"enum": values}
        ),
        st.text(max_size=4).map(lambda value: {"const": value}),
        st.just({"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            _objects(inner),
            _arrays(inner),
            st.lists(inner, min_size=1, max_size=3).map(lambda any_of: {"anyOf": any_of}),
        ),
        max_leaves=6,
    )


_BOUNDS = st.integers(-50, 50)
_SPANS = st.integers(0, 20)


def valid(value: Any, schema: Schema) -> bool:
    """Say whether a value obeys a schema of `schemas`, read by JSON Schema's rules."""
    import re

    checks = {
        "anyOf": lambda options: any(valid(value, option) for option in options),
        "enum": lambda values: any(_same(value, each) for each in values),
        "const": lambda const: _same(value, const),
        "type": lambda kind: _kind(value, kind),
        "minimum": lambda bound: value >= bound,
        "maximum": lambda bound: value <= bound,
        "minLength": lambda length: len(value) >= length,
        "maxLength": lambda length: len(value) <= length,
        "minItems": lambda count: len(value) >= count,
        "maxItems": lambda count: len(value) <= count,
        "items": lambda items: all(valid(item, items) for item in value),
        "pattern": lambda pattern: re.search(pattern, value) is not None,
        "required": lambda names: all(name in value for name in names),
        "properties": lambda parts: all(valid(value[name], part) for name, part in parts.items() if name in value),
        "additionalProperties": lambda extra: extra or set(value) <= set(schema["properties"]),
    }
    return ("type" not in schema or _kind(value, schema["type"])) and all(
        checks[keyword](argument) for keyword, argument in schema.items()
    )


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "integer": isinstance(value, int),
        "number": isinstance(value, int | float),
        "null": value is None,
        "boolean": False,
    }[kind]
