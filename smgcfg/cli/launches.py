"""What the commands about running launches have in common: the words that name one, and its processes."""

from smgcfg.cli.parser import Parser
from smgcfg.environment import Environment
from smgcfg.errors import SmgcfgError
from smgcfg.launch.running import Running, find

EXIT_CODES = "exit codes: 0 done; 1 the launcher does not answer; 2 bad input; 3 the launch is down; 4 no such launch"


class NoSuchProcess(SmgcfgError):
    """A launch has no process of that name; the message says which one was meant, or which it has."""

    exit_code = 2


def named(words: list[str], parser: Parser, *, most: int) -> tuple[Running, str | None]:
    """Return the launch that the words of a command name, and one of its processes if a second word names it.

    Args:
        words: The words.
        parser: The command's parser.
        most: How many words it takes.

    Raises:
        ConfigError: There are too many words.
        NoSuchLaunch: There is no such launch.
        NoSuchProcess: The launch has no such process.
    """
    if len(words) > most:
        parser.error(f"the word {words[most]!r} is one too many")
    running = find(words[0], Environment.current())
    process = words[1] if len(words) > 1 else None
    names = [one["name"] for one in running.state["processes"]]
    if process is not None and process not in names:
        from smgcfg.suggest import did_you_mean

        hint = did_you_mean(process, names) or f"it has {', '.join(names)}"
        raise NoSuchProcess(f"{running.name} has no process {process!r}; {hint}")
    return running, process
