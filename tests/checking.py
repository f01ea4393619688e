"""Deployments to check, written as files."""

from collections.abc import Mapping

from planning import HERE

from smgcfg.checks import check
from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding, errors_in
from smgcfg.loading import load_sources
from smgcfg.planning.plan import plan
from smgcfg.sources.overrides import Override

#: The beginning of every file: a pool with nothing wrong.
POOL = '[pools.a]\nbackend = "tokenspeed"\nmodel = "org/m"\n'
SECOND = '[pools.b]\nbackend = "tokenspeed"\nmodel = "org/m"\n'
GRPC = POOL + 'transport = "grpc"\n'


def subject(text: str, environ: Mapping[str, str] | None = None, sets: tuple[str, ...] = ()) -> Subject:
    """A deployment of a file given as text, which has nothing that stops it."""
    overrides = [Override("set", text, at) for at, text in enumerate(sets, 4)]
    loaded = load_sources([("d.toml", text.encode())], overrides=overrides, environ={})
    assert loaded.deployment is not None, loaded.findings
    planned = plan(loaded.deployment, HERE, overlay=loaded.overlay)
    assert errors_in(planned.findings) == []
    return Subject(planned, environ or {})


def found(
    text: str, environ: Mapping[str, str] | None = None, *, look: bool = False, sets: tuple[str, ...] = ()
) -> list[Finding]:
    """What the checks find about it; files are looked at only when asked."""
    return check(subject(text, environ, sets), look=look)


def told(findings: list[Finding]) -> list[str]:
    """Findings in short: "warning SMG050 pools.a.engine.grammar_backend d.toml:5"."""
    return [f"{finding.severity} {finding.code} {finding.key} {finding.where}" for finding in findings]
