"""Launching: everything here knows a plan and nothing about engines."""

from smgcfg.launch.embedded import Launch
from smgcfg.launch.host import host_findings
from smgcfg.launch.run import serve

__all__ = ["Launch", "host_findings", "serve"]
