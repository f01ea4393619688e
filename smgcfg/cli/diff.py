"""`smgcfg diff`: which processes a change restarts, and why."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from smgcfg.cli.parser import Parser
from smgcfg.cli.sources import read_files
from smgcfg.diffing import Change, Difference, ProcessChange, Said, difference
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, errors_in
from smgcfg.loading import Loaded, load_sources
from smgcfg.planning.plan import Planned, plan

_USAGE = "smgcfg diff OLD NEW | --old FILE... --new FILE... [--json]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "diff" first.

    Returns:
        0 when nothing differs, 1 when something does.
    """
    old_files, new_files, options = _options(argv[1:])
    old, new = _planned(old_files, new_files)
    found = difference(old, new)
    print(json.dumps(_document(found), indent=2) if options.json else "\n".join(_lines(found)))
    return 1 if found else 0


# --- the command line ------------------------------------------------------------------------------------------------


def _options(words: Sequence[str]) -> tuple[list[str], list[str], Any]:
    """Return the files of each side, and the other options."""
    description = (
        "Compare two deployments and say which processes restart, and because of which keys. With several files on a "
        "side, --old and --new stand in front of each side's files, weakest first. "
        "Exit code: 0 nothing differs, 1 something does, 2 bad input."
    )
    parser = Parser("diff", description, _USAGE)
    parser.add_argument("--old", metavar="FILE", help="the files of what runs, up to the next option")
    parser.add_argument("--new", metavar="FILE", help="the files of what shall run, up to the next option")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_words("FILE", "the deployment that runs, then the one that shall; - is standard input")
    sides: dict[str, list[str]] = {"--old": [], "--new": []}
    side: list[str] | None = None
    rest = []
    for word in words:
        name, glued, text = word.partition("=")
        if name in sides:
            side = sides[name]
            side += [text] if glued else []
        elif word.startswith("-") and word != "-":
            side = None
            rest.append(word)
        elif side is None:
            rest.append(word)
        else:
            side.append(word)
    options = parser.parse_args(rest)
    old, new = sides["--old"], sides["--new"]
    if not old and not new and len(options.files) == 2:
        old, new = options.files[:1], options.files[1:]
    elif options.files or not old or not new:
        parser.error("expected two files, or --old FILE... --new FILE...")
    return old, new, options


def _planned(old: Sequence[str], new: Sequence[str]) -> tuple[Planned, Planned]:
    """Read and plan both sides for this machine.

    Raises:
        ConfigError: A side can not be planned.
    """
    environment = Environment.current()
    loaded = [_loaded(paths) for paths in (old, new)]
    sides = []
    for side in loaded:
        assert side.deployment is not None
        deployment = side.deployment if _is_named(side) else side.deployment.evolve(name=_name(loaded))
        planned = plan(deployment, environment, overlay=side.overlay)
        if planned.plan is None or errors_in(planned.findings):
            raise ConfigError(planned.findings)
        sides.append(planned)
    return sides[0], sides[1]


def _loaded(paths: Sequence[str]) -> Loaded:
    loaded = load_sources(read_files(paths), environ=os.environ)
    if loaded.deployment is None or errors_in(loaded.findings):
        raise ConfigError(loaded.findings)
    return loaded


def _name(sides: Iterable[Loaded]) -> str:
    """Return what a side is called that no file of it names: as the other side, because a file's name is no change."""
    names = [side.deployment.name for side in sides if side.deployment and _is_named(side)]
    return names[0] if names else [side.deployment.name for side in sides if side.deployment][-1]


def _is_named(side: Loaded) -> bool:
    return side.overlay.winner(("name",)) is not None


# --- for people ------------------------------------------------------------------------------------------------------


def _lines(found: Difference) -> list[str]:
    if not found:
        return ["no difference"]
    lines = [_summary(found.processes)]
    for names, process in _alike(found.processes):
        if process.fate == "stays":
            continue
        lines.append(f"{names}  {process.fate}" + (f": {process.because}" if process.because else ""))
        lines += _changes(process.changes)
    if found.settings:
        lines += ["no process restarts for", *_changes(found.settings)]
    return lines


def _summary(processes: Sequence[ProcessChange]) -> str:
    fates = [process.fate for process in processes]
    counts = {fate: fates.count(fate) for fate in ("restarts", "starts", "stops", "stays")}
    return ", ".join(f"{count} {fate if count == 1 else fate[:-1]}" for fate, count in counts.items() if count)


def _alike(processes: Sequence[ProcessChange]) -> list[tuple[str, ProcessChange]]:
    """Return the processes, those of which the same is to be said together."""
    groups: dict[object, list[ProcessChange]] = {}
    for process in processes:
        groups.setdefault((process.fate, process.changes, process.because), []).append(process)
    return [(", ".join(process.name for process in group), group[0]) for group in groups.values()]


def _changes(changes: Sequence[Change]) -> list[str]:
    lines = []
    for change in changes:
        lines.append(f"  {change.key}")
        lines += [
            f"    {sign} {_side(said)}" for sign, said in (("-", change.old), ("+", change.new)) if said is not None
        ]
    return lines


def _side(said: Said) -> str:
    return f"{said.text}   ({said.origin})" if said.origin else said.text


# --- for programs ----------------------------------------------------------------------------------------------------


def _document(found: Difference) -> dict[str, Any]:
    return {
        "processes": [
            {
                "name": process.name,
                "fate": process.fate,
                "changes": list(map(_change, process.changes)),
                "because": process.because,
            }
            for process in found.processes
        ],
        "settings": list(map(_change, found.settings)),
    }


def _change(change: Change) -> dict[str, Any]:
    sides = {"old": change.old, "new": change.new}
    shown = {side: said and {"text": said.text, "origin": said.origin} for side, said in sides.items()}
    return {"key": change.key, **shown}
