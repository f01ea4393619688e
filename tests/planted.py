"""Installed programs with changes planted in their source: every file but those is the real one."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from oracles import wheels

from smgcfg.drift.ask import Reading, readings

#: Where TokenSpeed, smg and the servicer register their flags.
ENGINE = "tokenspeed/runtime/utils/server_args.py"
GATEWAY = "smg/router_args.py"
SERVICER = "smg_grpc_servicer/tokenspeed/__main__.py"

#: In a planted change: a line that stands right in front of the first registration of each.
ENGINE_FIRST = "        # Model and port args\n"
GATEWAY_FIRST = "        # Worker configuration\n"
SERVICER_FIRST = "    add_metrics_arguments(parser)\n"

Change = tuple[str, str]


def planted(
    requirement: str, folder: Path, changes: Mapping[str, tuple[Change, ...]], version: str = "", without: str = ""
) -> Path:
    """Return a folder like that of an unpacked wheel, with some files changed.

    Args:
        requirement: The wheel.
        folder: An empty folder.
        changes: Per file the texts to replace, each with the new one; each stands there exactly once.
        version: Another version for its metadata; empty keeps its own.
        without: A file that is not there.
    """
    _mirror(wheels.unpacked(requirement), folder, {Path(file).parts for file in (*changes, without) if file})
    for file, replaced in changes.items():
        text = (wheels.unpacked(requirement) / file).read_text(encoding="utf-8")
        for old, new in replaced:
            assert text.count(old) == 1, (file, old, text.count(old))
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")
    if version:
        (info,) = folder.glob("*.dist-info")
        there = info.resolve()
        info.unlink()
        shutil.copytree(there, info)
        lines = (info / "METADATA").read_text(encoding="utf-8").splitlines()
        lines = [f"Version: {version}" if line.startswith("Version: ") else line for line in lines]
        (info / "METADATA").write_text("\n".join(lines), encoding="utf-8")
    return folder


def _mirror(real: Path, folder: Path, files: set[tuple[str, ...]]) -> None:
    """Link to everything in a folder but some files below it."""
    folder.mkdir(parents=True, exist_ok=True)
    first = {parts[0]: {p[1:] for p in files if p[0] == parts[0] and len(p) > 1} for parts in files}
    for entry in real.iterdir():
        if entry.name == "__pycache__":
            continue
        if entry.name not in first:
            (folder / entry.name).symlink_to(entry)
        elif first[entry.name]:
            _mirror(entry, folder / entry.name, first[entry.name])


def reading(program: str, folder: Path, python: str, **environment: str) -> Reading:
    """Read one program that an interpreter finds in a folder."""
    found = readings(python, [program], {"PYTHONPATH": str(folder), **environment})
    assert not isinstance(found, str), found
    (only,) = found
    assert only.problem == "", only.problem
    return only
