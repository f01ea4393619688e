"""Which worker gets which GPUs."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from smgcfg.value import Value

#: More GPUs than any machine has: beyond it a number is a mistake, not a plan.
MOST: Final = 1_000_000


def visible_gpus(text: str | None) -> tuple[str, ...] | None:
    """Return the GPUs that `CUDA_VISIBLE_DEVICES` names, as they stand there: numbers, UUIDs or MIG names.

    Args:
        text: The variable's value; None where it is not set, so that every GPU is visible.

    Returns:
        The names, up to the first -1, which CUDA takes for the end of the list; None for "every GPU".
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    names = names[: names.index("-1")] if "-1" in names else names
    return tuple(filter(None, names))


class Shortage(Value):
    """GPUs that are not there.

    Attributes:
        need: How many the pool's workers need.
        left: How many are left for them.
        source: What says so: "gpus", "CUDA_VISIBLE_DEVICES", or empty where the number alone is impossible.
    """

    need: int
    left: int
    source: str


class Overlap(Value):
    """A GPU that two workers would use.

    Attributes:
        gpu: Its name.
        pool: The pool that has it already.
    """

    gpu: str
    pool: str


class GpuSlices:
    """Hands out consecutive GPUs, pool after pool.

    Args:
        visible: The GPUs that there are, or None where that is not known: then they are counted from 0.
    """

    def __init__(self, visible: tuple[str, ...] | None) -> None:
        self._visible = visible
        self._next = 0
        self._owners: dict[str, str] = {}
        self._known = set(visible or ())
        self._counted = False

    def take(
        self, pool: str, workers: int, each: int, own: tuple[str, ...] | None
    ) -> list[tuple[str, ...]] | Shortage | Overlap:
        """Return the GPUs of each worker of a pool.

        Args:
            pool: The pool's name.
            workers: How many workers it has.
            each: How many GPUs each of them uses.
            own: The GPUs that the pool names itself, or None to go on where the last pool ended.
        """
        need = workers * each
        if need == 0:
            return [()] * workers
        if need > MOST:
            return Shortage(need, MOST, "")
        self._known.update(own or ())
        self._counted = self._counted or (own is None and self._visible is None)
        names = self._named(need, own)
        if len(names) < need:
            return Shortage(need, len(names), "CUDA_VISIBLE_DEVICES" if own is None else "gpus")
        for name in names:
            if name in self._owners:
                return Overlap(name, self._owners[name])
            self._owners[name] = pool
        self._next = self._after(names[-1], own)
        take: Iterator[str] = iter(names)
        return [tuple(islice(take, each)) for _ in range(workers)]

    def _named(self, need: int, own: tuple[str, ...] | None) -> tuple[str, ...]:
        if own is not None:
            return own[:need]
        if self._visible is None:
            return tuple(map(str, range(self._next, self._next + need)))
        return self._visible[self._next : self._next + need]

    def _after(self, last: str, own: tuple[str, ...] | None) -> int:
        """Return where the next pool goes on: behind the last GPU in use, where that has a place among the others."""
        if self._visible is not None:
            return self._visible.index(last) + 1 if last in self._visible else self._next
        return int(last) + 1 if own is None or last.isdecimal() else self._next

    @property
    def used(self) -> int:
        """How many GPUs are handed out."""
        return len(self._owners)

    @property
    def total(self) -> int | None:
        """How many GPUs are named, by the pools or for all of them; None where they are merely counted from 0."""
        return None if self._counted else len(self._known)
