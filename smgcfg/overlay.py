"""Layers of choices and the stack of them: what won, what it won over, and where each value came from."""

from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from smgcfg.origin import Origin

K = TypeVar("K", bound=Hashable)


class _Unset:
    """The choice "do not pass this flag", which is a choice and not the absence of one."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class Layer(Generic[K]):
    """The choices of one source, to be put on top of others.

    Layers compose: `(a + b) + c == a + (b + c)`, an empty layer changes nothing, and what stands further right wins.
    A list replaces a list; nothing is merged inside a value.

    Args:
        entries: Per key its value (or `UNSET`) and its origin.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[K, tuple[Any, Origin]] | None = None) -> None:
        self._entries: dict[K, tuple[Any, Origin]] = dict(entries or {})

    def items(self) -> ItemsView[K, tuple[Any, Origin]]:
        """Return (key, (value, origin)) of every choice."""
        return self._entries.items()

    def __add__(self, other: "Layer[K]") -> "Layer[K]":
        return Layer({**self._entries, **other._entries}) if isinstance(other, Layer) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return {k: v for k, (v, _) in self.items()} == {k: v for k, (v, _) in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Layer({', '.join(map(str, self._entries))})"


class Overlay(Generic[K]):
    """Layers stacked, weakest first: per key everything that was chosen; the last one wins.

    Args:
        layers: The sources, weakest first.
    """

    __slots__ = ("_stacks",)

    def __init__(self, layers: Iterable[Layer[K]] = ()) -> None:
        self._stacks: dict[K, tuple[tuple[Any, Origin], ...]] = {}
        for layer in layers:
            for key, entry in layer.items():
                self._stacks[key] = (*self._stacks.get(key, ()), entry)

    def __eq__(self, other: object) -> bool:
        return self._stacks == other._stacks if isinstance(other, Overlay) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[K]:
        """Go over every key that somebody chose, in the order it was first chosen."""
        return iter(self._stacks)

    def stack(self, key: K) -> tuple[tuple[Any, Origin], ...]:
        """Return every (value, origin) chosen for a key, weakest first; empty when nobody chose."""
        return self._stacks.get(key, ())

    def winner(self, key: K) -> tuple[Any, Origin] | None:
        """Return the (value, origin) that holds for a key, or None when nobody chose."""
        stack = self._stacks.get(key)
        return stack[-1] if stack else None

    def where(self, key: K) -> Origin | None:
        """Return where the value that holds for a key was chosen, or None when nobody chose."""
        winner = self.winner(key)
        return winner[1] if winner else None
