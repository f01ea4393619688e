"""Do an args class and the snapshots of its program say the same? A pure comparison, in both directions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from smgcfg.flags import FlagSpec, key_of
from smgcfg.json_value import Json
from smgcfg.snapshots import names_of

Record = Mapping[str, Any]

_TYPES: Final = {
    "int": int,
    "uint16": int,
    "int_csv": int,
    "int_tuple_csv": int,
    "float": float,
    "str": str,
    "str_csv": str,
    "nonempty_str": str,
    "nullable_str": str,
    "bool": bool,
    "json": Json,
}
_READS: Final = {"nonempty_str": "nonempty", "nullable_str": "nullable", "str_csv": "stripped"}
_UNBOUNDED: Final = (None, None)


def differences(
    specs: Sequence[FlagSpec],
    snapshots: Mapping[str, Sequence[Record]],
    wider: Mapping[str, tuple[str, ...]] | None = None,
) -> list[str]:
    """Compare declarations with what the parsers of the shipped versions accept.

    Args:
        specs: The declarations of one class.
        snapshots: Per version, the oldest first, the records of its flags.
        wider: Per setting the choices that it takes beyond those of any version.

    Returns:
        One line per difference; none when class and snapshots agree.
    """
    found = []
    for version, records in snapshots.items():
        settings = _settings(records)
        declared = {spec.key: spec for spec in specs if spec.has(version)}
        by_spelling = {name: spec.key for spec in declared.values() for name in (*spec.names, *spec.off)}
        seen = set()
        for flags in settings:
            key = by_spelling.get(flags[0]["name"])
            if key is None:
                found.append(f"{version}: no setting declares {flags[0]['name']}")
                continue
            seen.add(key)
            found += [f"{version}: {key}: {line}" for line in _lines(declared[key], flags, version)]
        found += [f"{version}: {key} is declared, and the version has no such flag" for key in declared.keys() - seen]
    return [*found, *_overall(specs, snapshots, wider or {})]


def _settings(records: Sequence[Record]) -> list[list[Record]]:
    """Group the flags that share a destination; the positional is no setting of its own."""
    settings: dict[str, list[Record]] = {}
    for record in records:
        if record["kind"] != "positional":
            settings.setdefault(record["dest"], []).append(record)
    return list(settings.values())


def _lines(spec: FlagSpec, flags: Sequence[Record], version: str) -> Iterable[str]:
    declared, recorded = _declared(spec, version), _recorded(flags)
    for what in recorded:
        if declared[what] != recorded[what]:
            yield f"{what} is declared as {declared[what]!r}, the version has {recorded[what]!r}"
    yield from _late_bounds(spec, flags)


def _declared(spec: FlagSpec, version: str) -> dict[str, Any]:
    names, off = spec.spellings(version)
    return {
        "kind": spec.kind,
        "type": spec.type,
        "spellings": frozenset(names),
        "off spellings": frozenset(off),
        "bounds": spec.bounds,
        "reads": spec.reads,
        "least": spec.least,
        "extends": spec.extends,
        "secret": spec.secret,
        "env": spec.env,
        "one spelling": spec.one_spelling if len(names) + len(off) > 1 else False,
    }


def _recorded(flags: Sequence[Record]) -> dict[str, Any]:
    switching = [flag for flag in flags if flag["kind"] == "switch_true"] or flags
    main = switching[0]
    off = [flag for flag in flags if flag["kind"] == "switch_false" and flag not in switching]
    choices = main.get("choices")
    kind = _kind(main, off)
    return {
        "kind": kind,
        "type": _TYPES[main["type"]] if not choices else type(choices[0]),
        "spellings": frozenset(name for flag in flags if flag not in off for name in names_of(flag)),
        "off spellings": frozenset(
            name for flag in flags for name in (*flag.get("negatives", ()), *(names_of(flag) if flag in off else ()))
        ),
        "bounds": _bounds(main) if _is_early(main) else _UNBOUNDED,
        "reads": "lower" if "lower-cased" in main.get("value_format", "") else _READS.get(main["type"], "plain"),
        "least": int(main["type"] == "int_tuple_csv" or (kind == "list" and main.get("nargs") != "*")),
        "extends": main.get("repeat") == "extend",
        "secret": main.get("secret", False),
        "env": main.get("env_default", ""),
        "one spelling": len(flags) > 1 and all(flag.get("mutex_group") for flag in flags),
    }


def _kind(main: Record, off: Sequence[Record]) -> str:
    if main["type"].endswith("_csv"):
        return "csv"
    if main["kind"] == "append":
        return "groups" if main.get("nargs") == "+" else "append"
    if main["kind"] in ("switch_true", "switch_false"):
        return "pair" if off else "switch"
    return {"boolean_optional": "pair", "optional_value": "optional"}.get(main["kind"], str(main["kind"]))


def _bounds(flag: Record) -> tuple[Any, Any]:
    bounds = flag.get("bounds", {})
    return bounds.get("min"), bounds.get("max")


def _is_early(flag: Record) -> bool:
    """Whether the parser itself checks the bounds."""
    return flag.get("bounds_stage") == "parser" or flag.get("argparse_type") == "non_negative_int"


def _late_bounds(spec: FlagSpec, flags: Sequence[Record]) -> Iterable[str]:
    """Every bound that the version checks later is a limit at least as narrow, or depends on another setting."""
    bounds = flags[0].get("bounds", {})
    if not bounds or _is_early(flags[0]) or bounds.get("when", "").endswith("!= 1"):
        return
    low, high = spec.limits
    if "min" in bounds and (low is None or low < bounds["min"]):
        yield f"limits are declared as {spec.limits}, the version has at least {bounds['min']}"
    if "max" in bounds and (high is None or high > bounds["max"]):
        yield f"limits are declared as {spec.limits}, the version has at most {bounds['max']}"
    if spec.above != bounds.get("exclusive_min"):
        yield f"declared to be above {spec.above}, the version has above {bounds.get('exclusive_min')}"


def _overall(
    specs: Sequence[FlagSpec], snapshots: Mapping[str, Sequence[Record]], wider: Mapping[str, tuple[str, ...]]
) -> Iterable[str]:
    """Compare what no single version decides: names, choices, and what may not stand together."""
    by_name = {
        version: {name: flag for flag in records for name in names_of(flag)} for version, records in snapshots.items()
    }
    rivals = _rivals(specs, list(by_name.values())[-1])
    for spec in specs:
        flags = {version: _flag(spec, table) for version, table in by_name.items()}
        known = {version: flag for version, flag in flags.items() if flag is not None}
        if not known:
            continue  # reported above
        newest = list(known.values())[-1]
        if spec.names[0] != newest["name"] or spec.key != key_of(newest["name"]):
            yield f"{spec.key}: declared as {spec.names[0]}, the newest version calls it {newest['name']}"
        yield from _choices(spec, known, wider.get(spec.key, ()))
        if rivals.get(spec.key, set()) != ({spec.rivals} if spec.rivals else set()):
            yield f"{spec.key}: rivals are declared as {spec.rivals!r}, the newest version has {rivals.get(spec.key)}"


def _flag(spec: FlagSpec, by_name: Mapping[str, Record]) -> Record | None:
    """Return the flag of a setting in a version, by the first of its spellings that is there."""
    return next((by_name[name] for name in spec.names if name in by_name), None)


def _rivals(specs: Sequence[FlagSpec], by_name: Mapping[str, Record]) -> dict[str, set[str]]:
    """Return per setting the other settings that the parser refuses beside it."""
    groups: dict[str, set[str]] = {}
    for spec in specs:
        flag = _flag(spec, by_name)
        if flag is not None and flag.get("mutex_group"):
            groups.setdefault(flag["mutex_group"], set()).add(spec.key)
    return {key: keys - {key} for keys in groups.values() for key in keys}


def _choices(spec: FlagSpec, flags: Mapping[str, Record], wider: tuple[str, ...]) -> Iterable[str]:
    recorded = {version: flag.get("choices") for version, flag in flags.items()}
    closed = list(recorded.values())[-1] is not None
    union = {choice for choices in recorded.values() for choice in choices or ()} | set(wider)
    if (spec.choices is not None) != closed or (closed and set(spec.choices or ()) != union):
        yield f"{spec.key}: choices are declared as {spec.choices}, the versions have {sorted(union, key=str)}"
    for version, choices in recorded.items():
        taken = spec.taken(version)
        expected = union if choices is None and closed else choices
        if (taken is None) != (expected is None) or set(taken or ()) != set(expected or ()):
            yield f"{spec.key}: {version} is declared to take {taken}, it takes {choices}"
