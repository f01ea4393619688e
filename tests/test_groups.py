"""Classes of settings, made of declarations in one file or in several."""

import copy
import inspect
import pickle
from collections.abc import Collection
from typing import ClassVar

import attrs
import pytest

from smgcfg.flags import flag, keys_of, spec_of
from smgcfg.groups import Settings, gathered, group


@group(kw_only=True)
class Speed:
    """A group of settings."""

    __slots__ = ()

    speed: int | None = flag("how fast")
    turns: tuple[str, ...] | None = flag("where to", least=1)


@gathered(kw_only=True)
class Trip(Speed, Settings):
    """Settings of a group and some of its own."""

    kind: ClassVar[str] = "trip"

    name: str
    notes: list[str] = attrs.Factory(list)
    days: int = 3
    seats: int = flag("how many", default=2)

    def _check(self, given: Collection[str]) -> None:
        if self.days < 0:
            raise ValueError("days")


def test_the_class_is_a_frozen_slotted_attrs_class() -> None:
    """attrs knows every field with its type and default, in order, as a keyword of the constructor."""
    fields = {field.name: (field.type, field.default) for field in attrs.fields(Trip)}
    assert fields.pop("notes")[0] == list[str]
    assert fields == {
        "name": (str, attrs.NOTHING),
        "days": (int, 3),
        "seats": (int, 2),
        "speed": (int | None, None),
        "turns": (tuple[str, ...] | None, None),
    }
    assert all(field.init and field.kw_only for field in attrs.fields(Trip))
    trip = Trip(name="a")
    assert not hasattr(trip, "__dict__")
    for name in ("name", "speed", "other"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(trip, name, "b")
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            delattr(trip, name)


def test_the_constructor_fills_in_defaults() -> None:
    """What is not given has its default, a fresh one where a factory makes it, and the checks run at the end."""
    trip = Trip(name="a", speed=5)
    assert (trip.name, trip.notes, trip.days, trip.seats, trip.speed, trip.turns) == ("a", [], 3, 2, 5, None)
    assert Trip(name="a").notes is not Trip(name="a").notes
    with pytest.raises(ValueError, match="days"):
        Trip(name="a", days=-1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({}, "lacks name"), ({"name": "a", "sped": 1}, "unexpected keyword argument 'sped'"), ({"sped": 1}, "'sped'")],
)
def test_the_constructor_refuses_what_does_not_fit(settings: dict[str, object], message: str) -> None:
    """A setting that is missing or unknown is a TypeError that names it."""
    with pytest.raises(TypeError, match=message):
        Trip(**settings)  # type: ignore[arg-type]


def test_evolve_keeps_what_is_not_changed() -> None:
    """`evolve` and `attrs.evolve` change what they are told to and nothing else, and check it."""
    trip = Trip(name="a", speed=5, days=1)
    for other in (trip.evolve(speed=6), attrs.evolve(trip, speed=6)):
        assert (other.speed, other.evolve(speed=5), attrs.evolve(other, speed=5)) == (6, trip, trip)
    with pytest.raises(ValueError, match="days"):
        trip.evolve(days=-1)
    with pytest.raises(TypeError, match="'sped'"):
        trip.evolve(sped=1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda trip: pickle.loads(pickle.dumps(trip))])
def test_copies_are_equal(again: object) -> None:
    """A copy, shallow or deep, and what comes back from a pickle equal the settings."""
    trip = Trip(name="a", notes=["x"], turns=("l", "r"))
    assert again(trip) == trip  # type: ignore[operator]
    assert trip != Trip(name="b", notes=["x"], turns=("l", "r"))


def test_the_signature_is_that_of_the_settings() -> None:
    """`inspect.signature` and `help` show every setting with its type and default."""
    parameters = inspect.signature(Trip).parameters
    assert list(parameters) == [field.name for field in attrs.fields(Trip)]
    assert parameters["name"].default is inspect.Parameter.empty
    assert (parameters["seats"].default, parameters["speed"].annotation) == (2, int | None)
    assert {parameter.kind for parameter in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_flags_are_declared_by_class() -> None:
    """The declared settings of a class are those of its groups and its own; plain fields are none."""
    assert set(keys_of(Trip)) == {"seats", "speed", "turns"}
    assert (spec_of(Trip, "turns").kind, spec_of(Trip, "turns").least, spec_of(Trip, "seats").default) == ("list", 1, 2)
