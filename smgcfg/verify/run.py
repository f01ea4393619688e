"""Asks a gateway: every kind, at every endpoint, streamed and not, of every worker, within bounds."""

import collections
import functools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import attrs

from smgcfg.verify.answers import Answer, seen
from smgcfg.verify.endpoints import CHAT, ENDPOINTS, Endpoint, Fields, plain_request
from smgcfg.verify.gateway import QUICK, Gateway, Target, refusal
from smgcfg.verify.probes import KINDS, Kind, make_probe, nonce
from smgcfg.verify.reach import Reach
from smgcfg.verify.report import Check, Observation, Report

#: The temperatures of the rounds; each has a seed of its own, too.
TEMPERATURES: Final = (0.0, 1.0)

#: How many attempts a round has per worker. A gateway that routes at random then misses a worker in fewer than one of
#: 2,000 rounds; some policies send one request after the other to the same worker, and need them more.
ATTEMPTS: Final = 8

#: So many answers are looked at, per worker and round, where nobody can tell whose they are.
BLIND: Final = 3

#: How many workers are looked for where the gateway does not say how many there are.
UNTOLD: Final = 2

#: Words of noise that each further attempt puts in front of its prompt, at most so many.
PADDING, MOST_PADDING = 8, 96

#: When so many answers did not come in time and none did, nothing more is asked.
SILENCES: Final = 3

#: Once an answer did not come in time, the others are waited for so many times as long as the slowest one that came,
#: and at least so many seconds: a worker that hangs must not use up the time for the rest.
PATIENCE, LEAST_PATIENCE = 5.0, 2.0

#: The most tokens of an answer that is only about their log probabilities.
LOGPROB_TOKENS: Final = 8

#: How many times as many tokens an answer gets that was cut off where it may yet have become a good one.
MORE_TOKENS: Final = 4

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
    limits = limits or Limits()
    budget = Budget(limits)
    gateway = Gateway(target, quick=min(QUICK, limits.timeout))
    model = gateway.model()
    reach = Reach(gateway, gateway.workers(model))
    seed = random.SystemRandom().getrandbits(64) if seed is None else seed
    run = _Run(gateway, model, reach, budget, {endpoint.path: endpoint for endpoint in endpoints}, seed)
    run.scout()
    run.ask([check for endpoint in endpoints for check in _checks(endpoint, kinds)])
    observations = reach.settle(run.observations)
    told = any(found.worker is not None for found in observations)
    return Report(
        url=target.url,
        model=model,
        required=tuple(kinds),
        workers=reach.workers,
        means=reach.means({found.check.endpoint for found in observations}, told=told),
        observations=observations,
        stopped=run.stopped,
        requests=budget.requests,
        seconds=budget.spent,
    )


def _checks(endpoint: Endpoint, kinds: Sequence[Kind]) -> list[Check]:
    asked = [kind for kind in endpoint.kinds if kind in kinds]
    return [Check(endpoint=endpoint.path, kind=kind, streamed=way) for kind in asked for way in (False, True)]


