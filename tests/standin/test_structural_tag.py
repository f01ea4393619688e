"""The translation of structural tags never accepts more than the tag does."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smgcfg.standin import structural_tag
from standin.answers import answer

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMA_TEXT = r'\{"city": "(?:[^"\\]|\\.)*"(?:, .*)?\}'


def written(form: dict[str, Any], seed: int = 0) -> str:
    """Write one answer under a structural tag."""
    return answer("structural_tag", json.dumps({"format": form}), seed)


def tag(begin: str, content: dict[str, Any], end: str | list[str]) -> dict[str, Any]:
    """Build a tag, without its type as smg sends it."""
    return {"begin": begin, "content": content, "end": end}


def test_mistral_tool_calls() -> None:
    """The nested tags of the mistral parser give a list of calls with arguments that obey their schema."""
    calls = {
        "type": "tags_with_separator",
        "tags": [
            tag(f'{{"name": "{name}", "arguments": ', {"type": "json_schema", "json_schema": SCHEMA}, "}")
            for name in ("get_weather", "get_time")
        ],
        "separator": ", ",
        "at_least_one": True,
    }
    form = {
        "type": "triggered_tags",
        "triggers": ["[TOOL_CALLS]"],
        "tags": [tag("[TOOL_CALLS] [", calls, "]")],
        "at_least_one": True,
    }
    names, counts = set(), set()
    for seed in range(30):
        text = written(form, seed)
        listed = json.loads(text.removeprefix("[TOOL_CALLS] "))
        assert all(isinstance(call["arguments"]["city"], str) for call in listed)
        names |= {call["name"] for call in listed}
        counts.add(len(listed) > 1)
    assert names == {"get_weather", "get_time"}
    assert counts == {True, False}


def test_the_first_trigger_is_used() -> None:
    """Of several spellings of a call, as the kimi parsers have them, the one of the first trigger is written."""
    form = {
        "type": "triggered_tags",
        "triggers": ["<|section|>", "<|call|>"],
        "tags": [
            tag("<|section|><|call|>f<|args|>", {"type": "json_schema", "json_schema": SCHEMA}, "<|end|>"),
            tag("<|call|>f<|args|>", {"type": "json_schema", "json_schema": SCHEMA}, "<|end|>"),
        ],
        "at_least_one": True,
    }
    for seed in range(10):
        assert re.fullmatch(rf"<\|section\|><\|call\|>f<\|args\|>{SCHEMA_TEXT}<\|end\|>", written(form, seed))


# Each form is a pair: the structural tag's format, and a regex of everything that xgrammar allows for it.
texts = st.text('<>ab"\\\né[', min_size=1, max_size=3)
leaves = st.one_of(
    texts.map(lambda text: ({"type": "const_string", "value": text}, re.escape(text))),
    st.sampled_from(
        [
            ({"type": "regex", "pattern": "[1-9][0-9]*/"}, "[1-9][0-9]*/"),
            ({"type": "grammar", "grammar": 'root ::= "x" root | "y"'}, "x*y"),
            ({"type": "json_schema", "json_schema": SCHEMA}, SCHEMA_TEXT),
            ({"type": "json_schema", "json_schema": True}, ".+"),
            ({"type": "any_text"}, ".*"),
        ]
    ),
    st.lists(texts, min_size=1, max_size=2).map(
        lambda words: (
            {"type": "any_text", "excludes": words},
            "".join(f"(?:(?!{re.escape(word)})" for word in words) + "." + ")" * len(words) + "*",
        )
    ),
)


def bigger(inner):
    """Build forms of smaller forms."""
    groups = st.lists(inner, min_size=1, max_size=3)
    tags = st.lists(st.tuples(texts, inner, texts), min_size=1, max_size=2).map(
        lambda parts: (
            [tag(begin, form, end) for begin, (form, _), end in parts],
            "|".join(f"{re.escape(begin)}(?:{pattern}){re.escape(end)}" for begin, (_, pattern), end in parts),
        )
    )
    return st.one_of(
        groups.map(
            lambda parts: (
                {"type": "sequence", "elements": [form for form, _ in parts]},
                "".join(f"(?:{pattern})" for _, pattern in parts),
            )
        ),
        groups.map(
            lambda parts: ({"type": "or", "elements": [form for form, _ in parts]}, "|".join(p for _, p in parts))
        ),
        st.tuples(inner, st.sampled_from([("plus", "+"), ("star", "*"), ("optional", "?")])).map(
            lambda pair: ({"type": pair[1][0], "content": pair[0][0]}, f"(?:{pair[0][1]}){pair[1][1]}")
        ),
        st.tuples(inner, st.lists(texts, min_size=1, max_size=2)).map(
            lambda pair: (
                {"type": "tag", **tag("<t>", pair[0][0], pair[1])},
                f"<t>(?:{pair[0][1]})(?:{'|'.join(map(re.escape, pair[1]))})",
            )
        ),
        st.tuples(tags, texts, st.booleans(), st.booleans()).map(
            lambda made: (
                {
                    "type": "tags_with_separator",
                    "tags": made[0][0],
                    "separator": made[1],
                    "at_least_one": made[2],
                    "stop_after_first": made[3],
                },
                f"(?:(?:{made[0][1]})(?:{re.escape(made[1])}(?:{made[0][1]}))*){'' if made[2] else '?'}",
            )
        ),
        st.tuples(tags, st.booleans()).map(
            lambda made: (
                {
                    "type": "triggered_tags",
                    "triggers": [entry["begin"] for entry in made[0][0]],
                    "tags": made[0][0],
                    "at_least_one": made[1],
                },
                f"(?:{made[0][1]}).*" if made[1] else ".*",
            )
        ),
    )


forms = st.recursive(leaves, bigger, max_leaves=5)


@given(forms, st.integers(0, 9))
def test_every_answer_obeys(form: tuple[dict[str, Any], str], seed: int) -> None:
    """Whatever the tree of formats, the answer is one that the structural tag allows."""
    document, pattern = form
    assert re.fullmatch(pattern, written(document, seed), re.DOTALL)


@given(texts, texts, st.integers(0, 9))
def test_free_text_holds_no_delimiter(value: str, end: str, seed: int) -> None:
    """Free text in front of an end never holds the beginning of that end, nor of another delimiter."""
    document = {
        "type": "sequence",
        "elements": [
            {"type": "const_string", "value": value},
            {"type": "tag", **tag("", {"type": "any_text"}, end)},
        ],
    }
    free = written(document, seed).removeprefix(value).removesuffix(end)
    assert not set(free) & {end[0], value[0]}


@pytest.mark.parametrize(
    "form",
    [
        {},
        "text",
        {"type": "unheard_of"},
        {"type": ["or"]},
        {"type": "const_string"},
        {"type": "const_string", "value": 3},
        {"type": "const_string", "value": "a", "loose": True},
        {"type": "json_schema", "json_schema": False},
        {"type": "json_schema", "json_schema": {}, "style": "qwen_xml"},
        {"type": "or", "elements": []},
        {"type": "sequence", "elements": 3},
        {"type": "tag", "begin": "a", "end": "b"},
        {"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": []},
        {"type": "triggered_tags", "triggers": ["x"], "tags": [tag("y", {"type": "any_text"}, "z")]},
        {"type": "triggered_tags", "triggers": 3, "tags": []},
        {"type": "triggered_tags", "triggers": ["x"], "tags": ["x"]},
        {"type": "token_triggered_tags", "tags": []},
    ],
)
def test_what_has_no_translation_is_refused(form: Any) -> None:
    """Unknown formats, unknown fields and malformed trees are errors, never free text."""
    with pytest.raises(structural_tag.StructuralTagError):
        structural_tag.to_lark(json.dumps({"format": form}))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"structures": [], "triggers": []}'])
def test_what_is_no_structural_tag_is_refused(text: str) -> None:
    """Text that is no object with a format is an error."""
    with pytest.raises(structural_tag.StructuralTagError):
        structural_tag.to_lark(text)
