"""What holds for the declarations of every program, and mutations that show that the comparison would see it broken."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
from declared import Record

from smgcfg.flags import FlagSpec, key_of

#: Ways to change one record of a snapshot; None where the record has nothing to change so.
RECORD_CHANGES: Final[Mapping[str, Callable[[Record], Record | None]]] = {
    "another name": lambda flag: {**flag, "name": flag["name"] + "-x", "aliases": [flag["name"] + "-x"]},
    "one more spelling": lambda flag: {**flag, "aliases": [*flag.get("aliases", [flag["name"]]), flag["name"] + "-x"]},
    "one more way off": lambda flag: {**flag, "negatives": [*flag.get("negatives", ()), "--no-x"]},
    "another kind": lambda flag: {**flag, "kind": "append" if flag["kind"] == "value" else "value"},
    "another type": lambda flag: (
        None if flag.get("choices") else {**flag, "type": "int" if flag["type"] != "int" else "str"}
    ),
    "one choice less": lambda flag: (
        {**flag, "choices": flag["choices"][1:]} if len(flag.get("choices", ())) > 1 else None
    ),
    "choices closed": lambda flag: None if flag.get("choices") else {**flag, "choices": ["x"]},
    "early bounds": lambda flag: {**flag, "bounds": {"min": 7}, "bounds_stage": "parser"},
    "late bounds": lambda flag: {**flag, "bounds": {"min": 1 << 70}, "bounds_stage": "after parsing"},
    "secrecy": lambda flag: {**flag, "secret": not flag.get("secret", False)},
    "an environment variable": lambda flag: {**flag, "env_default": "X_" + flag.get("env_default", "")},
}

#: Ways to change one declaration; None where it has nothing to change so.
SPEC_CHANGES: Final[Mapping[str, Callable[[FlagSpec], FlagSpec | None]]] = {
    "another name": lambda spec: spec.evolve(names=(spec.names[0] + "-x", *spec.names[1:])),
    "one spelling less": lambda spec: spec.evolve(names=spec.names[:-1]) if spec.names[1:] else None,
    "one way off less": lambda spec: spec.evolve(off=spec.off[:-1]) if spec.off else None,
    "another kind": lambda spec: spec.evolve(kind="append" if spec.kind != "append" else "value"),
    "another type": lambda spec: spec.evolve(type=int if spec.type is not int else str),
    "one choice less": lambda spec: spec.evolve(choices=spec.choices[1:]) if spec.choices else None,
    "choices open": lambda spec: spec.evolve(choices=None) if spec.choices else None,
    "early bounds": lambda spec: spec.evolve(bounds=(7, 8)),
    "secrecy": lambda spec: spec.evolve(secret=not spec.secret),
    "an environment variable": lambda spec: spec.evolve(env="X_" + spec.env),
    "another reading": lambda spec: spec.evolve(reads="plain" if spec.reads != "plain" else "nonempty"),
    "another least": lambda spec: spec.evolve(least=1 - spec.least),
    "another repeating": lambda spec: spec.evolve(extends=not spec.extends),
    "no version": lambda spec: spec.evolve(versions=("0",)),
    "all versions": lambda spec: spec.evolve(versions=()) if spec.versions else None,
    "spelled everywhere": lambda spec: spec.evolve(spelled={}) if spec.spelled else None,
    "narrowed nowhere": lambda spec: spec.evolve(narrow={}) if spec.narrow else None,
    "another rival": lambda spec: spec.evolve(rivals="" if spec.rivals else "x"),
    "one spelling at a time": lambda spec: (
        spec.evolve(one_spelling=not spec.one_spelling) if spec.off or spec.names[1:] else None
    ),
}


def changed_records(
    snapshots: Mapping[str, Sequence[Record]], change: str
) -> Iterator[tuple[str, Mapping[str, Sequence[Record]]]]:
    """Give snapshots with one flag changed, a few flags of each version in turn."""
    for version, records in snapshots.items():
        options = [(at, new) for at, flag in enumerate(records) if (new := _record(flag, change)) is not None]
        for at, new in random.Random(change).sample(options, min(len(options), 12)):
            yield records[at]["name"], {**snapshots, version: [*records[:at], new, *records[at + 1 :]]}


def _record(flag: Record, change: str) -> Record | None:
    bare = flag["type"] == "bool" and change in ("choices closed", "early bounds", "late bounds")
    return None if bare or flag["kind"] == "positional" else RECORD_CHANGES[change](flag)


def changed_specs(specs: Sequence[FlagSpec], change: str) -> Iterator[tuple[str, list[FlagSpec]]]:
    """Give declarations with one of them changed, a few in turn."""
    options = [(at, new) for at, spec in enumerate(specs) if (new := SPEC_CHANGES[change](spec)) is not None]
    for at, new in random.Random(change).sample(options, min(len(options), 25)):
        yield specs[at].key, [*specs[:at], new, *specs[at + 1 :]]


def shared_keys(specs: Sequence[FlagSpec]) -> dict[str, set[str]]:
    """Give every key that means more than one setting, with the settings it means."""
    meanings: dict[str, set[str]] = {}
    for spec in specs:
        for key in (*spec.keys, *map(key_of, spec.off)):
            meanings.setdefault(key, set()).add(spec.key)
    return {key: meant for key, meant in meanings.items() if len(meant) > 1}


def clumsy_helps(specs: Sequence[FlagSpec]) -> dict[str, str]:
    """Give every help text that is not one short lower-case sentence without a full stop."""

    def is_fine(text: str) -> bool:
        first = text.split(" ")[0]
        is_lower = first[:1].islower() or any(letter.isupper() for letter in first[1:]) or first in ("*",)
        return (
            5 <= len(text) <= 100 and is_lower and not text.endswith(".") and "\n" not in text and text == text.strip()
        )

    return {spec.key: spec.help for spec in specs if not is_fine(spec.help)}


def unset(args: Any) -> dict[str, Any]:
    """Give the fields of an args object that are not None."""
    return {
        field.name: getattr(args, field.name)
        for field in attrs.fields(type(args))
        if getattr(args, field.name) is not None and field.name != "extra"
    }
