"""Secrets that others can see: in the list of processes, in a file, in a shell's history."""

from collections.abc import Iterator
from typing import Any, Final

from smgcfg.args import Args, set_settings
from smgcfg.checks.subject import Subject
from smgcfg.config import is_secret_name
from smgcfg.errors import Finding
from smgcfg.flags import key_of, spec_of
from smgcfg.origin import FromArgv
from smgcfg.planning.derive import GATEWAY
from smgcfg.reference import Reference
from smgcfg.schema import Path

_NOWHERE_ELSE: Final = "the program reads it from nowhere else: keep other users off the machine"
_ELSEWHERE: Final = 'write { env = "NAME" } or { file = "PATH" } in its place'


def in_process_list(subject: Subject) -> Iterator[Finding]:
    """SMG059: a secret is a word of a process's command, which every user of the machine can read.

    Measured with smg 1.13.0: it reads no variable for `--api-key`, `--tenant-api-key` and `--control-plane-api-keys`.
    """
    seen: dict[Path, list[str]] = {}
    pools = {slot.name: ("pools", slot.pool, "engine") for slot in subject.planned.slots}
    for process in subject.processes:
        base = pools.get(process.name, GATEWAY)
        for name in dict.fromkeys(secret.name for secret in process.secrets):
            seen.setdefault((*base, name.lower()), []).append(process.name)
    for path, names in seen.items():
        message = f"stands in the command of {', '.join(names)}, where ps shows it to every user of this machine"
        yield subject.finding("warning", "SMG059", path, message, _NOWHERE_ELSE)
    for base, args in _args(subject):
        for word in args.extra:
            name = word.partition("=")[0]
            if name.startswith("--") and is_secret_name(key_of(name)):
                message = f"what stands behind {name} is shown by ps, and by smgcfg plan, which does not know the flag"
                yield subject.finding("warning", "SMG059", (*base, "extra"), message, "pass it by environment")


def in_clear(subject: Subject) -> Iterator[Finding]:
    """SMG060: a secret stands in clear text in a file or in smgcfg's own command line."""
    secrets = [
        ((*base, key), value)
        for base, args in _args(subject)
        for key, value in set_settings(args).items()
        if spec_of(type(args), key).secret
    ]
    tables: list[tuple[Path, Any]] = [(shape.path, shape.pool.env) for shape in subject.shapes]
    for base, env in (*tables, (GATEWAY, subject.planned.deployment.gateway.env)):
        secrets += [((*base, "env", name), value) for name, value in env if is_secret_name(name)]
    for path, value in secrets:
        items = value if isinstance(value, tuple) else (value,)
        where = subject.planned.origin(path)
        if where is None or all(isinstance(item, Reference) for item in items):
            continue
        shell = "in a command line, which ps shows and a shell remembers"
        place = shell if isinstance(where, FromArgv) else "in clear text"
        yield subject.finding("warning", "SMG060", path, f"the secret stands {place}", _ELSEWHERE)


def _args(subject: Subject) -> Iterator[tuple[Path, Args]]:
    """Give the settings that the operator chose, by their table."""
    for shape in subject.shapes:
        yield (*shape.path, "engine"), shape.pool.engine
    yield GATEWAY, subject.planned.deployment.gateway.args
