"""`smgcfg logs`: the last lines of a running launch, those before a death, and those to come."""

from collections.abc import Iterable, Sequence
from typing import Any

from smgcfg.cli.launches import EXIT_CODES, named
from smgcfg.cli.parser import Parser
from smgcfg.launch.client import asked
from smgcfg.launch.running import Running


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "logs" first.

    Returns:
        0 when there is nothing more to show.
    """
    parser = Parser(
        "logs",
        "Show the lines that a launch printed lately, as its launcher keeps them in memory.",
        "smgcfg logs NAME [WORKER] [--last-exit] [-f]",
        EXIT_CODES,
    )
    parser.add_words("NAME [WORKER]", "the launch, and one of its processes", least=1)
    parser.add_argument("--last-exit", action="store_true", help="only the last lines before a death")
    parser.add_argument("-f", action="store_true", dest="follow", help="go on with the lines to come, until Ctrl-C")
    options = parser.parse_args(argv[1:])
    if options.last_exit and options.follow:
        parser.error("--last-exit is about the past: there is nothing to follow")
    running, process = named(options.files, parser, most=2)
    if options.last_exit:
        lines = _before_exit(running, process)
    else:
        running.must_be_alive()
        lines = _kept(running, process, follow=options.follow)
    width = 0 if process is not None else 1 + max(len(one["name"]) for one in running.state["processes"])
    for line in lines:
        print(_text(line, width), flush=options.follow)
    return 0


def _before_exit(running: Running, process: str | None) -> Iterable[dict[str, Any]]:
    """Yield the last lines of processes that ended, from the state file: the launcher may have ended as well."""
    for one in running.state["processes"]:
        last = one["last_exit"]
        if last is not None and (one["name"] == process or (process is None and not last["asked"])):
            yield from ({"process": one["name"], "text": text} for text in last["lines"])


def _kept(running: Running, process: str | None, *, follow: bool) -> Iterable[dict[str, Any]]:
    with asked(running.run_dir, {"do": "logs", "process": process, "follow": follow}) as answers:
        next(answers)
        yield from answers


def _text(line: dict[str, Any], width: int) -> str:
    if "dropped" in line:
        return f"[{line['dropped']} lines dropped: this reader is too slow]"
    if not width:
        return str(line["text"])
    # What the launcher says is about a process already.
    return str(line["text"]) if line.get("stream") == "event" else f"{line['process']:<{width}}| {line['text']}"
