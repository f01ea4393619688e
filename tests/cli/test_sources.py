"""The words that name a deployment, taken apart."""

import pytest

from smgcfg.cli.parser import Parser
from smgcfg.cli.sources import Words, add_source_options, take_apart
from smgcfg.errors import ConfigError
from smgcfg.sources.overrides import Override


def taken(*words: str) -> Words:
    """Return a command line of `serve`, taken apart."""
    parser = Parser("serve", "", "")
    add_source_options(parser)
    return take_apart(parser, ["serve", *words])


def test_files_stand_anywhere_among_the_options() -> None:
    """Files keep their order wherever options stand between them; everything behind `--` is the engine's."""
    words = taken(
        "a.toml", "--stand-in", "b.toml", "--set", "name=x", "c.toml", "--pool", "p", "d.toml", "--", "e.toml"
    )
    assert words.options.files == ["a.toml", "b.toml", "c.toml", "d.toml"]
    assert words.options.stand_in
    assert words.overrides == (Override("set", "name=x", 5),)
    assert (words.engine.tokens, words.engine.first, words.engine.pool) == (("e.toml",), 12, "p")


@pytest.mark.parametrize("words", [("a.toml", "--stand"), ("--stand", "a.toml"), ("--set",), ("a.toml", "--pool")])
def test_options_are_spelt_out(words: tuple[str, ...]) -> None:
    """An abbreviated option and one that lacks its value are refused, wherever they stand."""
    with pytest.raises(ConfigError) as refused:
        taken(*words)
    assert [finding.code for finding in refused.value.findings] == ["SMG011"]
