"""`smgcfg diff`: which processes a change restarts, and why."""

import json
import os
from collections.abc import Sequence
from typing import Any

from smgcfg.by_key import Side, side_in, side_of
from smgcfg.cli.parser import Parser
from smgcfg.cli.sources import Words, elsewhere, read_deployment, read_files, review_loaded, take_apart
from smgcfg.config import NAME
from smgcfg.diffing import Change, Difference, ProcessChange, Said, difference
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, SmgcfgError, error, errors_in
from smgcfg.loading import Loaded, load_sources
from smgcfg.value import Value

_USAGE = "smgcfg diff OLD NEW | --old FILE... --new FILE... [--set PATH=VALUE] [--unset PATH] [--json]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "diff" first.

    Returns:
        0 when nothing differs, 1 when something does.
    """
    parser = _parser()
    words = take_apart(parser, argv)
    old, new = _sides(parser, words.options.old, words.options.new, words.options.files)
    words.options.files = new
    found = difference(*_planned(old, words, argv))
    print(json.dumps(_document(found), indent=2) if words.options.json else "\n".join(_lines(found)))
    return 1 if found else 0


# --- the two sides ---------------------------------------------------------------------------------------------------


class _Running(Value):
    """A running launch, as far as a comparison needs it.

    Attributes:
        name: Its name.
        environment: What it was planned for.
        stand_in: Whether stand-ins run in place of its engines.
        side: What its processes were given.
    """

    name: str
    environment: Environment
    stand_in: bool
    side: Side


def _parser() -> Parser:
    description = (
        "Compare two deployments and say which processes restart, and because of which keys. OLD may be the name of a "
        "running launch: what it was started with is compared, whatever became of its files. With several files on a "
        "side, --old and --new stand in front of each side's files, weakest first. --set, --unset and engine flags "
        "behind -- are for the new side."
    )
    parser = Parser("diff", description, _USAGE, "exit codes: 0 nothing differs; 1 something does; 2 bad input")
    parser.elsewhere = elsewhere
    parser.add_argument("--old", action="extend", metavar="FILE", help="the files of what runs, up to the next option")
    parser.add_argument(
        "--new", action="extend", metavar="FILE", help="the files of what shall run, up to the next option"
    )
    parser.add_argument("--set", metavar="PATH=VALUE", help="set one key on top of the new files; may be repeated")
    parser.add_argument("--unset", metavar="PATH", help="do not pass this setting; may be repeated")
    parser.add_argument("--pool", metavar="NAME", help="the pool that the engine flags behind -- are for")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_words("FILE", "the deployment that runs, then the one that shall; - is standard input")
    # What a deployment without a file is made of: there is none of that here.
    parser.set_defaults(backend=None, model=None, replicas=None, gpus=None, port=None)
    return parser


def _sides(parser: Parser, old: list[str], new: list[str], rest: list[str]) -> tuple[list[str], list[str]]:
    """Return the files of each side."""
    if not old and not new and len(rest) == 2:
        return rest[:1], rest[1:]
    if rest or not old or not new:
        parser.error("expected two files, or --old FILE... --new FILE...")
    return old, new


def _planned(old: Sequence[str], words: Words, argv: Sequence[str]) -> tuple[Side, Side]:
    """Read and plan both sides for this machine; a running launch is what it was started as.

    Raises:
        ConfigError: A side can not be planned, or there is no such launch.
    """
    if _is_name(old):
        running = _running(old[0])
        shall_run = _understood(read_deployment(words, argv))
        # As the same launcher would plan it.
        return running.side, _as_planned(
            shall_run, running.name, running.environment, stand_in=running.stand_in, host=True
        )
    environment = Environment.current()
    runs = _understood(load_sources(read_files(old), environ=os.environ))
    shall_run = _understood(read_deployment(words, argv))
    # A side that no file names is called as the other: a file's name is no change.
    assert shall_run.deployment is not None
    name = _name(runs) or _name(shall_run) or shall_run.deployment.name
    return _as_planned(runs, name, environment), _as_planned(shall_run, name, environment)


def _is_name(words: Sequence[str]) -> bool:
    """Whether words are the name of a launch, and of no file."""
    word = words[0]
    return len(words) == 1 and bool(NAME.fullmatch(word)) and not word.endswith(".toml") and not os.path.exists(word)


def _running(name: str) -> _Running:
    """Ask a running launch for what it was started with.

    Raises:
        ConfigError: There is none of that name, it has ended, or it does not tell.
    """
    from smgcfg.launch.client import as_told
    from smgcfg.launch.running import find, given

    try:
        launch = find(name, Environment.current())
        launch.must_be_alive()
        told = given(launch)
        with as_told():
            return _Running(launch.name, Environment(**told["environment"]), told["stand_in"], side_in(told["side"]))
    except ConfigError:
        raise
    except SmgcfgError as problem:
        hint = "OLD is a deployment file, or the name of a running launch"
        raise ConfigError([error("SMG041", "OLD", str(problem), hint=hint)]) from None


def _understood(loaded: Loaded) -> Loaded:
    """Return what sources say, unless something is wrong with them.

    Raises:
        ConfigError: Something is.
    """
    if loaded.deployment is None or errors_in(loaded.findings):
        raise ConfigError(loaded.findings)
    return loaded


def _name(side: Loaded) -> str:
    """Return what a side's files call it; empty where they do not."""
    named = side.overlay.winner(("name",)) is not None
    return side.deployment.name if named and side.deployment is not None else ""


def _as_planned(
    loaded: Loaded, name: str, environment: Environment, *, stand_in: bool = False, host: bool = False
) -> Side:
    """Plan a side.

    Args:
        loaded: What its sources say.
        name: What to call it where they do not.
        environment: What it is planned for.
        stand_in: Put stand-ins in place of the engines.
        host: Look which versions are installed.
    """
    assert loaded.deployment is not None
    if name and not _name(loaded):
        loaded = loaded.evolve(deployment=loaded.deployment.evolve(name=name))
    reviewed = review_loaded(loaded, environment, stand_in=stand_in, host=host)
    if reviewed.planned is None or reviewed.planned.plan is None or errors_in(reviewed.findings):
        raise ConfigError(reviewed.findings)
    return side_of(reviewed.planned)


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
