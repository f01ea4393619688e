"""`smgcfg drift`: are the flags of what is installed those that smgcfg knows?"""

import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace

from smgcfg.backends import BACKENDS
from smgcfg.cli.parser import Parser
from smgcfg.config import RELEASE_SUFFIX
from smgcfg.drift.ask import PROGRAMS, Reading, readings
from smgcfg.drift.result import Drift, drift_of
from smgcfg.drift.subjects import Subject, subjects
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, error, errors_in
from smgcfg.gateway.versions import DISTRIBUTIONS
from smgcfg.snapshots import snapshot_text

_USAGE = "smgcfg drift [FILE...] [--python PATH] [--program NAME] [--write] [--json]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "drift" first.

    Returns:
        0 when nothing differs, 1 when something does.
    """
    options = _parser().parse_args(argv[1:])
    if options.program not in (None, *PROGRAMS):
        message = f"expected one of {', '.join(PROGRAMS)}; got {options.program!r}"
        raise ConfigError([error("SMG004", "--program", message)])
    found = _of_files(options) if options.files else _of_interpreter(options)
    if options.write:
        folder = os.path.dirname(options.files[0]) if options.files else ""
        found = [_written(drift, folder) if drift.differences and _is_named(drift) else drift for drift in found]
    from smgcfg.cli.render_drift import document_text, report

    print(document_text(found) if options.json else "\n\n".join("\n".join(report(drift)) for drift in found))
    for drift in found if options.write else ():
        if drift.written is None:
            name = f"{drift.reading.program} {drift.reading.version}"
            why = "no key names its version; new flags go into extra" if drift.differences else "nothing differs"
            print(f"{name}: no file written: {why}", file=sys.stderr)
    return 1 if any(drift.drifted for drift in found) else 0


def _parser() -> Parser:
    description = (
        "Read the flags of the installed engine and gateway, from their parsers or the source, and compare them with "
        "those that smgcfg knows. With a deployment file: those that its pools and its gateway run, and what that "
        "means for its settings."
    )
    parser = Parser("drift", description, _USAGE, "exit codes: 0 no difference; 1 a difference; 2 bad input")
    parser.add_words("FILE", "deployment files, weakest first; - is standard input")
    parser.add_argument("--python", metavar="PATH", help="where to look, instead of the file's interpreters")
    parser.add_argument("--program", metavar="NAME", help=f"only this one: {', '.join(PROGRAMS)}")
    parser.add_argument("--write", action="store_true", help="write what differs as a file that a version can name")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    return parser


def _of_interpreter(options: SimpleNamespace) -> list[Drift]:
    """Compare what an interpreter has."""
    python = options.python or sys.executable
    found = _ask(python, [options.program] if options.program else list(PROGRAMS))
    if not found:
        what = options.program or ", ".join(PROGRAMS)
        message = f"not installed for {python}: {what}"
        raise ConfigError([error("SMG032", "--python", message, hint="name another interpreter with --python PATH")])
    return [drift_of(reading) for reading in found]


def _of_files(options: SimpleNamespace) -> list[Drift]:
    """Compare what the pools and the gateway of a deployment run; one program of one interpreter once."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Subject]] = {}
    for subject in _subjects(options.files):
        python = options.python or subject.python
        if python is None:
            message, hint = "which interpreter this runs is not known", "say which with --python PATH"
            raise ConfigError([error("SMG032", ".".join((*subject.path, "command")), message, hint=hint)])
        groups.setdefault((python, tuple(sorted(subject.env.items()))), []).append(subject)
    found: list[Drift] = []
    for (python, env), group in groups.items():
        names = dict.fromkeys(name for subject in group for names in subject.programs for name in names)
        there = _ask(python, [name for name in names if options.program in (None, name)], dict(env))
        missing = [
            subject for subject in group if {reading.program for reading in there}.isdisjoint(subject.programs[0])
        ]
        if missing and not options.program and not options.python:
            key = ".".join((*missing[0].path, "python"))
            message, hint = f"{missing[0].title} is not installed for {python}", f"set {key}, or use --python PATH"
            raise ConfigError([error("SMG032", key, message, hint=hint)])
        found += [drift_of(reading, [s for s in group if reading.program in s.programs[0]]) for reading in there]
    if not found:
        message = f"nothing of what {', '.join(options.files)} runs is installed"
        raise ConfigError([error("SMG032", "--python", message, hint="name another interpreter with --python PATH")])
    return found


def _ask(python: str, names: Sequence[str], env: dict[str, str] | None = None) -> tuple[Reading, ...]:
    answer = readings(python, names, env) if names else ()
    if isinstance(answer, str):
        raise ConfigError([error("SMG032", "--python", answer)])
    for reading in answer:
        if reading.problem:
            message = f"the flags of {reading.program} {reading.version} can not be read: {reading.problem}"
            raise ConfigError([error("SMG032", "--python", message)])
    return answer


def _subjects(files: Sequence[str]) -> list[Subject]:
    from smgcfg.cli.sources import add_source_options, read_deployment, take_apart
    from smgcfg.planning.plan import plan

    parser = Parser("drift", "", _USAGE)
    add_source_options(parser)
    words = ["drift", *files]
    loaded = read_deployment(take_apart(parser, words), words)
    if loaded.deployment is None or errors_in(loaded.findings):
        raise ConfigError(loaded.findings)
    environment = Environment.current()
    return list(subjects(plan(loaded.deployment, environment, overlay=loaded.overlay), environment))


def _is_named(drift: Drift) -> bool:
    """Whether a key of a deployment names the version of a program."""
    engines = {backend.distribution for backend in BACKENDS.values()}
    return drift.reading.program in engines or drift.reading.program in DISTRIBUTIONS


def _written(drift: Drift, folder: str) -> Drift:
    """Write the flag table of a program that differs from every release smgcfg knows.

    Raises:
        ConfigError: The file can not be written, or another one stands there.
    """
    path = os.path.join(folder, f"{drift.reading.program}-{drift.reading.version}{RELEASE_SUFFIX}")
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(snapshot_text(drift.release))
    except OSError as problem:
        reason = "it exists; move it away" if isinstance(problem, FileExistsError) else problem.strerror
        raise ConfigError([error("SMG001", "--write", f"{path!r} can not be written: {reason}")]) from None
    return drift.evolve(written=path)
