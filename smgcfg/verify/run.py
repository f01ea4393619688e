"""Asks a gateway: every kind, at every endpoint, streamed and not, of every worker, within bounds."""

import collections
import functools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from smgcfg.verify.answers import Answer, seen
from smgcfg.verify.endpoints import CHAT, ENDPOINTS, Endpoint, Fields, plain_request
from smgcfg.verify.gateway import Gateway, Target, Worker, names_of, refusal
from smgcfg.verify.probes import KINDS, Kind, make_probe, nonce
from smgcfg.verify.report import Check, Observation, Report

#: The temperatures of the rounds; each has a seed of its own, too.
TEMPERATURES: Final = (0.0, 1.0)

#: With so many attempts per worker, a gateway that routes at random misses a worker in one round of fifty or more. Each
#: kind has four rounds or more, so a worker is missed altogether in fewer than one run of a million.
ATTEMPTS: Final = 4

#: So many answers are looked at, per worker and round, where nobody can tell whose they are.
BLIND: Final = 3

#: How many workers there may be where the gateway does not tell.
UNTOLD: Final = 2

#: Words of noise that each further attempt puts in front of its prompt, at most so many.
PADDING, MOST_PADDING = 8, 96

#: When so many answers did not come in time and none did, nothing more is asked.
SILENCES: Final = 3

#: Once an answer did not come in time, the others are waited for so many times as long as the slowest one that came,
#: and at least so many seconds: a worker that hangs must not use up the time for the rest.
PATIENCE, LEAST_PATIENCE = 5.0, 2.0

#: How often a target is asked to see whether the gateway obeys it.
STEERED: Final = 4

#: The most tokens of an answer that is only about their log probabilities.
LOGPROB_TOKENS: Final = 8

#: How long a counter may take to show a request, in seconds.
COUNTED: Final = 1.0

#: The header by which a request names its worker: its place in the list, under the policy consistent_hashing only; a
#: URL is answered with 503 there, and every other policy takes no notice (smg 1.13.0).
STEER: Final = "x-smg-target-worker"

#: The header that policies like consistent_hashing and manual route by: a fresh one each time reaches all workers.
KEY: Final = "x-smg-routing-key"


@attrs.frozen(kw_only=True)
class Limits:
    """The bounds of a verification.

    Attributes:
        timeout: How long one answer may take, in seconds.
        deadline: How long everything may take, in seconds.
        in_flight: How many requests are under way at once.
        tokens: The most tokens of one answer.
        rounds: How many rounds: the first at temperature 0, the second at 1 with another seed.
    """

    timeout: float = 30.0
    deadline: float = 300.0
    in_flight: int = 4
    tokens: int = 256
    rounds: int = len(TEMPERATURES)


def verify(
    target: Target,
    kinds: Sequence[Kind] = tuple(KINDS),
    *,
    limits: Limits | None = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    seed: int | None = None,
) -> Report:
    """Ask a running gateway for every kind of constraint, and look at the answers.

    Args:
        target: Which gateway.
        kinds: What has to be enforced; nothing else is asked for.
        limits: The bounds.
        endpoints: Where to ask.
        seed: Makes the nonces the same each time; by default nobody can foresee them.

    Raises:
        Unreachable: There is no gateway to ask.
        ConfigError: The gateway does not take the key, or the model has to be chosen.
    """
    return _Run(target, kinds, limits or Limits(), endpoints, seed).report()


