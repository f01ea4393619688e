"""Settings and deployments as TOML text that reads back to equal objects."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from smgcfg.args import Args, set_settings
from smgcfg.json_value import Json
from smgcfg.reference import Reference, plain

if TYPE_CHECKING:
    from smgcfg.config import Deployment
    from smgcfg.schema import Path


def table_text(args: Args) -> str:
    """Return the settings as they stand in an `[engine]` or `[gateway]` table."""
    import tomlkit

    return tomlkit.dumps(_args_table(args))


def deployment_text(
    deployment: "Deployment", references: "Iterable[tuple[Path, Reference]]" = (), folder: str = ""
) -> str:
    """Return a deployment as a file that loads to an equal one.

    Args:
        deployment: The deployment.
        references: References to write, by their path, instead of the values that were read from them.
        folder: Where the file will stand: paths that begin with ./ or ../ are relative to that in it.
    """
    import tomlkit

    pools = {pool.name: _with_env(_table(pool, skip=("name",)), pool) for pool in deployment.pools}
    for pool in deployment.pools:
        engine = _args_table(pool.engine, deployment.unset_in("pools", pool.name, "engine"))
        if engine:
            pools[pool.name]["engine"] = engine
    settings = _args_table(deployment.gateway.args, deployment.unset_in("gateway"))
    gateway = _with_env(settings | _table(deployment.gateway), deployment.gateway)
    document: dict[str, Any] = {"name": deployment.name, "pools": pools}
    launch = _table(deployment.launch)
    document |= {"gateway": gateway, "launch": launch}
    for path, reference in references:
        table = document
        for key in path[:-1]:
            table = table.setdefault(key, {})
        table[path[-1]] = _plain(reference)
    document = {key: value for key, value in document.items() if value}
    return tomlkit.dumps(_moved(document, folder) if folder else document)


def _moved(value: Any, folder: str) -> Any:
    """Return a value with every path that is relative to where the command runs made relative to a folder."""
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _moved(item, folder)
        return value
    if isinstance(value, list):
        return [_moved(item, folder) for item in value]
    if not isinstance(value, str) or not value.startswith(("./", "../")):
        return value
    moved = os.path.relpath(value, folder)
    return moved if moved.startswith("..") else f"./{moved}"


def _with_env(table: dict[str, Any], owner: Any) -> dict[str, Any]:
    if owner.env:
        table["env"] = {name: _plain(value) for name, value in owner.env}
    return table


def _args_table(args: Args, unset: Iterable[str] = ()) -> dict[str, Any]:
    """Return what differs from the args as they are made, and what was unset, defaults that are gone among it."""
    default = set_settings(type(args)())
    chosen = set_settings(args)
    table = {key: _plain(value) for key, value in chosen.items() if key not in default or default[key] != value}
    absent = [key for key in (*default, *unset) if key not in chosen]
    if absent:
        table["unset"] = absent
    if args.extra:
        table["extra"] = list(args.extra)
    return table


def _table(config: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the declared settings of a table's object that are not at their default."""
    from smgcfg.flags import specs_of

    values = [(spec.key, getattr(config, spec.key), spec.default) for spec in specs_of(type(config))]
    return {key: _plain(value) for key, value, default in values if value != default and key not in skip}


def _plain(value: Any) -> Any:
    if isinstance(value, Json):
        return value.text
    if isinstance(value, Reference):
        import tomlkit

        table = tomlkit.inline_table()
        table.update(plain(value))
        return table
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
