"""Placeholders in the words that an operator writes around a command, and in environment values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from smgcfg.codec import Refused
from smgcfg.value import Value

#: What a worker's words may hold.
OF_WORKER: Final = ("index", "name", "port", "gpus", "run_dir")

#: What the gateway's words may hold: there is one gateway, and it has no GPUs.
OF_GATEWAY: Final = ("name", "port", "run_dir")

_TOKEN: Final = r"\{\{|\}\}|\{([^{}]*)\}|[{}]"


class Template(Value):
    """A text with placeholders.

    Attributes:
        parts: Literal text and names of placeholders, taking turns, literal text first and last.
    """

    parts: tuple[str, ...]

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with every placeholder filled."""
        if len(self.parts) == 1:
            return self.parts[0]
        return "".join(values[part] if at % 2 else part for at, part in enumerate(self.parts))


def template(text: str, known: Sequence[str]) -> Template:
    """Read a text with placeholders.

    Args:
        text: `{name}` is a placeholder, `{{` and `}}` are braces.
        known: The placeholders there are.

    Raises:
        Refused: A placeholder does not exist, or a brace stands alone.
    """
    if "{" not in text and "}" not in text:
        return Template((text,))
    parts, literal, end = [], "", 0
    for token in re.finditer(_TOKEN, text):
        literal += text[end : token.start()]
        end = token.end()
        word = token[0]
        if word in ("{{", "}}"):
            literal += word[0]
        elif token[1] in known:
            parts += [literal, token[1]]
            literal = ""
        else:
            # The text may be a secret: nothing but the placeholder itself is shown.
            what = f"no placeholder {word!r}" if token[1] is not None else f"a lone {word!r}"
            allowed = ", ".join(f"{{{name}}}" for name in known)
            raise Refused("SMG016", f"{what}; there are {allowed}", "a brace itself is written {{ or }}")
    return Template((*parts, literal + text[end:]))


def templates(texts: Iterable[str], known: Sequence[str]) -> tuple[Template, ...]:
    """Read several texts with placeholders; see `template`."""
    return tuple(template(text, known) for text in texts)
