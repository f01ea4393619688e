"""Findings as SARIF 2.1.0, for tools that show them beside the lines of a change."""

from collections.abc import Sequence
from typing import Any, Final

from smgcfg.checks.codes import EXPLANATIONS
from smgcfg.errors import CODES, Finding
from smgcfg.origin import FromFile

#: The schema that a log says it follows.
SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(findings: Sequence[Finding], files: Sequence[str], version: str) -> dict[str, Any]:
    """Return a SARIF log with one run.

    Args:
        findings: What was found.
        files: The files that were checked, as they were named: what has no place of its own stands at the first.
        version: The version of smgcfg.
    """
    codes = sorted(CODES)
    driver = {"name": "smgcfg", "version": version, "rules": [_rule(code) for code in codes]}
    results = [_result(finding, codes.index(finding.code), files) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": CODES[code]}, "fullDescription": {"text": EXPLANATIONS[code]}}


def _result(finding: Finding, index: int, files: Sequence[str]) -> dict[str, Any]:
    text = f"{finding.key}: {finding.message}" if finding.key else finding.message
    if finding.hint:
        text += f" (hint: {finding.hint})"
    if finding.where is not None and not (isinstance(finding.where, FromFile) and _is_file(finding.where.path)):
        # No location can say this place.
        text = f"{finding.where}: {text}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text},
    }
    location = _location(finding, files)
    return {**result, "locations": [location]} if location else result


def _location(finding: Finding, files: Sequence[str]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    path = finding.where.path if isinstance(finding.where, FromFile) else next(iter(files), "-")
    if _is_file(path):
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
        if isinstance(finding.where, FromFile) and finding.where.line is not None:
            place["region"] = {"startLine": finding.where.line}
        location["physicalLocation"] = place
    if finding.key:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.key}]
    return location


def _is_file(path: str) -> bool:
    return path not in ("-", "<stdin>")


def _uri(path: str) -> str:
    from pathlib import PurePosixPath
    from urllib.parse import quote

    # A relative path stays one: whoever reads the log knows the root of the sources.
    return PurePosixPath(path).as_uri() if path.startswith("/") else quote(path.removeprefix("./"))
