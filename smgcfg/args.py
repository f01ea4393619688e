"""What every args class can do: be checked, read, overlaid, written and compared."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Final

import attrs

from smgcfg.codec import Refused, brief, check, words
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.flags import FlagSpec, find_key, keys_of, known_keys, spec_of, spelling_table
from smgcfg.groups import Settings, gathered
from smgcfg.origin import FromCall, Origin
from smgcfg.overlay import UNSET, Layer
from smgcfg.reference import Reference, references_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

    from smgcfg.argv import Unknown
    from smgcfg.snapshots import Snapshot

#: What is said of a command line that is one text, as `"--seed 1"`: it may hold a secret, and is not shown.
_NO_LIST: Final = "expected a list of words, got one text; shlex.split() makes a list of it"

_GETTERS: Final[dict[type, tuple[tuple[str, ...], Any]]] = {}


def _settings(args: Any) -> Iterable[tuple[str, Any]]:
    """Return (key, value) of every setting that is not None, in the order they are written."""
    cls = type(args)
    found = _GETTERS.get(cls)
    if found is None:
        keys = keys_of(cls)
        found = _GETTERS[cls] = (keys, attrgetter(*keys))
    return [(key, value) for key, value in zip(found[0], found[1](args), strict=True) if value is not None]


@gathered(kw_only=True)
class Args(Settings):
    """The settings of one program. `None` means "not passed; the program decides".

    Attributes:
        extra: Words for flags that the shipped snapshots do not know, written last and unchanged.
    """

    #: The key that a positional word of the command line sets, or empty.
    positional: ClassVar[str] = ""

    extra: tuple[str, ...] = ()

    def _check(self, given: Collection[str]) -> None:
        put = object.__setattr__
        findings = check_settings(self, given)
        if self.extra:
            extra = tuple(self.extra) if isinstance(self.extra, list | tuple) else self.extra
            findings += extra_findings(type(self), extra)
            put(self, "extra", extra)
        elif self.extra != ():
            put(self, "extra", ())
        if findings:
            raise ConfigError(findings)

    # --- reading ---

    @classmethod
    def from_argv(cls, tokens: Sequence[str], unknown: "Unknown" = "error", version: str | None = None) -> "Self":
        """Read a complete command line of the program.

        Args:
            tokens: The words, without the program's name. An absent flag was not passed: no default is added.
            unknown: "error" refuses a flag that is not known; "extra" keeps it, and the words behind it, in `extra`.
            version: Read only what this version of the program has; None reads what any shipped version has.

        Returns:
            The args.

        Raises:
            ConfigError: Every problem, each with its argument number.
            TypeError: One text in place of a list of words.
        """
        from smgcfg.argv import read_argv

        if isinstance(tokens, str):
            raise TypeError(_NO_LIST)
        reading = read_argv(cls, tokens, positional=cls.positional, unknown=unknown, version=version)
        if errors_in(reading.findings):
            raise ConfigError(reading.findings)
        absent = {
            field.name: None for field in attrs.fields(cls) if field.default is not None and field.name != "extra"
        }
        return cls(**{**absent, **reading.values, "extra": tuple(reading.extra)})

    @classmethod
    def from_toml(cls, text: str) -> "Self":
        """Read the settings from TOML text, as they stand in an `[engine]` or `[gateway]` table.

        Args:
            text: TOML; an absent key keeps the default, `unset = ["key"]` takes a default away.

        Raises:
            ConfigError: Every problem, each with its line.
        """
        from smgcfg.sources.document import table_layer

        return cls(**_values(table_layer(cls, text)))

    @classmethod
    def layer(cls, source: "Sequence[str] | Mapping[str, Any] | Layer[str]") -> Layer[str]:
        """Read an operator's choices without putting them on top of anything.

        Args:
            source: Words of a command line (`--no-<flag>` and `--flag=true|false` are read for every boolean), a
                mapping of keys to values (None means "do not pass this flag"), or a layer.

        Raises:
            ConfigError: Every problem found.
        """
        if isinstance(source, Layer):
            return source
        if isinstance(source, Mapping):
            layer, findings = mapping_layer(cls, source)
        else:
            if isinstance(source, str):
                raise TypeError(_NO_LIST)
            from smgcfg.argv import read_argv

            reading = read_argv(cls, source, positional=cls.positional, lenient=True)
            findings = reading.findings
            layer = Layer(
                {key: (UNSET if value is None else value, reading.places[key]) for key, value in reading.values.items()}
            )
        if errors_in(findings):
            raise ConfigError(findings)
        return layer

    def overlay(self, choices: "Sequence[str] | Mapping[str, Any] | Layer[str]") -> "Self":
        """Return these args with an operator's choices on top.

        Args:
            choices: As `layer` takes them. What is chosen wins; every other setting stays as it is.

        Raises:
            ConfigError: Every problem found.
        """
        return self.evolve(**_values(self.layer(choices)))

    # --- writing ---

    def to_argv(self, version: str | None = None) -> list[str]:
        """Return the program's own command line for these settings.

        Args:
            version: Write spellings that this version has; None writes the newest.

        Raises:
            ConfigError: The version has no spelling for a setting, or a reference is not read.
        """
        result: list[str] = []
        findings = []
        for key, value in _settings(self):
            try:
                for reference in references_in(value):
                    if reference.text is None:
                        hint = "read_references() reads a whole deployment"
                        raise Refused("SMG018", f"{reference} is not read yet", hint)
                result += words(spec_of(type(self), key), value, version)
            except Refused as refused:
                findings.append(error(refused.code, key, str(refused), hint=refused.hint))
        if findings:
            raise ConfigError(findings)
        result += self.extra
        return result

    def to_toml(self) -> str:
        """Return the settings as TOML that `from_toml` reads back to an equal object."""
        from smgcfg.toml_write import table_text

        return table_text(self)

    def findings(self, version: "str | Snapshot | None" = None) -> list[Finding]:
        """Check the finished object: bounds that the program checks late, rules across settings, the version's flags.

        Args:
            version: The program's version, or the flag table of one that does not ship; None checks what holds for
                every shipped one.

        Returns:
            What was found, errors and warnings, in the order of the settings.
        """
        return []

    # --- comparing ---

    def _identity(self) -> tuple[Any, ...]:
        # A bare switch that is off is the same command line as one that is not set.
        spec = spec_of
        kept = [(k, v) for k, v in _settings(self) if v is not False or spec(type(self), k).kind != "switch"]
        return (*kept, self.extra)

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        shown = [f"{key}={self._shown(key, value)}" for key, value in _settings(self)]
        if self.extra:
            shown.append(f"extra={self.extra!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shown(self, key: str, value: Any) -> str:
        items = value if isinstance(value, tuple) else (value,)
        open_ = not spec_of(type(self), key).secret or all(isinstance(item, Reference) for item in items)
        return repr(value) if open_ else "'***'"


def set_settings(args: Args) -> dict[str, Any]:
    """Return the settings of an args object that are not None, in the order they are written."""
    return dict(_settings(args))


def _values(layer: Layer[str]) -> dict[str, Any]:
    """Return the settings that a layer chooses; None where it chooses that a flag is not passed."""
    return {key: None if value is UNSET else value for key, (value, _) in layer.items()}


def check_settings(config: Settings, given: Collection[str]) -> list[Finding]:
    """Check settings of a frozen object that is being made, and put each in the setting's own type.

    Args:
        config: The object, whose fields are declared by `flag()`.
        given: The fields to check: a default needs no check.

    Returns:
        What is wrong.
    """
    findings = []
    for key in keys_of(type(config)):
        value = getattr(config, key) if key in given else None
        if value is None:
            continue
        try:
            checked = check_setting(spec_of(type(config), key), value)
        except Refused as refused:
            findings.append(error(refused.code, key, str(refused), hint=refused.hint))
        else:
            if checked is not value:
                object.__setattr__(config, key, checked)
    return findings


def check_setting(spec: FlagSpec, value: Any) -> Any:
    """Check one native value of a setting, and that the program has a spelling for it.

    Raises:
        Refused: What is wrong.
    """
    checked = check(spec, value)
    if checked is False and spec.engine_sets:
        raise Refused("SMG006", "the engine may turn this on by itself and has no flag to turn it off")
    return checked


def mapping_layer(
    cls: type[Args], source: Mapping[Any, Any], place: Callable[[str], Origin] | None = None
) -> tuple[Layer[str], list[Finding]]:
    """Read a mapping of keys to native values.

    Args:
        cls: The args class.
        source: The mapping; None as a value means "do not pass this flag".
        place: The origin of a key's value; by default a Python caller.

    Returns:
        The layer, and every problem found.
    """
    entries: dict[str, tuple[Any, Origin]] = {}
    findings: list[Finding] = []
    first: dict[str, str] = {}
    for key, value in source.items():
        where = place(key) if place else None
        origin = where or FromCall()
        if key == "extra":
            entries["extra"] = (() if value is None else value, origin)
            findings += extra_findings(cls, value, where) if value is not None else []
            continue
        found = find_key(cls, key) if isinstance(key, str) else None
        if found is None:
            findings.append(unknown_key(cls, key, where))
            continue
        spec, as_it_is = found
        if first.setdefault(spec.key, key) != key:
            findings.append(error("SMG009", key, f"the same setting as {first[spec.key]}", where))
            continue
        if value is None:
            entries[spec.key] = (UNSET, origin)
            continue
        try:
            checked = check_setting(spec, value if as_it_is else not check(spec, value))
        except Refused as refused:
            findings.append(error(refused.code, key, str(refused), where, refused.hint))
        else:
            entries[spec.key] = (checked, origin)
    return Layer(entries), findings


def unknown_key(cls: type[Args], key: object, where: Origin | None) -> Finding:
    """Return the finding for a key that is no setting."""
    from smgcfg.suggest import did_you_mean

    hint = did_you_mean(key, known_keys(cls)) if isinstance(key, str) else "a key is text"
    return error("SMG002", str(key), "no such key", where, hint)


def extra_findings(cls: type[Args], extra: object, where: Origin | None = None) -> list[Finding]:
    """Check the words of `extra`: text, a flag first, no bare `--`, nothing that a field can say."""
    if not isinstance(extra, list | tuple) or not all(isinstance(word, str) for word in extra):
        hint = 'as in ["--flag", "1"]'
        return [error("SMG003", "extra", f"expected a list of text, got {brief(extra)}", where, hint)]
    findings = []
    if extra and not extra[0].startswith("--"):
        findings.append(error("SMG015", "extra", f"the first word must be a flag, got {brief(extra[0])}", where))
    known = spelling_table(cls)
    for at, word in enumerate(extra):
        name, glued, text = word.partition("=")
        if word == "--":
            findings.append(error("SMG015", "extra", "'--' would end the flags; leave it out", where))
        elif name in known and not _beyond(known[name][0], text if glued else "".join(extra[at + 1 : at + 2])):
            key = known[name][0].key
            findings.append(error("SMG015", "extra", f"{name} is known", where, f"set {key} instead"))
        elif "\0" in word or _surrogate(word):
            findings.append(error("SMG006", "extra", "NUL and lone surrogates can not stand in a command line", where))
    return findings


def _beyond(spec: FlagSpec, text: str) -> bool:
    """Whether a word is a choice that a setting does not have, but that a later version of its program may."""
    return spec.choices is not None and text not in ("", *map(str, spec.choices)) and not text.startswith("--")


def _surrogate(word: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in word)
