"""Deployments to plan, written short."""

from typing import Any

from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.config import Deployment, Gateway, Launch, Pool
from smgcfg.environment import Environment
from smgcfg.errors import errors_in
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.plan import Planned, plan
from smgcfg.process import Plan

#: A machine that is nobody's.
HERE = Environment(uid=1000, python="/usr/bin/python3", xdg_runtime_dir="/run/user/1000")


def pool(name: str = "chat", engine: dict[str, Any] | None = None, **keys: Any) -> Pool[TokenspeedArgs]:
    """A TokenSpeed pool; `engine` holds its engine settings."""
    keys = {"model": "org/m"} | keys
    return Pool(name=name, backend="tokenspeed", engine=TokenspeedArgs(**engine or {}), **keys)


def deployment(
    *pools: Pool[Any], gateway: dict[str, Any] | None = None, run_dir: str | None = None, **own: Any
) -> Deployment:
    """A deployment; `gateway` holds the settings of `smg launch`, `own` the gateway's reserved keys."""
    return Deployment(
        name="d",
        pools=pools or (pool(),),
        gateway=Gateway(args=GatewayArgs(**gateway or {}), **own),
        launch=Launch(run_dir=run_dir),
    )


def planned(*pools: Pool[Any], environment: Environment = HERE, **more: Any) -> Planned:
    """What comes of planning a deployment."""
    return plan(deployment(*pools, **more), environment)


def good(*pools: Pool[Any], **more: Any) -> Plan:
    """The plan of a deployment that has nothing wrong with it."""
    result = planned(*pools, **more)
    assert errors_in(result.findings) == []
    assert result.plan is not None
    return result.plan


def codes(*pools: Pool[Any], **more: Any) -> list[tuple[str, str]]:
    """(code, key) of what is found about a deployment."""
    return [(finding.code, finding.key) for finding in planned(*pools, **more).findings]


def flag(argv: tuple[str, ...], name: str) -> str | None:
    """The word behind a flag, or None where the flag does not stand."""
    return argv[argv.index(name) + 1] if name in argv else None
