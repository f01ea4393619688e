"""The job with jsonargparse: the settings file, then choices as KEY=VALUE."""

import sys
from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace
from settings_classes import Engine, Gateway


def job(words: Sequence[str]) -> Namespace:
    """Return the settings."""
    parser = ArgumentParser(parser_mode="toml")
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(Engine, "engine")
    parser.add_class_arguments(Gateway, "gateway")
    read = parser.parse_args(["--config", words[0], *(f"--{choice}" for choice in words[1:])])
    return parser.instantiate_classes(read)


if __name__ == "__main__":
    print(job(sys.argv[1:]))
