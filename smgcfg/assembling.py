"""From what won, key by key, to one typed `Deployment`."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from smgcfg.args import Args
from smgcfg.backends import BACKENDS
from smgcfg.config import MODEL_HINT, NAME, Deployment, Gateway, Launch, Pairs, Pool, bad_name, missing
from smgcfg.errors import Finding, error, errors_in
from smgcfg.flags import keys_of, spec_of
from smgcfg.gateway import GatewayArgs
from smgcfg.origin import FromArgv
from smgcfg.overlay import UNSET, Overlay
from smgcfg.schema import Path, dotted

#: More pools than anybody has: a file of that many is something else.
MOST_POOLS: Final = 1000


class Assembly:
    """Puts a deployment together.

    Args:
        chosen: Per path the value that won; every single one is checked by now.
        overlay: Everything that was chosen, and where.
        pools: The pools, in their order.
    """

    def __init__(self, chosen: Mapping[Path, Any], overlay: Overlay[Path], pools: tuple[str, ...]) -> None:
        self._overlay = overlay
        self._pools = pools
        self._findings: list[Finding] = []
        self._tables: dict[Path, dict[str, Any]] = {}
        for path, value in chosen.items():
            self._tables.setdefault(path[:-1], {})[path[-1]] = value

    def deployment(self, first_file: str, *, quiet: bool) -> tuple[Deployment | None, list[Finding]]:
        """Return the deployment, or None where there is none, and what is wrong with it as a whole.

        Args:
            first_file: The file that a deployment without a name is named after; or empty.
            quiet: Do not report that there is no pool: it is known why.
        """
        if len(self._pools) > MOST_POOLS:
            message = f"{len(self._pools)} pools; a deployment has at most {MOST_POOLS}"
            return None, [error("SMG003", "pools", message)]
        made = [self._pool(name) for name in self._pools]
        if not self._pools and not quiet:
            message = "no pool; a deployment has at least one [pools.NAME] table"
            hint = (
                f'the shortest is [pools.NAME] with backend = "{next(iter(BACKENDS))}" and model = "a path or a name"'
            )
            self._findings.append(error("SMG007", "pools", message, hint=hint))
        name = self._tables.get((), {}).get("name", UNSET)
        if name is UNSET:
            stem = os.path.splitext(os.path.basename(first_file.strip("<>")))[0]
            name = stem or (self._pools[0] if self._pools else "smgcfg")
        if not NAME.fullmatch(name):
            where = self._overlay.where(("name",))
            self._findings.append(bad_name("name", name).evolve(where=where, hint='set name = "..."'))
        gateway, launch = self._gateway(), Launch(**self._own(("launch",)))
        usable = tuple(pool for pool in made if pool is not None)
        if not usable or errors_in(self._findings):
            return None, self._findings
        unset = self._unset(usable)
        return Deployment(name=name, pools=usable, gateway=gateway, launch=launch, unset=unset), self._findings

    def _unset(self, pools: Iterable[Pool[Any]]) -> tuple[Path, ...]:
        """Return the settings that were unset, but for those whose default says that they are not."""
        classes: dict[Path, type[Args]] = {("gateway",): GatewayArgs}
        classes |= {("pools", pool.name, "engine"): type(pool.engine) for pool in pools}
        return tuple(
            (*base, key)
            for base, cls in classes.items()
            for key, value in sorted(self._tables.get(base, {}).items())
            if value is UNSET and key in keys_of(cls) and spec_of(cls, key).default is None
        )

    def _own(self, base: Path) -> dict[str, Any]:
        """Return the settings that stand directly in a table; what was unset is left to its default."""
        return {key: value for key, value in self._tables.get(base, {}).items() if value is not UNSET}

    def _args(self, base: Path) -> dict[str, Any]:
        """Return the settings of an args class; what was unset is not passed, a default neither."""
        nothing = {"extra": ()}
        here = self._tables.get(base, {})
        return {key: nothing.get(key) if value is UNSET else value for key, value in here.items()}

    def _env(self, base: Path) -> Pairs:
        return tuple(sorted(self._own((*base, "env")).items()))

    def _pool(self, name: str) -> Pool[Any] | None:
        base: Path = ("pools", name)
        own = self._own(base)
        if not NAME.fullmatch(name):
            self._findings.append(bad_name(dotted(base), name))
            return None
        backend = own.get("backend")
        if backend is None:
            self._findings += self._without_backend(name)
            return None
        if backend not in BACKENDS:
            from smgcfg.suggest import did_you_mean

            path = (*base, "backend")
            message = f"expected one of {', '.join(BACKENDS)}; got {backend!r}"
            hint = did_you_mean(backend, BACKENDS)
            self._findings.append(error("SMG004", dotted(path), message, self._overlay.where(path), hint))
            self._findings += self._without_model(base)
            return None
        engine = BACKENDS[backend].args(**self._args((*base, "engine")))
        return Pool(name=name, engine=engine, env=self._env(base), **own)

    def _without_backend(self, name: str) -> list[Finding]:
        """Return what a pool without a backend lacks; it is most likely the misspelt name of another."""
        from smgcfg.suggest import did_you_mean

        base: Path = ("pools", name)
        others = [other for other in self._pools if "backend" in self._own(("pools", other))]
        said = [entry for path in self._overlay if path[:2] == base for entry in self._overlay.stack(path)]
        by_argv = bool(said) and all(isinstance(where, FromArgv) for _, where in said)
        if others and by_argv:
            message = f"no such pool; here {'is' if len(others) == 1 else 'are'} {', '.join(others)}"
            return [error("SMG002", dotted(base), message, said[0][1], did_you_mean(name, others))]
        names = "|".join(BACKENDS)
        near = did_you_mean(name, others)
        path = (*base, "backend")
        hint = near or (f"--backend {names}" if by_argv else f'backend = "{names}"')
        return [missing(dotted(path), hint, self._overlay.where(path)), *([] if near else self._without_model(base))]

    def _without_model(self, base: Path) -> list[Finding]:
        """Return the finding about a pool whose engine is not known, if it names no model either."""
        named = "model" in {*self._own(base), *self._own((*base, "engine"))}
        return [] if named else [missing(dotted((*base, "model")), MODEL_HINT)]

    def _gateway(self) -> Gateway:
        base: Path = ("gateway",)
        reserved = keys_of(Gateway)
        own = {key: value for key, value in self._own(base).items() if key in reserved}
        settings = {key: value for key, value in self._args(base).items() if key not in reserved}
        return Gateway(args=GatewayArgs(**settings), env=self._env(base), **own)
