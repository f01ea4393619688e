"""The TokenSpeed engine."""

from smgcfg.backends.tokenspeed.args import TokenspeedArgs

__all__ = ["TokenspeedArgs"]
