"""What a check looks at: a planned deployment, and the environment its processes would inherit."""

from collections.abc import Mapping
from typing import Any

from smgcfg.codec import shown, word
from smgcfg.config import Gateway, Pool
from smgcfg.errors import Finding, Severity
from smgcfg.flags import spec_of
from smgcfg.gateway import GatewayArgs
from smgcfg.origin import Derived
from smgcfg.planning.derive import Shape
from smgcfg.planning.plan import Planned
from smgcfg.process import ProcessSpec
from smgcfg.schema import Path, dotted
from smgcfg.sources.overrides import read_path
from smgcfg.value import Value


class Subject(Value):
    """What a check looks at.

    Attributes:
        planned: The deployment, planned; it may have errors, and then there are no processes.
        environ: The environment that its processes would inherit.
    """

    planned: Planned
    environ: Mapping[str, str]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The pools, everything filled in."""
        return self.planned.shapes

    @property
    def gateway(self) -> GatewayArgs:
        """The gateway's settings, everything filled in."""
        return self.planned.gateway

    @property
    def processes(self) -> tuple[ProcessSpec, ...]:
        """The processes; none where the plan has errors."""
        return () if self.planned.plan is None else self.planned.plan.processes

    def environment(self, owner: Pool[Any] | Gateway) -> Mapping[str, str]:
        """Return the environment that a pool's workers or the gateway would have, placeholders as they are."""
        return {**self.environ, **{name: word(value) for name, value in owner.env}}

    def finding(self, severity: Severity, code: str, path: Path, message: str, hint: str = "") -> Finding:
        """Return a finding about the value at a path, at its place; a derived one stands where its source does."""
        where = self.planned.origin(path)
        while isinstance(where, Derived):
            sources = (self.planned.origin(read_path(key) or ()) for key in where.inputs)
            where = next((source for source in sources if source is not None), None)
        return Finding(code, severity, dotted(path), message, where, hint)


def said(args: Any, key: str) -> str:
    """Return a setting's value as a message says it, without a secret."""
    value = getattr(args, key)
    if value is None:
        return "not passed"
    return str(value).lower() if isinstance(value, bool) else shown(spec_of(type(args), key), value)
