"""Words of an operator, which are read more carefully than a program reads its own command line."""

from collections.abc import Callable

import pytest

from smgcfg import ConfigError, TokenspeedArgs
from smgcfg.errors import Finding


def refused(*words: str) -> list[Finding]:
    """Return what is wrong with words that an operator chose."""
    with pytest.raises(ConfigError) as caught:
        TokenspeedArgs.layer(words)
    return list(caught.value.findings)


@pytest.mark.parametrize(("word", "value"), [("true", True), ("1", True), ("On", True), ("no", False), ("0", False)])
def test_a_switch_takes_every_boolean_word_behind_an_equals_sign(word: str, value: bool) -> None:
    """The words that the engine reads as true and false are read behind every switch, whichever way it points."""
    args = TokenspeedArgs().overlay([f"--enforce-eager={word}", f"--no-trust-remote-code={word}"])
    assert (args.enforce_eager, args.trust_remote_code) == (value, not value)


@pytest.mark.parametrize("word", ["False", "true", "0", "off"])
def test_a_boolean_word_behind_a_switch_is_refused(word: str) -> None:
    """The engine would take it for the model's name: an operator is told how to write it, and nothing else is lost."""
    (finding,) = refused("--enforce-eager", word, "--max-num-seqs", "8")
    assert (finding.code, finding.key) == ("SMG011", "--enforce-eager")
    assert repr(word) in finding.message
    assert finding.hint == f"write --enforce-eager={word}"
    assert TokenspeedArgs.from_argv(["--enforce-eager", word]).model == word


def test_a_flag_and_its_value_in_one_word_are_refused() -> None:
    """The engine would take the first for the model's name; each is reported, with how to write it."""
    findings = refused("--host 127.0.0.1", "--port 6379", "--max-num-seqs", "8")
    assert [(finding.code, finding.key, str(finding.where)) for finding in findings] == [
        ("SMG011", "--host", "argument 1"),
        ("SMG011", "--port", "argument 2"),
    ]
    assert "'--host 127.0.0.1'" in findings[0].message
    assert {finding.hint for finding in findings} == {"write the flag and its value as two words"}


@pytest.mark.parametrize("flag", ["--model", "--max-num-seqs", "--attention-use-fp4-indexer-cache"])
def test_two_dashes_are_no_value(flag: str) -> None:
    """The engine's parser takes them away wherever they stand, so that they never reach a setting."""
    (finding,) = refused(f"{flag}=--")
    assert finding.code == "SMG006"


def test_stray_words_are_one_problem() -> None:
    """Words that belong to no flag are reported once, where they begin."""
    (finding,) = refused("m", "--max-num-seqs", "8", "stray", "more", "--enforce-eager")
    assert finding.message == "the word 'stray' (and 1 behind it) belongs to no flag"
    assert str(finding.where) == "argument 4"


@pytest.mark.parametrize(
    "words",
    [
        ("--rl-control-api-key s3cret",),
        ("m", "--rl-control-api-key", "my", "s3cret"),
        ("m", "--rl-control-api-key", "a", "b", "c", "s3cret"),
        ("s3cret", "--rl-control-api-key", "a", "s3cret"),
        ("--rl-control-api-key", "my", "own", "s3cret"),
    ],
)
def test_no_secret_is_repeated(words: tuple[str, ...]) -> None:
    """A word that may be a part of a secret stands in no message."""
    assert "s3cret" not in " ".join(map(str, refused(*words)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "expected a JSON object: it is an array, not an object"),
        ("3", "expected a JSON object: it is a number, not an object"),
        ("null", "expected a JSON object: it is null, not an object"),
        ('{"a": NaN}', "expected a JSON object: the number NaN is not JSON"),
        ('{"a": 1, "a": 2}', "expected a JSON object: the key 'a' stands twice"),
    ],
)
def test_what_is_wrong_with_a_json_text(text: str, said: str) -> None:
    """The message says once what is wanted, and what the text is instead, in the names that JSON has."""
    (finding,) = refused("--hf-overrides", text)
    assert finding.message == said


@pytest.mark.parametrize("read", [TokenspeedArgs.from_argv, TokenspeedArgs().overlay])
def test_a_text_is_no_list_of_words(read: Callable[[str], object]) -> None:
    """One text in place of words is a caller's mistake, and is not read letter by letter or shown."""
    with pytest.raises(TypeError, match="expected a list of words, got one text") as raised:
        read("--rl-control-api-key s3cret")
    assert "s3cret" not in str(raised.value)
