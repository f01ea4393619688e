"""The deployment file as JSON Schema (2020-12), so that editors complete and check it.

It follows from the declarations alone. What JSON Schema can not say is left to smgcfg; the tests list it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from smgcfg.backends import BACKENDS
from smgcfg.config import NAME, Gateway, Launch, Pool
from smgcfg.flags import FlagSpec, key_of, known_keys, specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.json_value import Json
from smgcfg.key_search import NAME as POOL_NAME
from smgcfg.key_search import Entry, entries
from smgcfg.reference import VARIABLE
from smgcfg.schema import DEFAULT_BACKEND, Leaf, Schema, Table

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TYPES: Final = {int: "integer", float: "number", str: "string", bool: "boolean"}

#: Text that a command line can hold, and text that besides is not blank.
_TEXT: Final = r"^[^\u0000]*$"
_NOT_BLANK: Final = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"

#: A word that stands beside others of its group without being taken for a flag.
_STANDS_ALONE: Final = r"^(?:[^-].*|-|-\d+|-\d*\.\d+|)$"

#: An item of a list that commas part.
_CSV_ITEM: Final = r"^[^\u0000,\s](?:[^\u0000,]*[^\u0000,\s])?$"

Node = dict[str, Any]


def json_schema() -> Node:
    """Return the schema of one deployment file.

    A file may be a layer on top of others, so no key is required.
    """
    told = {entry.path: entry for entry in entries()}
    defs: Node = {
        "reference": _reference(),
        "variables": _variables(),
        "pool": _pool(told),
        "gateway": _gateway(told),
        "launch": _table(Launch, Table("launch", ("launch",), Launch), told),
    }
    for backend in BACKENDS.values():
        table = Table("engine", ("pools", POOL_NAME, "engine"), backend.args)
        defs[_engine(backend.name)] = _table(backend.args, table, told, extra=True)
    name = Schema().child(Schema.top, "name")
    assert isinstance(name, Leaf)
    return {
        "$schema": DIALECT,
        "title": "smgcfg deployment file",
        "type": "object",
        "properties": {
            "name": _described(_either(_matching(NAME.pattern)), told["name"]),
            "pools": {
                "description": "the pools: workers that are alike",
                "type": "object",
                "propertyNames": _matching(NAME.pattern),
                "additionalProperties": {"$ref": "#/$defs/pool"},
            },
            "gateway": {"$ref": "#/$defs/gateway"},
            "launch": {"$ref": "#/$defs/launch"},
            "unset": _unset([], r"^(?:name|(?:pools|gateway|launch)\..+)$"),
        },
        "additionalProperties": False,
        "$defs": defs,
    }


def _engine(backend: str) -> str:
    return f"engine-{backend}"


# --- tables ----------------------------------------------------------------------------------------------------------


def _pool(told: Mapping[str, Entry]) -> Node:
    table = Table("pool", ("pools", POOL_NAME), Pool)
    node = _table(Pool, table, told, unset=r"^(?:env|engine)\.[^.=]+$")
    node["properties"]["backend"] = _described({"enum": list(BACKENDS)}, told[f"pools.{POOL_NAME}.backend"])
    node["properties"]["env"] = {"$ref": "#/$defs/variables"}
    default = {"$ref": f"#/$defs/{_engine(DEFAULT_BACKEND)}"}
    others = [name for name in BACKENDS if name != DEFAULT_BACKEND]
    if not others:
        node["properties"]["engine"] = default
        return node
    node["properties"]["engine"] = {"type": "object"}
    known = {"properties": {"backend": {"enum": others}}, "required": ["backend"]}
    node["allOf"] = [{"if": {"not": known}, "then": {"properties": {"engine": default}}}]
    for name in others:
        chosen = {"properties": {"backend": {"const": name}}, "required": ["backend"]}
        engine = {"properties": {"engine": {"$ref": f"#/$defs/{_engine(name)}"}}}
        node["allOf"].append({"if": chosen, "then": engine})
    return node


def _gateway(told: Mapping[str, Entry]) -> Node:
    table = Table("gateway", ("gateway",), GatewayArgs)
    node = _table(GatewayArgs, table, told, extra=True, unset=r"^env\.[^.=]+$")
    own = _table(Gateway, table, told)
    node["properties"] |= {key: value for key, value in own["properties"].items() if key != "unset"}
    node["properties"]["unset"]["items"]["anyOf"][0]["enum"] += [spec.key for spec in specs_of(Gateway)]
    node["properties"]["env"] = {"$ref": "#/$defs/variables"}
    return node


def _table(cls: type[Any], table: Table, told: Mapping[str, Entry], *, extra: bool = False, unset: str = "") -> Node:
    """Return the schema of a table.

    Args:
        cls: The class that declares its settings.
        table: The table.
        told: What is to be said of each setting.
        extra: It may hold words for flags that are not known.
        unset: A pattern of further keys that its `unset` may name.
    """
    schema = Schema()
    properties: Node = {}
    rivals: list[Node] = []
    for spec in specs_of(cls):
        entry = told[".".join((*table.path, spec.key))]
        # Two spellings may be one key: `--x.y` and `--x-y`.
        keys = [*dict.fromkeys((*spec.keys, *map(key_of, spec.off)))]
        for key in keys:
            leaf = schema.child(table, key)
            assert isinstance(leaf, Leaf)
            properties[key] = _described(leaf_schema(leaf), entry, alias=key != spec.key, opposite=not leaf.as_it_is)
        # Two keys for one setting are an error.
        rivals += [{"not": {"required": list(pair)}} for pair in combinations(keys, 2)]
    names = list(known_keys(cls))
    if extra:
        properties["extra"] = _described(_extra(), told[".".join((*table.path, "extra"))])
        names.append("extra")
    properties["unset"] = _unset(names, unset)
    node = {"type": "object", "properties": properties, "additionalProperties": False}
    return node | ({"allOf": rivals} if rivals else {})


def _unset(names: Iterable[str], pattern: str) -> Node:
    """Return the schema of a list of keys of a table."""
    options: list[Node] = [{"enum": list(names)}] if names else []
    options += [_matching(pattern)] if pattern else []
    return {
        "description": "keys whose flags are not passed, the defaults among them",
        "type": "array",
        "items": {"type": "string", "anyOf": options},
    }


def _extra() -> Node:
    word = {"type": "string", "pattern": _TEXT, "not": {"const": "--"}}
    return {"type": "array", "prefixItems": [word | {"pattern": r"^--[^\u0000]*$"}], "items": word}


def _variables() -> Node:
    return {
        "description": "environment variables; placeholders are filled",
        "type": "object",
        "propertyNames": _matching(r"^[^=\u0000]+$"),
        "additionalProperties": _either({"type": "string", "pattern": _TEXT}),
    }


def _reference() -> Node:
    options = {"env": _matching(f"^{VARIABLE.pattern}$"), "file": _matching(r"^[^\u0000]+$")}
    return {
        "description": "a value that stands elsewhere: in a variable of the environment, or in a file",
        "type": "object",
        "properties": options,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _matching(pattern: str) -> Node:
    return {"type": "string", "pattern": pattern if pattern.startswith("^") else f"^{pattern}$"}


# --- values ----------------------------------------------------------------------------------------------------------


def leaf_schema(leaf: Leaf) -> Node:
    """Return the schema of one setting's value.

    Args:
        leaf: The setting, under one of its keys.
    """
    spec = leaf.spec
    assert spec is not None
    node = _value(spec, as_it_is=leaf.as_it_is)
    if leaf.cls is Pool and spec.key == "gpus":
        one = [{"type": "integer", "minimum": 0}, node["items"]]
        node = {"anyOf": [*one, {"type": "array", "items": {"anyOf": one}}]}
    elif leaf.cls is Pool and spec.key == "served_model_name":
        node = {"anyOf": [node["items"], node]}
    return _either(node) if leaf.may_refer else node


def _either(node: Node) -> Node:
    """Return the schema of a value that may be a reference."""
    return {"anyOf": [*(node["anyOf"] if node.keys() == {"anyOf"} else [node]), {"$ref": "#/$defs/reference"}]}


def _value(spec: FlagSpec, *, as_it_is: bool) -> Node:
    item = _item(spec, as_it_is=as_it_is)
    if spec.refers and spec.many:
        item = _either(item)
    if not spec.many:
        return item
    if spec.kind == "groups":
        alone = {"allOf": [item, _matching(_STANDS_ALONE)]}
        several = {"type": "array", "minItems": 2, "items": alone}
        item = {"anyOf": [{"type": "array", "minItems": 1, "maxItems": 1, "items": item}, several]}
    least = max(spec.least, 1 if spec.kind == "append" else 0)
    return {"type": "array", "items": item, **({"minItems": least} if least else {})}


def _item(spec: FlagSpec, *, as_it_is: bool) -> Node:
    """Return the schema of a value, or of one item of a list."""
    if spec.choices is not None:
        return {"enum": list(spec.choices)}
    if spec.type is Json:
        return {"type": ["object", "string"]}
    node: Node = {"type": _TYPES[spec.type]}
    for word, bound in zip(("minimum", "maximum"), spec.bounds, strict=True):
        if bound is not None:
            node[word] = bound
    if spec.type is bool and spec.engine_sets:
        node["const"] = as_it_is
    return node | dict(_text(spec)) if spec.type is str else node


def _text(spec: FlagSpec) -> Iterator[tuple[str, Any]]:
    """Return what text must be, so that a command line can hold it and the program takes it for what it is."""
    pattern = {"csv": _CSV_ITEM}.get(spec.kind, _NOT_BLANK if spec.reads == "nonempty" else _TEXT)
    yield "pattern", pattern
    forbidden = [*(["--"] if spec.reads != "raw" else []), *(["", "None"] if spec.reads == "nullable" else [])]
    if forbidden:
        yield "not", {"enum": forbidden}


def _described(node: Node, entry: Entry, *, alias: bool = False, opposite: bool = False) -> Node:
    """Return a schema with what an editor shows of the setting.

    Args:
        node: The schema.
        entry: What is to be said.
        alias: It is another key for the setting.
        opposite: It says the setting's opposite.
    """
    texts = [entry.help]
    if alias:
        texts.insert(0, f"the opposite of {entry.key}" if opposite else f"another key for {entry.key}")
    else:
        texts += [f"takes: {entry.takes}"]
        texts += [f"default: {entry.default}"] if entry.default else []
        texts += [f"only {entry.program} {', '.join(entry.versions)}"] if _not_everywhere(entry) else []
    decided = [use for _, use in entry.owned]
    if decided:
        texts.append("the plan decides it" + (f"; use {decided[0]}" if decided[0] else ""))
    mark = {"deprecated": True} if alias else {}
    return {"description": "\n".join(texts), **mark, **node}


def _not_everywhere(entry: Entry) -> bool:
    versions = max((other.versions for other in entries() if other.program == entry.program), key=len)
    return len(entry.versions) < len(versions)
