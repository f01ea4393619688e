"""The settings that a program reads from its words, without those that its version does not have."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from smgcfg.args import Args
from smgcfg.errors import ConfigError, Finding, error
from smgcfg.flags import spelling_table
from smgcfg.importing.outcome import Lost
from smgcfg.importing.words import Item, Word, split, texts
from smgcfg.origin import FromArgv

A = TypeVar("A", bound=Args)


class Program(NamedTuple):
    """A release of a program.

    Attributes:
        title: Its name, for messages.
        snapshot: Its name among the snapshots.
        version: Its version.
        abbreviates: Its parser takes the beginning of a flag for the flag.
    """

    title: str
    snapshot: str
    version: str
    abbreviates: bool = False

    def __str__(self) -> str:
        return f"{self.title} {self.version}"


#: The gateway that smgcfg launches, and the one that TokenSpeed 0.1.1 pins for `ts serve`.
SMG: Final = Program("smg", "smg", "1.13.0", abbreviates=True)
BUNDLED_SMG: Final = Program("tokenspeed-smg", "tokenspeed-smg", "1.10.1", abbreviates=True)


def tokenspeed(version: str) -> Program:
    """Return a release of TokenSpeed."""
    return Program("TokenSpeed", "tokenspeed", version)


class Read(NamedTuple):
    """The words of a program as settings.

    Attributes:
        args: The settings.
        items: The items that each setting was read from, by its key.
        lost: The flags that this release does not have.
        notes: The flags that this release spells in another way.
    """

    args: Any
    items: dict[str, list[Item]]
    lost: tuple[Lost, ...]
    notes: tuple[str, ...]


def read(cls: type[Args], words: Sequence[Word], program: Program) -> Read:
    """Read a program's words.

    Args:
        cls: The class of its settings.
        words: The words, without the program's name.
        program: The release; flags that only another one has are lost.

    Raises:
        ConfigError: The program refuses the words.
    """
    spellings = spelling_table(cls)
    abbreviations = [name for name, (spec, _) in spellings.items() if spec.has(program.version)]
    end = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    kept: list[Word] = []
    items: dict[str, list[Item]] = {}
    lost, notes = [], []
    for item in split(words[:end], spellings, abbreviations if program.abbreviates else ()):
        if item.name and (item.spec is None or not item.spec.has(program.version)):
            lost.append(Lost(item.words, missing(cls, item, program)))
            continue
        if item.spec is not None and item.name not in spelling_table(cls, program.version):
            notes.append(f"{item.name} is carried over as {item.spec.key}: {program} has no such spelling any more")
        kept += item.spelled(item.name) if item.name else item.words
        items.setdefault(item.spec.key if item.spec else "", []).append(item)
    kept += words[end:]
    return Read(parsed(cls, kept), items, tuple(lost), tuple(notes))


def parsed(cls: type[A], words: Sequence[Word]) -> A:
    """Read words that a class has settings for.

    Raises:
        ConfigError: Every problem, at the numbers that the words have in the whole command line.
    """
    try:
        return cls.from_argv(texts(words))
    except ConfigError as bad:
        raise ConfigError([_placed(finding, words) for finding in bad.findings]) from None


def _placed(finding: Finding, words: Sequence[Word]) -> Finding:
    where = finding.where
    if not isinstance(where, FromArgv):
        return finding
    return error(finding.code, finding.key, finding.message, FromArgv(words[where.index - 1].at), finding.hint)


def missing(cls: type[Args], item: Item, program: Program) -> str:
    """Return why a release does not take a flag."""
    if item.spec is None:
        from smgcfg.suggest import did_you_mean

        near = did_you_mean(item.name, spelling_table(cls, program.version))
        return f"{program} has no such flag; " + (near or "a flag of a newer release goes into extra")
    there = ", ".join(item.spec.versions)
    # Imported here: only a flag that is gone needs the snapshot.
    from smgcfg.snapshots import snapshot

    successor = snapshot(program.snapshot, program.version).successors.get(item.name)
    if successor is None:
        return f"{program} has no such flag ({there} has it), and nothing in its place"
    opposite = ", which says the opposite" if successor.opposite else ""
    return f"{program} has no such flag ({there} has it); in its place it has {successor.use}{opposite}"


def without(args: A, keys: Iterable[str]) -> A:
    """Return settings with some of them not passed."""
    absent: dict[str, Any] = dict.fromkeys(keys)
    return args.evolve(**absent)
