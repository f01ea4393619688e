"""One line declares a setting: `flag()` behind its annotation; everything else reads it from there.

The field's name is the setting's key; its annotation gives the type, the choices and whether it is a list. The
spelling on the command line follows from the key (`max_num_seqs` is `--max-num-seqs`) unless the line says otherwise.
"""

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from smgcfg.reference import Reference
from smgcfg.value import Value

#: How a setting stands on a command line.
#: value: one word; switch: its presence; pair: an enabling and a disabling spelling; optional: a switch that may take a
#: value; list: words after the flag; append: one word each time; groups: some words each time; csv: commas in one word.
Kind = Literal["value", "switch", "pair", "optional", "list", "append", "groups", "csv"]

#: What a program's parser does with the word beyond its plain type.
#: nonempty: refuses blank text; nullable: reads empty text and "None" as unset; lower: lower-cases before the choices;
#: stripped: strips each item and drops the empty ones. raw: not behind a flag at all, so that even "--" is a value.
Reads = Literal["plain", "nonempty", "nullable", "lower", "stripped", "raw"]

#: Numbers allowed: (lowest or None, highest or None), both inclusive.
Bounds = tuple[float | None, float | None]


class FlagSpec(Value):
    """Everything known of one setting.

    Attributes:
        key: The field's name; the TOML key.
        type: int, float, str, bool or Json; of one item where the setting is a list.
        kind: How it stands on a command line.
        names: The spellings that set it (for a boolean: to true), the one that is written first.
        off: The spellings that set a boolean to false, the one that is written first.
        choices: The values the type allows, or None where it is open.
        help: One short sentence.
        default: What smgcfg sets when nobody does; None for all but the few that the wire needs.
        reads: What the parser does with the word beyond its type.
        least: How many items a list needs.
        extends: A repeated list flag adds to the list (else the last one wins).
        bounds: What the program's own parser checks, so a value outside can not be made.
        limits: What the program checks later; a finding on the finished object.
        above: A number that the value must exceed, checked as `limits` are; or None.
        limits_when: The condition under which `limits` holds, as (key, value) that must be set; else empty.
        secret: Never printed.
        refers: The value, or an item of it, may be a `Reference`; the annotation says so.
        env: The environment variable the program reads it from, or empty.
        engine_sets: The engine may turn this switch on by itself, so "false" has no spelling.
        one_spelling: The parser refuses two different spellings of this setting in one command line.
        rivals: The key of a setting that the parser refuses beside this one.
        versions: The versions that have the setting; empty means every shipped one.
        spelled: Spellings that only some versions have.
        narrow: For a version that takes less than `choices` (or closes an open one): what it takes.
    """

    key: str
    type: type
    kind: Kind
    names: tuple[str, ...]
    off: tuple[str, ...]
    choices: tuple[Any, ...] | None
    help: str
    default: Any
    reads: Reads
    least: int
    extends: bool
    bounds: Bounds
    limits: Bounds
    above: float | None
    limits_when: tuple[tuple[str, Any], ...]
    secret: bool
    refers: bool
    env: str
    engine_sets: bool
    one_spelling: bool
    rivals: str
    versions: tuple[str, ...]
    spelled: dict[str, tuple[str, ...]]
    narrow: dict[str, tuple[Any, ...]]

    # There is one object for each setting, and its dicts could not be hashed.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def many(self) -> bool:
        """Whether the value is a tuple."""
        return self.kind in ("list", "append", "groups", "csv")

    @property
    def keys(self) -> tuple[str, ...]:
        """Every TOML key that means this setting with its value as it stands; the field's name is the first."""
        return (self.key, *(key for key in map(key_of, self.names) if key != self.key))

    def has(self, version: str | None) -> bool:
        """Whether a version has the setting; None asks for any shipped version."""
        return version is None or not self.versions or version in self.versions

    def spellings(self, version: str | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The enabling and the disabling spellings that a version has; None asks for any shipped version."""
        if version is None or not self.spelled:
            return self.names, self.off
        there = [
            [name for name in names if version in self.spelled.get(name, (version,))]
            for names in (self.names, self.off)
        ]
        return tuple(there[0]), tuple(there[1])

    def taken(self, version: str | None = None) -> tuple[Any, ...] | None:
        """The choices a version takes, or None where they are open."""
        return self.choices if version is None else self.narrow.get(version, self.choices)


class Flag:
    """One line of `flag()`, from which a `FlagSpec` is made when that is asked for.

    Attributes:
        said: What it says.
        annotation: What stands before it.
    """

    __slots__ = ("annotation", "said")

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        self.annotation: Any = None

    @property
    def default(self) -> Any:
        """What the setting is when nobody sets it."""
        return self.said["default"]


def flag(
    help: str,
    *,
    name: str = "",
    aliases: tuple[str, ...] = (),
    off: tuple[str, ...] = (),
    default: Any = None,
    style: Literal["", "switch", "optional", "append", "groups", "csv"] = "",
    reads: Reads = "plain",
    least: int = 0,
    extends: bool = False,
    bounds: Bounds = (None, None),
    limits: Bounds = (None, None),
    above: float | None = None,
    limits_when: tuple[tuple[str, Any], ...] = (),
    secret: bool = False,
    env: str = "",
    engine_sets: bool = False,
    one_spelling: bool = False,
    rivals: str = "",
    versions: tuple[str, ...] = (),
    spelled: dict[str, tuple[str, ...]] | None = None,
    narrow: dict[str, tuple[Any, ...]] | None = None,
) -> Any:
    """Declare a setting, in a class that `gathered` makes. The arguments are the attributes of `FlagSpec`.

    Args:
        help: One short sentence, lower case, no full stop.
        name: The canonical long flag where it does not follow from the key.
        aliases: Further spellings of it.
        off: The spellings that set a boolean to false, the canonical one first.
        style: How it stands on the command line where the annotation leaves that open: a list is "append", "groups"
            or "csv" instead of words after the flag; a boolean is "optional" instead of a switch.
    """
    said = {
        "help": help, "name": name, "aliases": aliases, "off": off, "default": default, "style": style, "reads": reads,
        "least": least, "extends": extends, "bounds": bounds, "limits": limits, "above": above,
        "limits_when": limits_when, "secret": secret, "env": env, "engine_sets": engine_sets,
        "one_spelling": one_spelling, "rivals": rivals, "versions": versions, "spelled": spelled or {},
        "narrow": narrow or {},
    }  # fmt: skip
    return Flag(said)


def key_of(spelling: str) -> str:
    """Return the key that a spelling stands for: `--attention-config.x` is `attention_config_x`."""
    return spelling.lstrip("-").replace("-", "_").replace(".", "_")


def _shape(annotation: Any) -> tuple[Any, tuple[Any, ...] | None, int, bool]:
    """Return (type of one item, choices, depth of tuples, whether it may be a reference) of a field's annotation."""
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        options = get_args(annotation)
        (inner,) = (option for option in options if option not in (NoneType, Reference))
        item, choices, depth, refers = _shape(inner)
        return item, choices, depth, refers or Reference in options
    if origin is tuple:
        item, choices, depth, refers = _shape(get_args(annotation)[0])
        return item, choices, depth + 1, refers
    if origin is Literal:
        choices = get_args(annotation)
        return type(choices[0]), choices, 0, False
    return annotation, None, 0, False


def _spec(key: str, declared: Flag) -> FlagSpec:
    raw = dict(declared.said)
    item, choices, depth, refers = _shape(declared.annotation)
    name, aliases, style = raw.pop("name"), raw.pop("aliases"), raw.pop("style")
    kind: Kind
    if depth:
        kind = style or "list"
    elif item is bool:
        kind = style or ("pair" if raw["off"] else "switch")
    else:
        kind = "value"
    names = (name or "--" + key.replace("_", "-"), *aliases)
    return FlagSpec(key=key, type=item, kind=kind, names=names, choices=choices, refers=refers, **raw)


class _Table:
    """The specs of one class, made as they are asked for: a command touches few of the settings there are."""

    def __init__(self, cls: type) -> None:
        # `gathered` has set it.
        self.flags: dict[str, Flag] = cls._flags  # type: ignore[attr-defined]
        self.made: dict[str, FlagSpec] = {}
        self.by_key: dict[str, tuple[str, bool]] = {}
        self.by_spelling: dict[str | None, dict[str, tuple[FlagSpec, bool]]] = {}

    def spec(self, key: str) -> FlagSpec:
        spec = self.made.get(key)
        if spec is None:
            spec = self.made[key] = _spec(key, self.flags[key])
        return spec


_TABLES: dict[type, _Table] = {}


def _table(cls: type) -> _Table:
    table = _TABLES.get(cls)
    if table is None:
        table = _TABLES[cls] = _Table(cls)
    return table


def keys_of(cls: type) -> tuple[str, ...]:
    """Return the keys of every setting of an args class, in the order they are written."""
    return tuple(_table(cls).flags)


def spec_of(cls: type, key: str) -> FlagSpec:
    """Return the declaration of one setting.

    Raises:
        KeyError: The class has no such setting.
    """
    return _table(cls).spec(key)


def specs_of(cls: type) -> tuple[FlagSpec, ...]:
    """Return the declarations of every setting of an args class, in the order they are written."""
    table = _table(cls)
    return tuple(map(table.spec, table.flags))


def find_key(cls: type, key: str) -> tuple[FlagSpec, bool] | None:
    """Return the setting that a TOML key means, and whether the key says it as it is (False: its opposite).

    A field's name, every alias of its flag and every disabling spelling is a key.
    """
    table = _table(cls)
    if key in table.flags:
        return table.spec(key), True
    if not table.by_key:
        for spec in specs_of(cls):
            table.by_key.update(dict.fromkeys(spec.keys[1:], (spec.key, True)))
            table.by_key.update({key_of(name): (spec.key, False) for name in spec.off})
    found = table.by_key.get(key)
    return None if found is None else (table.spec(found[0]), found[1])


def spelling_table(cls: type, version: str | None = None) -> dict[str, tuple[FlagSpec, bool]]:
    """Return the spellings that a version has, each with its setting and whether it says the setting as it is.

    Args:
        cls: An args class.
        version: A version of the program; None means any shipped one.

    Returns:
        Per spelling the setting, and False where the spelling turns it off.
    """
    tables = _table(cls).by_spelling
    if version not in tables:
        there: dict[str, tuple[FlagSpec, bool]] = {}
        for spec in specs_of(cls):
            if spec.has(version):
                names, off = spec.spellings(version)
                there.update(dict.fromkeys(names, (spec, True)))
                there.update(dict.fromkeys(off, (spec, False)))
        tables[version] = there
    return tables[version]


def known_keys(cls: type) -> tuple[str, ...]:
    """Return every key an operator may write: fields, aliases and the keys of disabling spellings."""
    return tuple(key for spec in specs_of(cls) for key in (*spec.keys, *map(key_of, spec.off)))
