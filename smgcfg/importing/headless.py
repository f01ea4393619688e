"""`ts serve --headless`, and the module behind it: one engine that dials a gateway's sockets (TokenSpeed 0.1.1)."""

from collections.abc import Sequence
from typing import Final

from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.importing.parts import Parts, engine_parts
from smgcfg.importing.settings import Program, read
from smgcfg.importing.words import Word, refuse

HEADLESS: Final = "--headless"

#: Flags of the orchestrator, which it refuses where it starts no gateway.
ORCHESTRATOR: Final = ("--engine-startup-timeout", "--gateway-startup-timeout", "--drain-timeout", "--control-port")

#: Settings that a headless engine sets by itself.
_IMPLIED: Final = ("zmq_msgpack", "skip_tokenizer_init")


def headless(words: Sequence[Word], program: Program) -> Parts:
    """Read the command of a headless engine.

    Args:
        words: The words behind `serve`, or behind the module.
        program: The release of TokenSpeed.

    Raises:
        ConfigError: The engine refuses the words.
    """
    for word in words:
        if word.text.partition("=")[0] in ORCHESTRATOR:
            refuse("SMG014", word.text.partition("=")[0], "configures a gateway, and --headless starts none", word)
    kept = [word for word in words if word.text != HEADLESS]
    parts = engine_parts(read(TokenspeedArgs, kept, program), "zmq", BACKENDS["tokenspeed"].owned["zmq"])
    for key in _IMPLIED:
        parts.owned.pop(key, None)
    port, _ = parts.owned.pop("port", (None, []))
    if port is not None:
        parts.pool["port"] = port
    parts.notes.append("the command starts no gateway: the plan adds one, on sockets of its own")
    return parts
