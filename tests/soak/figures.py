"""What a soak is about, as a table."""

from collections import Counter
from collections.abc import Mapping

import attrs
from soak.resources import Usage
from soak.traffic import Outcome


@attrs.frozen(kw_only=True)
class Figures:
    """What a soak has measured.

    Attributes:
        outcomes: What became of each request.
        kills: How many kills there were of each kind.
        longest: The longest time from a kill to full service, in seconds, by the kinds of the one or two kills.
        unasked: Workers that failed though nobody had killed them.
        fallbacks: What the launcher said each time the gateway was replaced.
        gateways: The gateway's process at the start and in the end.
        left: The processes and sockets that were there when the launch was over.
        launcher: What the launcher held once everything had been in use, and in the end.
        guards: The same of its guards.
    """

    outcomes: list[Outcome]
    kills: Mapping[str, int]
    longest: Mapping[str, float]
    unasked: set[int]
    fallbacks: list[str]
    gateways: tuple[int, int]
    left: tuple[list[int], list[str]]
    launcher: tuple[Usage, Usage]
    guards: tuple[Usage, Usage]

    def of(self, verdict: str) -> list[Outcome]:
        """Return the requests that ended in one way."""
        return [outcome for outcome in self.outcomes if outcome.verdict == verdict]

    @property
    def kinds_kept(self) -> set[tuple[str, bool]]:
        """What was answered as it should be, with whether as a stream."""
        return {(outcome.kind, outcome.streamed) for outcome in self.of("kept")}

    def __str__(self) -> str:
        failed = Counter(outcome.cause for outcome in self.of("failed"))
        slowest = max(self.longest.values())
        rows: list[tuple[str, object]] = [
            ("requests", len(self.outcomes)),
            ("wrong answers", len(self.of("wrong"))),
            ("failed requests", failed.total()),
            *((f"  {cause}", count) for cause, count in failed.most_common()),
            ("kills", sum(self.kills.values())),
            *((f"  {kind}", count) for kind, count in sorted(self.kills.items())),
            ("longest from a kill to full service", f"{slowest:.1f} s"),
            *((f"  after {kind}", f"{took:.1f} s") for kind, took in sorted(self.longest.items())),
            ("workers replaced that nobody had killed", len(self.unasked)),
            ("gateway replaced", len(self.fallbacks)),
            ("processes and sockets left", " and ".join(str(len(found)) for found in self.left)),
            ("launcher", f"{self.launcher[0]} -> {self.launcher[1]}"),
            ("guards", f"{self.guards[0]} -> {self.guards[1]}"),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
