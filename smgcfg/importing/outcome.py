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


class Decided(NamedTuple):
    """A setting of the gateway that a command line leaves to the gateway itself, and the plan does not.

    Attributes:
        key: The setting, as `gateway.port`.
        value: What it is in the plan, as text.
        own: What the command's gateway takes by itself, as text, with its name.
        reason: Why the plan decides it.
    """

    key: str
    value: str
    own: str
    reason: str

    def __str__(self) -> str:
        return f"{self.key} = {self.value} in the plan, where the command leaves it to {self.own}"


class Imported(Value):
    """A command line as a deployment.

    Attributes:
        deployment: The deployment, whose plan gives engine and gateway what the command line gave them, but for what
            is lost or decided.
        lost: What could not be carried over.
        decided: What the plan gives the gateway, and the command line did not.
        notes: What an operator should know all the same, a sentence each; without secrets.
        secret: The deployment holds secrets.
    """

    deployment: Deployment
    lost: tuple[Lost, ...]
    decided: tuple[Decided, ...]
    notes: tuple[str, ...]
    secret: bool

    def text(self) -> str:
        """Return the deployment file: what was lost and what the plan decides as comments, then the TOML."""
        # Imported here: writing TOML is not cheap, and a caller may only want the deployment.
        from smgcfg.toml_write import deployment_text

        lost = [(shlex.join(word.text for word in words), reason) for words, reason in self.lost]
        decided = [(str(one), one.reason) for one in self.decided]
        comments = [*_comments("Not carried over:", lost), *_comments("Unless it is set here:", decided)]
        return "\n".join([*comments, deployment_text(self.deployment).rstrip("\n"), ""])


def _comments(title: str, entries: Iterable[tuple[str, str]]) -> Iterable[str]:
    for at, (what, reason) in enumerate(entries):
        if at == 0:
            yield f"# {title}"
        yield f"#   {_one_line(what)}"
        yield f"#     {_one_line(reason)}"


def _one_line(text: str) -> str:
    """Return a text that a comment can hold: line breaks, control characters and lone surrogates as escapes."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.encode("utf-8", _BACKSLASH).decode("utf-8")
