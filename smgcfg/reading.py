"""What references stand for, read from the environment and from files: right before it is used, and never printed."""

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from smgcfg.args import Args, set_settings
from smgcfg.codec import Refused, check
from smgcfg.config import Deployment, Pairs, Pool, Variable
from smgcfg.errors import ConfigError, Finding, error, warning
from smgcfg.flags import FlagSpec, spec_of
from smgcfg.origin import Origin
from smgcfg.reference import Reference, references_in
from smgcfg.schema import Path, dotted

#: The most bytes of a file: Linux takes no longer word of a command line than 128 KiB.
_MOST: Final = 1 << 16


class Reader:
    """Reads what references stand for.

    Attributes:
        exposed: The files that were read and that anybody on this machine may read.

    Args:
        environ: The environment that variables are read from.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.exposed: list[str] = []

    def __call__(self, reference: Reference) -> str:
        """Return the text that a reference stands for.

        Raises:
            Refused: There is no such variable or file, or it can not be what somebody wants to pass on.
        """
        if reference.text is not None:
            return reference.text
        if reference.kind == "env":
            text = self._environ.get(reference.name)
            if text is None:
                raise Refused("SMG018", f"the variable {reference.name} is not set", f"export {reference.name}=...")
            return text
        return self._file(reference.name)

    def _file(self, path: str) -> str:
        try:
            # Without waiting for a writer, should it be a pipe.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                if not stat.S_ISREG(mode):
                    raise Refused("SMG018", f"{path!r} is no regular file")
                if stat.S_IMODE(mode) & stat.S_IROTH and path not in self.exposed:
                    self.exposed.append(path)
                data = file.read(_MOST + 1)
        except Refused:
            raise
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise Refused("SMG018", f"the file {path!r} can not be read: {reason.lower()}") from None
        if len(data) > _MOST:
            raise Refused("SMG018", f"the file {path!r} has more than {_MOST} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("SMG018", f"the file {path!r} is not UTF-8") from None
        # Editors and `echo` end a file with one newline, which is no part of a secret.
        return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")

    def findings(self) -> list[Finding]:
        """Return a warning for each file that anybody on this machine may read."""
        message = "everybody on this machine may read this file"
        return [warning("SMG019", path, message, hint=f"chmod o-r {path}") for path in self.exposed]


def read_references(deployment: Deployment, environ: Mapping[str, str] | None = None) -> Deployment:
    """Return a deployment whose secrets are read, so that its plan can be launched.

    Args:
        deployment: The deployment; what it shows of its secrets stays the references.
        environ: The environment that variables are read from; by default this process's own.

    Raises:
        ConfigError: A variable or a file is missing, or holds what can not be passed on.
    """
    read, findings = with_references_read(deployment, Reader(os.environ if environ is None else environ))
    if findings:
        raise ConfigError(findings)
    return read


def with_references_read(
    deployment: Deployment, reader: Callable[[Reference], str], where: Callable[[Path], Origin | None] = lambda _: None
) -> tuple[Deployment, list[Finding]]:
    """Return a deployment whose references are read, as far as they can be, and what is wrong with the others.

    Args:
        deployment: The deployment.
        reader: Returns what a reference stands for, or raises `Refused`.
        where: Where the value at a path was set.
    """
    findings: list[Finding] = []

    def one(spec: FlagSpec, item: Any) -> Any:
        if not isinstance(item, Reference):
            return item
        text = reader(item)
        if not text and spec.secret:
            raise Refused("SMG018", f"what {item} stands for is empty")
        return item.evolve(text=text)

    def read(spec: FlagSpec, value: Any, path: Path) -> Any:
        try:
            return check(spec, tuple(one(spec, item) for item in value) if spec.many else one(spec, value))
        except Refused as refused:
            findings.append(error("SMG018", dotted(path), str(refused), where(path), refused.hint))
            return value

    def settings(args: Args, base: Path) -> Any:
        referring = {key: value for key, value in set_settings(args).items() if references_in(value)}
        cls = type(args)
        return attrs.evolve(
            args, **{key: read(spec_of(cls, key), value, (*base, key)) for key, value in referring.items()}
        )

    def variables(pairs: Pairs, base: Path) -> Pairs:
        spec = spec_of(Variable, "value")
        return tuple((name, read(spec, value, (*base, "env", name))) for name, value in pairs)

    pools: list[Pool[Any]] = []
    for pool in deployment.pools:
        base: Path = ("pools", pool.name)
        engine = settings(pool.engine, (*base, "engine"))
        pools.append(attrs.evolve(pool, engine=engine, env=variables(pool.env, base)))
    gateway, base = deployment.gateway, ("gateway",)
    gateway = attrs.evolve(gateway, args=settings(gateway.args, base), env=variables(gateway.env, base))
    return attrs.evolve(deployment, pools=tuple(pools), gateway=gateway), findings
