"""TokenSpeed's rules across settings: what the engine refuses after its parser took the words.

The engine's own words are the checks of `ServerArgs` and `Mapping` (and `PortArgs` for the meeting place) in TokenSpeed
0.1.0 and 0.1.1. What depends on the model, the hardware or the environment is not here.
"""

from typing import Final

from smgcfg import rules
from smgcfg.backends.tokenspeed import rules_features as features
from smgcfg.backends.tokenspeed import rules_ranks as ranks
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.backends.tokenspeed.versions import VERSIONS
from smgcfg.backends.tokenspeed.view import TokenspeedView
from smgcfg.errors import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot

_SHARED: Final = (*ranks.RANKS, *features.SHARED)


def _successor(flag: str) -> str:
    # Imported here: only the report of a flag that is gone needs it.
    from smgcfg.snapshots import snapshot

    successor = snapshot("tokenspeed", VERSIONS[-1]).successors.get(flag)
    if successor is None:
        return ""
    if successor.opposite:
        return f"it is the default now; leave it out, and use {successor.use} for the opposite"
    return f"use {successor.use}"


PROGRAM: Final = rules.Program(
    title="TokenSpeed",
    versions=VERSIONS,
    view=TokenspeedView,
    rules={
        "0.1.0": (*_SHARED, *features.ONLY_0_1_0),
        "0.1.1": (
            *_SHARED,
            *ranks.PIPELINE,
            *ranks.SHARDS,
            *features.SPECULATION,
            *features.EXPERTS,
            *features.OTHERS,
        ),
    },
    # These came with 0.1.1.
    unchecked={"0.1.0": ("prefix_granularity", "ep_num_redundant_experts", "low_latency_max_num_tokens_per_gpu")},
    successor=_successor,
)


def findings(args: TokenspeedArgs, version: "str | Snapshot | None" = None) -> list[Finding]:
    """Check finished args: late bounds, rules across settings, and what a version of TokenSpeed lacks.

    Args:
        args: The args of one engine, with everything that the launcher itself decides.
        version: The engine's version, or the flag table of one that does not ship; None checks the rules of 0.1.1, and
            warns of what that release lacks.

    Returns:
        What was found, in the order of the settings.
    """
    return rules.findings(PROGRAM, args, version)
