"""`smgcfg explain`: where a value comes from, and what becomes of it."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from smgcfg.cli.parser import Parser
from smgcfg.cli.report import named, report, show
from smgcfg.cli.sources import Reviewed, add_source_options, review, take_apart
from smgcfg.errors import ConfigError, Finding, error, errors_in
from smgcfg.explain import Explained, Explainer, Part, pools_of
from smgcfg.json_value import Json
from smgcfg.origin import Derived, FromDefault, FromFile, Origin
from smgcfg.overlay import UNSET
from smgcfg.process import REDACTED
from smgcfg.reference import Reference
from smgcfg.schema import Inside, Leaf, Path, Schema, Table, dotted
from smgcfg.sources.overrides import read_path

_USAGE = "smgcfg explain FILE... [KEY] [--set PATH=VALUE] [--unset PATH] [--json] [-- ENGINE FLAGS]"

_EPILOG = """\
KEY: a setting or a table, by any of its names, or the end of one (tp, engine.tp) where only one ends so;
without it everything that is not a default
a word with a slash, one that ends in .toml and one that is a file is a FILE; exit codes: 0, or 2 for bad input"""


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "explain" first.

    Returns:
        0, or 2 when a finding is an error.
    """
    parser = Parser("explain", "Say where a value comes from, and what becomes of it.", _USAGE, _EPILOG)
    add_source_options(parser)
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    words = take_apart(parser, argv)
    options = words.options
    keys = [word for word in options.files if not _is_file(word)]
    options.files = [word for word in options.files if _is_file(word)]
    if len(keys) > 1:
        parser.error(f"one KEY; got {', '.join(keys)}")
    if keys and not options.files and options.backend is options.model is None:
        parser.error(f"{keys[0]!r} is no file, and a KEY alone says nothing", parser.usage)
    reviewed = review(words, argv, host=False)
    if reviewed.planned is None or reviewed.overlay is None:
        raise ConfigError(reviewed.findings)
    explainer = Explainer(reviewed.planned, reviewed.overlay)
    found, listed = _asked(keys[0] if keys else "", explainer, reviewed)
    show(_document(found) if options.json else "\n".join(_list(found) if listed else _one(found[0])), sys.stdout)
    findings = errors_in(reviewed.findings)
    if findings:
        report("explain", findings, sys.stderr)
    return 2 if findings else 0


def _is_file(word: str) -> bool:
    return word == "-" or "/" in word or word.endswith(".toml") or os.path.isfile(word)


def _asked(key: str, explainer: Explainer, reviewed: Reviewed) -> tuple[list[Explained], bool]:
    """Return what is to be explained, and whether it is a list.

    Raises:
        ConfigError: There is no such key.
    """
    assert reviewed.planned is not None
    path: Path = ()
    if key:
        target = _target(key, reviewed)
        if isinstance(target, Finding):
            raise ConfigError([target])
        if isinstance(target, Leaf):
            return [explainer.explain(target.path)], False
        path = target.path
    return [explainer.explain(each) for each in explainer.chosen() if each[: len(path)] == path], True


def _target(key: str, reviewed: Reviewed) -> Leaf | Table | Finding:
    path = read_path(key)
    if path is None:
        hint = "as in pools.NAME.engine.max_num_seqs"
        return error("SMG002", named(key.partition("=")[0]), "no file, and no dotted key", hint=hint)
    assert reviewed.planned is not None
    pools = pools_of(reviewed.planned.deployment)
    if path[0] == "pools" and len(path) > 1 and path[1] not in pools:
        from smgcfg.suggest import did_you_mean

        message = f"no such pool; there are {', '.join(pools)}"
        return error("SMG002", dotted(path[:2]), message, hint=did_you_mean(path[1], pools))
    schema = Schema(pools)
    target = schema.resolve(path)
    if isinstance(target, Finding):
        target = _by_its_end(path, schema, target)
    # What stands inside of a JSON object is explained with all of it.
    return target.leaf if isinstance(target, Inside) else target


def _by_its_end(path: Path, schema: Schema, unknown: Finding) -> Leaf | Table | Inside | Finding:
    """Return what the end of a path means: that of one setting is as good as all of it."""
    found = schema.ending(path)
    if len(found) == 1:
        return found[0]
    if found:
        *first, last = [dotted(target.leaf.path if isinstance(target, Inside) else target.path) for target in found]
        hint = f"did you mean {', '.join(first)} or {last}?"
        return error("SMG002", dotted(path), f"{len(found)} keys end so", hint=hint)
    near = schema.nearest(path[0]) if len(path) == 1 and not unknown.hint else ""
    return unknown.evolve(hint=near or unknown.hint or "smgcfg keys WORD... searches all of them")


# --- text ------------------------------------------------------------------------------------------------------------


