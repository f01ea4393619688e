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
    code = f"from smgcfg import {others}\nfrom smgcfg import {name}\nprint(callable({name}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
