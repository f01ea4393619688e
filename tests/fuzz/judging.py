"""What is wrong with how a command line ended."""

import json
import re
import traceback
from collections.abc import Sequence
from typing import Any, Final

from in_process import HangError, run

#: The exit codes of each command that its help names, beside those of all.
EXITS: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(("diff", "keys", "import", "drift", "upgrade"), (1,)),
    **dict.fromkeys(("verify", "watch"), (1, 3, 4)),
    **dict.fromkeys(("status", "logs", "restart", "stop"), (1, 3, 4)),
}

#: The commands that may have nothing to print.
QUIET: Final = ("status", "logs")

#: How what is refused without a finding begins: what names no command, or nothing to serve.
_NO_FINDING: Final = ("smgcfg: no such command", "smgcfg serve: no deployment")

_FINDING: Final = re.compile(r"^(?:(?P<place>.+?)  )?(?:error  |warning) SMG\d{3} (?P<rest>.*)$")
#: A file's line or an argument's number; a key, a flag, an option, a file, a command.
_PLACE: Final = re.compile(r"^.+:\d+$|^argument \d+")
_KEY: Final = re.compile(
    r"""^(?:smgcfg\ [a-z]+|--\S+(?:,\ --\S+)*|(?:[^\s"']|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')+):\ """, re.VERBOSE
)


def verdict(argv: Sequence[str], stdin: bytes = b"") -> str:
    """What is wrong with how a command line ended; empty if nothing is."""
    try:
        code, out, err = run(argv, stdin)
    except HangError as hang:
        return f"hangs:\n{hang}"
    except Exception:
        return traceback.format_exc(limit=-6)
    return judged(argv, code, out, err)


def judged(argv: Sequence[str], code: int, out: str, err: str) -> str:
    """What is wrong with an exit code and what was printed; empty if nothing is."""
    command = argv[0] if argv else ""
    # What a launch of somebody else printed, and these two repeat, is no fault of theirs.
    if "Traceback" in (err if command in QUIET else out + err):
        return f"a traceback:\n{out}{err}"
    if code not in {0, 2, *EXITS.get(command, ())}:
        return f"exit code {code}\n{err}"
    if code == 0 and not out.strip() and command not in QUIET and "--save" not in " ".join(argv):
        return "nothing is printed"
    if code != 2:
        return ""
    lines = [line for line in (out + err).splitlines() if _FINDING.match(line)]
    nameless = [line for line in lines if not _names(line)]
    if nameless:
        return f"names neither a key nor a place: {nameless[0]}"
    if lines or err.startswith(_NO_FINDING) or (out.startswith("{") and _json_named(out)):
        return ""
    return f"says nothing: {out}{err}"


def _names(line: str) -> bool:
    found = _FINDING.match(line)
    assert found is not None
    return bool(_PLACE.match(found["place"] or "") or _KEY.match(found["rest"]))


def _is_placed(result: Any) -> bool:
    """Whether a SARIF result has a key, a line, or a place in its text."""
    places = result.get("locations", [])
    placed = any("logicalLocations" in place or "region" in place["physicalLocation"] for place in places)
    return placed or bool(re.match(r"argument \d+|<stdin>:\d+: ", result["message"]["text"]))


def _json_named(text: str) -> bool:
    """Whether a document holds findings, or a SARIF log results, each with a key or a place."""
    document: Any = json.loads(text)
    if "runs" in document:
        results = document["runs"][0]["results"]
        return bool(results) and all(map(_is_placed, results))
    findings = document.get("findings", [])
    return bool(findings) and all(finding.get("key") or finding.get("where") for finding in findings)