def _one(one: Explained) -> Iterator[str]:
    """Return the lines about one setting."""
    yield f"{dotted(one.path)} = {_value(one)}" if one.value not in (None, UNSET) else f"{dotted(one.path)} is not set"
    rows = [("set by", _set_by(one))]
    if one.overridden:
        rows.append(("overrides", "  over  ".join(f"{_shown(v, one.secret)}  {_place(w)}" for v, w in one.overridden)))
    rows += [("becomes", _becomes(part, one.secret)) for part in one.becomes]
    rows += [("so", f"{dotted(path)} = {_shown(value)}: {rule.rule}") for path, value, rule in one.derives]
    rows += [("so", text) for text in one.effects]
    for head, text in rows:
        yield f"  {head:9}  {text}"


def _list(found: Sequence[Explained]) -> Iterator[str]:
    """Return the lines about many settings, table by table, in columns."""
    tables: dict[Path, list[Explained]] = {}
    for one in found:
        tables.setdefault(one.path[:-1], []).append(one)
    for at, (table, members) in enumerate(tables.items()):
        if at:
            yield ""
        if table:
            yield f"[{dotted(table)}]"
        said = {one.path: f"{dotted(one.path[-1:])} = {_value(one)}" for one in members}
        width = min(max(map(len, said.values())), 60)
        for one in members:
            lost = "".join(f", over {_shown(v, one.secret)} ({_place(w)})" for v, w in one.overridden)
            yield f"{said[one.path]:{width}}  {_set_by(one)}{lost}"


def _value(one: Explained) -> str:
    return "unset" if one.value is UNSET else _shown(one.value, one.secret)


def _shown(value: Any, secret: bool = False) -> str:
    """Return a value as TOML writes it, or nearly so."""
    if isinstance(value, Reference):
        import json

        return f"{{ {value.kind} = {json.dumps(value.name, ensure_ascii=False)} }}"
    if value is None or value is UNSET:
        return "unset"
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(item, secret) for item in value)}]"
    if secret:
        return REDACTED
    if isinstance(value, Json):
        return value.text
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set_by(one: Explained) -> str:
    if one.owner and one.origin is None:
        return "the launcher" + ("" if one.owner == "smgcfg" else f"; {one.owner} decides")
    if one.origin is None:
        of_program = one.path[2:3] == ("engine",) or one.path[:1] == ("gateway",)
        return "nobody: the program decides" if of_program else "nobody"
    text = _place(one.origin)
    if one.reference is not None and not isinstance(one.value, Reference):
        return f"{text}, read from {one.reference}"
    return text


def _place(origin: Origin) -> str:
    if isinstance(origin, Derived):
        return f"derived: {origin.rule}" + (f" ({', '.join(origin.inputs)})" if origin.inputs else "")
    return "default of smgcfg" if isinstance(origin, FromDefault) else str(origin)


def _becomes(part: Part, secret: bool) -> str:
    import shlex

    text = " ".join(part.words) if part.environment or secret else shlex.join(part.words)
    return f"{text}  in {'the environment of ' if part.environment else ''}{', '.join(part.processes)}"


# --- the document ----------------------------------------------------------------------------------------------------


def _document(found: Sequence[Explained]) -> str:
    import json

    return json.dumps({"settings": list(map(_data, found))}, indent=2)


def _data(one: Explained) -> dict[str, Any]:
    return {
        "key": dotted(one.path),
        "value": _plain(one.value, one.secret),
        "unset": one.value is UNSET,
        "secret": one.secret,
        "set_by": _origin(one.origin),
        "owner": one.owner or None,
        "read_from": None if one.reference is None else str(one.reference),
        "overrides": [{"value": _plain(value, one.secret), **_origin(where)} for value, where in one.overridden],
        "becomes": [
            {"words": list(part.words), "processes": list(part.processes), "environment": part.environment}
            for part in one.becomes
        ],
        "derives": [
            {"key": dotted(path), "value": _plain(value), "rule": rule.rule} for path, value, rule in one.derives
        ],
        "so": list(one.effects),
    }


def _origin(origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return {"where": None}
    data: dict[str, Any] = {"where": str(origin)}
    if isinstance(origin, FromFile):
        data |= {"file": origin.path, "line": origin.line}
    elif isinstance(origin, Derived):
        data |= {"rule": origin.rule, "inputs": list(origin.inputs)}
    elif index := getattr(origin, "index", None):
        data["argument"] = index
    return data


def _plain(value: Any, secret: bool = False) -> Any:
    if isinstance(value, Reference):
        return {value.kind: value.name}
    if isinstance(value, tuple):
        return [_plain(item, secret) for item in value]
    if value is None or value is UNSET:
        return None
    if secret:
        return REDACTED
    return value.value if isinstance(value, Json) else value
