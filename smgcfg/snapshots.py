"""What a released program's own parser accepts: package data, made from the real parsers, read only when asked for.

The args classes declare the same facts; a test holds the two together in both directions.
"""

import json
from collections.abc import Mapping
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
}


@attrs.frozen
class Successor:
    """What replaces a flag that a release no longer has.

    Attributes:
        use: The flag to use instead.
        opposite: It says the opposite: leave it out where the old flag stood, and set it where the old one did not.
    """

    use: str
    opposite: bool = False


@attrs.frozen(eq=False)
class Snapshot:
    """One release of a program.

    Attributes:
        program: Its name: "tokenspeed", "smg" or "tokenspeed-smg".
        version: Its version.
        flags: One record per flag of its parser, in the parser's order: `name`, `kind`, `type`, and what else is not
            empty (`aliases` only where there are several spellings).
        successors: Per flag that an earlier release had and this one lacks, what replaces it, if anything does.
    """

    program: str
    version: str
    flags: tuple[dict[str, Any], ...]
    successors: Mapping[str, Successor]

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
