"""The command line: one module per command, imported when it is asked for."""

import sys
from io import TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Per command what it does, in the order of the help.
COMMANDS = {
    "plan": "show what a deployment would start, and start nothing",
    "check": "find everything that is wrong with a deployment before anything starts",
    "explain": "say where a value comes from, and what becomes of it",
    "serve": "start a deployment and watch it until it is told to stop",
    "status": "show how the launches of this machine are",
    "logs": "show what a running launch printed lately, or before a process died",
    "restart": "replace one process of a running launch",
    "stop": "stop a running launch, and wait until it has",
    "verify": "ask a running gateway whether it keeps what its API promises",
    "watch": "verify a running gateway again and again, for an alert to be set on",
    "diff": "say which processes a change restarts, and why",
    "keys": "search the settings of a deployment file",
    "schema": "print the JSON Schema of a deployment file, for editors",
    "import": "turn another launcher's command line into a deployment file",
    "drift": "compare the flags of what is installed with those that smgcfg knows",
    "upgrade": "say what another version of the engine asks of a deployment file, or write it",
}

#: The commands that go on until they are told to stop.
LASTING = ("serve", "logs", "watch")


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run a command line.

    Args:
        argv: The words behind the program's name; by default those of this process.

    Returns:
        The exit code: 2 for bad input, 130 when interrupted, 1 when the output can not be written, else what the
        command says.
    """
    _open_standard_streams()
    code = 0
    try:
        code = _answer(list(sys.argv[1:] if argv is None else argv), alone=argv is None)
        # Here and not at the exit of the interpreter, which would report a reader that is gone.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is left to say.
        _say_no_more()
    except OSError as problem:
        if problem.filename is not None:
            raise
        # What names no file is the output's own: the disk is full, say.
        print(f"smgcfg: the output can not be written: {str(problem.strerror).lower()}", file=sys.stderr)
        _say_no_more()
        return 1
    except KeyboardInterrupt:
        # Nothing was started: from then on a launch takes its signals itself.
        return 130
    return code


def _say_no_more() -> None:
    """Have standard output lead nowhere, so that the interpreter does not try again at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer(words: list[str], *, alone: bool) -> int:
    """Do what a command line says, and return the exit code.

    Args:
        words: The words behind the program's name.
        alone: As for `_run`.
    """
    first = words[0] if words else "--help"
    if first in ("--version", "-V", "version"):
        from smgcfg import __version__

        print(f"smgcfg {__version__}")
        return 0
    if first == "help" and words[1:2] and words[1] in COMMANDS:
        first, words = words[1], [words[1], "--help"]
    if first in ("--help", "-h", "help"):
        print(usage())
        return 0 if words else 2
    if first not in COMMANDS:
        print(f"smgcfg: no such command {first!r}" + _instead(first), file=sys.stderr)
        print(f"commands: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    return _run(first, words, alone=alone)


def _instead(word: str) -> str:
    """Return what was probably meant by a first word that is no command; empty where nothing is near."""
    import os

    from smgcfg.suggest import did_you_mean

    if word.startswith("-"):
        return "; options stand behind the command, as in smgcfg plan FILE --set PATH=VALUE"
    if word.endswith(".toml") or os.path.isfile(word):
        return f"; a file stands behind the command, as in smgcfg plan {word}"
    near = did_you_mean(word, COMMANDS)
    return f"; {near}" if near else ""


def _open_standard_streams() -> None:
    """Have the standard streams that were closed, as by `>&-`, lead nowhere: else their numbers go to other files."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream, as those before it are open by now.
            setattr(sys, name, open("/dev/null", mode, encoding="utf-8"))  # noqa: SIM115 - to the end
    # The environment and the names of files need be no text: they are shown as well as can be.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run(command: str, words: list[str], *, alone: bool) -> int:
    """Run a command.

    Args:
        command: Its name.
        words: The whole command line.
        alone: Whether this process is there for the command, and the garbage collector is its own.
    """
    import gc
    from importlib import import_module
    from keyword import iskeyword

    from smgcfg.errors import ConfigError, SmgcfgError

    if alone:
        # What imports and plans make stays to the end: to look for garbage in it takes an eighth of the time of a plan.
        gc.disable()
    # A module can not have the name of a keyword.
    module = import_module(f"smgcfg.cli.{command}{'_' * iskeyword(command)}")
    if alone and command in LASTING:
        gc.freeze()
        gc.enable()
    try:
        code: int = module.run(words)
    except ConfigError as bad:
        from smgcfg.cli.report import report

        report(command, bad.findings, sys.stderr)
        return bad.exit_code
    except SmgcfgError as failed:
        print(f"smgcfg: {failed}", file=sys.stderr)
        return failed.exit_code
    finally:
        if alone:
            # Nor is there anything to look for at the exit.
            gc.freeze()
    return code


def usage() -> str:
    """Return the text of `smgcfg --help`."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: smgcfg COMMAND ...",
            "",
            "Typed configuration and launcher for TokenSpeed engines behind the smg gateway.",
            "",
            "commands:",
            *lines,
            "",
            "smgcfg COMMAND --help says more about one of them; smgcfg --version prints the version.",
        ]
    )
