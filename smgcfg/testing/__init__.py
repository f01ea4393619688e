"""For tests: hypothesis strategies (extra `smgcfg[testing]`), and a machine that is not real."""

from smgcfg.testing.strategies import args, deployments, gateway_args, settings, tokenspeed_args, values

__all__ = ["args", "deployments", "gateway_args", "settings", "tokenspeed_args", "values"]
