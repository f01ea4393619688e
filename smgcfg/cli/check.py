"""`smgcfg check`: everything that can be found wrong with a deployment before anything starts."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from smgcfg.cli.parser import Parser
from smgcfg.cli.report import by_place, report_lines, show
from smgcfg.cli.sources import Reviewed, add_source_options, review, take_apart
from smgcfg.errors import CODES, ConfigError, Finding, error, errors_in
from smgcfg.origin import FromArgv, FromFile

_USAGE = "smgcfg check FILE... [--set PATH=VALUE] [--strict] [--select CODES] [--ignore CODES] [--json | --sarif]"

_EPILOG = """\
CODES: codes or what they begin with, with commas: SMG050,SMG06
exit codes: 0 no errors; 2 errors, with --strict warnings as well"""


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "check" first.

    Returns:
        0, or 2 when a finding is an error, or a warning with --strict.
    """
    parser = _parser()
    words = take_apart(parser, argv)
    options = words.options
    if options.explain is not None:
        show(explanation(options.explain), sys.stdout)
        return 0
    if options.json and options.sarif:
        parser.error("--json and --sarif: one of the two")
    chosen = _chosen(options.select, options.ignore)
    findings = by_place(_found(review(words, argv, host=False), chosen, look=not options.stand_in))
    show(_text(findings, options, words.options.files), sys.stdout)
    return 2 if errors_in(findings) or (options.strict and findings) else 0


def _parser() -> Parser:
    description = "Find everything that is wrong with a deployment, and start nothing."
    parser = Parser("check", description, _USAGE, _EPILOG)
    add_source_options(parser)
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--select", metavar="CODES", help="report these alone, and what stops a launch")
    parser.add_argument("--ignore", metavar="CODES", help="do not report these; what stops a launch is reported still")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--sarif", action="store_true", help="SARIF 2.1.0, for code review")
    parser.add_argument("--explain", metavar="CODE", help="say what a code means, and check nothing")
    return parser


def explanation(code: str) -> str:
    """Return what a code means.

    Args:
        code: The code, in capitals or not.

    Raises:
        ConfigError: There is no such code.
    """
    from textwrap import fill

    from smgcfg.checks.codes import EXPLANATIONS

    known = code.upper()
    if known not in CODES:
        from smgcfg.suggest import did_you_mean

        raise ConfigError([error("SMG011", "--explain", f"no such code {code!r}", hint=did_you_mean(known, CODES))])
    return f"{known}: {CODES[known]}\n\n{fill(EXPLANATIONS[known], 100)}"


def _chosen(select: str | None, ignore: str | None) -> Callable[[str], bool]:
    """Return whether a code is to be reported.

    Raises:
        ConfigError: A word is the beginning of no code.
    """
    selected, ignored = _codes("--select", select), _codes("--ignore", ignore)
    return lambda code: (select is None or code in selected) and code not in ignored


def _codes(option: str, text: str | None) -> set[str]:
    words = [word.strip().upper() for word in (text or "").split(",")] if text is not None else []
    found = {word: {code for code in CODES if word and code.startswith(word)} for word in words}
    unknown = [error("SMG011", option, f"no code begins with {word!r}") for word, codes in found.items() if not codes]
    if unknown:
        raise ConfigError(unknown)
    return {code for codes in found.values() for code in codes}


def _found(reviewed: Reviewed, chosen: Callable[[str], bool], *, look: bool) -> list[Finding]:
    """Return what is found, of the codes that are asked for; what stops a launch is always among it."""
    findings = [f for f in reviewed.findings if f.severity == "error" or chosen(f.code)]
    # Without a key that could not be read, a check would find what is not so.
    if reviewed.planned is not None and reviewed.understood:
        from smgcfg.checks import check
        from smgcfg.checks.subject import Subject

        found = check(Subject(reviewed.planned, os.environ), look=look)
        findings += [finding for finding in found if chosen(finding.code)]
    return list(dict.fromkeys(findings))


def _text(findings: list[Finding], options: Any, files: list[str]) -> str:
    if not options.json and not options.sarif:
        return "\n".join(report_lines("check", findings))
    import json

    if options.sarif:
        from smgcfg import __version__
        from smgcfg.checks.sarif import sarif_log

        return json.dumps(sarif_log(findings, files, __version__), indent=2)
    errors = len(errors_in(findings))
    document = {"findings": list(map(_data, findings)), "errors": errors, "warnings": len(findings) - errors}
    return json.dumps(document, indent=2)


def _data(finding: Finding) -> dict[str, Any]:
    where = finding.where
    return {
        "code": finding.code,
        "severity": finding.severity,
        "key": finding.key,
        "where": None if where is None else str(where),
        "file": where.path if isinstance(where, FromFile) else None,
        "line": where.line if isinstance(where, FromFile) else None,
        "argument": where.index if isinstance(where, FromArgv) else None,
        "message": finding.message,
        "hint": finding.hint,
    }
