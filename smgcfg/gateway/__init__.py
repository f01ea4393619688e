"""The smg gateway."""

from smgcfg.gateway.args import GatewayArgs

__all__ = ["GatewayArgs"]
