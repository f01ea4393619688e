"""`python -m smg_grpc_servicer.tokenspeed`: one engine behind a gRPC server (smg-grpc-servicer 0.14.1)."""

from collections.abc import Sequence
from typing import Final, Literal

from smgcfg.args import Args, set_settings
from smgcfg.backends import BACKENDS
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.flags import flag, spec_of, spelling_table
from smgcfg.groups import gathered
from smgcfg.importing.parts import Parts, engine_parts
from smgcfg.importing.settings import Program, parsed, read
from smgcfg.importing.words import Word, split

#: Where the server listens when nobody says (TokenSpeed 0.1.0 and 0.1.1).
_DEFAULT_HOST: Final = "127.0.0.1"
_DEFAULT_PORT: Final = 8000


@gathered(kw_only=True)
class ServicerFlags(Args):
    """The flags that the server takes out of the words before the engine reads them.

    Each has a variable that says the same, and the variable is what a worker of a deployment can be given.
    """

    servicer_impl: Literal["python", "rust"] | None = flag("what serves", env="SMG_TOKENSPEED_SERVICER_IMPL")
    metrics_port: int | None = flag("port of the metrics", env="SMG_TOKENSPEED_SERVICER_METRICS_PORT")
    metrics_host: str | None = flag("address of the metrics", env="SMG_TOKENSPEED_SERVICER_METRICS_HOST")


def servicer(words: Sequence[Word], program: Program) -> Parts:
    """Read the command of an engine behind gRPC.

    Args:
        words: The words behind the module.
        program: The release of TokenSpeed.

    Raises:
        ConfigError: Server or engine refuse the words.
    """
    table = spelling_table(ServicerFlags)
    own: list[Word] = []
    rest: list[Word] = []
    end = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    for item in split(words[:end], table):
        (rest if item.spec is None else own).extend(item.words)
    found = read(TokenspeedArgs, [*rest, *words[end:]], program)
    parts = engine_parts(found, "grpc", BACKENDS["tokenspeed"].owned["grpc"])
    place = {key: value for key, (value, _) in parts.owned.items()}
    parts.owned = {}
    parts.pool |= {"host": place.get("host", _DEFAULT_HOST), "port": place.get("port", _DEFAULT_PORT)}
    for key, value in set_settings(parsed(ServicerFlags, own)).items():
        parts.worker_env[spec_of(ServicerFlags, key).env] = str(value)
    parts.notes.append("the command starts no gateway: the plan adds one")
    mode = parts.engine.disaggregation_mode
    if mode not in (None, "null"):
        parts.notes.append(
            f"the engine does only its part of the work, {mode}; the plan's gateway knows no such workers"
        )
    return parts
