"""Words of a command that take the place of others without anybody being told."""

from collections.abc import Iterator, Sequence

from smgcfg.args import Args
from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding
from smgcfg.flags import FlagSpec, spelling_table
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.derive import GATEWAY
from smgcfg.schema import Path


def repeated_flag(subject: Subject) -> Iterator[Finding]:
    """SMG061: a flag stands twice in a command, so that one of them says nothing.

    Engine flags that stand twice behind `--` are a finding of the sources, SMG009.
    """
    processes = {process.name: process.argv for process in subject.processes}
    for shape in subject.shapes:
        argv = processes.get(f"{shape.pool.name}-0", ())
        yield from _in_command(subject, type(shape.engine), shape.path, argv, shape.pool.command)
        yield from _in_extra(subject, shape.engine, (*shape.path, "engine"), abbreviates=False)
    gateway = subject.planned.deployment.gateway
    yield from _in_command(subject, GatewayArgs, GATEWAY, processes.get("gateway", ()), gateway.command)
    # argparse takes the beginning of a flag for the flag, and smg (1.10.1 and 1.13.0) leaves that on.
    yield from _in_extra(subject, gateway.args, GATEWAY, abbreviates=True)


def _in_command(
    subject: Subject, cls: type[Args], base: Path, argv: Sequence[str], command: Sequence[str] | None
) -> Iterator[Finding]:
    """Find the flags of an operator's own command that are written behind it again."""
    table = spelling_table(cls)
    known = [spec for word in argv if (spec := _spec(table, word)) is not None]
    for word in command or ():
        spec = _spec(table, word)
        if spec is not None and not spec.extends and spec.kind not in ("append", "groups") and known.count(spec) > 1:
            message = f"{word.partition('=')[0]} is written again behind the command, and the last one wins"
            yield subject.finding("warning", "SMG061", (*base, "command"), message, f"set {spec.key} instead")


def _spec(table: dict[str, tuple[FlagSpec, bool]], word: str) -> FlagSpec | None:
    found = table.get(word.partition("=")[0])
    return None if found is None else found[0]


def _in_extra(subject: Subject, args: Args, base: Path, *, abbreviates: bool) -> Iterator[Finding]:
    names = [word.partition("=")[0] for word in args.extra if word.startswith("--")]
    path, table = (*base, "extra"), spelling_table(type(args))
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            message = f"{name} stands {names.count(name)} times"
            yield subject.finding("warning", "SMG061", path, message, "keep one, unless the program adds them up")
        meant = {spec.key for flag, (spec, _) in table.items() if flag.startswith(name)}
        if name in table:
            # smgcfg lets a known flag stand here for a choice that only a later version has.
            if getattr(args, table[name][0].key) is not None:
                message = f"{name} is written twice: {table[name][0].key} is set as well"
                yield subject.finding("warning", "SMG061", path, message, "keep one")
        elif abbreviates and len(meant) == 1:
            message = f"the program takes {name} for the beginning of a flag that smgcfg knows"
            yield subject.finding("error", "SMG061", path, message, f"set {meant.pop()} instead")
