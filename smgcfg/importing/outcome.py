"""What comes of importing a command line: a deployment, and what could not be carried over."""

import shlex
from collections.abc import Iterable
from typing import NamedTuple

from smgcfg.config import Deployment
from smgcfg.importing.words import Word
from smgcfg.value import Value

#: What stands in a comment for a character that a TOML comment can not hold.
_BACKSLASH = "backslashreplace"


class Lost(NamedTuple):
    """Words of a command line that no key of a deployment file says.

    Attributes:
        words: The words, the flag first.
        reason: Why they could not be carried over, and what to do.
    """

    words: tuple[Word, ...]
    reason: str

    @property
    def name(self) -> str:
        """The flag, without its value: a value may be a secret."""
        return self.words[0].text.partition("=")[0]


class Imported(Value):
    """A command line as a deployment.

    Attributes:
        deployment: The deployment, whose plan gives engine and gateway what the command line gave them.
        lost: What could not be carried over.
        notes: What an operator should know all the same, a sentence each; without secrets.
        secret: The deployment holds secrets.
    """

    deployment: Deployment
    lost: tuple[Lost, ...]
    notes: tuple[str, ...]
    secret: bool

    def text(self) -> str:
        """Return the deployment file: what was lost as comments, then the TOML."""
        # Imported here: writing TOML is not cheap, and a caller may only want the deployment.
        from smgcfg.toml_write import deployment_text

        return "\n".join([*_comments(self.lost), deployment_text(self.deployment).rstrip("\n"), ""])


def _comments(lost: Iterable[Lost]) -> Iterable[str]:
    for at, (words, reason) in enumerate(lost):
        if at == 0:
            yield "# Not carried over:"
        yield f"#   {_one_line(shlex.join(word.text for word in words))}"
        yield f"#     {_one_line(reason)}"


def _one_line(text: str) -> str:
    """Return a text that a comment can hold: line breaks, control characters and lone surrogates as escapes."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.encode("utf-8", _BACKSLASH).decode("utf-8")
