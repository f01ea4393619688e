"""`--set PATH=VALUE` and `--unset PATH` as sources, and engine flags behind `--`."""

from collections.abc import Sequence
from typing import Any, Literal

from smgcfg.args import Args
from smgcfg.codec import Refused, read_word
from smgcfg.errors import Finding, error
from smgcfg.json_value import Json
from smgcfg.origin import FromArgv
from smgcfg.overlay import UNSET, Layer
from smgcfg.reference import reference_in
from smgcfg.schema import Leaf, Path, Schema, Table, dotted
from smgcfg.sources.toml import Walk
from smgcfg.value import Value


class Override(Value):
    """One `--set` or `--unset` of a command line.

    Attributes:
        kind: Which of the two.
        text: The word behind it.
        index: The number of the option's word.
    """

    kind: Literal["set", "unset"]
    text: str
    index: int

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


def override_layer(override: Override, schema: Schema) -> tuple[Layer[Path], list[Finding]]:
    """Read one override.

    Args:
        override: The option and its word.
        schema: Where each key belongs.

    Returns:
        Its choices, and every problem found.
    """
    path, text = override.split()
    option = f"--{override.kind}"
    if path is None:
        shape = "PATH=VALUE" if override.kind == "set" else "PATH"
        message = (
            f"expected {shape}, PATH a TOML key such as pools.chat.engine.max_num_seqs; got {override.text[:80]!r}"
        )
        return Layer(), [error("SMG003", option, message, FromArgv(override.index))]
    place = FromArgv(override.index, f"{option} {dotted(path)}")
    target = schema.resolve(path)
    if isinstance(target, Finding):
        return Layer(), [target.evolve(where=place)]
    if override.kind == "unset":
        if isinstance(target, Leaf):
            return Layer({target.path: (UNSET, place)}), []
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
        value = _value(target, text)
    except Refused as refused:
        return Layer(), [error(refused.code, dotted(path), str(refused), place, refused.hint)]
    walk.leaf(target, value, path)
    return Layer(walk.entries), walk.findings


def _value(leaf: Leaf, text: str) -> Any:
    """Read VALUE by the type of its setting: text as it is, JSON as JSON text, everything else as TOML writes it.

    What TOML reads as a reference is one, for text too.
    """
    spec = leaf.spec
    if text.startswith("{") and leaf.may_refer and (reference := reference_in(_toml_value(f"value = {text}"))):
        return reference
    if spec is not None and not spec.many and spec.type in (str, Json):
        return text
    if spec is not None and spec.key in ("served_model_name", "gpus") and not text.lstrip().startswith("["):
        return text
    value = _toml_value(f"value = {text}")
    if value is not None and "\n" not in text:
        return value
    if spec is None or spec.many:
        raise Refused("SMG003", f"expected a TOML list, got {text[:80]!r}", 'as in ["a", "b"] or [1, 2]')
    read_word(spec, text)
    wanted = "true or false" if spec.type is bool else "a number as TOML writes it"
    raise Refused("SMG003", f"expected {wanted}, got {text[:80]!r}")


def flags_layer(cls: type[Args], base: Path, tokens: Sequence[str], first: int) -> tuple[Layer[Path], list[Finding]]:
    """Read engine flags from behind `--`.

    Args:
        cls: The class of the pool's engine settings.
        base: The path of the pool's `[engine]` table.
        tokens: The words.
        first: The number of the first word.

    Returns:
        Their choices, and every problem found.
    """
    from smgcfg.argv import read_argv

    reading = read_argv(cls, tokens, positional=cls.positional, lenient=True, first=first)
    entries = {
        (*base, key): (UNSET if value is None else value, reading.places[key]) for key, value in reading.values.items()
    }
    return Layer(entries), reading.findings
