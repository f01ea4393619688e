"""Running an argparse parser as a judge: what an argv sets, or why it is refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn, Protocol


class Refused(Exception):
    """A program does not take a command line.

    Attributes:
        message: The parser's own words.
        crashed: The program did not refuse but fell over, such as argparse (3.11) on `--model=--`.
    """

    def __init__(self, message: str, crashed: bool = False) -> None:
        super().__init__(message, crashed)
        self.message = message
        self.crashed = crashed


class Oracle(Protocol):
    """Anything that reads a command line the way a real program does."""

    def parse(self, argv: Sequence[str]) -> dict[str, object]:
        """Read a command line.

        Returns:
            The values that `argv` sets, by parser destination; no defaults.

        Raises:
            Refused: The program does not take `argv`, or prints its help and leaves.
        """


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises where the original prints and exits; it reads exactly the same."""

    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Refused(message or f"leaves with status {status}")

    def print_help(self, file: object = None) -> None:
        pass


def without_defaults(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Make a parser report only what a command line sets; returns the same parser."""
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    return parser


def spellings(parser: argparse.ArgumentParser) -> dict[str, frozenset[object] | None]:
    """Every option string of a parser but those of help, with the values that it may take or None where any may."""
    return {
        name: None if action.choices is None else frozenset(action.choices)
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
        for name in action.option_strings
    }


def read(parser: argparse.ArgumentParser, argv: Sequence[str]) -> dict[str, object]:
    """What `argv` gives in `parser`, by destination.

    Raises:
        Refused: As `Oracle.parse`.
    """
    try:
        return vars(parser.parse_args(list(argv)))
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}", crashed=True) from error
