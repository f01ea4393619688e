"""The report of problems that ends a command."""

import pytest
from in_process import run

from smgcfg.cli import COMMANDS


# `keys` would search for the word.
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "keys"])
def test_only_what_starts_something_says_that_it_did_not(command: str) -> None:
    """The last line counts the problems; of commands that start nothing anyway, it says nothing of a start."""
    code, out, err = run([command, "--no-such-option"])
    assert (code, out) == (2, "")
    end = "; nothing was started" if command in ("plan", "check", "serve") else ""
    assert err.splitlines()[-1] == f"1 error, 0 warnings{end}"
