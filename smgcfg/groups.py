"""Classes of settings: attrs classes made of what `flag()` declares, in one file or in several."""

import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, get_origin

import attrs

from smgcfg.flags import Flag

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Settings", "gathered", "group"]


class _Signature:
    """What `help` and `inspect.signature` show of the constructor, made when somebody asks."""

    def __get__(self, _: object, cls: "type[Settings]") -> inspect.Signature:
        return inspect.Signature(
            [
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if field.default is attrs.NOTHING else field.default,
                    annotation=field.type,
                )
                for field in attrs.fields(cls)  # type: ignore[arg-type]  # what `gathered` makes is an attrs class
            ]
        )


class Settings:
    """What all classes of settings have in common: a constructor and a comparison over their fields; they are frozen.

    attrs would compile its own for each class, at every start of the program.
    """

    __slots__ = ()

    __signature__: ClassVar[Any] = _Signature()

    _flags: ClassVar[dict[str, Flag]] = {}
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init__(self, **settings: Any) -> None:
        cls = type(self)
        values = cls._defaults | settings
        for key, make in cls._factories.items():
            if key not in values:
                values[key] = make()
        for key in settings.keys() - cls._names:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {key!r}")
        if len(values) < len(cls._names):
            raise TypeError(f"{cls.__name__}() lacks {', '.join(sorted(cls._names - values.keys()))}")
        put = object.__setattr__
        for key, value in values.items():
            put(self, key, value)
        self._check(settings)

    def _check(self, given: Collection[str]) -> None:
        """Check the settings that somebody gave, and put each in its own type; for a class to define.

        Args:
            given: Their names.
        """

    def evolve(self, **changes: Any) -> "Self":
        """Return the same settings with some of them changed, as `attrs.evolve` does; only these are checked again."""
        cls = type(self)
        if not changes.keys() <= cls._names:
            return cls(**changes)  # which says what is wrong with them
        new, put = object.__new__(cls), object.__setattr__
        for key in cls._names:
            put(new, key, changes[key] if key in changes else getattr(self, key))
        new._check(changes)
        return new

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise attrs.exceptions.FrozenInstanceError

    def __delattr__(self, name: str) -> NoReturn:
        raise attrs.exceptions.FrozenInstanceError

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self._fields().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._fields().items())})"


if TYPE_CHECKING:
    # So a type checker knows the settings of a group in the constructor of the class that gathers it.
    from attrs import frozen as gathered
    from attrs import frozen as group
else:

    def group(*, kw_only: bool) -> Any:
        """Mark a class that only holds declarations, for `gathered` to collect."""
        return lambda cls: cls

    def gathered(*, kw_only: bool) -> Any:
        """Make an attrs class of the fields of a class and its groups, constructed and frozen as `Settings` says.

        Slotted attrs classes can not stand side by side as bases, and a chain of them takes more than twice as long to
        import as one class.
        """
        return lambda cls: _made(cls, kw_only)


#: How every field is given to attrs: as one that no constructor takes. attrs compiles a constructor even where it is
#: told to make none, and for 200 settings that takes as long as all the rest of the class.
_FIELD: Final[Any] = attrs.field(init=False)


def _made(cls: type[Any], kw_only: bool) -> Any:
    annotations: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for owner in (cls, *(base for base in cls.__bases__ if not attrs.has(base))):
        for name, annotation in inspect.get_annotations(owner).items():
            if get_origin(annotation) is not ClassVar:  # type: ignore[comparison-overlap]
                annotations[name] = annotation
                values[name] = owner.__dict__.get(name, attrs.NOTHING)
    cls.__annotations__ = {**cls.__annotations__, **annotations}
    made: Any = attrs.define(
        cls, these=dict.fromkeys(annotations, _FIELD), kw_only=kw_only, init=False, eq=False, repr=False
    )
    flags: dict[str, Flag] = {}
    defaults: dict[str, Any] = {}
    factories: dict[str, Callable[[], Any]] = {}
    for field in attrs.fields(made):
        default = values.get(field.name, field.default)
        if isinstance(default, Flag):
            flags[field.name] = default
            default.annotation, default = field.type, default.default
        # The constructor of `Settings` takes it, and `attrs.evolve` has to know that.
        object.__setattr__(field, "init", True)
        object.__setattr__(field, "default", default)
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class, typed as a function
            factories[field.name] = default.factory
        elif default is not attrs.NOTHING:
            defaults[field.name] = default
    made._flags, made._defaults, made._factories = flags, defaults, factories
    made._names = frozenset(field.name for field in attrs.fields(made))
    return made
