"""Deployments to load, written short."""

from typing import Any

from smgcfg import Deployment
from smgcfg.errors import Finding
from smgcfg.loading import EngineFlags, Loaded, load_sources
from smgcfg.sources.overrides import Override

POOL = '[pools.chat]\nbackend = "tokenspeed"\nmodel = "org/m"\n'


def read(*texts: str, sets: tuple[str, ...] = (), unsets: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> Loaded:
    """Load files given as text, named a.toml, b.toml, ..., and options in the order set, unset."""
    files = [(f"{chr(97 + at)}.toml", text.encode()) for at, text in enumerate(texts)]
    overrides = [Override("set", text, 10 + at) for at, text in enumerate(sets)]
    overrides += [Override("unset", text, 20 + at) for at, text in enumerate(unsets)]
    return load_sources(files, overrides=overrides, engine_flags=EngineFlags(flags, 30))


def good(*texts: str, **more: Any) -> Deployment:
    """Load what must be without a problem."""
    loaded = read(*texts, **more)
    assert loaded.findings == ()
    assert loaded.deployment is not None
    return loaded.deployment


def bad(*texts: str, **more: Any) -> list[Finding]:
    """Load what must be refused."""
    loaded = read(*texts, **more)
    assert loaded.findings
    return list(loaded.findings)
