"""`smgcfg restart`: replace one process of a running launch."""

from collections.abc import Sequence

from smgcfg.cli.launches import EXIT_CODES, named
from smgcfg.cli.parser import Parser


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "restart" first.

    Returns:
        0 once the restart has begun.
    """
    parser = Parser(
        "restart",
        "Stop one process of a launch and start it again; the others keep serving. Does not wait for it to be ready.",
        "smgcfg restart NAME WORKER",
        EXIT_CODES,
    )
    parser.add_words("NAME WORKER", "the launch and its process, as smgcfg status shows them", least=2)
    options = parser.parse_args(argv[1:])
    running, process = named(options.files, parser, most=2)
    running.must_be_alive()
    running.ask({"do": "restart", "process": process})
    print(f"{running.name}: restarting {process}; smgcfg status {running.name} says when it is ready")
    return 0
