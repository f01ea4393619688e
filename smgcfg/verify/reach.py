"""How each worker is reached, and how an answer is laid at its door: by the gateway's own means where it has some.

Measured with smg 1.13.0: every answer but those of /v1/responses names its worker in a header; a request can choose its
worker under the policy consistent_hashing only; a counter for each worker stands among the gateway's metrics. smg
1.10.1 has the counters, and not the header.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import attrs

from smgcfg.verify.answers import Answer
from smgcfg.verify.gateway import ROUTED, Gateway, Listing, Worker, names_of
from smgcfg.verify.report import Observation

#: The header by which a request names its worker: its place in the list, under consistent_hashing; a URL is answered
#: with 503 there, and every other policy takes no notice of it (smg 1.13.0).
STEER: Final = "x-smg-target-worker"

#: How often a place is asked for to see whether the gateway obeys.
STEERED: Final = 4

#: How long a counter may take to show a request, in seconds.
COUNTED: Final = 1.0


class Reach:
    """The workers behind a gateway, and what tells them apart.

    Args:
        gateway: The gateway.
        listing: The workers that it lists.

    Attributes:
        workers: The workers: those that the caller knows in its order, then the others.
        listed: Whether the gateway says which there are.
        counted: Whether the gateway shows a counter for each.
        untold: The paths of endpoints whose answers do not name their worker.
    """

    def __init__(self, gateway: Gateway, listing: Listing) -> None:
        self._gateway = gateway
        self._names = gateway.target.names
        self._problem = listing.problem
        self.listed = listing.workers is not None
        self.workers = self._ordered(listing.workers) if listing.workers is not None else ()
        self.counted = len(self.reachable) > 1 and gateway.counters() is not None
        self.untold: set[str] = set()
        self._steer: dict[int, str] = {}

    @property
    def reachable(self) -> list[Worker]:
        """The workers that can answer."""
        return [worker for worker in self.workers if not worker.problem]

    def _ordered(self, listed: tuple[Worker, ...]) -> tuple[Worker, ...]:
        by_url = {worker.url: worker for worker in listed}
        missing = "the gateway does not list it"
        expected = [by_url.pop(url, Worker(name=name, url=url, problem=missing)) for url, name in self._names.items()]
        return (*expected, *sorted(by_url.values(), key=lambda worker: worker.url))

    def scout(self, ask: Callable[[Mapping[str, str]], Answer]) -> None:
        """See whether the gateway lets a request choose its worker.

        Args:
            ask: Sends a plain request with some headers.
        """
        steer: dict[int, str] = {}
        for place in range(len(self.reachable)):
            for _ in range(STEERED):
                answer = ask({STEER: str(place)})
                name = None if answer.worker is None else self.name(answer.worker)
                if name is None or steer.setdefault(place, name) != name:
                    return
        if len(set(steer.values())) == len(steer):
            self._steer = steer

    def place_of(self, names: Iterable[str]) -> int | None:
        """Return the place of one of some workers, or None where the gateway lets nobody choose."""
        return next((place for place, name in self._steer.items() if name in names), None)

    def headers(self, place: int | None) -> dict[str, str]:
        """Return what a request says to reach the worker of a place."""
        return {} if place is None else {STEER: str(place)}

    def worker_of(self, answer: Answer, place: int | None) -> str | None:
        """Return the name of the worker that wrote an answer, or None where nobody can tell.

        Args:
            answer: The answer.
            place: The place that was asked for.
        """
        if answer.worker is not None:
            return self.name(answer.worker)
        if place is not None:
            return self._steer[place]
        return self.reachable[0].name if self.listed and len(self.reachable) == 1 else None

    def name(self, url: str) -> str | None:
        """Return a worker's name; a rank behind an @ belongs to the worker in front of it."""
        for worker in self.workers:
            if url == worker.url or url.rpartition("@")[0] == worker.url:
                return worker.name
        return None if self.listed else url

    def counting(self, send: Callable[[], Answer]) -> tuple[Answer, str | None]:
        """Send one request and see whose counter it moved; with other traffic about, nobody can tell."""
        before = self._gateway.counters()
        answer = send()
        until = time.monotonic() + COUNTED
        while before is not None:
            after = self._gateway.counters() or before
            moved = {url: count - before.get(url, 0.0) for url, count in after.items() if count != before.get(url, 0.0)}
            if moved or time.monotonic() > until:
                url, by = next(iter(moved.items())) if len(moved) == 1 else ("", 0.0)
                return answer, self.name(url) if by == 1.0 else None
            time.sleep(0.02)
        return answer, None

    def settle(self, observations: Iterable[Observation]) -> tuple[Observation, ...]:
        """Return what was seen with workers called by their names, and know those that nobody listed by now."""
        found = tuple(observations)
        if self.listed:
            return found
        urls = sorted({seen.worker for seen in found if seen.worker is not None})
        names = names_of(urls, self._names)
        self.workers = tuple(Worker(name=names[url], url=url) for url in urls)
        return tuple(seen if seen.worker is None else attrs.evolve(seen, worker=names[seen.worker]) for seen in found)

    def means(self, paths: Iterable[str], *, told: bool) -> str:
        """Return how each worker was reached and told from the others, in a few words.

        Args:
            paths: The endpoints that were asked.
            told: Whether any answer could be laid at a worker's door.
        """
        if self.listed and len(self.workers) == 1:
            return "the only worker"
        if self._steer:
            way = f"each reached by {STEER}"
        elif told and not self.untold.issuperset(paths):
            way = f"by repeats, told apart by {ROUTED}"
            if self.untold:
                rest = ", ".join(sorted(self.untold))
                way += f", at {rest} by the gateway's counters" if self.counted else f", but for {rest}"
        elif told:
            way = "by repeats, told apart by the gateway's counters"
        else:
            way = "by repeats, and the gateway does not tell whose answer is whose"
        return f"{way}; how many there are is not known: {self._problem}" if self._problem else way
