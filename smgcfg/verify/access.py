"""What a running launch hands to `smgcfg verify NAME`: where it answers, with which keys, and what it promises."""

from collections.abc import Mapping
from typing import Any

import attrs

from smgcfg.launch.client import as_told
from smgcfg.verify.gateway import Target
from smgcfg.verify.promises import Promises, Setting


def to_access(target: Target, promises: Promises) -> dict[str, Any]:
    """Return it as JSON has it; it holds the keys.

    Args:
        target: The launch's gateway.
        promises: What its settings promise.
    """
    settings = {name: [attrs.asdict(setting) for setting in each] for name, each in promises.settings.items()}
    return {"target": attrs.asdict(target), "promises": settings}


def from_access(access: Mapping[str, Any]) -> tuple[Target, Promises | None]:
    """Return what `to_access` was given; of a launch that knows nothing of promises, where it answers.

    Args:
        access: What the launch said.

    Raises:
        NoAnswer: It is of a version that says it otherwise.
    """
    with as_told():
        return _from_access(access)


def _from_access(access: Mapping[str, Any]) -> tuple[Target, Promises | None]:
    if "target" not in access:
        # A launcher of an earlier version knows one key only.
        keys = {"api_key": access.get("request_key", access["workers_key"]), "workers_key": access["workers_key"]}
        insecure = access["url"].startswith("https:")
        return Target(url=access["url"], model=access["model"], insecure=insecure, **keys), None
    settings = {
        name: tuple(Setting(**{**setting, "kinds": tuple(setting["kinds"])}) for setting in each)
        for name, each in access["promises"].items()
    }
    return Target(**access["target"]), Promises(settings=settings)
