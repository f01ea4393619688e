"""`smgcfg stop`: stop a running launch, and wait until it has."""

import time
from collections.abc import Sequence
from typing import Final

from smgcfg.cli.launches import EXIT_CODES, named
from smgcfg.cli.parser import Parser
from smgcfg.launch.client import NoAnswer, asked
from smgcfg.launch.run_dir import owner_of

#: How long a launcher that has stopped everything may take to leave, in seconds.
_LEAVING: Final = 5.0


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "stop" first.

    Returns:
        0 when nothing is left of the launch.
    """
    parser = Parser(
        "stop", "Stop a launch as Ctrl-C would, and wait until it has.", "smgcfg stop NAME [--kill]", EXIT_CODES
    )
    parser.add_words("NAME", "the launch's name, or its run directory", least=1)
    parser.add_argument("--kill", action="store_true", help="give nobody time to finish")
    options = parser.parse_args(argv[1:])
    running, _ = named(options.files, parser, most=1)
    running.must_be_alive()
    with asked(running.run_dir, {"do": "stop", "kill": options.kill}) as answers:
        for _ in answers:
            pass
    # The run directory is let go of last: only then can the next launch have it.
    deadline = time.monotonic() + _LEAVING
    while owner_of(running.run_dir) == running.state["launcher"]["pid"]:
        if time.monotonic() >= deadline:
            raise NoAnswer(f"{running.name}: the launcher ended the connection, and is still there")
        time.sleep(0.01)
    print(f"{running.name}: stopped")
    return 0
