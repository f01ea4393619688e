"""`smgcfg upgrade`: what another version of the engine asks of a deployment file."""

import os
from collections.abc import Sequence

from smgcfg.backends import BACKENDS
from smgcfg.cli.parser import Parser
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.sources.document import read_document
from smgcfg.upgrade import Change, Upgrade, upgrade

_USAGE = "smgcfg upgrade FILE --to VERSION [--from VERSION] [--write]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "upgrade" first.

    Returns:
        0 when the file needs nothing or was written, 1 when it needs what is printed.
    """
    parser = _parser()
    options = parser.parse_args(argv[1:])
    if len(options.files) != 1 or options.to is None:
        parser.error("expected one FILE, and --to VERSION")
    (path,) = options.files
    known = {version for backend in BACKENDS.values() for version in backend.versions}
    for flag, version in (("--to", options.to), ("--from", options.since)):
        if version is not None and version not in known:
            message = f"expected one of {', '.join(sorted(known))}; got {version!r}"
            raise ConfigError([error("SMG004", flag, message, hint="smgcfg drift reads the flags of other versions")])
    document = read_document(path, _read(path))
    if isinstance(document, Finding):
        raise ConfigError([document])
    try:
        made = upgrade(document, options.to, options.since)
    except ValueError as problem:
        raise ConfigError([error("SMG001", path, str(problem))]) from None
    if errors_in(made.findings):
        raise ConfigError(made.findings)
    if options.write and made.written:
        _write(path, made.text)
    left = _left(path, made.text)
    print("\n".join(_report(made, path, left, written=options.write)))
    return 1 if made.written and not options.write else 0


def _parser() -> Parser:
    description = (
        "Say what another version of the engine asks of a deployment file, and what the engine does then that it did "
        "not do before. With --write the file is changed in place; comments and layout stay."
    )
    exit_codes = "exit codes: 0 nothing to do, or written; 1 the file needs what is printed; 2 bad input"
    parser = Parser("upgrade", description, _USAGE, exit_codes)
    parser.add_words("FILE", "the deployment file")
    parser.add_argument("--to", metavar="VERSION", help="the version it is to be for")
    since = "the version it is for where it names none; by default the one before"
    parser.add_argument("--from", dest="since", metavar="VERSION", help=since)
    parser.add_argument("--write", action="store_true", help="change the file")
    return parser


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ConfigError([error("SMG001", path, f"can not be read: {reason}")]) from None


def _write(path: str, text: str) -> None:
    """Put a file in another one's place, whole or not at all.

    Raises:
        ConfigError: It can not be written.
    """
    import shutil
    import tempfile

    target = os.path.realpath(path)
    try:
        with tempfile.NamedTemporaryFile("wb", dir=os.path.dirname(target), delete=False) as file:
            file.write(text.encode("utf-8"))
        try:
            shutil.copymode(target, file.name)
            os.replace(file.name, target)
        except OSError:
            os.unlink(file.name)
            raise
    except OSError as problem:
        raise ConfigError([error("SMG001", path, f"can not be written: {problem.strerror}")]) from None


def _report(made: Upgrade, path: str, left: Sequence[Finding], *, written: bool) -> list[str]:
    from smgcfg.cli.report import lines

    rows = _rows(made.changes)
    doing, told = rows[: len(made.written)], rows[len(made.written) :]
    result = [*doing, *(["", "to know:", *told] if told else [])]
    result += ["", "what smgcfg plan finds then:", *lines(left)] if left else []
    result += [""] if result else []
    if not made.written:
        return [*result, f"{path} needs nothing"]
    count = f"{len(made.written)} change{'s' * (len(made.written) != 1)}"
    return [*result, f"{path}: {count} written" if written else f"{count}; --write makes them"]


def _rows(changes: Sequence[Change]) -> list[str]:
    places = ["" if change.where is None else str(change.where) for change in changes]
    left, middle = max(map(len, places), default=0), max((len(change.kind) for change in changes), default=0)
    return [
        f"{place:{left}}  {change.kind:{middle}}  {change.key}: {change.message}"
        for place, change in zip(places, changes, strict=True)
    ]


def _left(path: str, text: str) -> list[Finding]:
    """Return what is wrong with a file's deployment; nothing where the file is no whole one, and laid over another."""
    from smgcfg.loading import load_sources
    from smgcfg.planning.plan import plan

    loaded = load_sources([(path, text.encode("utf-8"))])
    if loaded.deployment is None or errors_in(loaded.findings):
        return []
    return errors_in(plan(loaded.deployment, overlay=loaded.overlay).findings)
