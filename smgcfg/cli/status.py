"""`smgcfg status`: how the launches of this machine are."""

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from smgcfg.cli.launches import named
from smgcfg.cli.parser import Parser
from smgcfg.environment import Environment
from smgcfg.launch.running import NoSuchLaunch, find_all
from smgcfg.launch.status import Status, status_of
from smgcfg.launch.wording import duration

_EXIT_CODES = (
    "exit codes: 0 every process is ready; 1 some are; 2 bad input; 3 nothing answers requests; "
    "4 no such launch, or none at all"
)

_COLUMNS = ("NAME", "STATE", "FOR", "PID", "RESTARTS", "GPU", "GATEWAY SAYS", "LAST EXIT")


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "status" first.

    Returns:
        0 all ready, 1 degraded, 3 down, 4 no such launch, or none at all; of several launches the worst.
    """
    parser = Parser(
        "status",
        "Show how a launch is: what its launcher knows, and what its gateway says. Without a name, a line for each.",
        "smgcfg status [NAME] [--json]",
        _EXIT_CODES,
    )
    parser.add_words("NAME", "the launch's name, or its run directory")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    options = parser.parse_args(argv[1:])
    if options.files:
        running, _ = named(options.files, parser, most=1)
        status = status_of(running)
        print(json.dumps(status.data(), indent=2) if options.json else "\n".join(_table(status)))
        return status.exit_code
    return show_all(Environment.current(), as_json=options.json)


def show_all(environment: Environment, *, as_json: bool) -> int:
    """Print a line for each launch, or everything about all of them.

    Args:
        environment: Where the launches are.
        as_json: Print everything.

    Returns:
        The worst exit code of theirs; 4 when there are none.
    """
    all_of_them = [status_of(running) for running in find_all(environment)]
    if as_json:
        print(json.dumps([status.data() for status in all_of_them], indent=2))
    elif all_of_them:
        print("\n".join(map(_head, all_of_them)))
    else:
        print("no launches", file=sys.stderr)
    return max((status.exit_code for status in all_of_them), default=NoSuchLaunch.exit_code)


def _head(status: Status) -> str:
    state = status.state
    launcher = f"launcher pid {state['launcher']['pid']}"
    if status.alive:
        launcher = f"up {_for(state['began'])}  {launcher}"
    ready = f"({status.ready} of {status.workers} ready)"
    text = f"{state['name']}  {launcher}  {state['url']}  {status.word.upper()} {ready}"
    return f"{text}: {status.problem}" if status.problem else text


def _table(status: Status) -> list[str]:
    rows = [list(_COLUMNS)]
    for one in status.processes:
        last = one["last_exit"]
        rows.append(
            [
                one["name"],
                one["state"],
                _for(one["since"]),
                "-" if one["pid"] is None else str(one["pid"]),
                _restarts(one, status.state),
                ",".join(one["gpus"]) or "-",
                one["gateway_says"] or "-",
                "-" if last is None else f"{last['how']} {_moment(last['at'])}",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [_head(status), *lines]


def _restarts(one: dict[str, Any], state: dict[str, Any]) -> str:
    """Return how often a process was started again, and how much of the budget its latest failures have used."""
    count, recent = one["restarts"], sum(time.time() - at < state["window"] for at in one["failures"])
    if not recent:
        return str(count)
    return f"{count} ({'' if recent == count else f'{recent} '}of {state['budget']})"


def _for(since: float) -> str:
    return duration(max(0.0, time.time() - since))


def _moment(at: float) -> str:
    """Return a time of day, with the date unless it is today's."""
    moment, today = time.localtime(at), time.localtime()
    same = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S", moment)
