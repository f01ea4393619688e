"""A JSON object as one immutable value."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

#: What JSON calls that which is no object.
_KINDS: Final[Mapping[type, str]] = {
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"the number {name} is not JSON")


def _refuse_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} stands twice")
        result[key] = value
    return result


def _plain(value: object) -> object:
    """Refuse what `json.dumps` would change without a word: keys that are no text, tuples of other kinds."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key must be text, got {key!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


class Json:
    """A JSON object, held as compact text: hashable, picklable, and equal when the text is equal.

    The order of the keys is kept and is part of the value.

    Args:
        source: A mapping, JSON text of one object, or another `Json`.

    Raises:
        ValueError: The text is no JSON object, has a key twice, or holds NaN or an infinity.
        TypeError: The mapping holds something that JSON has no spelling for.
    """

    __slots__ = ("text",)

    text: str

    def __init__(self, source: "Mapping[str, Any] | str | Json") -> None:
        if isinstance(source, Json):
            text = source.text
        else:
            try:
                text = self._compact(source)
            except RecursionError:
                raise ValueError("nested too deeply") from None
        object.__setattr__(self, "text", text)

    @staticmethod
    def _compact(source: Mapping[str, Any] | str) -> str:
        # Imported here and below: few deployments hold JSON.
        import json

        value: object
        if isinstance(source, str):
            value = json.loads(source, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
        else:
            value = _plain(source)
        if not isinstance(value, dict):
            kind = _KINDS.get(type(value), type(value).__name__)
            raise ValueError(f"it is {kind}, not an object")
        # ASCII only: a lone surrogate inside a string then still has a spelling in an argv.
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    @property
    def value(self) -> dict[str, Any]:
        """A fresh object each time: changing it changes nothing here."""
        import json

        result: dict[str, Any] = json.loads(self.text)
        return result

    def with_entry(self, keys: tuple[str, ...], entry: object) -> "Json":
        """Return the same object with one entry set; the objects on the way to it are made where there are none.

        Args:
            keys: The way to the entry.
            entry: Its new value.

        Raises:
            ValueError: Something on the way is no object, or JSON has no spelling for the entry.
            TypeError: The entry holds something that JSON has no spelling for.
        """
        result = self.value
        inner: Any = result
        *way, last = keys
        for depth, key in enumerate(way, 1):
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{'.'.join(way[:depth])} in it is no object")
        inner[last] = entry
        return Json(result)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Json is immutable: can not set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Json is immutable: can not delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Json) else NotImplemented

    def __hash__(self) -> int:
        return hash((Json, self.text))

    def __repr__(self) -> str:
        return f"Json({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Json"], tuple[str]]:
        return (Json, (self.text,))
