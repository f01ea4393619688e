"""The translation of structural tags never accepts more than the tag does."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from standin.answers import Unfinished, answer

from smgcfg.standin import structural_tag

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMA_TEXT = r'\{"city": "(?:[^"\\]|\\.)*"(?:, .*)?\}'


def written(form: dict[str, Any], seed: int = 0, limit: int = 4000) -> str:
    """Write one answer under a structural tag."""
    return answer("structural_tag", json.dumps({"format": form}), seed, limit)


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


class Reader:
    """Reads a text by structural tags as xgrammar means them, independently of their translation.

    Each method takes the places where a piece may begin, and returns those where it can end.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[tuple[int, int], set[int]] = {}

    def ends(self, form: dict[str, Any], starts: set[int]) -> set[int]:
        """Read one format."""
        found: set[int] = set()
        for start in starts:
            key = (id(form), start)
            if key not in self.known:
                self.known[key] = self.fresh(form, start)
            found |= self.known[key]
        return found

    def fresh(self, form: dict[str, Any], start: int) -> set[int]:
        """Read one format at one place that has not been tried."""
        rest = range(start, len(self.text) + 1)
        match form.get("type", "tag"):
            case "const_string":
                return self.word(form["value"], {start})
            case "regex":
                return {end for end in rest if re.fullmatch(form["pattern"], self.text[start:end])}
            case "grammar":
                return {end for end in rest if re.fullmatch("#*%", self.text[start:end])}
            case "any_text":
                return self.free(form.get("excludes", ()), {start})
            case "json_schema":
                return self.json(form["json_schema"], start)
            case "sequence":
                ends = {start}
                for element in form["elements"]:
                    ends = self.ends(element, ends)
                return ends
            case "or":
                return self.any_of(form["elements"], {start})
            case "optional":
                return {start} | self.ends(form["content"], {start})
            case "plus":
                return self.rounds(lambda starts: self.ends(form["content"], starts), {start})
            case "star":
                return {start} | self.rounds(lambda starts: self.ends(form["content"], starts), {start})
            case "tag":
                inner = self.ends(form["content"], self.word(form["begin"], {start}))
                stops = [form["end"]] if isinstance(form["end"], str) else form["end"]
                return {end for stop in stops for end in self.word(stop, inner)}
            case "tags_with_separator":
                first = self.any_of(form["tags"], {start})
                more = self.rounds(
                    lambda starts: self.any_of(form["tags"], self.word(form["separator"], starts)), first
                )
                found = first if form["stop_after_first"] else first | more
                return found if form["at_least_one"] else found | {start}
            case "triggered_tags":
                first = self.any_of(form["tags"], {start}) if form["at_least_one"] else {start}
                more = self.rounds(lambda starts: self.any_of(form["tags"], self.free(form["triggers"], starts)), first)
                return self.free(form["triggers"], first | more)
        raise AssertionError(form)

    def word(self, word: str, starts: set[int]) -> set[int]:
        """Read a word."""
        return {start + len(word) for start in starts if self.text.startswith(word, start)}

    def free(self, excludes: Sequence[str], starts: set[int]) -> set[int]:
        """Read free text without some words."""
        return {
            end
            for start in starts
            for end in range(start, len(self.text) + 1)
            if not any(word in self.text[start:end] for word in excludes)
        }

    def json(self, schema: Any, start: int) -> set[int]:
        """Read JSON: any value, or what obeys the schema of these tests."""
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, start)
        except ValueError:
            return set()
        return {end} if schema is True or (isinstance(value, dict) and isinstance(value.get("city"), str)) else set()

    def any_of(self, forms: Sequence[dict[str, Any]], starts: set[int]) -> set[int]:
        """Read one of several formats."""
        return {end for form in forms for end in self.ends(form, starts)}

    @staticmethod
    def rounds(once: Callable[[set[int]], set[int]], starts: set[int]) -> set[int]:
        """Read something once or more often."""
        found: set[int] = set()
        while fresh := once(starts) - found:
            found |= fresh
            starts = fresh
        return found


def allows(form: dict[str, Any], text: str) -> bool:
    """Say whether a structural tag allows a whole text."""
    return len(text) in Reader(text).ends(form, {0})


# No delimiter and no piece begins like the text or the number in front of it: llguidance could not tell them apart.
texts = st.text('<>ab"\\é[', min_size=1, max_size=3)
leaves = st.one_of(
    texts.map(lambda text: {"type": "const_string", "value": text}),
    st.sampled_from(
        [
            {"type": "regex", "pattern": "#[0-9]*/"},
            {"type": "grammar", "grammar": 'root ::= "#" root | "%"'},
            {"type": "json_schema", "json_schema": SCHEMA},
            {"type": "json_schema", "json_schema": True},
            {"type": "any_text"},
        ]
    ),
    st.lists(texts, min_size=1, max_size=2).map(lambda words: {"type": "any_text", "excludes": words}),
)


def bigger(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Build formats of smaller ones."""
    groups = st.lists(inner, min_size=1, max_size=3)
    tags = st.lists(st.builds(tag, texts, inner, texts), min_size=1, max_size=2)
    return st.one_of(
        st.fixed_dictionaries({"type": st.sampled_from(["sequence", "or"]), "elements": groups}),
        st.fixed_dictionaries({"type": st.sampled_from(["plus", "star", "optional"]), "content": inner}),
        st.fixed_dictionaries(
            {"type": st.just("tag"), "begin": texts, "content": inner, "end": st.lists(texts, min_size=1, max_size=2)}
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("tags_with_separator"),
                "tags": tags,
                "separator": texts,
                "at_least_one": st.booleans(),
                "stop_after_first": st.booleans(),
            }
        ),
        st.builds(
            lambda made, some: {
                "type": "triggered_tags",
                "triggers": [entry["begin"] for entry in made],
                "tags": made,
                "at_least_one": some,
            },
            tags,
            st.booleans(),
        ),
    )


forms = st.recursive(leaves, bigger, max_leaves=5)


@given(forms, st.integers(0, 9))
def test_every_answer_obeys(form: dict[str, Any], seed: int) -> None:
    """Whatever the tree of formats, an answer that ends is one that the structural tag allows."""
    try:
        text = written(form, seed, limit=500)
    except Unfinished:  # text in loops of text may find no way out; the gateway tells the client that it was cut
        reject()
    assert allows(form, text)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"type": "const_string", "value": "ab"}, "a"),
        ({"type": "any_text", "excludes": ["b"]}, "abc"),
        ({"type": "plus", "content": {"type": "const_string", "value": "a"}}, ""),
        ({"type": "sequence", "elements": [{"type": "const_string", "value": "a"}, {"type": "any_text"}]}, "b"),
        ({"type": "tag", "begin": "<", "content": {"type": "any_text"}, "end": [">"]}, "<a"),
        (
            {
                "type": "triggered_tags",
                "triggers": ["<"],
                "tags": [{"begin": "<a", "content": {"type": "any_text"}, "end": ">"}],
                "at_least_one": False,
            },
            "text <b>",
        ),
    ],
)
def test_the_independent_reading_can_say_no(form: dict[str, Any], text: str) -> None:
    """The reading of formats in these tests tells right from wrong texts."""
    assert not allows(form, text)


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
