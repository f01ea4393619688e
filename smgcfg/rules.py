"""Checks of a finished args object: late bounds, rules across settings, and what a version of the program lacks.

A program's rules are a table of `Rule`; this module holds what they have in common. Nothing here runs in a constructor:
layers may be incomplete.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from smgcfg.args import Args, set_settings
from smgcfg.codec import shown
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import FlagSpec, keys_of, spec_of, spelling_table
from smgcfg.reference import Reference, references_in, text_of
from smgcfg.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smgcfg.snapshots import Snapshot


class UndecidedError(Exception):
    """What a rule asks for does not follow from the args; another rule reports why."""


class View:
    """An args object as its program sees it: what is not set has the program's default.

    Attributes:
        defaults: The program's defaults that rules read; every other unset setting is None.
        version: The version whose rules hold.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, args: Args, version: str) -> None:
        self._args = args
        self.version = version

    def __getattr__(self, key: str) -> Any:
        value = getattr(self._args, key)
        if value is None:
            return self.defaults.get(key)
        if type(value) not in (Reference, tuple):
            return value
        known = text_of(value)
        if references_in(known):
            raise UndecidedError
        return known

    def shown(self, key: str) -> Any:
        """Return a value as a message may show it: a reference instead of what it stands for."""
        value = getattr(self._args, key, None)
        return value if references_in(value) else getattr(self, key)

    def holds(self, key: str, value: object) -> bool:
        """Whether a setting has a value; a switch that is not set is off."""
        return bool((getattr(self, key) or False) == value)


class Rule(Value):
    """A rule across settings.

    Attributes:
        keys: The settings it is about; the finding stands at the first of them that is set.
        broken: Whether a view breaks the rule.
        says: The rule, naming the flag of every key; `{s.key}` stands for a value the view has.
        warns: The program goes on, but not as the operator means it.
        fits: For a rule about each item of its first key: whether an item keeps it, so that one that does not is shown.
    """

    keys: tuple[str, ...]
    broken: Callable[[Any], object]
    says: str
    warns: bool = False
    fits: Callable[[Any], object] | None = None


#: For `needs`: any value will do.
ANYTHING: Final[tuple[Any, ...]] = ()


def flag_of(key: str) -> str:
    """Return the canonical flag of a setting whose name says it, as those of all rules do."""
    return "--" + key.replace("_", "-")


def needs(
    key: str,
    allowed: Mapping[str, tuple[Any, ...]],
    state: str = "",
    when: Callable[[Any], object] | None = None,
) -> tuple[Rule, ...]:
    """Return one rule for each setting that another setting needs to be set in a certain way.

    Args:
        key: The setting that needs something.
        allowed: Per other setting the values that it may have; None means not set, a switch is True or False, and
            `ANYTHING` is enough.
        state: How `key` is set where it needs that, behind its flag: "above 1"; empty where it is enough to set it.
        when: Whether it is set so.
    """
    applies = when or (lambda view: getattr(view, key) is not None and getattr(view, key) is not False)

    def rule(other: str, values: tuple[Any, ...]) -> Rule:
        def broken(view: View) -> bool:
            value = getattr(view, other)
            if values is ANYTHING:
                return bool(applies(view)) and value is None
            return bool(applies(view)) and (bool(value) if type(values[0]) is bool else value) not in values

        return Rule((key, other), broken, " ".join(filter(None, (flag_of(key), state, _demand(other, values)))))

    return tuple(rule(other, values) for other, values in allowed.items())


def _demand(key: str, values: tuple[Any, ...]) -> str:
    if values is ANYTHING or values[0] is True:
        return f"needs {flag_of(key)}"
    if values[0] is False or values == (None,):
        return f"excludes {flag_of(key)}"
    named = " or ".join(str(value) for value in values if value is not None)
    return f"needs {flag_of(key)} {named}" + (", or none given" if None in values else "")


class Program(Value):
    """What the checks of one program's args need.

    Attributes:
        title: Its name in messages.
        versions: The versions that the declarations cover, the newest last.
        view: How it sees its args.
        rules: Per version its rules across settings.
        unchecked: Per version the settings whose `limits` it does not check.
        successor: Given a flag that the newest version lacks, what to do instead; or an empty text.
    """

    title: str
    versions: tuple[str, ...]
    view: Callable[[Any, str], View]
    rules: Mapping[str, Sequence[Rule]]
    unchecked: Mapping[str, Container[str]]
    successor: Callable[[str], str]


def covering(version: str | None, versions: Sequence[str]) -> str | None:
    """Return the known version that has the flags of another: itself, or the one it is a later build of.

    Args:
        version: A version, as in "1.10.1.post20260920"; or None.
        versions: The known ones.
    """
    named = version or ""
    return next((known for known in versions if named == known or named.startswith(f"{known}.post")), None)


def findings(program: Program, args: Args, version: "str | Snapshot | None") -> list[Finding]:
    """Check a finished args object.

    Args:
        program: Whose args they are.
        args: The args.
        version: The program's version. None, or one that the declarations do not cover, checks the rules of the newest
            one, and what that one lacks is a warning. The flag table of a release that does not ship checks what that
            has, and the rules of the version nearest to it.

    Returns:
        What was found, in the order of the settings.
    """
    known = version if isinstance(version, str) and version in program.versions else None
    if version is None or isinstance(version, str):
        base, lacking = known or program.versions[-1], _version_findings(program, args, known)
    else:
        # Imported here: few deployments name a release that does not ship.
        from smgcfg.release import release_findings
        from smgcfg.snapshots import nearest

        base, lacking = nearest(version.version, program.versions), release_findings(program.title, args, version)
    view = program.view(args, base)
    found = [
        *lacking,
        *_twice(args),
        *_rivals(args),
        *_limits(args, view, program.unchecked.get(view.version, ())),
        *_broken_rules(program.rules[view.version], args, view),
    ]
    order = {key: at for at, key in enumerate(keys_of(type(args)))}
    found.sort(key=lambda finding: order.get(finding.key, len(order)))
    return found


