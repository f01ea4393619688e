"""What a released program's own parser accepts: package data, made from the real parsers, read only when asked for.

The args classes declare the same facts; a test holds the two together in both directions. Of a release that does not
ship, `smgcfg drift --write` makes a file of the same shape, and the key that names the version names it.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from smgcfg.errors import SmgcfgError

_FOLDER: Final = Path(__file__).parent / "backends" / "snapshots"

#: The shipped releases of each program, oldest first.
VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "tokenspeed": ("0.1.0", "0.1.1"),
    "smg": ("1.13.0",),
    "tokenspeed-smg": ("1.10.1",),
    # The flags that it takes in front of those of TokenSpeed.
    "smg-grpc-servicer": ("0.14.1",),
}

#: What every record of a flag has, and what of it is a list.
_TEXTS: Final = ("name", "kind", "type")
_LISTS: Final = ("aliases", "negatives", "choices")


@attrs.frozen
class Successor:
    """What replaces a flag that a release no longer has.

    Attributes:
        use: The flag to use instead.
        opposite: It says the opposite: leave it out where the old flag stood, and set it where the old one did not.
    """

    use: str
    opposite: bool = False


@attrs.frozen
class Snapshot:
    """One release of a program.

    Attributes:
        program: Its name, a key of `VERSIONS`.
        version: Its version.
        flags: One record per flag of its parser, in the parser's order: `name`, `kind`, `type`, and what else is not
            empty (`aliases` only where there are several spellings).
        successors: Per flag that an earlier release had and this one lacks, what replaces it, if anything does.
    """

    program: str
    version: str
    flags: tuple[dict[str, Any], ...] = attrs.field(hash=False, repr=False)
    successors: Mapping[str, Successor] = attrs.field(hash=False, repr=False)

    @property
    def spellings(self) -> dict[str, dict[str, Any]]:
        """Every option string of the parser, with the record of its flag."""
        return {name: flag for flag in self.flags for name in (*names_of(flag), *flag.get("negatives", ()))}


def names_of(flag: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the spellings of a flag's record, the canonical one first, without those that turn it off."""
    return (flag["name"], *(name for name in flag.get("aliases", ()) if name != flag["name"]))


def snapshot(program: str, version: str) -> Snapshot:
    """Read the snapshot of a release.

    Args:
        program: A key of `VERSIONS`.
        version: One of the program's shipped versions.

    Raises:
        SmgcfgError: No such snapshot is shipped.
    """
    if version not in VERSIONS.get(program, ()):
        shipped = ", ".join(f"{name} {known}" for name, versions in VERSIONS.items() for known in versions)
        raise SmgcfgError(f"no snapshot of {program} {version}; there is {shipped}")
    data = json.loads((_FOLDER / f"{program}-{version}.json").read_text(encoding="utf-8"))
    (parser,) = data["parsers"]
    successors = {flag: Successor(**entry) for flag, entry in data.get("successors", {}).items()}
    return Snapshot(data["program"], data["version"], tuple(parser["flags"]), successors)


def read_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Read the snapshot of a release that does not ship.

    Args:
        path: The file, as `smgcfg drift --write` makes it.

    Raises:
        SmgcfgError: The file can not be read, or holds no snapshot.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        (parser,) = data["parsers"]
        flags = tuple(parser["flags"])
        for flag in flags:
            texts, lists = [flag[part] for part in _TEXTS], [flag.get(part, []) for part in _LISTS]
            if not all(isinstance(text, str) for text in texts) or not all(isinstance(items, list) for items in lists):
                raise TypeError
        return Snapshot(str(data["program"]), str(data["version"]), flags, {})
    except OSError as problem:
        raise SmgcfgError(f"{os.fspath(path)!r} can not be read: {problem.strerror}") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise SmgcfgError(f"{os.fspath(path)!r} holds no flag table; smgcfg drift --write makes one") from None


def snapshot_text(release: Snapshot) -> str:
    """Return a snapshot as the text of its file: one flag per line, for a diff to show."""
    flags = ",\n".join("   " + json.dumps(flag) for flag in release.flags)
    head = f'{{\n "program": {json.dumps(release.program)},\n "version": {json.dumps(release.version)},\n'
    return f'{head} "parsers": [\n  {{"id": "drift", "flags": [\n{flags}\n  ]}}\n ]\n}}\n'


def nearest(version: str, versions: Sequence[str]) -> str:
    """Return the known version that is most like another: the newest that is not newer, else the oldest.

    Args:
        version: Any version; "1.10.1.post20260920" and "0.2.0.dev3" are read up to their numbers.
        versions: The known ones, the oldest first.
    """
    at = _numbers(version)
    return next((known for known in reversed(versions) if _numbers(known) <= at), versions[0])


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
