"""A command line in the making: words, and where secrets stand among them."""

from collections.abc import Iterable
from typing import Any

from smgcfg.args import Args, set_settings
from smgcfg.codec import Refused, words
from smgcfg.errors import ConfigError, error
from smgcfg.flags import FlagSpec, spec_of
from smgcfg.process import Secret
from smgcfg.reference import Reference, references_in
from smgcfg.value import Value


class Line(Value):
    """Words of a command line.

    Attributes:
        words: The words.
        secrets: Where secrets stand among them.
    """

    words: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()

    def __add__(self, other: "Line") -> "Line":
        return Line(self.words + other.words, self.secrets + other.behind(len(self.words)))

    def behind(self, count: int) -> tuple[Secret, ...]:
        """Return where the secrets stand once `count` words are put in front."""
        return tuple(secret.evolve(index=secret.index + count) for secret in self.secrets)


def flags_line(args: Args, keys: Iterable[str], version: str | None = None) -> Line:
    """Return the flags that say some settings of a program, in the order of the keys.

    Args:
        args: The settings.
        keys: Which of them; those that are None write nothing.
        version: Write spellings that this version of the program has; None writes the newest.

    Raises:
        ConfigError: The version has no spelling for a setting.
    """
    values = set_settings(args)
    line: list[str] = []
    secrets: list[Secret] = []
    findings = []
    for key in keys:
        if key not in values:
            continue
        spec = spec_of(type(args), key)
        try:
            flag = words(spec, values[key], version)
        except Refused as refused:
            findings.append(error(refused.code, key, str(refused), hint=refused.hint))
            continue
        if spec.secret or references_in(values[key]):
            secrets += _secrets(spec, values[key], flag, len(line))
        line += flag
    if findings:
        raise ConfigError(findings)
    return Line(tuple(line), tuple(secrets))


def _secrets(spec: FlagSpec, value: Any, flag: list[str], offset: int) -> list[Secret]:
    """Return where the values stand in the words of a secret setting: every word that is not the bare flag."""
    items = iter(value if spec.many else (value,))
    result = []
    for at, word in enumerate(flag, offset):
        if word not in spec.names:
            # A value that begins with a dash is glued to its flag; no other value begins so.
            start = word.index("=") + 1 if word.startswith("-") else 0
            item = next(items)
            result.append(Secret(at, start, spec.key.upper(), item if isinstance(item, Reference) else None))
    return result
