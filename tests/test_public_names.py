"""The names that `smgcfg` offers."""

import subprocess
import sys

import pytest

import smgcfg

FUNCTIONS = [name for name in smgcfg.__all__ if name.islower()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_one_whatever_was_asked_for_before(name: str) -> None:
    """A function that all other names were imported before is itself, and not a module of its name."""
    others = ", ".join(other for other in smgcfg.__all__ if other != name)
    code = f"import smgcfg.cli.serve\nfrom smgcfg import {others}\nfrom smgcfg import {name}\nprint(callable({name}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing a module would put it in the function's place."""
    from importlib.util import find_spec

    assert [name for name in FUNCTIONS if find_spec(f"smgcfg.{name}") is not None] == []
