"""The words of a foreign command line, taken apart into flags with their values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from smgcfg.codec import NEGATIVE_NUMBER
from smgcfg.errors import ConfigError, error
from smgcfg.flags import FlagSpec
from smgcfg.origin import FromArgv

#: A program's spellings, each with its setting and whether it says the setting as it is; see `flags.spelling_table`.
Spellings = Mapping[str, tuple[FlagSpec, bool]]

#: How many words behind a flag may be its values, by the setting's kind; every other kind takes one.
_MOST: Final = {"switch": 0, "pair": 0, "list": 1 << 30, "groups": 1 << 30}


class Word(NamedTuple):
    """One word of the command line.

    Attributes:
        text: The word.
        at: Its number in the command line as it was given, from 1.
    """

    text: str
    at: int


class Item(NamedTuple):
    """A flag with its values, or a word that belongs to no flag.

    Attributes:
        name: The flag's spelling, in full; empty where there is none.
        words: The words as they stand, the flag first.
        spec: The flag's setting; None where the flag is not known.
        glued: The value stands in the flag's own word, behind `=`.
    """

    name: str
    words: tuple[Word, ...]
    spec: FlagSpec | None = None
    glued: bool = False

    @property
    def value(self) -> str | None:
        """The first value, or None where there is none."""
        if self.glued:
            return self.words[0].text.partition("=")[2]
        return self.words[1].text if len(self.words) > 1 else None

    def spelled(self, name: str) -> tuple[Word, ...]:
        """Return the words with another spelling of the flag in front."""
        first, *rest = self.words
        return (Word(f"{name}={self.value}" if self.glued else name, first.at), *rest)


def numbered(texts: Iterable[str], first: int = 1) -> tuple[Word, ...]:
    """Return texts as words that are numbered one after the other."""
    return tuple(Word(text, at) for at, text in enumerate(texts, first))


def refuse(code: str, key: str, message: str, word: Word | None = None, hint: str = "") -> NoReturn:
    """Say that a command line can not be imported.

    Args:
        code: The finding's code.
        key: The flag or word it is about, or empty.
        message: Why not.
        word: The word it is about, for its place.
        hint: What to do.

    Raises:
        ConfigError: Always.
    """
    raise ConfigError([error(code, key, message, FromArgv(word.at) if word else None, hint)])


def split(words: Sequence[Word], spellings: Spellings, abbreviations: Iterable[str] = ()) -> Iterator[Item]:
    """Take a command line apart as argparse does (CPython 3.11).

    Args:
        words: The words, up to a `--` if there is one.
        spellings: The flags that are known.
        abbreviations: The spellings whose beginnings stand for them, where the program's parser knows abbreviations.

    Yields:
        The items, in order.

    Raises:
        ConfigError: A flag is the beginning of more than one spelling.
    """
    full = _completion(spellings, tuple(abbreviations))
    at = 0
    while at < len(words):
        word = words[at]
        if not _is_flag(word.text, spellings):
            yield Item("", (word,))
            at += 1
            continue
        name, glued, _ = (word.text, "", "") if word.text in spellings else word.text.partition("=")
        name = full(name, word)
        spec, _ = spellings.get(name, (None, True))
        # The words behind a flag that is not known are most likely its values.
        most = 0 if glued else _MOST.get(spec.kind, 1) if spec else 1 << 30
        end = at + 1
        while end < len(words) and end - at <= most and not _is_flag(words[end].text, spellings):
            end += 1
        yield Item(name, tuple(words[at:end]), spec, bool(glued))
        at = end


def _completion(spellings: Spellings, abbreviations: tuple[str, ...]) -> Callable[[str, Word], str]:
    """Return what gives the full spelling of a flag."""

    def full(name: str, word: Word) -> str:
        if name in spellings or not name.startswith("--") or len(name) < 3:
            return name
        meant = {id(spellings[known][0]): known for known in abbreviations if known.startswith(name)}
        if len(meant) > 1:
            refuse("SMG011", name, f"may be any of {', '.join(meant.values())}", word, "write the flag in full")
        return next(iter(meant.values()), name)

    return full


def _is_flag(text: str, spellings: Spellings) -> bool:
    if text in spellings:
        return True
    if len(text) < 2 or text[0] != "-":
        return False
    name, glued, _ = text.partition("=")
    return (bool(glued) and name in spellings) or not (NEGATIVE_NUMBER.match(text) or " " in text)


def texts(words: Iterable[Word]) -> list[str]:
    """Return the texts of words."""
    return [word.text for word in words]
