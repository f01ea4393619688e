"""Values that stand elsewhere: in a variable of the environment or in a file, so that no secret stands in a deployment.

In TOML a reference is `{ env = "NAME" }` or `{ file = "PATH" }`. Text that merely passes through a plan, as every
secret does, stays a reference until the moment its process is started. What the plan itself depends on (a port, a
count, a switch) is read together with the file that holds the reference.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from smgcfg.value import Value

Kind = Literal["env", "file"]

#: A name that an environment variable can have in a shell.
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: What a report says to somebody who wrote something like one.
HINT: Final = 'a reference is { env = "NAME" } or { file = "PATH" }'


class Reference(Value):
    """A text that stands elsewhere.

    Attributes:
        kind: "env" for a variable of the environment, "file" for a file.
        name: The variable's name, or the file's path.
        text: What it stands for once it is read, else None; never shown.
    """

    kind: Kind
    name: str
    text: str | None = None

    @property
    def source(self) -> "Reference":
        """The same reference, not read."""
        return self if self.text is None else Reference(self.kind, self.name)

    def __str__(self) -> str:
        # As a POSIX shell would write it.
        if self.kind == "env":
            return f"${self.name}"
        import shlex

        return f"$(cat {shlex.quote(self.name)})"

    def __repr__(self) -> str:
        return f"Reference({self.kind!r}, {self.name!r})"


#: Text that may stand elsewhere.
Text = str | Reference


def reference_in(value: object) -> Reference | None:
    """Return the reference that a native value is, or None where it is none.

    Args:
        value: A `Reference`, or a mapping as TOML and JSON give it.
    """
    if isinstance(value, Reference):
        return value
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((kind, name),) = value.items()
    if kind not in get_args(Kind) or not isinstance(name, str):
        return None
    usable = VARIABLE.fullmatch(name) if kind == "env" else name and "\0" not in name
    return Reference(kind, name) if usable else None


def plain(reference: Reference) -> dict[str, str]:
    """Return a reference as TOML and JSON hold it."""
    return {reference.kind: reference.name}


def references_in(value: Any) -> tuple[Reference, ...]:
    """Return the references that a setting's value is or holds."""
    if type(value) is tuple:
        return tuple(item for item in value if type(item) is Reference)
    return (value,) if type(value) is Reference else ()


def text_of(value: Any) -> Any:
    """Return a setting's value with the text of every reference in its place; one that is not read stays.

    Args:
        value: The value; a tuple for a list.
    """
    if type(value) is tuple:
        return tuple(map(text_of, value))
    return value if type(value) is not Reference or value.text is None else value.text
