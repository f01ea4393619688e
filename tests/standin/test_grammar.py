"""Constraints are enforced in full, or refused."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin.answers import LIBRARY, accepts, answer
from standin.schemas import Schema, schemas, valid

from smgcfg.standin.grammar import Constraint, GrammarError, constraints_of
from smgcfg.standin.wire import SamplingParams


@given(schemas(), st.integers(0, 99))
def test_every_answer_obeys_its_schema(schema: Schema, seed: int) -> None:
    """Whatever the schema, the answer is JSON that an independent check finds valid."""
    assert valid(json.loads(answer("json_schema", json.dumps(schema), seed)), schema)


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (1, {"type": "integer"}, True),
        (True, {"type": "integer"}, False),
        ("ab", {"type": "string", "maxLength": 1}, False),
        ({"b": 1}, {"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
        ([1, "x"], {"type": "array", "items": {"type": "integer"}}, False),
        ("AB1", {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}, True),
        (None, {"anyOf": [{"type": "string"}, {"const": 0}]}, False),
        (False, {"enum": [0]}, False),
    ],
)
def test_the_independent_check_can_say_no(value: object, schema: Schema, expected: bool) -> None:
    """The checker of these tests tells valid from invalid values."""
    assert valid(value, schema) is expected


def test_any_object() -> None:
    """The schema of response_format json_object gives an object, and different ones for different seeds."""
    answers = {answer("json_schema", '{"type":"object"}', seed) for seed in range(30)}
    assert all(isinstance(json.loads(text), dict) for text in answers)
    assert len(answers) > 10


def test_recursive_schemas_end() -> None:
    """A schema that refers to itself gives finite answers."""
    schema = {
        "$defs": {"n": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
                        "required": ["next"], "additionalProperties": False}},
        "$ref": "#/$defs/n",
    }  # fmt: skip
    for seed in range(20):
        node = json.loads(answer("json_schema", json.dumps(schema), seed))
        while node is not None:
            assert set(node) == {"next"}
            node = node["next"]


patterns = st.recursive(
    st.sampled_from(["a", "[A-Z]", "[0-9]", "x-", r"\.", "(yes|no)", "é"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "{2}", "{1,3}", "*"])).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=5,
)


@given(patterns, st.integers(0, 9), st.sampled_from(["{}", "^{}$", "^{}"]))
def test_every_answer_matches_its_regex(pattern: str, seed: int, anchors: str) -> None:
    """Whatever the pattern, with anchors or without, the whole answer matches it."""
    assert re.fullmatch(pattern, answer("regex", anchors.format(pattern), seed))


def test_an_escaped_dollar_is_no_anchor() -> None:
    """Only an anchor is taken off the end of a pattern."""
    assert accepts("regex", r"a\$")("a$")
    assert accepts("regex", r"a\\$")("a\\")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json_schema", "{"),
        ("json_schema", "[]"),
        ("json_schema", '{"type": "strin"}'),
        ("json_schema", '{"type": "array", "uniqueItems": true}'),
        ("json_schema", '{"not": {"type": "string"}, "x-guidance": {"lenient": true}}'),
        ("regex", "("),
        ("regex", "(?=a)b"),
        ("ebnf", "root ::= missing"),
        ("structural_tag", '{"format": {"type": "qwen_xml_parameter", "json_schema": {}}}'),
        ("structural_tag", "{"),
    ],
)
def test_what_can_not_be_enforced_is_refused(kind: str, text: str) -> None:
    """Malformed constraints and those beyond the library are errors whose message is one line that names the kind."""
    with pytest.raises(GrammarError, match=f"^{kind}: .") as caught:
        LIBRARY.start(Constraint(kind, text))
    assert "\n" not in str(caught.value)


def test_a_forbidden_token_is_an_error() -> None:
    """The grammar itself refuses what it does not allow."""
    grammar = LIBRARY.start(Constraint("regex", "ab"))
    grammar.accept(ord("a"))
    with pytest.raises(GrammarError):
        grammar.accept(ord("x"))


def test_answers_under_one_constraint_do_not_share_state() -> None:
    """A compiled constraint serves many answers at once."""
    first, second = (LIBRARY.start(Constraint("regex", "ab")) for _ in range(2))
    first.accept(ord("a"))
    assert (first.allowed(), second.allowed()) == ({ord("b")}, {ord("a")})


def test_the_four_fields_of_the_wire() -> None:
    """Each constraint of the request is found under its field's name."""
    params = SamplingParams(json_schema="1", regex="2", ebnf="3", structural_tag="4")
    assert [(each.kind, each.text) for each in constraints_of(params)] == [
        ("json_schema", "1"), ("regex", "2"), ("ebnf", "3"), ("structural_tag", "4"),
    ]  # fmt: skip
    assert constraints_of(SamplingParams()) == []