class _Run:
    def __init__(
        self, target: Target, kinds: Sequence[Kind], limits: Limits, endpoints: Sequence[Endpoint], seed: int | None
    ) -> None:
        self._gateway = Gateway(target)
        self._names = target.names
        self._kinds = tuple(kinds)
        self._limits = limits
        self._endpoints = {endpoint.path: endpoint for endpoint in endpoints}
        self._seed = random.SystemRandom().getrandbits(64) if seed is None else seed
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._silences = 0
        self._slowest: float | None = None
        self._requests = 0
        self._observations: list[Observation] = []
        self._workers: tuple[Worker, ...] = ()
        self._listed = False
        self._steer: dict[int, str] = {}
        self._counted = False
        self._untold: set[str] = set()

    def report(self) -> Report:
        self._model = self._gateway.model()
        listing = self._gateway.workers(self._model)
        self._listed = listing.workers is not None
        self._workers = self._with_expected(listing.workers or ())
        self._counted = len(self._reachable) > 1 and self._gateway.counters() is not None
        self._scout()
        checks = self._checks()
        self._at_once([functools.partial(self._ask_all, check, counted=False) for check in checks])
        # What only the gateway's counters can tell apart is asked one after the other, so that each step of a counter
        # belongs to one request.
        for check in checks:
            if self._counted and check.endpoint in self._untold:
                self._ask_all(check, counted=True)
        if not self._listed:
            self._workers = self._seen_workers()
        return Report(
            url=self._gateway.target.url,
            model=self._model,
            required=self._kinds,
            workers=self._workers,
            means=self._means(listing.problem),
            observations=tuple(self._observations),
            stopped=self._stopped(),
            requests=self._requests,
            seconds=time.monotonic() - self._began,
        )

    def _at_once(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Do all jobs, so many at once as requests may be in flight."""
        todo = collections.deque(jobs)
        failures: list[Exception] = []

        def work() -> None:
            while not failures:
                try:
                    job = todo.popleft()
                except IndexError:
                    return
                try:
                    job()
                except Exception as failure:
                    failures.append(failure)

        # Daemons, so that an interrupted program does not wait for answers that may never come.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(self._limits.in_flight, len(jobs)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _checks(self) -> list[Check]:
        return [
            Check(endpoint=endpoint.path, kind=kind, streamed=streamed)
            for endpoint in self._endpoints.values()
            for kind in endpoint.kinds
            if kind in self._kinds
            for streamed in (False, True)
        ]

    # --- workers -----------------------------------------------------------------------------------------------------

    def _with_expected(self, listed: tuple[Worker, ...]) -> tuple[Worker, ...]:
        """Return the workers in the order of the deployment, those that the gateway does not list among them."""
        if not self._listed:
            return ()
        by_url = {worker.url: worker for worker in listed}
        missing = "the gateway does not list it"
        expected = [by_url.pop(url, Worker(name=name, url=url, problem=missing)) for url, name in self._names.items()]
        return (*expected, *sorted(by_url.values(), key=lambda worker: worker.url))

    @property
    def _reachable(self) -> list[Worker]:
        return [worker for worker in self._workers if not worker.problem]

    def _name(self, url: str) -> str | None:
        """Return a worker's name; a rank behind an @ belongs to the worker in front of it."""
        for worker in self._workers:
            if url in (worker.url, worker.name) or url.rpartition("@")[0] == worker.url:
                return worker.name
        return None if self._listed else url

    def _seen_workers(self) -> tuple[Worker, ...]:
        urls = sorted({found.worker for found in self._observations if found.worker is not None})
        names = names_of(urls, self._names)
        self._observations = [
            attrs.evolve(found, worker=None if found.worker is None else names[found.worker])
            for found in self._observations
        ]
        return tuple(Worker(name=names[url], url=url) for url in urls)

    def _scout(self) -> None:
        """Send plain requests: is anybody there, and does the gateway let a request choose its worker?"""
        rng = random.Random(f"{self._seed} scout")
        answer = self._plain(rng, {})
        refused = refusal(self._gateway.target, answer)
        if refused is not None:
            raise refused
        if len(self._reachable) < 2 or answer.worker is None:
            return
        steer: dict[int, str] = {}
        for place in range(len(self._reachable)):
            for _ in range(STEERED):
                answer = self._plain(rng, {STEER: str(place)})
                name = None if answer.worker is None else self._name(answer.worker)
                if name is None or steer.setdefault(place, name) != name:
                    return
        if len(set(steer.values())) == len(steer):
            self._steer = steer

    def _plain(self, rng: random.Random, steer: Mapping[str, str]) -> Answer:
        return self._send(CHAT, plain_request(self._model, f"Reference {nonce(rng)}."), {KEY: nonce(rng), **steer})

    # --- asking ------------------------------------------------------------------------------------------------------

    def _ask_all(self, check: Check, *, counted: bool) -> None:
        """Ask for one thing until every worker has answered in every round."""
        rng = random.Random(f"{self._seed} {check} {check.kind}")
        for temperature in TEMPERATURES[: self._limits.rounds]:
            missing = {worker.name for worker in self._reachable}
            known = len(missing) if self._listed else UNTOLD
            alone = self._listed and known == 1
            nobody_told = 0
            for attempt in range(1 if alone else ATTEMPTS * known):
                if self._stopped():
                    return
                found, told = self._ask(check, temperature, attempt, missing, rng, counted=counted)
                if not told:
                    self._untold.add(check.endpoint)
                    if self._counted and not counted:
                        return
                self._observations.append(found)
                if found.verdict == "not_supported" and check.kind not in self._endpoints[check.endpoint].dropped:
                    return  # there is no such endpoint, whatever the worker
                missing.discard(found.worker or "")
                nobody_told += found.worker is None
                if (self._listed and not missing) or nobody_told >= BLIND * known:
                    break

    def _ask(
        self, check: Check, temperature: float, attempt: int, missing: set[str], rng: random.Random, *, counted: bool
    ) -> tuple[Observation, bool]:
        """Ask once; return what was seen, and whether the answer could be told from those of other workers."""
        endpoint = self._endpoints[check.endpoint]
        probe = make_probe(check.kind, rng, padding=min(attempt * PADDING, MOST_PADDING))
        body = endpoint.request(
            probe,
            model=self._model,
            stream=check.streamed,
            temperature=temperature,
            seed=rng.getrandbits(31),
            most=LOGPROB_TOKENS if check.kind == "logprobs" else self._limits.tokens,
        )
        place = next((place for place, name in self._steer.items() if name in missing), None)
        headers = {KEY: nonce(rng)} if place is None else {KEY: nonce(rng), STEER: str(place)}

        def send() -> Answer:
            return self._send(endpoint, body, headers)

        answer, worker = self._counting(send) if counted else (send(), None)
        if answer.worker is not None:
            worker = self._name(answer.worker)
        elif place is not None:
            worker = self._steer[place]
        elif self._listed and len(self._reachable) == 1:
            worker = self._reachable[0].name
        verdict, saw = probe.judge(answer), seen(answer)
        if verdict == "ignored" and check.kind in endpoint.dropped:
            verdict, saw = "not_supported", "taken, and left out without a word"
        told = worker is not None or answer.status != 200
        found = Observation(
            check=check, worker=worker, verdict=verdict, asked=probe.asked, seen=saw, seconds=answer.seconds
        )
        return found, told

    def _counting(self, send: Callable[[], Answer]) -> tuple[Answer, str | None]:
        """Send one request and see whose counter it moved; with other traffic about, nobody can tell."""
        before = self._gateway.counters()
        answer = send()
        until = time.monotonic() + COUNTED
        while before is not None:
            after = self._gateway.counters() or before
            moved = {url: count - before.get(url, 0.0) for url, count in after.items() if count != before.get(url, 0.0)}
            if moved or time.monotonic() > until:
                url, by = next(iter(moved.items())) if len(moved) == 1 else ("", 0.0)
                return answer, self._name(url) if by == 1.0 else None
            time.sleep(0.02)
        return answer, None

    def _send(self, endpoint: Endpoint, body: Fields, headers: Mapping[str, str]) -> Answer:
        timeout = max(min(self._patience(), self._left()), 0.1)
        answer, silent = self._gateway.ask(endpoint, body, headers=headers, timeout=timeout)
        with self._lock:
            self._requests += 1
            self._silences += silent
            if not silent:
                self._slowest = max(self._slowest or 0.0, answer.seconds)
        return answer

    # --- bounds ------------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        return self._began + self._limits.deadline - time.monotonic()

    def _patience(self) -> float:
        if not self._silences or self._slowest is None:
            return self._limits.timeout
        return min(self._limits.timeout, max(LEAST_PATIENCE, PATIENCE * self._slowest))

    def _stopped(self) -> str:
        """Return why nothing more is asked, or empty."""
        if self._left() <= 0:
            return f"not everything was asked: the time of {self._limits.deadline:g} s is over"
        if self._silences >= SILENCES and self._slowest is None:
            return f"not everything was asked: none of {self._silences} requests was answered in time"
        return ""

    # --- how it was done ---------------------------------------------------------------------------------------------

    def _means(self, problem: str) -> str:
        """Return how each worker was reached, in a few words."""
        if self._listed and len(self._workers) == 1:
            return "the only worker"
        told = any(found.worker is not None for found in self._observations)
        if self._steer:
            way = f"each reached by {STEER}"
        elif told and not self._untold.issuperset(check.endpoint for check in self._checks()):
            way = "by repeats, told apart by x-smg-routed-worker-id"
        elif told:
            way = "by repeats, told apart by the gateway's counters"
        else:
            way = "by repeats, and the gateway does not tell whose answer is whose"
        if problem:
            way += f"; how many there are is not known: {problem}"
        return way
