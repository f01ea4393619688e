"""The public cattrs converter: smgcfg's types to plain data and back, strictly.

Structuring refuses what the types refuse: unknown keys, wrong types, values without a spelling. Unstructured data is
what JSON holds.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from smgcfg.args import Args, check_setting, set_settings
from smgcfg.codec import Refused, brief
from smgcfg.config import Deployment, Gateway, Launch, Pairs, Pool
from smgcfg.errors import ConfigError, Finding, error
from smgcfg.flags import keys_of, spec_of
from smgcfg.json_value import Json
from smgcfg.origin import Derived, FromArgv, FromCall, FromDefault, FromFile, Origin
from smgcfg.reference import HINT, Reference, plain, reference_in
from smgcfg.value import Value

if TYPE_CHECKING:
    from cattrs import Converter


@functools.cache
def converter() -> "Converter":
    """Return the converter, made once.

    Raises (from `structure`):
        ConfigError: The data is not what the type takes; every problem found, each with its key.
    """
    # Imported here: cattrs is for Python callers, files and --json, and no command should pay for it.
    from cattrs import Converter

    made = Converter(forbid_extra_keys=True, detailed_validation=False, omit_if_default=False)
    made.register_unstructure_hook_func(_is_value, lambda value: _value_data(value, made))
    made.register_structure_hook_func(_is_value, lambda data, cls: _value(data, cls, made))
    made.register_unstructure_hook_func(_is_origin, lambda origin: _origin_data(origin, made))
    made.register_structure_hook_func(_is_origin, lambda data, _: _origin(data, made))
    # Frames on the wire are ASCII; JSON has no bytes.
    made.register_unstructure_hook(bytes, lambda data: data.decode("latin-1"))
    made.register_structure_hook(bytes, lambda data, _: _text(data).encode("latin-1"))
    for plain_type in (str, int, float, bool):
        made.register_structure_hook(plain_type, _exactly)
    made.register_unstructure_hook(Json, lambda value: value.value)
    made.register_structure_hook(Json, lambda data, _: _json(data))
    made.register_unstructure_hook_func(lambda cls: _is(cls, Args), _args_data)
    made.register_structure_hook_func(lambda cls: _is(cls, Args), _args)
    for kind in (Pool, Gateway, Launch):
        made.register_unstructure_hook_func(functools.partial(_is, base=kind), _table_data)
        made.register_structure_hook_func(functools.partial(_is, base=kind), _table)
    made.register_unstructure_hook(Deployment, _deployment_data)
    made.register_structure_hook(Deployment, lambda data, _: _deployment(data))
    return made


#: Per kind of origin the word that tells it from the others.
_ORIGINS: Final = {"default": FromDefault, "file": FromFile, "argument": FromArgv, "caller": FromCall, "rule": Derived}


def _is_value(cls: Any) -> bool:
    return _is(cls, Value) and not _is_origin(cls)


def _is_origin(cls: Any) -> bool:
    return cls in (Origin, Origin | None) or cls in _ORIGINS.values()


def _value_data(value: Value, made: "Converter") -> dict[str, Any]:
    return {name: made.unstructure(getattr(value, name)) for name in get_type_hints(type(value)) if name[0] != "_"}


def _value(data: Any, cls: type[Any], made: "Converter") -> Any:
    """Make a small value of a mapping; every key must be an attribute, and every attribute without a default a key."""
    given = _mapping(data, cls.__name__)
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name[0] != "_"}
    findings = [error("SMG002", f"{cls.__name__}.{key}", "no such key") for key in given.keys() - hints.keys()]
    missing = [name for name in hints if name not in given and not hasattr(cls, name)]
    findings += [error("SMG007", f"{cls.__name__}.{name}", "a required key is missing") for name in missing]
    if findings:
        raise ConfigError(sorted(findings, key=str))
    return cls(**{name: made.structure(value, hints[name]) for name, value in given.items()})


def _origin_data(origin: Origin, made: "Converter") -> dict[str, Any]:
    kind = next(kind for kind, cls in _ORIGINS.items() if type(origin) is cls)
    if isinstance(origin, FromFile):
        return {"kind": kind, "path": origin.path, "line": origin.line}
    return {"kind": kind, **_value_data(origin, made)}


def _origin(data: Any, made: "Converter") -> Any:
    if data is None:
        return None
    given = dict(_mapping(data, "an origin"))
    kind = given.pop("kind", None)
    if kind not in _ORIGINS:
        raise ConfigError([error("SMG004", "kind", f"expected one of {', '.join(_ORIGINS)}; got {kind!r}")])
    if kind != "file":
        return _value(given, _ORIGINS[kind], made)
    line = given.get("line")
    return FromFile(_text(given.get("path")), line if line is None else _exactly(line, int))


def _exactly(data: Any, cls: type[Any]) -> Any:
    if type(data) is cls or (cls is float and type(data) is int):
        return data
    raise ConfigError([error("SMG003", "", f"expected {cls.__name__}, got {data!r}")])


def _text(data: Any) -> str:
    text: str = _exactly(data, str)
    return text


def _is(cls: Any, base: type) -> bool:
    origin = getattr(cls, "__origin__", cls)
    return isinstance(origin, type) and issubclass(origin, base)


def _plain(value: Any) -> Any:
    if isinstance(value, Json):
        return value.value
    if isinstance(value, Reference):
        return plain(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _json(data: Any) -> Json:
    try:
        return Json(data)
    except (TypeError, ValueError) as problem:
        raise ConfigError([error("SMG003", "", f"expected a JSON object: {problem}")]) from None


def _mapping(data: Any, what: str) -> Mapping[str, Any]:
    if isinstance(data, Mapping) and all(isinstance(key, str) for key in data):
        return data
    raise ConfigError([error("SMG003", "", f"expected a mapping for {what}, got {type(data).__name__}")])


def _args_data(args: Args) -> dict[str, Any]:
    """Return every setting that is set, and None for each default that was taken away."""
    chosen = set_settings(args)
    gone = {key: None for key in set_settings(type(args)()) if key not in chosen}
    data = {key: _plain(value) for key, value in chosen.items()} | gone
    return data | ({"extra": list(args.extra)} if args.extra else {})


def _args(data: Any, cls: Any) -> Any:
    return cls().overlay(_mapping(data, cls.__name__))


def _table_data(config: Pool[Any] | Gateway | Launch) -> dict[str, Any]:
    data = {key: _plain(getattr(config, key)) for key in keys_of(type(config))}
    data = {key: value for key, value in data.items() if value is not None}
    if isinstance(config, Pool):
        data = {"name": config.name, **data, "engine": _args_data(config.engine)}
    elif isinstance(config, Gateway):
        data["args"] = _args_data(config.args)
    env = {} if isinstance(config, Launch) else {name: _plain(value) for name, value in config.env}
    return data | ({"env": env} if env else {})


def _table(data: Any, cls: Any) -> Any:
    from smgcfg.backends import BACKENDS
    from smgcfg.gateway import GatewayArgs

    kind = getattr(cls, "__origin__", cls)
    given = dict(_mapping(data, kind.__name__))
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    if kind is Pool:
        values["name"] = given.pop("name", None)
        backend = BACKENDS.get(given.get("backend", ""))
        if backend is None:
            findings.append(error("SMG004", "backend", f"expected one of {', '.join(BACKENDS)}"))
        else:
            values["engine"] = _part(findings, "engine", _args, given.pop("engine", {}), backend.args)
        if not isinstance(values["name"], str):
            findings.append(error("SMG007", "name", "a required key is missing"))
    if kind is Gateway:
        values["args"] = _part(findings, "args", _args, given.pop("args", {}), GatewayArgs)
    if kind is not Launch:
        values["env"] = _env(given.pop("env", {}), findings)
    known = keys_of(kind)
    for key, value in given.items():
        if key not in known:
            findings.append(error("SMG002", key, "no such key"))
            continue
        try:
            values[key] = check_setting(spec_of(kind, key), value)
        except Refused as refused:
            findings.append(error(refused.code, key, str(refused), hint=refused.hint))
    if findings:
        raise ConfigError(findings)
    return kind(**values)


def _part(findings: list[Finding], name: str, make: Callable[[Any, Any], Any], data: Any, cls: Any) -> Any:
    """Return a part of a value, or None with what is wrong with it among the findings, under its name."""
    try:
        return make(data, cls)
    except ConfigError as bad:
        findings += [finding.evolve(key=f"{name}.{finding.key}".rstrip(".")) for finding in bad.findings]
        return None


def _env(data: Any, findings: list[Finding]) -> Pairs:
    pairs = {name: reference_in(value) or value for name, value in _mapping(data, "env").items()}
    findings += [
        error("SMG003", f"env.{name}", "expected text", hint=HINT)
        for name, value in pairs.items()
        if not isinstance(value, str | Reference)
    ]
    return tuple(sorted(pairs.items()))


def _deployment_data(deployment: Deployment) -> dict[str, Any]:
    return {
        "name": deployment.name,
        "pools": [_table_data(pool) for pool in deployment.pools],
        "gateway": _table_data(deployment.gateway),
        "launch": _table_data(deployment.launch),
    } | ({"unset": [list(path) for path in deployment.unset]} if deployment.unset else {})


def _deployment(data: Any) -> Deployment:
    given = dict(_mapping(data, "Deployment"))
    unknown = given.keys() - {"name", "pools", "gateway", "launch", "unset"}
    findings = [error("SMG002", key, "no such key") for key in sorted(unknown)]
    name, pools, unset = given.get("name"), given.get("pools"), given.get("unset", [])
    if not isinstance(name, str) or not isinstance(pools, list):
        findings.append(error("SMG007", "name, pools", "required: a name, and a list of pools"))
        pools = pools if isinstance(pools, list) else []
    if not isinstance(unset, list) or not all(_is_path(path) for path in unset):
        findings.append(error("SMG003", "unset", f"expected a list of paths, got {brief(unset)}"))
    made = tuple(_part(findings, f"pools[{at}]", _table, pool, Pool) for at, pool in enumerate(pools))
    gateway = _part(findings, "gateway", _table, given.get("gateway", {}), Gateway)
    launch = _part(findings, "launch", _table, given.get("launch", {}), Launch)
    if findings:
        raise ConfigError(findings)
    return Deployment(name=str(name), pools=made, gateway=gateway, launch=launch, unset=tuple(map(tuple, unset)))


def _is_path(data: object) -> bool:
    return isinstance(data, list) and all(isinstance(key, str) for key in data)
