"""Findings as an operator sees them: one line each, a hint below, and a count at the end."""

from collections.abc import Iterable, Sequence
from typing import Final, TextIO

from smgcfg.errors import Finding, errors_in


def lines(findings: Iterable[Finding]) -> list[str]:
    """Return the lines of a report, one finding after the other, in their order and each once."""
    result = []
    for finding in dict.fromkeys(findings):
        place = "" if finding.where is None else f"{finding.where}  "
        head = f"{finding.key}: {finding.message}" if finding.key else finding.message
        result.append(_one_line(f"{place}{finding.severity:7} {finding.code} {head}"))
        if finding.hint:
            result.append(_one_line(f"    hint: {finding.hint}"))
    return result


#: The longest line of a report: what arrived may be of any length.
_LONGEST: Final = 1000


def _one_line(text: str) -> str:
    """Keep a report readable whatever arrived: line breaks and control characters are shown, not obeyed."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST * 2 // 3]}...{text[-_LONGEST // 3 :]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def count(findings: Sequence[Finding]) -> str:
    """Return "2 errors, 1 warning"."""
    unique = list(dict.fromkeys(findings))
    errors = len(errors_in(unique))
    warnings = len(unique) - errors
    return f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"


def report(findings: Sequence[Finding], out: TextIO) -> None:
    """Print a report that ends a command: nothing was started."""
    show("\n".join([*lines(findings), f"{count(findings)}; nothing was started"]), out)


def show(text: str, out: TextIO) -> None:
    """Print a text whatever it holds: a lone surrogate or a narrow terminal must not turn it into a traceback."""
    encoding = out.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=out)
