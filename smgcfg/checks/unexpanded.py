"""Text that a shell would change, and that nothing changes here."""

import re
from collections.abc import Iterator
from typing import Any, Final

from smgcfg.args import set_settings
from smgcfg.checks.subject import Subject
from smgcfg.config import is_secret_name
from smgcfg.errors import Finding
from smgcfg.flags import spec_of
from smgcfg.planning.derive import GATEWAY
from smgcfg.schema import Path

#: What a shell puts something in the place of. A lone dollar within a word may well be meant.
_EXPANDED: Final = re.compile(r"\$\{([A-Za-z_]\w*)\}|(?:^|(?<=[:/=,]))\$([A-Za-z_]\w*)|^~(?=/|$)")


def unexpanded(subject: Subject) -> Iterator[Finding]:
    """SMG068: a value holds a variable of a shell, and no shell reads it."""
    for path, text in _texts(subject):
        found = _EXPANDED.search(text)
        if found is None:
            continue
        name = found[1] or found[2]
        whole = name is not None and found[0] == text
        hint = f'write {{ env = "{name}" }} in its place' if whole else "write out what it stands for"
        message = f"{found[0]} is passed on as it is: no shell reads it"
        yield subject.finding("warning", "SMG068", path, message, hint)


def _texts(subject: Subject) -> Iterator[tuple[Path, str]]:
    """Return every text that the operator wrote, where it stands; a secret may hold any character."""
    deployment = subject.planned.deployment
    tables: list[tuple[Path, Any]] = [(("launch",), deployment.launch), (GATEWAY, deployment.gateway.args)]
    owners: list[tuple[Path, Any]] = [(GATEWAY, deployment.gateway)]
    for pool in deployment.pools:
        owners.append((("pools", pool.name), pool))
        tables.append((("pools", pool.name, "engine"), pool.engine))
    for base, owner in owners:
        tables.append((base, owner))
        for name, text in owner.env:
            if isinstance(text, str) and not is_secret_name(name):
                yield (*base, "env", name), text
    for base, table in tables:
        for key, value in set_settings(table).items():
            words = value if isinstance(value, tuple) else (value,)
            if spec_of(type(table), key).secret or (key in ("wrapper", "command") and "-c" in words):
                # Behind `sh -c` a shell does read it.
                continue
            yield from (((*base, key), word) for word in words if isinstance(word, str))
