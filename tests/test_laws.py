"""The laws of the args classes, for every setting there is."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smgcfg import GatewayArgs, TokenspeedArgs
from smgcfg.args import Args, set_settings
from smgcfg.flags import spec_of
from smgcfg.overlay import Layer
from smgcfg.testing import strategies

CLASSES = [TokenspeedArgs, GatewayArgs]
#: Built once: a strategy over two hundred settings takes longer to build than to draw from.
MAKERS: dict[type[Args], Callable[..., st.SearchStrategy[Any]]] = {
    TokenspeedArgs: strategies.tokenspeed_args,
    GatewayArgs: strategies.gateway_args,
}
each_class = pytest.mark.parametrize("cls", CLASSES)


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_argv_round_trip(cls: type[Args], data: st.DataObject) -> None:
    """An object without extra words is read back from the command line it writes."""
    made = data.draw(MAKERS[cls](None))
    assert cls.from_argv(made.to_argv()) == made


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_toml_round_trip(cls: type[Args], data: st.DataObject) -> None:
    """An object is read back from the TOML it writes, switches that are off included."""
    made = data.draw(MAKERS[cls](None, extra=True))
    again = cls.from_toml(made.to_toml())
    assert again == made
    assert set_settings(again) == set_settings(made)


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_extra_words_stand_last(cls: type[Args], data: st.DataObject) -> None:
    """Extra words are written last, unchanged, and are read back where they are asked for."""
    made = data.draw(MAKERS[cls](None, extra=True))
    argv = made.to_argv()
    assert tuple(argv[len(argv) - len(made.extra) :]) == made.extra
    assert cls.from_argv(argv, unknown="extra") == made


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_override_sets_exactly_what_was_chosen(cls: type[Args], data: st.DataObject) -> None:
    """Whatever an operator sets, by mapping, TOML or argv, has exactly that value; every other default is untouched."""
    chosen = data.draw(strategies.settings(cls))
    by_mapping = cls().overlay(chosen)
    expected = {**set_settings(cls()), **chosen}
    assert set_settings(by_mapping) == {k: spec_value(cls, k, v) for k, v in expected.items()}
    alone = cls(**{**dict.fromkeys(set_settings(cls())), **chosen})
    # A bare switch that is off has no word of its own in the engine's dialect, and one in an operator's.
    off = [f"--no-{spec_of(cls, k).names[0][2:]}" for k, v in chosen.items() if v is False and switch(cls, k)]
    assert cls().overlay([*alone.to_argv(), *off]) == by_mapping
    assert cls.from_toml(cls().overlay(chosen).to_toml()) == by_mapping


def switch(cls: type[Args], key: str) -> bool:
    """Whether a setting is a bare switch."""
    return spec_of(cls, key).kind == "switch"


def spec_value(cls: type[Args], key: str, value: Any) -> Any:
    """Return the value in the setting's own type, as an object holds it."""
    return getattr(cls(**{key: value}), spec_of(cls, key).key)


