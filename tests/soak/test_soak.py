"""A weekend in minutes: the real gateway, four workers, steady requests, and a random worker killed every few seconds.

`pytest -m soak -s` goes on for ten minutes, a run of all tests for one; `SMGCFG_SOAK` is another number of seconds.
Who is killed how follows from a seed, which is printed, and which `SMGCFG_SOAK_SEED` sets.
"""

import os
import random
import re
import signal
import time
from typing import Final

import pytest
from e2e.deployment import Place, Serve, new_place, serving
from launch.plans import until
from soak.figures import Figures
from soak.killing import SIGNALS, Killer
from soak.resources import Usage, children_of, left_of, usage_of
from soak.traffic import KINDS, THREADS, Traffic

WORKERS: Final = 4

#: Answers take long enough for kills to meet some, and an engine that hangs is soon found out.
OVERLAY: Final = f"""\
[pools.demo]
replicas = {WORKERS}
env.SMGCFG_STANDIN_STEP_SECONDS = "0.004"

[launch]
unhealthy_after = 3.0
restart_budget = 10000
restart_backoff_max = 0.1
"""

#: By how much the resident memory of the launcher, or of its guards together, may be more in the end, in MiB. The
#: launcher keeps lines, at most 256 KiB of each process, and its allocator goes up and down by some MiB: measured with
#: 980 kills, 35 became 41 with the first half and 42 with the second. A leak of 50 KiB in each kill is found in ten
#: minutes, and one of 500 bytes in each request.
GROWTH: Final = 8.0

#: A worker that failed, and a gateway that was replaced, for itself or because it did not let a worker in.
FAILED: Final = re.compile(r"^demo-\d +(?:DIED|HANGS|NOT READY|NOT ITSELF) pid (\d+)", re.MULTILINE)
FALLBACK: Final = re.compile(r"^gateway +(?:DIED|HANGS|restarting)\b.*", re.MULTILINE)


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    """How long to go on, in seconds."""
    asked_for = request.config.getoption("markexpr") == "soak"
    return float(os.environ.get("SMGCFG_SOAK", "600" if asked_for else "60"))


@pytest.fixture
def seed() -> int:
    """What the choices follow from."""
    return int(os.environ.get("SMGCFG_SOAK_SEED", random.SystemRandom().getrandbits(32)))


def held(serve: Serve) -> tuple[Usage, Usage]:
    """Return what a launcher holds, and what its guards do: at rest, as a question to the gateway is a socket more."""
    samples = [usage_of([serve.popen.pid])]
    while len(samples) < 20:
        time.sleep(0.05)
        samples.append(usage_of([serve.popen.pid]))
    return min(samples, key=lambda usage: usage.descriptors), usage_of(children_of(serve.popen.pid))


def soak(place: Place, serve: Serve, seconds: float, seed: int) -> Figures:
    """Send requests and kill workers for some time, and stop the launch.

    Args:
        place: Where the launch is.
        serve: The launch, which is ready.
        seconds: For how long.
        seed: What the choices follow from.
    """
    with Traffic(place.url, seed) as traffic:
        killer = Killer(place, serve.popen.pid, traffic, seed)
        gateway = killer.processes()["gateway"]["pid"]
        over = time.monotonic() + seconds
        for _ in SIGNALS:  # with one of each, everything was in use once before it is measured
            killer.strike()
        before = held(serve)
        while time.monotonic() < over:
            killer.strike()
    after = held(serve)
    gateways = gateway, killer.processes()["gateway"]["pid"]
    assert serve.stop(signal.SIGTERM) == 143
    until(lambda: not any(left_of(place, killer.seen)))
    return Figures(
        outcomes=traffic.outcomes,
        kills=killer.counts,
        longest=killer.longest,
        unasked={int(pid) for pid in FAILED.findall(serve.out)} - {kill.pid for kill in killer.kills},
        fallbacks=FALLBACK.findall(serve.out),
        gateways=gateways,
        left=left_of(place, killer.seen),
        launcher=(before[0], after[0]),
        guards=(before[1], after[1]),
    )


@pytest.mark.soak
def test_workers_die_and_no_answer_is_wrong(seconds: float, seed: int) -> None:
    """Each answer keeps its constraint or is seen to have failed, service comes back, nothing grows or is left."""
    print(f"\nsoak of {seconds:g} s, seed {seed}")
    with new_place() as place:
        files = [place.base, place.file("soak", OVERLAY)]
        with serving(place, *files, "--stand-in") as serve:
            serve.ready()
            try:
                figures = soak(place, serve, seconds, seed)
            except AssertionError:
                print(re.sub(r"^[\w-]+ *\|.*\n", "", serve.out, flags=re.MULTILINE))
                raise
    print(figures)
    assert figures.of("wrong") == []
    assert figures.kinds_kept == {(promise.name, streamed) for promise in KINDS for streamed in (False, True)}
    # A worker's end costs no more than what was under way.
    ends = sum(figures.kills.values()) + len(figures.unasked)
    assert len(figures.of("failed")) <= THREADS * ends or figures.fallbacks
    assert set(figures.kills) == {signum.name for signum in SIGNALS}
    assert (figures.gateways[0] == figures.gateways[1]) == (figures.fallbacks == []), figures.fallbacks
    assert figures.left == ([], [])
    for before, after in (figures.launcher, figures.guards):
        assert (after.processes, after.descriptors) == (before.processes, before.descriptors)
        assert after.resident - before.resident <= GROWTH
    assert figures.guards[1].processes == WORKERS + 1
