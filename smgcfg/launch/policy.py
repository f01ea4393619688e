"""What follows when a process dies unasked: the one place that decides it."""

from smgcfg.launch.effects import Exit
from smgcfg.process import Role
from smgcfg.value import Value


class Death(Value):
    """What the policy may look at.

    Attributes:
        name: The process that died.
        role: What it is.
        exit: How it ended.
        launch_was_ready: Whether the launch had been ready before.
    """

    name: str
    role: Role
    exit: Exit
    launch_was_ready: bool


class End(Value):
    """Stop everything that is left.

    Attributes:
        exit_code: What the launcher exits with.
    """

    exit_code: int


def decide(death: Death) -> End:
    """Return what follows from a death: the launch ends, with the exit code of the process that died.

    Args:
        death: Who died, when and how.
    """
    return End(death.exit.code)
