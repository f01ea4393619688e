"""Findings as an operator sees them: one line each, a hint below, and a count at the end."""

from collections.abc import Iterable, Sequence
from typing import Final, TextIO

from smgcfg.errors import Finding, errors_in
from smgcfg.origin import FromFile


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by their place, each once: first those in files, line by line, then the others as they came."""
    unique = list(dict.fromkeys(findings))
    files = list(dict.fromkeys(f.where.path for f in unique if isinstance(f.where, FromFile)))

    def place(finding: Finding) -> tuple[int, int]:
        if not isinstance(finding.where, FromFile):
            return len(files), 0
        return files.index(finding.where.path), finding.where.line or 0

    return sorted(unique, key=place)


def lines(findings: Iterable[Finding]) -> list[str]:
    """Return the lines of a report, one finding after the other, by their place and each once."""
    result = []
    for finding in by_place(findings):
        place = "" if finding.where is None else f"{one_line(str(finding.where), 300)}  "
        key = f"{one_line(finding.key, 300)}: " if finding.key else ""
        result.append(f"{place}{finding.severity:7} {finding.code} {key}{one_line(finding.message, 1000)}")
        if finding.hint:
            result.append(f"    hint: {one_line(finding.hint, 1000)}")
    return result


def one_line(text: str, most: int) -> str:
    """Keep a report readable whatever arrived.

    Args:
        text: Any text; line breaks and control characters are shown, not obeyed.
        most: The most characters of it that are shown.
    """
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}...{text[-most // 3 :]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def named(word: str) -> str:
    """Return a word of a command line as a report names it: in quotes where its end could not be seen."""
    plain = word.isprintable() and word and not set(word) & set(" '\":")
    return word if plain else repr(word)


def count(findings: Sequence[Finding]) -> str:
    """Return "2 errors, 1 warning"."""
    unique = list(dict.fromkeys(findings))
    errors = len(errors_in(unique))
    warnings = len(unique) - errors
    return f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"


#: The commands about a start, of which it has to be said that there was none.
_STARTERS: Final = ("plan", "check", "serve")


def report_lines(command: str, findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a report that ends a command.

    Args:
        command: The command.
        findings: What it found.
    """
    end = "; nothing was started" if command in _STARTERS else ""
    return [*lines(findings), f"{count(findings)}{end}"]


def report(command: str, findings: Sequence[Finding], out: TextIO) -> None:
    """Print `report_lines`."""
    show("\n".join(report_lines(command, findings)), out)


def show(text: str, out: TextIO) -> None:
    """Print a text whatever it holds: a lone surrogate or a narrow terminal must not turn it into a traceback."""
    encoding = out.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=out)
