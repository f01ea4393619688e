"""The job with tyro: the settings file, then choices as KEY=VALUE."""

import sys
from collections.abc import Sequence
from typing import Any

import tomli
import tyro
from settings_classes import Engine, Gateway, Settings


def job(words: Sequence[str]) -> Settings:
    """Return the settings."""
    with open(words[0], "rb") as file:
        read = tomli.load(file)
    default = Settings(Engine(**_frozen(read["engine"])), Gateway(**_frozen(read["gateway"])))
    options = []
    for choice in words[1:]:
        key, _, value = choice.partition("=")
        options += ["--" + key.replace("_", "-"), "True" if value == "true" else value]
    return tyro.cli(Settings, default=default, args=options)


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


if __name__ == "__main__":
    print(job(sys.argv[1:]))
