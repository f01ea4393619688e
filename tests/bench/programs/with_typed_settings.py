"""The job with typed-settings: the settings file, then choices as KEY=VALUE."""

import sys
from collections.abc import Sequence

import typed_settings
from settings_classes import Settings


def job(words: Sequence[str]) -> Settings:
    """Return the settings."""
    file = typed_settings.FileLoader({"*.toml": typed_settings.TomlFormat(None)}, files=[words[0]])

    @typed_settings.cli(Settings, [file])
    def read(settings: Settings) -> Settings:
        """Read settings."""
        return settings

    given, sys.argv = sys.argv, [sys.argv[0], *_options(words[1:])]
    try:
        result: Settings = read()
    finally:
        sys.argv = given
    return result


def _options(choices: Sequence[str]) -> list[str]:
    options = []
    for choice in choices:
        key, _, value = choice.partition("=")
        name = "--" + key.replace(".", "-").replace("_", "-")
        options += [name] if value == "true" else [name, value]
    return options


if __name__ == "__main__":
    print(job(sys.argv[1:]))