class Budget:
    """Keeps a verification within its bounds; used by several threads.

    Args:
        limits: The bounds.

    Attributes:
        requests: How many requests were answered, or given up.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.requests = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._silences = 0
        self._slowest: float | None = None

    @property
    def spent(self) -> float:
        """How long it has taken so far, in seconds."""
        return time.monotonic() - self._began

    @property
    def patience(self) -> float:
        """How long the next answer may take, in seconds."""
        longest = self.limits.timeout
        if self._silences and self._slowest is not None:
            longest = min(longest, max(LEAST_PATIENCE, PATIENCE * self._slowest))
        return max(min(longest, self.limits.deadline - self.spent), 0.1)

    @property
    def over(self) -> str:
        """Why nothing more may be asked, or empty."""
        if self.spent >= self.limits.deadline:
            return f"not everything was asked: the time of {self.limits.deadline:g} s is over"
        if self._silences >= SILENCES and self._slowest is None:
            return f"not everything was asked: none of {self._silences} requests was answered in time"
        return ""

    def note(self, seconds: float, *, silent: bool) -> None:
        """Take note of a request.

        Args:
            seconds: How long it took.
            silent: Whether it was given up because its time was over.
        """
        with self._lock:
            self.requests += 1
            self._silences += silent
            if not silent:
                self._slowest = max(self._slowest or 0.0, seconds)


class _Told(NamedTuple):
    """What one answer told: about the constraint, whether about its worker too, and whether too little."""

    found: Observation
    told: bool
    undecided: bool


class _Run:
    def __init__(
        self,
        gateway: Gateway,
        model: str,
        reach: Reach,
        budget: Budget,
        endpoints: Mapping[str, Endpoint],
        seed: int,
    ) -> None:
        self.observations: list[Observation] = []
        self.stopped = ""
        self._gateway = gateway
        self._model = model
        self._reach = reach
        self._budget = budget
        self._endpoints = endpoints
        self._seed = seed

    def scout(self) -> None:
        """Send plain requests: are we let in, and does the gateway let a request choose its worker?"""
        rng = random.Random(f"{self._seed} scout")

        def plain(headers: Mapping[str, str]) -> Answer:
            request = plain_request(self._model, f"Reference {nonce(rng)}.")
            return self._send(CHAT, request, {KEY: nonce(rng), **headers})

        answer = plain({})
        refused = refusal(self._gateway.target, answer)
        if refused is not None:
            raise refused
        if len(self._reach.reachable) > 1 and answer.worker is not None:
            self._reach.scout(plain)

    def ask(self, checks: Sequence[Check]) -> None:
        """Ask for everything."""
        self._at_once([functools.partial(self._ask_all, check, counted=False) for check in checks])
        # What only the gateway's counters can tell apart is asked one after the other, so that each step of a counter
        # belongs to one request.
        for check in checks:
            if self._reach.counted and check.endpoint in self._reach.untold:
                self._ask_all(check, counted=True)

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
        many = min(self._budget.limits.in_flight, len(jobs))
        threads = [threading.Thread(target=work, daemon=True) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _ask_all(self, check: Check, *, counted: bool) -> None:
        """Ask for one thing until every worker has answered in every round."""
        rng = random.Random(f"{self._seed} {check} {check.kind}")
        dropped = check.kind in self._endpoints[check.endpoint].dropped
        listed = self._reach.listed
        for temperature in TEMPERATURES[: self._budget.limits.rounds]:
            missing = {worker.name for worker in self._reach.reachable}
            known = len(missing) if listed else UNTOLD
            nobody = 0
            for attempt in range(1 if listed and known == 1 else ATTEMPTS * known):
                if self._budget.over:
                    self.stopped = self._budget.over
                    return
                found, told, _ = self._ask(check, temperature, attempt, missing, rng, counted=counted)
                if not told:
                    self._reach.untold.add(check.endpoint)
                    if self._reach.counted and not counted:
                        return
                self.observations.append(found)
                if found.verdict == "not_supported" and not dropped:
                    return  # there is no such endpoint, whatever the worker
                missing.discard(found.worker or "")
                nobody += found.worker is None
                if (listed and not missing) or nobody >= BLIND * known:
                    break

    def _ask(
        self, check: Check, temperature: float, attempt: int, missing: set[str], rng: random.Random, *, counted: bool
    ) -> _Told:
        """Ask, once more with room for more tokens where the answer was cut off before anything could be said of it."""
        tokens = LOGPROB_TOKENS if check.kind == "logprobs" else self._budget.limits.tokens
        ask = functools.partial(self._ask_once, check, temperature, attempt, missing, rng, counted=counted)
        told = ask(tokens)
        return ask(MORE_TOKENS * tokens) if told.undecided else told

    def _ask_once(
        self,
        check: Check,
        temperature: float,
        attempt: int,
        missing: set[str],
        rng: random.Random,
        tokens: int,
        *,
        counted: bool,
    ) -> _Told:
        endpoint = self._endpoints[check.endpoint]
        probe = make_probe(check.kind, rng, padding=min(attempt * PADDING, MOST_PADDING))
        body = endpoint.request(
            probe,
            model=self._model,
            stream=check.streamed,
            temperature=temperature,
            seed=rng.getrandbits(31),
            most=tokens,
        )
        place = self._reach.place_of(missing)
        headers = {KEY: nonce(rng), **self._reach.headers(place)}

        def send() -> Answer:
            return self._send(endpoint, body, headers)

        answer, worker = self._reach.counting(send) if counted else (send(), None)
        worker = self._reach.worker_of(answer, place) or worker
        verdict, saw = probe.judge(answer), seen(answer)
        if verdict == "ignored" and check.kind in endpoint.dropped:
            verdict, saw = "not_supported", "taken, and left out without a word"
        found = Observation(
            check=check, worker=worker, verdict=verdict, asked=probe.asked, seen=saw, seconds=answer.seconds
        )
        return _Told(found, worker is not None or answer.status != 200, verdict == "failed" and answer.cut)

    def _send(self, endpoint: Endpoint, body: Fields, headers: Mapping[str, str]) -> Answer:
        answer, silent = self._gateway.ask(endpoint, body, headers=headers, timeout=self._budget.patience)
        self._budget.note(answer.seconds, silent=silent)
        return answer
