"""A report as people, programs and CI read it: a table, JSON, JUnit XML."""

import json
from collections.abc import Iterable
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from smgcfg.verify.answers import Verdict, shortened
from smgcfg.verify.probes import KINDS, Kind
from smgcfg.verify.report import ANYONE, Cell, Check, Report

#: The verdicts as a table says them; what breaks a promise stands out.
WORDS: Final[dict[Verdict, str]] = {
    "enforced": "enforced",
    "ignored": "IGNORED",
    "aborted": "ABORTED",
    "refused": "REFUSED",
    "failed": "FAILED",
    "not_supported": "NOT SUPPORTED",
    "not_reached": "NOT REACHED",
}


def word(kind: Kind, cell: Cell) -> str:
    """Return what a cell says in a table: `IGNORED`, or `IGNORED 2 of 9` where the others were good."""
    if cell.verdict == "enforced" and kind == "logprobs":
        return "present"
    text = WORDS[cell.verdict]
    return f"{text} {len(cell.bad)} of {cell.total}" if 0 < len(cell.bad) < cell.total else text


# --- the table -------------------------------------------------------------------------------------------------------


def table(report: Report) -> str:
    """Return a report as an operator reads it."""
    return "\n".join([_head(report), *_rows(report), *details(report), _sum(report)])


def _head(report: Report) -> str:
    counts = [report.reached(worker.name) for worker in report.workers if not worker.problem]
    head = f"{report.url}  {report.model}  "
    if not report.workers:
        return f"{head}{report.means}"
    many = f"{len(report.workers)} worker{'s' * (len(report.workers) != 1)}"
    if len(report.workers) == 1 or not any(counts):
        return f"{head}{many}: {report.means}"
    reached = f"{sum(count > 0 for count in counts)} of {many} reached"
    return f"{head}{reached} ({report.means}: each >= {min(counts)} times)"


