"""How two flag tables of one program differ. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from smgcfg.snapshots import names_of
from smgcfg.value import Value

Record = Mapping[str, Any]
Part = Literal["added", "removed", "kind", "type", "spellings", "choices", "default"]


class Difference(Value):
    """One thing in which two flag tables differ.

    Attributes:
        flag: The flag's canonical name, in the newer table where that has it.
        part: What differs.
        before: What the older table has; for a flag that is gone, its record.
        now: What the newer one has; for a flag that is new, its record.
    """

    flag: str
    part: Part
    before: Any
    now: Any


def differences(older: Iterable[Record], newer: Iterable[Record]) -> list[Difference]:
    """Compare two flag tables.

    Args:
        older: The records of one.
        newer: The records of the other. What a table itself says it does not know (`unknown`) is not compared.

    Returns:
        What differs: first the flags of the newer table in their order, then those that only the older one has.
    """
    before = {name: record for record in older for name in names_of(record)}
    found: list[Difference] = []
    kept: set[str] = set()
    for record in newer:
        same = next((before[name] for name in names_of(record) if name in before), None)
        if same is None:
            found.append(Difference(record["name"], "added", None, record))
        else:
            kept.add(same["name"])
            found += _parts(same, record)
    gone = {record["name"]: record for record in before.values() if record["name"] not in kept}
    return found + [Difference(name, "removed", record, None) for name, record in gone.items()]


def _parts(older: Record, newer: Record) -> Iterator[Difference]:
    unknown = {**older.get("unknown", {}), **newer.get("unknown", {})}
    for part, (read, needs) in _READ.items():
        before, now = read(older), read(newer)
        if unknown.keys().isdisjoint(needs) and before != now and None not in ((before, now) if part == "type" else ()):
            yield Difference(newer["name"], part, before, now)


def shape(record: Record) -> str:
    """Return how a flag stands on a command line: "value", "switch_true", "list +", "append"."""
    kind: str = record["kind"]
    many = record.get("nargs", "+" if kind == "list" else None)
    return kind if many is None else f"{kind} {many}"


def _plain_type(record: Record) -> str | None:
    """Return a flag's type where its words are read by it alone; a reader of the program's own does not compare."""
    kind = record.get("argparse_type", record["type"])
    return kind if kind in ("int", "float", "str") else None


def _spellings(record: Record) -> list[str]:
    return sorted((*names_of(record), *record.get("negatives", ())))


def _choices(record: Record) -> list[Any] | None:
    choices = record.get("choices")
    return None if choices is None else sorted(choices, key=repr)


#: Per part how a record says it, and which parts of the record have to be known for that.
_READ: Final[Mapping[Part, tuple[Callable[[Record], Any], tuple[str, ...]]]] = {
    "kind": (shape, ("action", "nargs")),
    "type": (_plain_type, ("action", "type")),
    "spellings": (_spellings, ("action",)),
    "choices": (_choices, ("choices",)),
    "default": (lambda record: record.get("default"), ("default",)),
}
