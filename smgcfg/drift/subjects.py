"""What a deployment file says to which program: whose flags to read, where, and for which settings."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from smgcfg.args import Args
from smgcfg.backends import BACKENDS
from smgcfg.config import Gateway, Pool
from smgcfg.endpoint import Endpoint
from smgcfg.environment import Environment
from smgcfg.errors import Finding
from smgcfg.gateway.versions import DISTRIBUTIONS
from smgcfg.planning.plan import Planned
from smgcfg.release import release_findings
from smgcfg.schema import Path, dotted
from smgcfg.snapshots import Snapshot
from smgcfg.value import Value


class Subject(Value):
    """A pool or the gateway, with the program that runs it.

    Attributes:
        path: Its table.
        programs: What may run it, by the names of `drift.ask.PROGRAMS`: one of the first group, and all of the second.
        python: The interpreter; None where the table has a command of its own instead.
        env: Its environment.
        title: The program's name in messages.
        args: Its settings, everything filled in.
        settings: The table that they stand in.
        version_key: The key that names the program's version.
        release: The release that this key names as a file, if it does.
        planned: The plan, which knows where each setting was chosen.
    """

    path: Path
    programs: tuple[tuple[str, ...], tuple[str, ...]]
    python: str | None
    env: Mapping[str, str]
    title: str
    args: Args
    settings: Path
    version_key: str
    release: Snapshot | None
    planned: Planned

    def findings(self, release: Snapshot) -> list[Finding]:
        """Return what a release would refuse of the settings, each with its place in the sources."""
        return [
            finding.evolve(
                key=dotted((*self.settings, finding.key)), where=self.planned.origin((*self.settings, finding.key))
            )
            for finding in release_findings(self.title, self.args, release)
        ]


def subjects(planned: Planned, environment: Environment) -> Iterator[Subject]:
    """Return the subjects of a deployment: its pools, then the gateway.

    Args:
        planned: Its plan; findings in it do not matter.
        environment: Says which interpreter runs what names none.
    """
    endpoints = {slot.pool: slot.endpoint for slot in reversed(planned.slots)}
    for shape in planned.shapes:
        pool: Pool[Any] = shape.pool
        backend = BACKENDS[pool.backend]
        somewhere = Endpoint(shape.transport, pool.host, shape.port, environment.run_dir(planned.deployment.name))
        owned = backend.place(shape.engine, endpoints.get(pool.name, somewhere))
        path: Path = ("pools", pool.name)
        servicer = ("smg-grpc-servicer",) if shape.transport == "grpc" else ()
        yield Subject(
            path=path,
            programs=((backend.distribution,), servicer),
            args=attrs.evolve(shape.engine, **owned),
            settings=(*path, "engine"),
            title=backend.title,
            version_key=dotted((*path, "engine_version")),
            release=pool.release,
            planned=planned,
            **_place(pool, environment),
        )
    gateway = planned.deployment.gateway
    yield Subject(
        path=("gateway",),
        programs=(DISTRIBUTIONS, ()),
        args=planned.gateway,
        settings=("gateway",),
        title="smg",
        version_key="gateway.version",
        release=gateway.release,
        planned=planned,
        **_place(gateway, environment),
    )


def _place(table: Pool[Any] | Gateway, environment: Environment) -> dict[str, Any]:
    python = table.python or environment.python
    plain = {name: text for name, text in table.env if isinstance(text, str)}
    return {"python": python if table.command is None else None, "env": plain}
