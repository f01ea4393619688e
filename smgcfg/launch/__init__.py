"""Launching: everything here knows a plan and nothing about engines."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smgcfg.launch.embedded import Launch as Launch
    from smgcfg.launch.host import host_findings as host_findings
    from smgcfg.launch.run import serve as serve

#: Where each public name is defined: looking at a host needs nothing of what starts processes on it.
_HOMES = {"Launch": "embedded", "host_findings": "host", "serve": "run"}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
