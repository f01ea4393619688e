"""Change single keys of a TOML text; everything else stays as it is, byte for byte."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from smgcfg.value import Value

if TYPE_CHECKING:
    from tomlkit.container import Container
    from tomlkit.items import InlineTable, Item, Key

Path = tuple[str, ...]

_BOM: Final = "\ufeff"


class Put(Value):
    """Give a key another name, another value, or both; where it stands, and its comment, stay.

    Attributes:
        path: The key.
        key: Its new name; empty keeps it.
        value: Its new value; None keeps it.
    """

    path: Path
    key: str = ""
    value: Any = None


class Remove(Value):
    """Take a key away, and its line with it."""

    path: Path


class Add(Value):
    """Add a key behind another one of the same table.

    Attributes:
        path: The key that it comes behind.
        key: Its name.
        value: Its value.
    """

    path: Path
    key: str
    value: Any


Edit = Put | Remove | Add


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return a TOML text with some keys changed.

    Args:
        text: A document that tomlkit reads.
        edits: What to change; every key is there, and no two edits are about the same one, but for the key that an
            `Add` comes behind.

    Raises:
        ValueError: The text can not be kept as it is, or a key is not there.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError

    mark = _BOM if text.startswith(_BOM) else ""
    try:
        document = tomlkit.parse(text[len(mark) :])
    except ParseError as problem:
        raise ValueError(f"can not be rewritten: {problem}") from None
    if document.as_string() != text[len(mark) :]:
        raise ValueError("can not be rewritten and keep its layout")
    # What is added shifts what stands behind it, so it comes last.
    for edit in sorted(edits, key=lambda edit: isinstance(edit, Add)):
        _apply(document, edit)
    return mark + document.as_string()


def _apply(document: "Container", edit: Edit) -> None:
    found = _find(document, edit.path, None)
    if found is None:
        raise ValueError(f"no key {'.'.join(edit.path)}")
    container, inline, at = found
    if isinstance(edit, Put):
        key, item = container.body[at]
        key = _renamed(key, edit.key) if edit.key and key is not None else key
        container.body[at] = (key, item if edit.value is None else _item(edit.value, item))
    elif isinstance(edit, Remove):
        (container if inline is None else inline).remove(edit.path[-1])
    elif inline is not None:
        inline.append(edit.key, edit.value)
    else:
        _insert(container, at, edit)


def _find(
    container: "Container", path: Path, inline: "InlineTable | None"
) -> "tuple[Container, InlineTable | None, int] | None":
    """Return where a key stands: its container, the inline table that is, and its place there."""
    from tomlkit.items import InlineTable, Table

    for at, (key, item) in enumerate(container.body):
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            return container, inline, at
        if isinstance(item, Table | InlineTable):
            # A table may stand in several pieces.
            found = _find(item.value, path[1:], item if isinstance(item, InlineTable) else None)
            if found is not None:
                return found
    return None


def _renamed(key: "Key", name: str) -> "Key":
    from tomlkit.items import SingleKey

    written = key.as_string()
    return SingleKey(name, sep=key.sep, original=name + written[len(written.rstrip()) :])


def _item(value: Any, old: "Item") -> "Item":
    import tomlkit

    item: Item = tomlkit.item(value)
    for part in ("indent", "comment_ws", "comment", "trail"):
        setattr(item.trivia, part, getattr(old.trivia, part))
    return item


def _insert(container: "Container", at: int, edit: Add) -> None:
    import tomlkit
    from tomlkit.items import SingleKey

    before = container.body[at][1]
    item = tomlkit.item(edit.value)
    item.trivia.indent, item.trivia.trail = before.trivia.indent, before.trivia.trail
    if not before.trivia.trail:  # the text ends here
        before.trivia.trail = "\n"
    container.body.insert(at + 1, (SingleKey(edit.key), item))
