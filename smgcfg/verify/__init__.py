"""Asks a running gateway whether it keeps what its API promises: real requests, and a look at the answers."""

from smgcfg.verify.gateway import Target, Unreachable
from smgcfg.verify.probes import KINDS
from smgcfg.verify.report import Report
from smgcfg.verify.run import Limits, verify

__all__ = ["KINDS", "Limits", "Report", "Target", "Unreachable", "verify"]
