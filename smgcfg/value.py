"""What the frozen attrs classes of the package have in common: how they compare and show themselves."""

from typing import Any

import attrs


class Value:
    """A base for attrs classes that are made with `eq=False, repr=False`: it does both over the fields.

    attrs compiles these methods anew for each class, at every start of a program; for a small class that is more than
    half of what it costs to import.
    """

    __slots__ = ()

    def _fields(self) -> "tuple[attrs.Attribute[Any], ...]":
        fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(type(self))  # type: ignore[arg-type]
        return fields

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self._fields())

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, field.name) for field in self._fields())))

    def __repr__(self) -> str:
        shown = [f"{field.name}={getattr(self, field.name)!r}" for field in self._fields() if field.repr]
        return f"{type(self).__name__}({', '.join(shown)})"
