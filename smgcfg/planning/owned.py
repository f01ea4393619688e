"""Settings that the plan decides: an operator who sets one is told the key to use instead."""

from collections.abc import Callable, Iterable, Mapping

from smgcfg.errors import Finding, error
from smgcfg.origin import Origin


def in_pool(owned: Mapping[str, str], pool: str) -> dict[str, str]:
    """Return what to use instead of each owned engine setting of a pool, as whole keys of the file.

    Args:
        owned: The owned settings of a backend and transport, as `Backend.owned` holds them.
        pool: The pool's key, as the file writes it.
    """
    return {key: use if "." in use or not use else f"pools.{pool}.{use}" for key, use in owned.items()}


def owned_findings(
    chosen: Iterable[str],
    owned: Mapping[str, str],
    named: Callable[[str], str],
    where: Callable[[str], Origin | None] = lambda key: None,
) -> list[Finding]:
    """Return a finding for every owned setting that an operator chose.

    Args:
        chosen: The settings that have a value, or were unset.
        owned: Per owned setting what to use instead, or an empty text where there is nothing to use.
        named: How a setting is written in full.
        where: Where a setting was chosen.
    """
    findings = []
    for key in chosen:
        if key in owned:
            hint = f"use {owned[key]} instead" if owned[key] else "leave it out"
            findings.append(error("SMG008", named(key), "the launcher decides this setting", where(key), hint))
    return findings
