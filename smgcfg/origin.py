"""Where a value came from: the file, the argument, the rule or the default that set it."""

import attrs


@attrs.frozen
class FromDefault:
    """A default that smgcfg sets so that the wire behaves as the API promises."""

    def __str__(self) -> str:
        return "default"


@attrs.frozen
class FromFile:
    """A key of a TOML file.

    Attributes:
        path: The file as the operator named it.
        line: The 1-based line of the key, or None where it is not known for sure.
    """

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@attrs.frozen
class FromArgv:
    """A word of a command line.

    Attributes:
        index: The 1-based number of the argument.
        token: The word itself, already redacted where it holds a secret.
    """

    index: int
    token: str = ""

    def __str__(self) -> str:
        return f"argument {self.index}" + (f" {self.token!r}" if self.token else "")


@attrs.frozen
class FromCall:
    """A value that a Python caller passed."""

    def __str__(self) -> str:
        return "caller"


@attrs.frozen
class Derived:
    """A value that a rule of the plan filled in because nobody set the key.

    Attributes:
        rule: What the rule says, as a short sentence.
        inputs: The keys the rule read.
    """

    rule: str
    inputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "derived"


Origin = FromDefault | FromFile | FromArgv | FromCall | Derived
