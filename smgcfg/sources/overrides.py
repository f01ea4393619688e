"""`--set PATH=VALUE` and `--unset PATH` as sources, and engine flags behind `--`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from smgcfg.codec import Refused, bool_hint, brief, read_word, shown
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import key_of
from smgcfg.json_value import Json
from smgcfg.origin import FromArgv
from smgcfg.overlay import UNSET, Layer
from smgcfg.reference import HINT, reference_in
from smgcfg.schema import FOREIGN, Inside, Leaf, Path, Schema, Table, dotted
from smgcfg.sources.toml import Walk
from smgcfg.value import Value


class Override(Value):
    """One `--set` or `--unset` of a command line.

    Attributes:
        kind: Which of the two.
        text: The word behind it.
        index: The number of the option's word.
        option: What an operator typed instead, where it is short for this.
    """

    kind: Literal["set", "unset"]
    text: str
    index: int
    option: str = ""

    @property
    def path(self) -> Path | None:
        """The keys it names, or None when its PATH can not be read."""
        return self.split()[0]

    def split(self) -> tuple[Path | None, str]:
        """Return the keys of PATH (None when it can not be read) and the text of VALUE."""
        if self.kind == "unset":
            return read_path(self.text), ""
        at = self.text.find("=")
        while at >= 0:
            # A quoted key may hold '=': the first one behind which PATH is whole ends it.
            path = read_path(self.text[:at])
            if path is not None:
                return path, self.text[at + 1 :]
            at = self.text.find("=", at + 1)
        return None, ""


def read_path(text: str) -> Path | None:
    """Return the keys of a dotted TOML key, or None when it is none."""
    if all(part and part.replace("-", "_").isidentifier() for part in text.split(".")) and text.isascii():
        return tuple(text.split("."))
    value = _toml_value(f"{text} = 0", whole=True)
    keys: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    return tuple(keys) if keys and value == 0 and "\n" not in text else None


def _toml_value(text: str, *, whole: bool = False) -> Any:
    """Return what TOML reads: a document, or the value of its one key; None when it is no TOML."""
    import tomli

    try:
        data = tomli.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if whole else data.get("value") if len(data) == 1 else None


def override_layer(
    override: Override, schema: Schema, so_far: Callable[[Path], Any]
) -> tuple[Layer[Path], list[Finding]]:
    """Read one override.

    Args:
        override: The option and its word.
        schema: Where each key belongs.
        so_far: Returns what the weaker sources say of a setting, or None: an entry of a JSON object is set in that.

    Returns:
        Its choices, and every problem found.
    """
    path, text = override.split()
    option = f"--{override.kind}"
    if path is None:
        shape = "PATH=VALUE" if override.kind == "set" else "PATH"
        # No more of the word is shown than what may be a key: the rest may be a secret.
        begin = re.match(r"[\w.-]+", override.text[:80])
        message = f"expected {shape}, PATH a TOML key" + (f"; what arrived begins with {begin[0]!r}" if begin else "")
        hint = f"as in {option} pools.chat.engine.max_num_seqs" + "=8" * (override.kind == "set")
        return Layer(), [error("SMG003", option, message, FromArgv(override.index), hint)]
    place = FromArgv(override.index, override.option or f"{option} {dotted(path)}")
    target = schema.resolve(path)
    if isinstance(target, Finding):
        return Layer(), [target.evolve(where=place)]
    if override.kind == "unset":
        if isinstance(target, Leaf):
            return Layer({target.path: (UNSET, place)}), []
        if isinstance(target, Inside):
            message = f"{dotted(target.leaf.path)} is one value, which is unset as a whole"
            return Layer(), [error("SMG003", dotted(path), message, place)]
        return Layer(), [error("SMG003", dotted(path), "a table; name one setting", place)]
    walk = Walk(schema, lambda _: place)
    if isinstance(target, Table):
        table = _toml_value(f"value = {text}")
        if isinstance(table, dict):
            walk.table(target, table, path)
        else:
            walk.findings.append(error("SMG003", dotted(path), "expected a TOML table such as { key = 1 }", place))
        return Layer(walk.entries), walk.findings
    try:
        if isinstance(target, Inside):
            walk.leaf(target.leaf, with_entry(target, _json_value(text), so_far(target.leaf.path)), path)
        else:
            walk.leaf(target, _value(target, text), path)
    except Refused as refused:
        return Layer(), [error(refused.code, dotted(path), str(refused), place, refused.hint)]
    return Layer(walk.entries), walk.findings


class Repeats:
    """Finds what one command line sets twice, so that the first of two words is not lost in silence.

    Args:
        schema: Where each key belongs.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._seen: dict[Path, tuple[Any, int]] = {}

    def take(self, override: Override, layer: Layer[Path]) -> list[Finding]:
        """Take in the next override, and return a warning for each setting that an earlier one set otherwise.

        Args:
            override: The option and its word.
            layer: Its choices.
        """
        findings = []
        for path, value, leaf in self._choices(override, layer):
            lost, index = self._seen.get(path, (value, 0))
            if lost != value:
                message = f"given twice: {_told(leaf, value)} wins over {_told(leaf, lost)} at argument {index}"
                findings.append(warning("SMG009", dotted(path), message, FromArgv(override.index)))
            self._seen[path] = (value, override.index)
        return findings

    def _choices(self, override: Override, layer: Layer[Path]) -> Iterator[tuple[Path, Any, Leaf]]:
        target = self._schema.resolve(override.path or ())
        if isinstance(target, Inside):
            # The layer holds the whole object; what is set is one entry of it.
            if layer:
                yield (*target.leaf.path, *target.keys), override.split()[1], target.leaf
            return
        for path, (value, _) in layer.items():
            leaf = self._schema.resolve(path)
            if isinstance(leaf, Leaf):
                yield path, value, leaf


