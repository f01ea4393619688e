"""`GatewayArgs`: every setting of the smg gateway, typed."""

from smgcfg.args import Args
from smgcfg.errors import Finding
from smgcfg.gateway.args_models import ModelSettings
from smgcfg.gateway.args_routing import RoutingSettings
from smgcfg.gateway.args_serving import ServingSettings
from smgcfg.gateway.args_storage import StorageSettings
from smgcfg.gateway.args_workers import WorkerSettings
from smgcfg.groups import gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot


@gathered(kw_only=True)
class GatewayArgs(ServingSettings, RoutingSettings, WorkerSettings, ModelSettings, StorageSettings, Args):
    """The settings of one smg gateway, as `smg launch` takes them.

    `None` means "not passed; the gateway decides". Nothing is set by itself: the plan derives what the workers need.
    """

    def findings(self, version: "str | Snapshot | None" = None) -> list[Finding]:
        from smgcfg.gateway.rules import findings

        return findings(self, version)
