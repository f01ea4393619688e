"""smgcfg: typed configuration and launcher for TokenSpeed engines behind the smg gateway."""

# Not imported: typing takes half as long as the interpreter takes to start, and `--version` has no other use for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from smgcfg.backends.tokenspeed.args import TokenspeedArgs as TokenspeedArgs
    from smgcfg.config import Deployment as Deployment
    from smgcfg.config import Gateway as Gateway
    from smgcfg.config import Launch as Launch
    from smgcfg.config import Pool as Pool
    from smgcfg.conversion import converter as converter
    from smgcfg.environment import Environment as Environment
    from smgcfg.errors import ConfigError as ConfigError
    from smgcfg.errors import Finding as Finding
    from smgcfg.errors import LaunchError as LaunchError
    from smgcfg.errors import SmgcfgError as SmgcfgError
    from smgcfg.gateway.args import GatewayArgs as GatewayArgs
    from smgcfg.json_value import Json as Json
    from smgcfg.loading import load as load
    from smgcfg.overlay import UNSET as UNSET
    from smgcfg.overlay import Layer as Layer
    from smgcfg.planning.plan import plan as plan
    from smgcfg.planning.worker import worker_command as worker_command
    from smgcfg.planning.worker import worker_url as worker_url
    from smgcfg.process import Plan as Plan
    from smgcfg.process import ProcessSpec as ProcessSpec
    from smgcfg.reading import read_references as read_references
    from smgcfg.reference import Reference as Reference

__version__ = "0.1.0"

#: Where each public name is defined: a name is imported when it is first asked for, so that a command pays for what it
#: uses and nothing else.
_HOMES = {
    "ConfigError": "errors",
    "Deployment": "config",
    "Environment": "environment",
    "Finding": "errors",
    "Gateway": "config",
    "GatewayArgs": "gateway.args",
    "Json": "json_value",
    "Launch": "config",
    "LaunchError": "errors",
    "Layer": "overlay",
    "Plan": "process",
    "Pool": "config",
    "ProcessSpec": "process",
    "Reference": "reference",
    "SmgcfgError": "errors",
    "TokenspeedArgs": "backends.tokenspeed.args",
    "UNSET": "overlay",
    "converter": "conversion",
    "load": "loading",
    "plan": "planning.plan",
    "read_references": "reading",
    "worker_command": "planning.worker",
    "worker_url": "planning.worker",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> "Any":
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'smgcfg' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"smgcfg.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
