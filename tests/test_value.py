"""Frozen values declared by their annotations."""

import copy
import pickle

import pytest

from smgcfg.value import Value


class Point(Value):
    """A value with a default."""

    x: int
    y: int = 7


class Twin(Value):
    """A value with the same attributes as another."""

    x: int
    y: int = 7


class Nothing(Value):
    """A value without attributes."""


def test_values_are_made_as_dataclasses_are() -> None:
    """Arguments go by position or by name, and what is not given has its default."""
    assert Point(1) == Point(x=1) == Point(1, 7) == Point(1, y=7) == Point(y=7, x=1)
    assert (Point(1).x, Point(1).y, Point(1, 2).y) == (1, 7, 2)
    assert Nothing() == Nothing()


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), ((), {"y": 1}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"x": 1, "z": 1})],
)
def test_what_does_not_fit_is_refused(args: tuple[int, ...], named: dict[str, int]) -> None:
    """An argument that is missing, unknown, given twice or one too many is a TypeError."""
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **named)
    with pytest.raises(TypeError, match="Nothing"):
        Nothing(1)


def test_values_compare_over_their_attributes() -> None:
    """Values of one class are equal and hash alike when their attributes are; another class makes another value."""
    assert Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert Point(1) != (1, 7)
    assert len({Point(1), Point(1, 7), Point(2), Twin(1)}) == 3


def test_values_are_frozen() -> None:
    """Nothing can be set or deleted, whether it is an attribute or not."""
    point = Point(1)
    for name in ("x", "y", "z"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(point, name, 3)
        with pytest.raises(AttributeError, match="frozen"):
            delattr(point, name)
    assert point == Point(1)


def test_evolve_makes_another_value() -> None:
    """`evolve` changes some attributes of a copy, and refuses what there is not."""
    point = Point(1)
    assert point.evolve(y=8) == Point(1, 8)
    assert point == Point(1)
    with pytest.raises(TypeError, match="z"):
        point.evolve(z=1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda point: pickle.loads(pickle.dumps(point))])
def test_copies_are_equal(again: object) -> None:
    """A copy, shallow or deep, and what comes back from a pickle equal the value."""
    assert again(Point(1, 2)) == Point(1, 2)  # type: ignore[operator]


def test_the_repr_is_the_call() -> None:
    """The repr shows every attribute by its name."""
    assert repr(Point(1)) == "Point(x=1, y=7)"
    assert repr(Nothing()) == "Nothing()"
