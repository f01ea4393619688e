"""The options of a command."""

import pytest

from smgcfg.cli.parser import Parser
from smgcfg.errors import ConfigError


def a_parser() -> Parser:
    """Return a parser with an option of each kind."""
    parser = Parser("try", "Try something.", "smgcfg try FILE...", "That is all.")
    parser.add_words("FILE", "what to try", least=1)
    parser.add_argument("--loud", action="store_true", help="say so")
    parser.add_argument("--model", dest="public_name", metavar="NAME", help="whose name")
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument("--most-tries", metavar="N", type=int, default=3, help="at most so often")
    bounds.add_argument("--wait", metavar="SECONDS", type=float, wanted="a number of seconds", help="between tries")
    parser.set_defaults(extra=None)
    return parser


def test_an_option_takes_the_word_behind_it_or_behind_an_equals_sign() -> None:
    """Both spellings give the same, also when both are there, and what is not said has its default."""
    parser = a_parser()
    assert vars(parser.parse_args(["f", "--most-tries", "7"])) == vars(parser.parse_args(["f", "--most-tries=7"]))
    assert parser.parse_args(["--most-tries", "-8", "-", "--most-tries=-8"]).most_tries == -8
    said = parser.parse_args(["a", "--model", "-x=y", "b"])
    unsaid = {"loud": False, "most_tries": 3, "wait": None, "extra": None}
    assert vars(said) == {"files": ["a", "b"], "public_name": "-x=y", **unsaid}


def test_an_option_may_take_all_words_up_to_the_next() -> None:
    """Each time that it stands; the words behind another option are nobody's."""
    parser = Parser("try", "Try something.", "smgcfg try")
    parser.add_words("FILE", "what to try")
    parser.add_argument("--old", action="extend", metavar="FILE", help="what to leave")
    parser.add_argument("--loud", action="store_true", help="say so")
    said = parser.parse_args(["a", "--old", "b", "-", "--loud", "c", "--old=d", "e"])
    assert vars(said) == {"files": ["a", "c"], "old": ["b", "-", "d", "e"], "loud": True}
    assert parser.parse_args(["a"]).old == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f", "--lod"], "no such option --lod"),
        (["f", "-l"], "no such option -l"),
        (["f", "--lou=d"], "no such option --lou"),
        (["f", "--loud=true"], "--loud takes no value"),
        (["f", "--model"], "--model wants NAME behind it"),
        (["f", "--model", "--loud"], "--model wants NAME behind it"),
        (["f", "--most-tries", "x"], "--most-tries: expected N, got 'x'"),
        (["f", "--wait", "3s"], "--wait: expected a number of seconds, got '3s'"),
        (["f", "--most-tries", "7", "--most-tries=8"], "--most-tries is given twice, as 7 and as 8"),
        (["f", "--model m"], "'--model m' stands as one word"),
        (["--loud"], "expected FILE"),
    ],
)
def test_a_bad_command_line_is_reported(words: list[str], message: str) -> None:
    """What can not be read is one finding about the command, with a hint."""
    with pytest.raises(ConfigError) as refused:
        a_parser().parse_args(words)
    (finding,) = refused.value.findings
    assert (finding.code, finding.key, finding.message) == ("SMG011", "smgcfg try", message)
    assert finding.hint


def test_words_need_a_place() -> None:
    """A command that takes options alone refuses other words."""
    with pytest.raises(ConfigError, match="the word 'f' belongs to no option"):
        Parser("try", "", "").parse_args(["f"])


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_shows_everything(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help names every option under its heading, and nothing else is done."""
    with pytest.raises(SystemExit) as left:
        a_parser().parse_args([word, "--nonsense"])
    assert left.value.code == 0
    assert capsys.readouterr().out == (
        "usage: smgcfg try FILE...\n\n"
        "Try something.\n\n"
        "words:\n  FILE            what to try\n\n"
        "options:\n  -h, --help      show this and leave\n  --loud          say so\n  --model NAME    whose name\n\n"
        "bounds:\n  --most-tries N  at most so often\n  --wait SECONDS  between tries\n\n"
        "That is all.\n"
    )
