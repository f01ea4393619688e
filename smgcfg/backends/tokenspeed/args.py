"""`TokenspeedArgs`: every setting of the TokenSpeed engine, typed."""

from typing import ClassVar

from smgcfg.args import Args
from smgcfg.backends.tokenspeed.args_kernels import KernelSettings
from smgcfg.backends.tokenspeed.args_memory import MemorySettings
from smgcfg.backends.tokenspeed.args_model import ModelSettings
from smgcfg.backends.tokenspeed.args_parallel import ParallelSettings
from smgcfg.backends.tokenspeed.args_serving import ServingSettings
from smgcfg.errors import Finding
from smgcfg.groups import gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot


@gathered(kw_only=True)
class TokenspeedArgs(ModelSettings, ServingSettings, MemorySettings, ParallelSettings, KernelSettings, Args):
    """The settings of one TokenSpeed engine, as `serve --headless` and the gRPC servicer take them.

    `None` means "not passed; the engine decides". Two settings are set unless an operator says otherwise, so that
    the wire behaves as the API promises: `grammar_backend="xgrammar"` (without it TokenSpeed 0.1.0 and 0.1.1 enforce no
    schema, tool, regex or grammar) and `enable_output_logprobs=True`.
    """

    positional: ClassVar[str] = "model"

    def findings(self, version: "str | Snapshot | None" = None) -> list[Finding]:
        from smgcfg.backends.tokenspeed.rules import findings

        return findings(self, version)