@pytest.mark.parametrize("backend", ["none", "llguidance", "xgrammar"])
@pytest.mark.parametrize("glued", [True, False])
def test_an_explicit_grammar_backend_wins_and_leaves_the_other_default(backend: str, glued: bool) -> None:
    """A grammar backend of the operator's is written once, with its value, and output logprobs stay on."""
    words = [f"--grammar-backend={backend}"] if glued else ["--grammar-backend", backend]
    for chosen in (words, {"grammar_backend": backend}, TokenspeedArgs.layer({"grammar_backend": backend})):
        argv = TokenspeedArgs().overlay(chosen).to_argv()
        assert argv.count("--grammar-backend") == 1
        assert argv[argv.index("--grammar-backend") + 1] == backend
        assert argv.count("--enable-output-logprobs") == 1


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_stronger_sources_win(cls: type[Args], data: st.DataObject) -> None:
    """Words win over TOML, TOML over defaults, values that are false too."""
    weak, strong = data.draw(strategies.settings(cls)), data.draw(strategies.settings(cls))
    argv = cls(**{**dict.fromkeys(set_settings(cls())), **strong}).to_argv()
    result = cls.from_toml(cls().overlay(weak).to_toml()).overlay(argv)
    # A bare switch that is off writes no word, so it is the one choice that argv can not make this way.
    said = {k: v for k, v in strong.items() if v is not False or not switch(cls, k)}
    assert result == cls().overlay({**weak, **said})


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_layers_compose(cls: type[Args], data: st.DataObject) -> None:
    """Layers compose associatively, the empty one is neutral, and overlaying changes none of its inputs."""
    drawn = [data.draw(strategies.settings(cls)) for _ in range(3)]
    before = copy.deepcopy(drawn)
    a, b, c = map(cls.layer, drawn)
    empty: Layer[str] = Layer()
    start = data.draw(MAKERS[cls](None))
    kept = start.to_argv()
    assert (a + b) + c == a + (b + c)
    assert a + empty == a == empty + a
    assert start.overlay(a).overlay(b) == start.overlay(a + b)
    assert start.overlay(empty) == start == start.overlay([]) == start.overlay({})
    assert drawn == before
    assert start.to_argv() == kept


@each_class
@settings(max_examples=2000)
@given(data=st.data())
def test_words_compose(cls: type[Args], data: st.DataObject) -> None:
    """Two runs of words overlaid one after the other are the same as both at once, but for flags that add up."""
    drawn = [data.draw(strategies.settings(cls)) for _ in range(2)]
    nothing = dict.fromkeys(set_settings(cls()))
    adds = {k for d in drawn for k in d if spec_of(cls, k).kind in ("append", "groups") or spec_of(cls, k).extends}
    a, b = (cls(**{**nothing, **{k: v for k, v in d.items() if k not in adds}}).to_argv() for d in drawn)
    assert cls().overlay(a).overlay(b) == cls().overlay(a + b)


@each_class
@settings(max_examples=300)
@given(data=st.data())
def test_objects_are_values(cls: type[Args], data: st.DataObject) -> None:
    """Objects are frozen and survive pickle, copy and evolve; equal ones have equal hashes; repr shows what is set."""
    made = data.draw(MAKERS[cls](None, extra=True))
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made), attrs.evolve(made)):
        assert again == made
        assert hash(again) == hash(made)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.extra = ()
    assert not hasattr(made, "__dict__")
    shown = repr(made)
    for key, value in set_settings(made).items():
        assert f"{key}=" in shown
        assert not (spec_of(cls, key).secret and value) or f"{key}={value!r}" not in shown


def test_a_bare_switch_that_is_off_equals_one_that_is_unset() -> None:
    """False and None of a bare switch compare and hash equal, and TOML still shows what was set."""
    off, unset = TokenspeedArgs(enable_metrics=False), TokenspeedArgs()
    assert off == unset
    assert hash(off) == hash(unset)
    assert "enable_metrics = false" in off.to_toml()
    assert off.to_argv() == unset.to_argv()


def test_absence_has_one_meaning_per_medium() -> None:
    """An absent key keeps a default, an absent flag was not passed, and unset takes a default away."""
    assert TokenspeedArgs.from_toml("") == TokenspeedArgs()
    assert TokenspeedArgs.from_argv([]).to_argv() == []
    assert TokenspeedArgs().to_argv() == ["--grammar-backend", "xgrammar", "--enable-output-logprobs"]
    bare = TokenspeedArgs(grammar_backend=None, enable_output_logprobs=None)
    assert TokenspeedArgs.from_toml('unset = ["grammar_backend", "enable_output_logprobs"]') == bare
    assert TokenspeedArgs().overlay({"grammar_backend": None, "enable_output_logprobs": None}) == bare
    assert TokenspeedArgs().overlay(["--no-enable-output-logprobs"]).to_argv() == ["--grammar-backend", "xgrammar"]
    assert TokenspeedArgs().overlay(["--enable-output-logprobs=false"]).to_argv() == ["--grammar-backend", "xgrammar"]
