"""What a verification found: single answers, and per kind and worker what they come to."""

from collections.abc import Iterable
from typing import Final

import attrs

from smgcfg.verify.answers import BAD, Verdict
from smgcfg.verify.gateway import Worker
from smgcfg.verify.probes import KINDS, Kind

#: The name of the column of answers that can not be laid at any one worker's door.
ANYONE: Final = "any worker"


@attrs.frozen(kw_only=True, order=True)
class Check:
    """One thing that is asked, of every worker.

    Attributes:
        endpoint: The path.
        kind: The constraint.
        streamed: Whether the answer comes in pieces.
    """

    endpoint: str
    kind: Kind
    streamed: bool

    def __str__(self) -> str:
        return f"{self.endpoint}{' streamed' if self.streamed else ''}"


@attrs.frozen(kw_only=True)
class Observation:
    """What one answer said.

    Attributes:
        check: What was asked.
        worker: The name of the worker that answered; None where nobody can tell.
        verdict: What the answer says about the constraint.
        asked: What was asked for, in a few words.
        seen: What came back, short.
        seconds: How long it took.
    """

    check: Check
    worker: str | None
    verdict: Verdict
    asked: str = ""
    seen: str = ""
    seconds: float = 0.0


@attrs.frozen(kw_only=True)
class Cell:
    """What the answers of one worker to one kind of constraint, or to one check, come to.

    Attributes:
        verdict: The worst of them; what is not supported counts only where there is nothing else.
        bad: The answers that break the promise.
        total: How many answers there were.
    """

    verdict: Verdict
    bad: tuple[Observation, ...] = ()
    total: int = 0

    @property
    def broken(self) -> bool:
        """Whether the promise is broken here."""
        return self.verdict != "enforced"


def cell_of(observations: Iterable[Observation]) -> Cell:
    """Return what answers to one thing come to."""
    every = list(observations)
    useful = [seen for seen in every if seen.verdict != "not_supported"]
    if not useful:
        return Cell(verdict="not_supported" if every else "not_reached", total=len(every))
    bad = tuple(seen for seen in useful if seen.verdict in BAD)
    found = {seen.verdict for seen in bad}
    verdict: Verdict = next((verdict for verdict in BAD if verdict in found), "enforced")
    return Cell(verdict=verdict, bad=bad, total=len(useful))


@attrs.frozen(kw_only=True)
class Report:
    """A whole verification.

    Attributes:
        url: The gateway.
        model: The model that was asked for.
        required: The kinds that have to be enforced.
        workers: The workers that are known, whether they answered or not.
        means: How each worker was reached, and how answers were told apart, in a few words.
        observations: Every answer.
        stopped: Why not everything was asked, or empty.
        causes: Why promises are broken, as far as that was read from the deployment.
        launch: The running launch that the causes were read from; empty where they were read from its files.
        notes: What else is worth knowing.
        requests: How many requests were sent.
        seconds: How long it took.
    """

    url: str
    model: str
    required: tuple[Kind, ...]
    workers: tuple[Worker, ...]
    means: str
    observations: tuple[Observation, ...]
    stopped: str = ""
    causes: tuple[str, ...] = ()
    launch: str = ""
    notes: tuple[str, ...] = ()
    requests: int = 0
    seconds: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Who is reported about: the workers, and last those answers that can not be laid at any one's door."""
        told = any(seen.worker is not None for seen in self.observations)
        stray = any(seen.worker is None and seen.verdict != "not_supported" for seen in self.observations)
        # Where no answer at all can be told from another, only what the gateway itself says of a worker is known.
        named = tuple(worker.name for worker in self.workers if told or worker.problem)
        return (*named, ANYONE) if stray or not named else named

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that were asked for, in the order of reports."""
        return tuple(kind for kind in KINDS if kind in self.required)

    def cell(self, kind: Kind, column: str) -> Cell | None:
        """Return what one kind comes to for a column; None where it is not said: stray answers may be of some kinds."""
        cell = cell_of(self._of(kind, column))
        says_nothing = cell.verdict in ("not_reached", "not_supported")
        return None if column == ANYONE and says_nothing and len(self.columns) > 1 else cell

    def checks(self, kind: Kind, column: str) -> list[tuple[Check, Cell]]:
        """Return what each check of a kind comes to for a column."""
        by_check: dict[Check, list[Observation]] = {}
        for seen in self._of(kind, column):
            by_check.setdefault(seen.check, []).append(seen)
        return [(check, cell_of(seen)) for check, seen in sorted(by_check.items())]

    def _of(self, kind: Kind, column: str) -> list[Observation]:
        worker = None if column == ANYONE else column
        return [seen for seen in self.observations if seen.check.kind == kind and seen.worker == worker]

    @property
    def promises(self) -> list[tuple[Kind, str, Cell]]:
        """Every promise, worker by worker: kind, column, and what it comes to."""
        cells = [(kind, column, self.cell(kind, column)) for column in self.columns for kind in self.kinds]
        return [(kind, column, cell) for kind, column, cell in cells if cell is not None]

    @property
    def broken(self) -> list[tuple[Kind, str, Cell]]:
        """The promises that are not kept."""
        return [promise for promise in self.promises if promise[2].broken]

    @property
    def unsupported(self) -> dict[Kind, dict[str, str]]:
        """What endpoints do not support: per kind the paths, each with what was seen."""
        found: dict[Kind, dict[str, str]] = {}
        for seen in self.observations:
            if seen.verdict == "not_supported":
                found.setdefault(seen.check.kind, {})[seen.check.endpoint] = seen.seen
        return {kind: dict(sorted(found[kind].items())) for kind in KINDS if kind in found}

    @property
    def ok(self) -> bool:
        """Whether every promise is enforced."""
        return not self.broken

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return 0 if self.ok else 1

    def reached(self, name: str) -> int:
        """Return how many answers a worker gave."""
        return sum(seen.worker == name for seen in self.observations)
