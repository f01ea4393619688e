"""What a change of a deployment does to its processes: which restart, and because of which keys."""

import shlex
from collections.abc import Iterator
from typing import Final, Literal

from smgcfg.by_key import Entry, Given, Setting, Side
from smgcfg.value import Value

#: What becomes of a process.
Fate = Literal["restarts", "starts", "stops", "stays"]

#: Why a worker restarts whose own command is the same.
GATEWAY_RESTARTS: Final = "the gateway restarts, and an engine that has dialled a gateway dials no other one"


class Said(Value):
    """One side of a change.

    Attributes:
        text: What stands there; secrets as `***`.
        origin: Where it comes from, as text; empty where it is a default.
    """

    text: str
    origin: str


class Change(Value):
    """One setting that differs.

    Attributes:
        key: The setting, as the file would write it.
        old: What stood there, or None.
        new: What stands there now, or None.
    """

    key: str
    old: Said | None
    new: Said | None


class ProcessChange(Value):
    """What becomes of one process.

    Attributes:
        name: Its name.
        fate: What becomes of it.
        changes: What differs in its command and environment.
        because: Why it restarts although nothing of its own differs; else empty.
    """

    name: str
    fate: Fate
    changes: tuple[Change, ...] = ()
    because: str = ""


class Difference(Value):
    """What differs between two plans.

    Attributes:
        processes: The gateway, the workers of the new plan, the workers that only the old one has.
        settings: What differs without any process being different: it is in force from the next start on.
    """

    processes: tuple[ProcessChange, ...]
    settings: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.settings) or any(process.fate != "stays" for process in self.processes)


def difference(old: Side, new: Side) -> Difference:
    """Return what becomes of each process when a deployment is replaced by another.

    Args:
        old: What runs.
        new: What shall run, planned for the same machine.
    """
    (gateway_before, *before), (gateway_after, *after) = old.processes, new.processes
    gateway = _process(gateway_before, gateway_after)
    known = {given.name: given for given in before}
    workers = []
    for given in after:
        if given.name not in known:
            workers.append(ProcessChange(given.name, "starts"))
            continue
        change = _process(known[given.name], given)
        if change.fate == "stays" and gateway.fate == "restarts" and given.dials:
            change = ProcessChange(given.name, "restarts", (), GATEWAY_RESTARTS)
        workers.append(change)
    left = {given.name for given in after}
    stopped = [ProcessChange(name, "stops") for name in known if name not in left]
    return Difference((gateway, *workers, *stopped), tuple(_settings(old, new)))


def _process(old: Given, new: Given) -> ProcessChange:
    """Return what becomes of a process that both sides have."""
    before, after = old.entries, new.entries
    changes = tuple(
        Change(key, _said(before.get(key)), _said(after.get(key)))
        for key in {**before, **after}
        if _words(before.get(key)) != _words(after.get(key))
    )
    return ProcessChange(new.name, "restarts" if changes else "stays", changes)


def _words(entry: Entry | None) -> tuple[str, ...] | None:
    return None if entry is None else entry.words


def _said(entry: Entry | None) -> Said | None:
    """Return what stands at a key, and where it comes from."""
    return None if entry is None else Said(shlex.join(entry.shown), entry.origin)


def _settings(old: Side, new: Side) -> Iterator[Change]:
    """Return the settings that differ and reach no process, of the tables that both sides have."""
    for key, after in new.settings.items():
        before = old.settings.get(key)
        if before is not None and before.text != after.text:
            yield Change(key, _value(before), _value(after))


def _value(setting: Setting) -> Said | None:
    return None if setting.text is None else Said(setting.text, setting.origin)
