"""Where a value came from: the file, the argument, the rule or the default that set it."""

from collections.abc import Callable

from smgcfg.value import Value


class FromDefault(Value):
    """A default that smgcfg sets so that the wire behaves as the API promises."""

    def __str__(self) -> str:
        return "default"


class FromFile:
    """A key of a TOML file.

    Args:
        path: The file as the operator named it.
        line: The 1-based line of the key; None where it is not known for sure; or a function that finds it, called
            when the line is first asked for (a report prints it, a plan that goes well never needs it).
    """

    __slots__ = ("_line", "path")

    def __init__(self, path: str, line: "int | Callable[[], int | None] | None" = None) -> None:
        self.path = path
        self._line = line

    @property
    def line(self) -> int | None:
        """The 1-based line of the key, or None where it is not known for sure."""
        if callable(self._line):
            self._line = self._line()
        return self._line

    def __eq__(self, other: object) -> bool:
        return (self.path, self.line) == (other.path, other.line) if isinstance(other, FromFile) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.path, self.line))

    def __repr__(self) -> str:
        return f"FromFile({self.path!r}, {self.line!r})"

    def __reduce__(self) -> "tuple[type[FromFile], tuple[str, int | None]]":
        return (FromFile, (self.path, self.line))

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


class FromArgv(Value):
    """A word of a command line.

    Attributes:
        index: The 1-based number of the argument.
        token: The word itself, already redacted where it holds a secret.
    """

    index: int
    token: str = ""

    def __str__(self) -> str:
        return f"argument {self.index}" + (f" {self.token!r}" if self.token else "")


class FromCall(Value):
    """A value that a Python caller passed."""

    def __str__(self) -> str:
        return "caller"


class Derived(Value):
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
