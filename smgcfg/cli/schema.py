"""`smgcfg schema`: the deployment file as JSON Schema."""

import json
from collections.abc import Sequence

from smgcfg.cli.parser import Parser
from smgcfg.json_schema import json_schema

_USAGE = "smgcfg schema > deployment.schema.json"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "schema" first.

    Returns:
        0.
    """
    description = (
        "Print the JSON Schema (2020-12) of a deployment file. An editor that knows TOML schemas completes and checks "
        "a file whose first line is `#:schema ./deployment.schema.json`."
    )
    Parser("schema", description, _USAGE).parse_args(argv[1:])
    print(text(), end="")
    return 0


def text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