# --- what a version lacks ---


def _version_findings(program: Program, args: Args, known: str | None) -> Iterator[Finding]:
    version = known or program.versions[-1]
    report = error if known else warning
    for key, value in set_settings(args).items():
        spec = spec_of(type(args), key)
        if value is False and spec.kind == "switch":
            continue
        names, off = spec.spellings(version)
        there = spec.has(version) and bool(off if value is False and spec.kind == "pair" else names)
        if not there:
            yield report(
                "SMG012", key, f"{program.title} {version} has no {spec.names[0]}", hint=_instead(program, spec)
            )
            continue
        taken = spec.taken(version)
        lacking = [item for item in (value if spec.many else (value,)) if taken is not None and item not in taken]
        if lacking:
            message = (
                f"{program.title} {version} takes {', '.join(map(str, taken or ()))}; got {shown(spec, lacking[0])}"
            )
            hint = f"leave it out for {shown(spec, spec.default)}" if spec.default in (taken or ()) else ""
            yield report("SMG013", key, message, hint=hint)

    for spec, text in _said_in_extra(args):
        message = f"{program.title} {version} takes {', '.join(map(str, spec.taken(version) or ()))}; got {text!r}"
        yield report("SMG013", "extra", message)


def _twice(args: Args) -> Iterator[Finding]:
    for spec, _ in _said_in_extra(args):
        if getattr(args, spec.key) is not None:
            message = f"{spec.names[0]} stands in extra, and {spec.key} is set"
            yield error("SMG009", "extra", message, hint=f'unset = ["{spec.key}"]')


def _said_in_extra(args: Args) -> Iterator[tuple[FlagSpec, str]]:
    """Return the settings that `extra` gives a choice they do not have, each with the choice."""
    known = spelling_table(type(args)) if args.extra else {}
    for at, word in enumerate(args.extra):
        name, glued, text = word.partition("=")
        if name in known:
            yield known[name][0], text if glued else "".join(args.extra[at + 1 : at + 2])


def _instead(program: Program, spec: FlagSpec) -> str:
    newest = program.versions[-1]
    if spec.has(newest):
        return f"it came with {spec.versions[0]}"
    return program.successor(spec.names[0]) or f"it has no successor in {newest}; leave it out"


# --- late bounds ---


def _limits(args: Args, view: View, unchecked: Container[str]) -> Iterator[Finding]:
    for key, value in set_settings(args).items():
        spec = spec_of(type(args), key)
        if key in unchecked or (spec.limits == (None, None) and spec.above is None):
            continue
        if not all(view.holds(*condition) for condition in spec.limits_when):
            continue
        if not _inside(spec, value):
            message = f"expected {_allowed(spec)}, got {shown(spec, value)}{_condition(type(args), spec)}"
            yield error("SMG005", key, message)


def _inside(spec: FlagSpec, value: float) -> bool:
    low, high = spec.limits
    if (low is not None and value < low) or (high is not None and value > high):
        return False
    return abs(value) != math.inf and (spec.above is None or value > spec.above)


def _allowed(spec: FlagSpec) -> str:
    low, high = spec.limits
    if spec.above is not None:
        return f"more than {spec.above}" + ("" if high is None else f" and at most {high}")
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _condition(cls: type, spec: FlagSpec) -> str:
    clauses = []
    for key, value in spec.limits_when:
        flag = spec_of(cls, key).names[0]
        clauses.append(f"without {flag}" if value is False else f"with {flag}" + ("" if value is True else f" {value}"))
    return f" ({', '.join(clauses)})" if clauses else ""


# --- rules across settings ---


def _rivals(args: Args) -> Iterator[Finding]:
    settings = {key: value for key, value in set_settings(args).items() if value is not False}
    seen: set[str] = set()
    for key in settings:
        spec = spec_of(type(args), key)
        if spec.rivals in settings and spec.rivals not in seen:
            other = spec_of(type(args), spec.rivals).names[0]
            yield error("SMG014", key, f"{spec.names[0]} is not allowed together with {other}")
        seen.add(key)


def _broken_rules(rules: Iterable[Rule], args: Args, view: View) -> Iterator[Finding]:
    for rule in rules:
        try:
            broken = rule.broken(view)
        except UndecidedError:
            continue
        if broken:
            key = next((key for key in rule.keys if getattr(args, key) is not None), rule.keys[0])
            report = warning if rule.warns else error
            yield report("SMG014", key, rule.says.format(s=_Said(view)) + _misfit(rule, args))


def _misfit(rule: Rule, args: Args) -> str:
    """Return the item that breaks a rule about each, as the end of a message; empty where it can not be shown."""
    spec = spec_of(type(args), rule.keys[0])
    if rule.fits is None or spec.secret:
        return ""
    return next((f", got {shown(spec, item)}" for item in getattr(args, spec.key) or () if not rule.fits(item)), "")


class _Said:
    """A view as messages quote it.

    Args:
        view: The view.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def __getattr__(self, key: str) -> Any:
        return self._view.shown(key)