def _rows(report: Report) -> list[str]:
    columns = report.columns
    rows = [("PROMISE", *columns)]
    for kind in report.kinds:
        cells = [report.cell(kind, column) for column in columns]
        rows.append((KINDS[kind], *("-" if cell is None else word(kind, cell) for cell in cells)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def details(report: Report) -> list[str]:
    """Return a line for each broken promise with an example of what was seen, then causes and notes."""
    problems = {worker.name: worker.problem for worker in report.workers}
    # What is broken alike for several workers is said once, with an example of the first.
    alike: dict[tuple[Kind, Verdict, tuple[str, ...]], list[tuple[str, Cell]]] = {}
    for kind, column, cell in report.broken:
        if not problems.get(column) or cell.verdict != "not_reached":
            places = tuple(_places(report, kind, column))
            alike.setdefault((kind, cell.verdict, places), []).append((column, cell))
    lines = []
    for (kind, _, places), cells in alike.items():
        names = ", ".join(column for column, _ in cells)
        lines.append(f"{names}: {KINDS[kind]}: {_example(cells[0][1], places)}")
    lines += [f"{name}: not reached: {problem}" for name, problem in problems.items() if problem]
    lines += [f"cause{f' (launch {report.launch})' * bool(report.launch)}: {cause}" for cause in report.causes]
    if report.broken and report.columns == (ANYONE,) and len(report.workers) > 1:
        lines.append("which worker it was can not be told: the gateway's answers do not name it")
    for kind, paths in report.unsupported.items():
        lines += [f"not supported here: {KINDS[kind]} at {path}: {seen}" for path, seen in paths.items()]
    lines += [f"note: {note}" for note in report.notes]
    return [*lines, report.stopped] if report.stopped else lines


def _example(cell: Cell, places: Iterable[str]) -> str:
    if not cell.bad:
        return "no endpoint supports it" if cell.verdict == "not_supported" else "no answer of it was seen"
    first = next(seen for seen in cell.bad if seen.verdict == cell.verdict)
    return f"asked for {first.asked}, got {first.seen} (at {', '.join(places)})"


def _places(report: Report, kind: Kind, column: str) -> Iterable[str]:
    """Return where a promise is broken: the path alone where it is so streamed or not."""
    bad = [check for check, cell in report.checks(kind, column) if cell.bad]
    for path in dict.fromkeys(check.endpoint for check in bad):
        ways = [check.streamed for check in bad if check.endpoint == path]
        yield path if len(ways) == 2 else f"{path} {'streamed' if ways[0] else 'not streamed'}"


def _sum(report: Report) -> str:
    total, broken = len(report.promises), len(report.broken)
    spent = f"{report.requests} requests, {report.seconds:.1f} s"
    if not total:
        return f"nothing is promised, so nothing was asked ({spent})"
    return f"FAILED {broken} of {total} promises ({spent})" if broken else f"OK {total} of {total} promises ({spent})"


# --- JSON ------------------------------------------------------------------------------------------------------------


def document(report: Report) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {
        "url": report.url,
        "model": report.model,
        "ok": report.ok,
        "required": list(report.kinds),
        "means": report.means,
        "workers": [
            {"name": w.name, "url": w.url, "answers": report.reached(w.name), "problem": w.problem or None}
            for w in report.workers
        ],
        "promises": [_promise(report, *promise) for promise in report.promises],
        "not_supported": [
            {"kind": kind, "endpoint": path, "seen": seen}
            for kind, paths in report.unsupported.items()
            for path, seen in paths.items()
        ],
        "causes": list(report.causes),
        "launch": report.launch or None,
        "notes": list(report.notes),
        "stopped": report.stopped or None,
        "requests": report.requests,
        "seconds": round(report.seconds, 3),
    }


def document_text(report: Report) -> str:
    """Return `document` as text."""
    return json.dumps(document(report), indent=2)


def _promise(report: Report, kind: Kind, column: str, cell: Cell) -> dict[str, Any]:
    checks = report.checks(kind, column)
    return {
        "kind": kind,
        "worker": None if column == ANYONE else column,
        "verdict": cell.verdict,
        "checks": [_check(check, each) for check, each in checks],
    }


def _check(check: Check, cell: Cell) -> dict[str, Any]:
    first = cell.bad[0] if cell.bad else None
    return {
        "endpoint": check.endpoint,
        "streamed": check.streamed,
        "verdict": cell.verdict,
        "bad": len(cell.bad),
        "answers": cell.total,
        "asked": first.asked if first else None,
        "seen": first.seen if first else None,
    }


# --- JUnit -----------------------------------------------------------------------------------------------------------


def junit(report: Report) -> str:
    """Return a report as JUnit XML: a case for each check of each worker, or for a promise without any answer."""
    cases = [case for promise in report.promises for case in _cases(report, *promise)]
    counts = {what: sum(f"<{what} " in case for case in cases) for what in ("failure", "error", "skipped")}
    suite = (
        f'<testsuite name={_attribute(f"smgcfg verify {report.url}")} tests="{len(cases)}" '
        f'failures="{counts["failure"]}" errors="{counts["error"]}" skipped="{counts["skipped"]}" '
        f'time="{report.seconds:.3f}">'
    )
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', suite, *cases, "</testsuite>", ""])


def _cases(report: Report, kind: Kind, column: str, cell: Cell) -> Iterable[str]:
    checks = report.checks(kind, column)
    # What one endpoint does not support is left out; a promise that none supports is broken.
    for check, each in checks:
        yield _case(f"{KINDS[kind]} {check}", column, each, skips=cell.verdict != "not_supported")
    if not checks:
        yield _case(KINDS[kind], column, cell, skips=False)


def _case(name: str, column: str, cell: Cell, *, skips: bool) -> str:
    head = f"<testcase name={_attribute(name)} classname={_attribute(column)}"
    if cell.verdict == "enforced":
        return f"{head}/>"
    first = cell.bad[0] if cell.bad else None
    message = f"asked for {first.asked}, got {first.seen}" if first else cell.verdict
    if cell.verdict == "not_supported" and skips:
        return f"{head}><skipped message={_attribute(message)}/></testcase>"
    what = "error" if cell.verdict == "failed" else "failure"
    return f'{head}><{what} type="{cell.verdict}" message={_attribute(message)}/></testcase>'


def _attribute(text: str) -> str:
    return quoteattr(shortened(text, 1000))
