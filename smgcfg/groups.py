"""Groups: how the many settings of one args class stand in several files."""

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

__all__ = ["gathered", "group"]

T = TypeVar("T")

if TYPE_CHECKING:
    # So a type checker knows the settings of a group in the constructor of the class that gathers it.
    from attrs import frozen as gathered
    from attrs import frozen as group
else:

    def group(*, kw_only: bool) -> Any:
        """Mark a class that only holds declarations, for `gathered` to collect."""
        return lambda cls: cls

    def gathered(*, kw_only: bool) -> Any:
        """Make an attrs class of the declarations in a class's groups, frozen and constructed as `Args` does it.

        Slotted attrs classes can not stand side by side as bases, and a chain of them takes more than twice as long to
        import as one class. Of that one, half the time went to compiling the methods that `Args` has.
        """

        def made(cls: type[T]) -> type[T]:
            groups = [base for base in cls.__bases__ if not attrs.has(base)]
            settings = {name: base.__dict__[name] for base in groups for name in inspect.get_annotations(base)}
            for base in groups:
                cls.__annotations__ |= inspect.get_annotations(base)
            return attrs.define(cls, these=settings, kw_only=kw_only, init=False, eq=False, repr=False)

        return made
