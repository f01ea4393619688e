"""The options of a command: declared, read, and explained by `--help`.

These are the parts of argparse that the commands use, under the same names. Importing argparse itself would take a
tenth of the time of `smgcfg plan`.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal, NoReturn

from smgcfg.errors import ConfigError, error
from smgcfg.value import Value


class Option(Value):
    """One option.

    Attributes:
        name: Its spelling.
        dest: The attribute that holds its value.
        metavar: What stands for its value in the help; empty for a switch.
        help: What it does, in a few words.
        read: Makes a value of the word behind it; raises ValueError where it can not.
        default: The value without the option.
        many: It takes every word up to the next option, each time that it stands.
        wanted: What its value has to be, where `metavar` does not say it.
    """

    name: str
    dest: str
    metavar: str
    help: str
    read: Callable[[str], Any]
    default: Any
    many: bool = False
    wanted: str = ""

    @property
    def head(self) -> str:
        """How the help shows it."""
        return f"{self.name} {self.metavar}".rstrip()


class Group:
    """Options under one heading of the help.

    Args:
        title: The heading.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.options: list[Option] = []

    def add_argument(
        self,
        name: str,
        *,
        help: str,
        metavar: str = "",
        action: Literal["store", "store_true", "extend"] = "store",
        type: Callable[[str], Any] = str,
        dest: str = "",
        default: Any = None,
        wanted: str = "",
    ) -> None:
        """Declare an option; the arguments are those of argparse, and `wanted` of `Option`."""
        default = False if action == "store_true" else default
        dest = dest or name.lstrip("-").replace("-", "_")
        self.options.append(Option(name, dest, metavar, help, type, default, action == "extend", wanted))


class Parser(Group):
    """Reads the words of a command: options as they are spelt out, and other words anywhere among them.

    Args:
        command: The command.
        description: What it does.
        usage: How it is used, in one line.
        epilog: What else its help says, at the end.
    """

    def __init__(self, command: str, description: str, usage: str, epilog: str = "") -> None:
        super().__init__("options")
        self.prog = f"smgcfg {command}"
        self.description = description
        self.usage = usage
        self.epilog = epilog
        #: Says of a word that is no option where else it belongs; an empty text where it does not know.
        self.elsewhere: Callable[[str], str] = lambda name: ""
        self._groups: list[Group] = [self]
        self._words = ("", "", 0)
        self._defaults: dict[str, Any] = {}

    def add_argument_group(self, title: str) -> Group:
        """Begin a new heading of the help and return it, for options to be added."""
        self._groups.append(Group(title))
        return self._groups[-1]

    def add_words(self, metavar: str, help: str, *, least: int = 0) -> None:
        """Declare the words that belong to no option; they are read into `files`.

        Args:
            metavar: What stands for one of them in the help.
            help: What they are, in a few words.
            least: How many there must be.
        """
        self._words = (metavar, help, least)

    def set_defaults(self, **defaults: Any) -> None:
        """Set attributes for which there is no option."""
        self._defaults |= defaults

    def parse_args(self, words: Sequence[str]) -> SimpleNamespace:
        """Read the words behind the command, or print its help and leave.

        Raises:
            ConfigError: A word is no option, or an option lacks its value.
            SystemExit: The help was asked for.
        """
        options = {option.name: option for group in self._groups for option in group.options}
        result = SimpleNamespace(files=[], **{o.dest: [] if o.many else o.default for o in options.values()})
        vars(result).update(self._defaults)
        rest = iter(words)
        given: dict[str, Any] = {}
        loose: list[str] = result.files
        for word in rest:
            name, glued, text = word.partition("=")
            if not word.startswith("-") or word == "-":
                loose.append(word)
                continue
            loose = result.files
            if name in ("-h", "--help"):
                print(self.format_help(), flush=True)
                raise SystemExit(0)
            if name not in options:
                self._refuse(name, options)
            option = options[name]
            if option.many:
                loose = getattr(result, option.dest)
                loose += [text] if glued else []
            elif option.metavar:
                value = self._value(option, text if glued else next(rest, "--"))
                if given.setdefault(name, value) != value:
                    self.error(f"{name} is given twice, as {given[name]!r} and as {value!r}")
                setattr(result, option.dest, value)
            elif glued:
                self.error(f"{name} takes no value")
            else:
                setattr(result, option.dest, True)
        metavar, _, least = self._words
        if len(result.files) < least or (result.files and not metavar):
            self.error(
                f"expected {metavar}" if least else f"the word {result.files[0]!r} belongs to no option", self.usage
            )
        return result

    def _value(self, option: Option, text: str) -> Any:
        if text.startswith("--"):
            self.error(f"{option.name} wants {option.metavar} behind it")
        try:
            return option.read(text)
        except ValueError:
            self.error(f"{option.name}: expected {option.wanted or option.metavar}, got {text!r}")

    def _refuse(self, name: str, options: dict[str, Option]) -> NoReturn:
        from smgcfg.suggest import did_you_mean

        if name.split()[0] in options:
            self.error(f"{name!r} stands as one word", "write the option and its value as two words")
        self.error(f"no such option {name}", self.elsewhere(name) or did_you_mean(name, options))

    def error(self, message: str, hint: str = "") -> NoReturn:
        """Report a bad command line.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError([error("SMG011", self.prog, message, hint=hint or f"{self.prog} --help")])

    def format_help(self) -> str:
        """Return the text of `--help`."""
        from textwrap import fill

        metavar, help, _ = self._words
        sections = [(group.title, [(option.head, option.help) for option in group.options]) for group in self._groups]
        sections[0][1].insert(0, ("-h, --help", "show this and leave"))
        if metavar:
            sections.insert(0, ("words", [(metavar, help)]))
        width = max(len(head) for _, rows in sections for head, _ in rows)
        about, end = (
            "\n".join(fill(line, 120) for line in text.splitlines()) for text in (self.description, self.epilog)
        )
        parts = [f"usage: {self.usage}", about]
        parts += [
            "\n".join([f"{title}:", *(f"  {head:{width}}  {what}" for head, what in rows)]) for title, rows in sections
        ]
        return "\n\n".join(filter(None, [*parts, end]))
