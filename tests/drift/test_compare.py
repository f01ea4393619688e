"""How two flag tables differ."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smgcfg.drift.compare import Difference, differences
from smgcfg.drift.told import remedy, usage, what
from smgcfg.gateway import GatewayArgs
from smgcfg.snapshots import VERSIONS, nearest, snapshot

RELEASES = [(program, version) for program, versions in VERSIONS.items() for version in versions]


@pytest.mark.parametrize(("program", "version"), RELEASES)
def test_a_table_does_not_differ_from_itself(program: str, version: str) -> None:
    """Every shipped table is equal to itself."""
    assert differences(snapshot(program, version).flags, snapshot(program, version).flags) == []


def test_the_two_releases_of_the_engine_differ_as_is_known() -> None:
    """From 0.1.0 to 0.1.1 51 flags came, 28 went, one got a name, 12 other choices and 4 other defaults."""
    found = differences(snapshot("tokenspeed", "0.1.0").flags, snapshot("tokenspeed", "0.1.1").flags)
    parts = [difference.part for difference in found]
    counts = {part: parts.count(part) for part in parts}
    assert counts == {"added": 51, "removed": 28, "spellings": 1, "choices": 12, "default": 4}
    assert Difference("--enable-log-requests", "default", None, True) in found
    assert next(d for d in found if d.part == "spellings").flag == "--prefix-granularity"


FLAG = {"name": "--mode", "dest": "mode", "kind": "value", "type": "str"}


@pytest.mark.parametrize(
    ("before", "now", "part", "text"),
    [
        ({}, {"kind": "switch_true", "type": "bool"}, "kind", '--mode: was "value", is "switch_true"'),
        ({}, {"kind": "list", "nargs": "*"}, "kind", '--mode: was "value", is "list *"'),
        ({"kind": "list"}, {"kind": "list", "nargs": "*"}, "kind", '--mode: was "list +", is "list *"'),
        ({"type": "int"}, {"type": "float"}, "type", '--mode: was "int", is "float"'),
        ({}, {"default": "x"}, "default", '--mode: was unset, is "x"'),
        ({"default": 0}, {}, "default", "--mode: was 0, is unset"),
        ({"choices": ["a", "b"]}, {"choices": ["c", "b"]}, "choices", "--mode: takes c, too; does not take a any more"),
        ({}, {"choices": ["a"]}, "choices", "--mode: took anything, takes a"),
        ({"choices": ["a"]}, {}, "choices", "--mode: took a, takes anything"),
        ({"aliases": ["--mode", "-m"]}, {"aliases": ["--mode", "-x"]}, "spellings", "--mode: also -x; no longer -m"),
    ],
)
def test_each_part_of_a_flag_is_compared(before: dict[str, Any], now: dict[str, Any], part: str, text: str) -> None:
    """One change is one difference, and it is said in words."""
    (difference,) = differences([FLAG | before], [FLAG | now])
    assert (difference.flag, difference.part) == ("--mode", part)
    assert what(difference) == text


def test_order_and_readers_of_the_programs_own_are_no_difference() -> None:
    """The order of choices, and the name of a function that reads a word, say nothing."""
    older = [FLAG | {"choices": ["a", "b"], "type": "enum"}, FLAG | {"name": "--x", "type": "uint16"}]
    newer = [FLAG | {"name": "--x", "type": "int"}, FLAG | {"choices": ["b", "a"], "type": "str"}]
    assert differences(older, newer) == []


@given(part=st.sampled_from(["choices", "default", "action"]))
def test_what_is_not_known_is_not_compared(part: str) -> None:
    """What either table says that it does not know can not differ."""
    other = FLAG | {"choices": ["a"], "default": "a", "kind": "list"}
    unsure = FLAG | {"unknown": {part: "the machine decides"}}
    for older, newer in ((other, unsure), (unsure, other)):
        assert part not in [difference.part for difference in differences([older], [newer])]
        assert ("kind" in [d.part for d in differences([older], [newer])]) == (part != "action")


@pytest.mark.parametrize(
    ("record", "written", "advice"),
    [
        ({"default": 4, "type": "int"}, "--mode INT (4 by default)", 'extra = ["--mode", "INT"]'),
        ({"choices": ["fast", "slow"], "type": "enum"}, "--mode fast|slow", 'extra = ["--mode", "fast"]'),
        ({"kind": "switch_true", "type": "bool"}, "--mode", 'extra = ["--mode"]'),
        ({"kind": "list"}, "--mode STR...", 'extra = ["--mode", "STR"]'),
        ({"kind": "optional_value"}, "--mode [STR]", 'extra = ["--mode", "STR"]'),
        ({"name": "--policy"}, "--policy STR", "set policy"),
    ],
)
def test_a_new_flag_is_told_with_how_to_pass_it(record: dict[str, Any], written: str, advice: str) -> None:
    """A flag that no setting has goes into `extra`; one that a setting has is set."""
    (difference,) = differences([], [FLAG | record])
    assert (difference.part, what(difference)) == ("added", written)
    assert written.startswith(usage(FLAG | record))
    assert remedy(difference, GatewayArgs) == advice


def test_a_new_choice_is_told_with_how_to_pass_it() -> None:
    """A choice that the setting has is set; one that it does not have goes into `extra`."""
    older = FLAG | {"name": "--policy", "choices": ["random"]}
    known, new = older | {"choices": ["random", "manual"]}, older | {"choices": ["random", "astral"]}
    assert [remedy(d, GatewayArgs) for d in differences([older], [known])] == ["set policy"]
    assert [remedy(d, GatewayArgs) for d in differences([older], [new])] == ['extra = ["--policy", "astral"]']


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("0.1.0", "0.1.0"),
        ("0.1.0.post3", "0.1.0"),
        ("0.1.1.dev1+g12", "0.1.1"),
        ("0.1.2", "0.1.1"),
        ("1.0", "0.1.1"),
        ("0.0.9", "0.1.0"),
        ("nightly", "0.1.0"),
    ],
)
def test_the_nearest_release_is_the_newest_that_is_not_newer(version: str, known: str) -> None:
    """What is older than all of them is compared with the oldest."""
    assert nearest(version, ("0.1.0", "0.1.1")) == known
