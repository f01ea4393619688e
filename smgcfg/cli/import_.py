"""`smgcfg import`: turn another launcher's command line into a deployment file."""

import sys
from collections.abc import Sequence

from smgcfg.cli.parser import Parser
from smgcfg.cli.sources import write_new
from smgcfg.errors import ConfigError, error
from smgcfg.importing import Imported, import_command, local_config

_USAGE = "smgcfg import [--name NAME] [--engine-version VERSION] [--save FILE] -- COMMAND..."


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "import" first.

    Returns:
        0, or 1 when something could not be carried over.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    parser = _parser()
    if end == len(argv) and argv[1:] and not argv[1].startswith("-"):
        parser.error(
            f"the command begins behind --, and {argv[1]!r} stands in front of it", "smgcfg import -- COMMAND..."
        )
    options = parser.parse_args(argv[1:end])
    if not argv[end + 1 :]:
        hint = "smgcfg import -- ts serve --model MODEL"
        raise ConfigError([error("SMG011", "COMMAND", "is missing; it stands behind --", hint=hint)])
    imported = import_command(
        argv[end + 1 :],
        name=options.name,
        engine_version=options.engine_version,
        first=end + 2,
        read_config=local_config,
    )
    text = imported.text()
    if options.save is None:
        print(text, end="")
    else:
        write_new(options.save, text)
    print("\n".join(_report(imported)), file=sys.stderr)
    return 1 if imported.lost else 0


def _parser() -> Parser:
    description = (
        "Read a command of smg serve, smg launch, ts serve, tokenspeed serve or "
        "python -m smg_grpc_servicer.tokenspeed, with the variables and wrappers in front of it, and print the "
        "deployment file that plans the same; comments say what does not."
    )
    exit_codes = "exit codes: 0 all of it was carried over; 1 something was not; 2 it was not understood"
    parser = Parser("import", description, _USAGE, exit_codes)
    parser.add_argument("--name", metavar="NAME", help="the deployment's name; the model's by default")
    parser.add_argument("--engine-version", metavar="VERSION", help="the TokenSpeed that the command is for")
    parser.add_argument("--save", metavar="FILE", help="write a file, for its owner's eyes, and print none")
    return parser


def _report(imported: Imported) -> list[str]:
    """Return what an operator should know, a line each; of what was lost, the flags without their values."""
    lines = [f"lost  {lost.name}: {lost.reason}" for lost in imported.lost]
    lines += [f"note  {one}: {one.reason}" for one in imported.decided]
    lines += [f"note  {note}" for note in imported.notes]
    if imported.secret:
        hint = 'keep it private, or put { env = "NAME" } or { file = "PATH" } in its place'
        lines.append(f"note  the file holds a secret as it stood in the command: {hint}")
    count = len(imported.lost)
    carried = "everything was carried over" if not count else f"{count} not carried over, in the file as comments"
    return [*lines, f"{carried}; see it with smgcfg plan"]
