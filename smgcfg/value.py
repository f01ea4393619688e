"""Frozen values declared by their annotations: what attrs would make of them, without its price at every start."""

from typing import Any, ClassVar, NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """Leave a class as it is: only a type checker reads the mark."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """A base for small frozen classes: every annotation declares an attribute, and may give it a default.

    attrs compiles a constructor, a comparison and a repr for each of its classes at every start of a program. For the
    three dozen small ones that a plan is made of, that took an eighth of the time of `smgcfg plan`; here one of each
    serves all.
    """

    _names: ClassVar[tuple[str, ...]]
    _keys: ClassVar[frozenset[str]]
    _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._names = tuple(cls.__annotations__)
        cls._keys = frozenset(cls._names)
        cls._defaults = {name: cls.__dict__[name] for name in cls._names if name in cls.__dict__}

    def __init__(self, *args: Any, **named: Any) -> None:
        values = self.__dict__
        values.update(self._defaults)
        values.update(zip(self._names, args, strict=False))
        values.update(named)
        twice = args and not named.keys().isdisjoint(self._names[: len(args)])
        if values.keys() != self._keys or len(args) > len(self._names) or twice:
            names = ", ".join(self._names)
            raise TypeError(
                f"{type(self).__name__}({names}) got {len(args)} arguments, and {', '.join(named) or 'none'} by name"
            )

    def evolve(self, **changes: Any) -> "Self":
        """Return the same value with some attributes changed."""
        return type(self)(**(self.__dict__ | changes))

    def _key(self) -> tuple[Any, ...]:
        return tuple(map(self.__dict__.__getitem__, self._names))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self._key()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._names)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: can not set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: can not delete {name!r}")