def _told(leaf: Leaf, value: object) -> str:
    if value is UNSET:
        return "unset"
    return brief(value) if leaf.spec is None else shown(leaf.spec, value)


def with_entry(place: Inside, entry: object, so_far: object) -> Json:
    """Return the JSON object of a setting with one entry set.

    Args:
        place: Where the entry is.
        entry: Its value.
        so_far: What the setting holds; anything but a `Json` is taken for an empty object.

    Raises:
        Refused: There is no such place in the object, or JSON has no spelling for the value.
    """
    try:
        return (so_far if isinstance(so_far, Json) else Json({})).with_entry(place.keys, entry)
    except (ValueError, TypeError) as problem:
        raise Refused("SMG003", f"it can not be set in {dotted(place.leaf.path)}: {problem}") from None


def _json_value(text: str) -> Any:
    """Read VALUE of an entry in a JSON object.

    Raises:
        Refused: It is no JSON text.
    """
    try:
        (entry,) = Json(f'{{"entry": {text}\n}}').value.values()
    except ValueError:
        hint = 'text stands in double quotes, as in "yarn"'
        raise Refused("SMG003", f"expected JSON, got {brief(text)}", hint) from None
    return entry


def _value(leaf: Leaf, text: str) -> Any:
    """Read VALUE by the type of its setting: text as it is, JSON as JSON text, everything else as TOML writes it.

    What TOML reads as a reference is one, for text too.
    """
    spec = leaf.spec
    if text.startswith("{") and leaf.may_refer and (reference := reference_in(_toml_value(f"value = {text}"))):
        return reference
    if spec is not None and not spec.many and spec.type is str and spec.reads != "raw" and text.startswith("{"):
        # Nobody means such a text, and as a key or a path it would go unnoticed. (In `env` it may be a placeholder.)
        raise Refused("SMG003", "expected text; what begins with { is no reference", HINT)
    if spec is not None and not spec.many and spec.type in (str, Json):
        return text
    if spec is not None and spec.key in ("served_model_name", "gpus") and not text.lstrip().startswith("["):
        return text
    value = _toml_value(f"value = {text}")
    if value is not None and "\n" not in text:
        return value
    got = brief(text) if spec is None else shown(spec, text)
    if spec is None or spec.many:
        raise Refused("SMG003", f"expected a TOML list, got {got}", 'as in ["a", "b"] or [1, 2]')
    read_word(spec, text)
    if spec.type is bool:
        raise Refused("SMG003", f"expected true or false, got {got}", bool_hint(text))
    raise Refused("SMG003", f"expected a number as TOML writes it, got {got}")


def flags_layer(schema: Schema, pool: str, tokens: Sequence[str], first: int) -> tuple[Layer[Path], list[Finding]]:
    """Read engine flags from behind `--`.

    Args:
        schema: Where each key belongs.
        pool: The pool they are for.
        tokens: The words.
        first: The number of the first word.

    Returns:
        Their choices, and every problem found.
    """
    from smgcfg.argv import read_argv

    cls = schema.engine(pool)
    base: Path = ("pools", pool, "engine")
    reading = read_argv(cls, tokens, positional=cls.positional, lenient=True, first=first)
    entries = {
        (*base, key): (UNSET if value is None else value, reading.places[key]) for key, value in reading.values.items()
    }
    engine = Table("engine", base, cls)
    return Layer(entries), [_with_suggestion(finding, schema, engine) for finding in reading.findings]


def _with_suggestion(finding: Finding, schema: Schema, table: Table) -> Finding:
    """Say of a flag that the engine does not have where else it may belong."""
    key = key_of(finding.key)
    if finding.code != "SMG010" or (finding.hint and key not in FOREIGN):
        return finding
    return finding.evolve(hint=schema.suggestion(table, key))
