"""The job with argparse and tomli: the settings file, then choices as KEY=VALUE."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, get_args

import tomli
from settings_classes import Engine, Gateway, Settings


def job(words: Sequence[str]) -> Settings:
    """Return the settings."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, cls in (("engine", Engine), ("gateway", Gateway)):
        for field in dataclasses.fields(cls):
            parser.add_argument(f"--{name}.{field.name}", **_arguments(field.type))
    with open(words[0], "rb") as file:
        read = tomli.load(file)
    parser.set_defaults(**{f"{name}.{key}": value for name, table in read.items() for key, value in table.items()})
    options = vars(parser.parse_args([f"--{choice}" for choice in words[1:]]))
    return Settings(*(cls(**_part(options, name)) for name, cls in (("engine", Engine), ("gateway", Gateway))))


def _arguments(annotation: Any) -> dict[str, Any]:
    """Return what argparse has to know of a `X | None`."""
    kind = get_args(annotation)[0]
    if kind in (int, float, str):
        return {"type": kind}
    if kind is bool:
        return {"type": lambda word: word == "true"}
    choices = get_args(kind)
    return {"nargs": "*"} if isinstance(choices[0], type) else {"choices": choices}


def _part(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {key.partition(".")[2]: value for key, value in options.items() if key.startswith(f"{name}.")}


if __name__ == "__main__":
    print(job(sys.argv[1:]))
