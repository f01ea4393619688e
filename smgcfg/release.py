"""Checks of args against the flag table of a release that does not ship: one that `smgcfg drift --write` has read."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smgcfg.args import Args, set_settings
from smgcfg.codec import words
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import spec_of
from smgcfg.snapshots import Snapshot


def release_findings(title: str, args: Args, release: Snapshot) -> Iterator[Finding]:
    """Check a finished args object.

    Args:
        title: The program's name in messages.
        args: The args.
        release: What the release's parser takes.

    Returns:
        A finding for each setting, and each flag in `extra`, that the release would refuse.
    """
    name = f"{title} {release.version}"
    for key, value in set_settings(args).items():
        spec = spec_of(type(args), key)
        for flag, texts in _occurrences(words(spec, value)):
            yield from _refused(name, release, key, flag, ["***"] * len(texts) if spec.secret else texts)
    for flag, texts in _occurrences(args.extra):
        if flag in release.spellings:
            yield from _not_taken(name, release.spellings[flag], "extra", texts[:1])
        else:
            # Not for sure: the gRPC servicer takes flags of its own in front of the engine's.
            yield warning("SMG012", "extra", f"{name} has no {flag}")


def _occurrences(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Return each flag of some words, with the words behind it."""
    flag, texts = "", list[str]()
    for token in tokens:
        if not token.startswith("--"):
            texts.append(token)
            continue
        if flag:
            yield flag, texts
        flag, glued, text = token.partition("=")
        texts = [text] if glued else []
    if flag:
        yield flag, texts


def _refused(name: str, release: Snapshot, key: str, flag: str, texts: Sequence[str]) -> Iterator[Finding]:
    record = release.spellings.get(flag)
    if record is None:
        yield error("SMG012", key, f"{name} has no {flag}", hint="leave it out")
        return
    least, most, said = taken(record)
    if not least <= len(texts) <= most and "action" not in record.get("unknown", {}):
        yield error("SMG012", key, f"{name} takes {flag} with {said}")
        return
    yield from _not_taken(name, record, key, texts)


def _not_taken(name: str, record: Mapping[str, Any], key: str, texts: Sequence[str]) -> Iterator[Finding]:
    choices = [str(choice) for choice in record.get("choices", ())]
    lacking = [text for text in texts if choices and text not in choices]
    if lacking:
        yield error("SMG013", key, f"{name} takes {', '.join(choices)}; got {lacking[0]!r}")


def taken(record: Mapping[str, Any]) -> tuple[float, float, str]:
    """Return the least and the most words that a flag takes behind it, and the same in words."""
    many = record.get("nargs", "+" if record["kind"] == "list" else None)
    if record["kind"].startswith(("switch", "boolean")):
        return 0, 0, "no value"
    if record["kind"] == "optional_value":
        return 0, 1, "one value or none"
    if many in ("*", "+"):
        return (0, math.inf, "any number of values") if many == "*" else (1, math.inf, "one value or more")
    count = many if isinstance(many, int) else 1
    return count, count, "one value" if count == 1 else f"{count} values"
