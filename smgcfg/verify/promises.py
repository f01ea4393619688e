"""What a deployment promises by its engines' settings, and which setting breaks a promise."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from smgcfg.backends._base import Promise
from smgcfg.endpoint import bracketed
from smgcfg.flags import spec_of
from smgcfg.origin import FromDefault
from smgcfg.planning.derive import Shape
from smgcfg.planning.plan import Planned
from smgcfg.process import Plan
from smgcfg.verify.gateway import Target
from smgcfg.verify.probes import KINDS, Kind
from smgcfg.verify.report import Report

#: The kinds of constraint that a word of `Promise.what` stands for.
_WORDS: Final[dict[str, tuple[Kind, ...]]] = {
    "json_schema": ("json_schema", "json_object"),
    "tools": ("tool_required", "tool_named"),
    "regex": ("regex",),
    "ebnf": ("ebnf",),
    "logprobs": ("logprobs",),
}


@attrs.frozen(kw_only=True)
class Setting:
    """One engine setting that decides about kinds of constraint.

    Attributes:
        kinds: What it decides about.
        kept: Whether its value keeps them.
        words: The setting as it stands on the command line: "--grammar-backend none".
        where: Where the value comes from: "deploy.toml:12", "default".
    """

    kinds: tuple[Kind, ...]
    kept: bool
    words: str
    where: str


@attrs.frozen(kw_only=True)
class Promises:
    """What a deployment promises.

    Attributes:
        settings: Per worker, by its name, the settings that decide.
    """

    settings: Mapping[str, tuple[Setting, ...]]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What the deployment promises: one model answers under one name, so what any of its workers keeps."""
        kept = {kind for each in self.settings.values() for s in each if s.kept for kind in s.kinds}
        return tuple(kind for kind in KINDS if kind in kept)

    def explain(self, report: Report, launch: str = "") -> Report:
        """Return a report that says why its promises are broken, as far as the settings tell.

        Args:
            report: What was seen.
            launch: The running launch that the settings were read from; empty where they were read from its files.
        """
        blamed: dict[Setting, dict[str, dict[Kind, None]]] = {}
        for kind, column, cell in report.broken:
            # A setting says nothing about a worker that was never heard.
            for setting in self.settings.get(column, ()) if cell.bad else ():
                if kind in setting.kinds:
                    blamed.setdefault(setting, {}).setdefault(column, {})[kind] = None
        causes = tuple(_cause(setting, workers, launch) for setting, workers in blamed.items())
        return attrs.evolve(report, causes=(*report.causes, *causes), launch=launch if causes else "")

    def note(self, report: Report) -> Report:
        """Return a report that says what is not promised, unless somebody else chose what is required.

        Args:
            report: What was seen.
        """
        if report.required != self.kinds:
            return report
        left = [kind for kind in KINDS if kind not in self.kinds]
        notes = {
            f"{setting.words} ({setting.where}) promises no {_list(kind for kind in setting.kinds if kind in left)}"
            for each in self.settings.values()
            for setting in each
            if set(setting.kinds) & set(left)
        }
        return attrs.evolve(report, notes=(*report.notes, *sorted(notes)))


def _cause(setting: Setting, workers: Mapping[str, Iterable[Kind]], launch: str) -> str:
    """Return what a setting has to do with the broken promises of some workers."""
    many = len(workers) > 1
    words, names = f"{setting.words} ({setting.where})", ", ".join(workers)
    if setting.kept:
        kinds = dict.fromkeys(kind for each in workers.values() for kind in each)
        return f"{names}: not in {'their' if many else 'its'} settings: {words} keeps {_list(kinds)}"
    if launch:
        return f"{names} run{'s' * (not many)} {'' if words.startswith('without ') else 'with '}{words}"
    return f"{names} {'are' if many else 'is'} set to run {words}"


def _list(kinds: Iterable[Kind]) -> str:
    return ", ".join(KINDS[kind] for kind in kinds)


def promises_of(planned: Planned) -> Promises:
    """Return what a planned deployment promises."""
    by_pool = {
        shape.pool.name: tuple(_setting(planned, shape, promise) for promise in shape.backend.promises)
        for shape in planned.shapes
    }
    return Promises(settings={slot.name: by_pool[slot.pool] for slot in planned.slots})


def _setting(planned: Planned, shape: Shape, promise: Promise) -> Setting:
    value = getattr(shape.engine, promise.key)
    spec = spec_of(type(shape.engine), promise.key)
    origin = planned.origin((*shape.path, "engine", promise.key))
    if origin is None and value == spec.default:
        origin = FromDefault()
    return Setting(
        kinds=tuple(kind for word in promise.what.split() for kind in _WORDS[word]),
        kept=promise.kept(value),
        words=_words(spec.names[0], value),
        where="set" if origin is None else str(origin),
    )


def _words(flag: str, value: Any) -> str:
    if value in (None, False):
        return f"without {flag}"
    return flag if value is True else f"{flag} {value}"


def target_of(planned: Planned, plan: Plan) -> Target:
    """Return where a planned deployment answers, with everything that is known about it.

    Args:
        planned: What was planned.
        plan: Its plan.
    """
    metrics = next((port for port in plan.gateway.ports if port.use == "metrics"), None)
    return Target(
        url=plan.url,
        model=plan.model,
        api_key=plan.request_key,
        workers_key=plan.api_key,
        metrics_url=None if metrics is None else f"http://{_reached(metrics.host)}:{metrics.number}",
        # Its own certificate names the public host, and here it is asked on its own machine.
        insecure=plan.url.startswith("https:"),
        names={slot.endpoint.url: slot.name for slot in planned.slots},
    )


def _reached(host: str) -> str:
    return bracketed({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host))
