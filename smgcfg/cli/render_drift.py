"""What `smgcfg drift` prints: lines for an operator, JSON for programs."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from smgcfg.args import Args
from smgcfg.backends import BACKENDS
from smgcfg.cli.render_plan import finding_data
from smgcfg.cli.report import lines
from smgcfg.drift.compare import Difference
from smgcfg.drift.result import Drift
from smgcfg.drift.told import remedy, what
from smgcfg.flags import spelling_table
from smgcfg.gateway import GatewayArgs
from smgcfg.gateway.versions import DISTRIBUTIONS
from smgcfg.schema import dotted

#: What is not known of a flag, where its name among the facts does not say it.
_PARTS: Final = {"action": "kind", "registered": "whether it is there"}

#: The widest that a difference stands in its column.
_WIDE: Final = 60


def report(drift: Drift) -> Iterator[str]:
    """Return the lines about one program."""
    reading = drift.reading
    how = "its own parser" if reading.method == "import" else f"the source of {reading.module}"
    yield f"{reading.program} {reading.version} for {reading.python}, from {how}"
    if reading.why:
        yield f"  its parser could not be made: {reading.why}"
    if not drift.differences:
        yield f"  {len(reading.flags)} flags, as {drift.base.version} has them"
    else:
        count = len(drift.differences)
        yield f"  {count} difference{'s' * (count != 1)} to {drift.base.version}"
    rows: list[tuple[str, str, str]] = [(d.part, what(d), _remedy(drift, d)) for d in drift.differences]
    rows += [("not read", where, "") for where in reading.unread]
    rows += [("not known", f"{flag}: {part}", why) for flag, part, why in _unknown(drift)]
    width = min(max((len(said) for _, said, _ in rows), default=0), _WIDE)
    yield from (f"    {part:9}  {said:{width}}  {more}".rstrip() for part, said, more in rows)
    yield from lines(drift.findings)
    if drift.written is not None:
        yield f"  wrote {drift.written}; to check against it:"
        yield from (f'    {key} = "./{os.path.basename(drift.written)}"' for key in _keys(drift))


def document_text(found: Sequence[Drift]) -> str:
    """Return the text of `--json`."""
    return json.dumps({"drift": any(d.drifted for d in found), "programs": [_data(d) for d in found]}, indent=2)


def _data(drift: Drift) -> dict[str, Any]:
    reading = drift.reading
    return {
        "program": reading.program,
        "version": reading.version,
        "python": reading.python,
        "method": reading.method,
        "module": reading.module,
        "compared_with": drift.base.version,
        "flags": [flag["name"] for flag in reading.flags],
        "differences": [
            {"part": d.part, "flag": d.flag, "before": d.before, "now": d.now, "remedy": _remedy(drift, d)}
            for d in drift.differences
        ],
        "unread": list(reading.unread),
        "unknown": [{"flag": flag, "part": part, "why": why} for flag, part, why in _unknown(drift)],
        "findings": list(map(finding_data, drift.findings)),
        "written": drift.written,
    }


def _unknown(drift: Drift) -> Iterator[tuple[str, str, str]]:
    """Return what the source alone did not tell: the flag, the part of it, and why."""
    for flag in drift.reading.flags:
        for part, why in flag.get("unknown", {}).items():
            yield flag["name"], _PARTS.get(part, part), why


def _remedy(drift: Drift, difference: Difference) -> str:
    """Return what to do about a difference; for a default, who leaves it to the engine."""
    settings = _settings(drift.reading.program)
    if difference.part != "default" or settings is None or not drift.subjects:
        return remedy(difference, settings)
    known = spelling_table(settings).get(difference.flag)
    if known is None:
        return ""
    unset = [dotted(s.settings) for s in drift.subjects if getattr(s.args, known[0].key) is None]
    return f"{known[0].key} is not set in {', '.join(unset)}" if unset else f"{known[0].key} is set, so nothing changes"


def _settings(program: str) -> type[Args] | None:
    """Return the class of a program's settings; None where smgcfg has none."""
    engine = next((backend.args for backend in BACKENDS.values() if backend.distribution == program), None)
    return engine or (GatewayArgs if program in DISTRIBUTIONS else None)


def _keys(drift: Drift) -> list[str]:
    """Return the keys that may name the version of a program."""
    anybody = "gateway.version" if drift.reading.program in DISTRIBUTIONS else "pools.NAME.engine_version"
    return [subject.version_key for subject in drift.subjects] or [anybody]
