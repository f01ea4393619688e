"""Verification through the real gateway: three modes, one bad worker among three, every way to tell workers apart."""

import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.deployment import new_place, serving
from verify.deployments import ABORT, IGNORE, MODEL, Deployed, deployed, pool, smgcfg, verdicts
from verify.servers import without_header

from smgcfg.verify import KINDS, Limits, Target, verify
from smgcfg.verify.endpoints import ENDPOINTS
from smgcfg.verify.gateway import ROUTED

CONSTRAINTS = [kind for kind in KINDS if kind != "logprobs"]
API_KEY = "key-of-the-operator"
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def enforcing() -> Iterator[Deployed]:
    """One worker with everything left to smgcfg, behind an API key."""
    with deployed(f'gateway.api_key = "{API_KEY}"') as up:
        yield up


@pytest.fixture(scope="module")
def ignoring() -> Iterator[Deployed]:
    """One worker that takes no notice of what it does not support: constraints and logprobs."""
    with deployed(f"[pools.demo]\n{IGNORE}") as up:
        yield up


@pytest.fixture(scope="module")
def aborting() -> Iterator[Deployed]:
    """One worker that aborts what it does not support, as TokenSpeed 0.1.1 does."""
    with deployed(f"[pools.demo]\n{ABORT}") as up:
        yield up


@pytest.fixture(scope="module", params=["cache_aware", "consistent_hashing"])
def mixed(request: pytest.FixtureRequest) -> Iterator[Deployed]:
    """Two good workers and one that ignores constraints, under the default policy and under one that can be steered."""
    rest = 'pools.demo.replicas = 2\nlaunch.verify = "off"'
    with deployed(f'gateway.policy = "{request.param}"\n{rest}\n{pool("lax", IGNORE)}') as up:
        yield up


def asked(document: Any) -> set[tuple[str, str, bool]]:
    """Return the checks of a JSON report."""
    return {(p["kind"], c["endpoint"], c["streamed"]) for p in document["promises"] for c in p["checks"]}


EVERYTHING = {(kind, each.path, way) for each in ENDPOINTS for kind in each.kinds for way in (False, True)}


def test_everything_is_enforced(enforcing: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything left to smgcfg all kinds are enforced at every endpoint, streamed or not, behind a key too."""
    monkeypatch.setenv("THE_KEY", API_KEY)
    said = smgcfg("verify", enforcing.url, "--api-key-env", "THE_KEY", "--json")
    assert said.code == 0
    assert asked(said.document) == EVERYTHING
    (found,) = verdicts(said.document).values()
    assert {kind: found[kind] for kind in CONSTRAINTS} == {kind: {"enforced"} for kind in CONSTRAINTS}
    assert found["logprobs"] == {"enforced", "not_supported"}
    assert {(entry["kind"], entry["endpoint"]) for entry in said.document["not_supported"]} == {
        ("logprobs", each.path) for each in ENDPOINTS if "logprobs" in each.dropped
    }


def test_key_of_the_file(enforcing: Deployed) -> None:
    """A deployment file says where its gateway is, which key it wants and what is promised; no report shows the key."""
    said = smgcfg("verify", *enforcing.files, "--stand-in", "--set", f"launch.run_dir={enforcing.place.run_dir}")
    assert said.code == 0, said.out + said.err
    assert "demo-0" in said.out
    assert said.out.splitlines()[-1].startswith("OK 7 of 7 promises")
    assert API_KEY not in said.out + said.err


@pytest.mark.parametrize("key", [None, "another"])
def test_wrong_key(enforcing: Deployed, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the right key nothing is said about promises: it is bad input, and the key is not repeated."""
    if key is not None:
        monkeypatch.setenv("THE_KEY", key)
    said = smgcfg("verify", enforcing.url, *([] if key is None else ["--api-key-env", "THE_KEY"]))
    assert said.code == 2
    assert "SMG040 --api-key-env" in said.err
    assert "another" not in said.err


def test_constraints_are_ignored(ignoring: Deployed) -> None:
    """An engine that ignores what it does not support is found out for all seven kinds."""
    said = smgcfg("verify", ignoring.url, "--json")
    assert said.code == 1
    assert asked(said.document) == EVERYTHING
    (found,) = verdicts(said.document).values()
    assert {kind: found[kind] for kind in CONSTRAINTS} == {kind: {"ignored"} for kind in CONSTRAINTS}
    assert found["logprobs"] == {"ignored", "not_supported"}


def test_no_false_pass_through_the_gateway(ignoring: Deployed) -> None:
    """Five runs with other nonces each, more than 300 answers, find nothing enforced that is not."""
    found = [seen for seed in range(5) for seen in verify(Target(url=ignoring.url), seed=seed).observations]
    about = [seen for seen in found if seen.verdict != "not_supported"]
    assert len(about) > 300
    assert {seen.verdict for seen in about} == {"ignored"}
    assert {seen.check.kind for seen in about} == set(KINDS)


def test_everything_is_aborted(aborting: Deployed) -> None:
    """An engine that aborts what it does not support is found out for all seven kinds."""
    said = smgcfg("verify", aborting.url, "--json")
    assert said.code == 1
    (found,) = verdicts(said.document).values()
    assert {kind: found[kind] for kind in CONSTRAINTS} == {kind: {"aborted"} for kind in CONSTRAINTS}
    assert found["logprobs"] == {"aborted", "not_supported"}


def test_nothing_is_promised(aborting: Deployed) -> None:
    """What the file turns off is not promised: nothing of it is asked for, and the exit code is 0."""
    said = smgcfg("verify", *aborting.files, "--stand-in")
    assert said.code == 0
    assert "nothing is promised" in said.out
    assert "without --enable-output-logprobs" in said.out
    run_dir = f"launch.run_dir={aborting.place.run_dir}"
    demanded = smgcfg("verify", *aborting.files, "--stand-in", "--set", run_dir, "--require", "logprobs")
    assert demanded.code == 1
    assert "): demo-0 runs without --enable-output-logprobs" in demanded.out


def test_bad_worker_is_named(mixed: Deployed) -> None:
    """One bad worker among three is named, with its setting and the line it stands in; the others are good."""
    run_dir = f"launch.run_dir={mixed.place.run_dir}"
    said = smgcfg("verify", *mixed.files, "--stand-in", "--set", run_dir, "--json")
    assert said.code == 1
    found = verdicts(said.document)
    assert list(found) == ["demo-0", "demo-1", "lax-0"]
    for kind in KINDS:
        verdicts_of = [found[worker][kind] - {"not_supported"} for worker in found]
        assert verdicts_of == [{"enforced"}, {"enforced"}, {"ignored"}]
    line = mixed.place.home.joinpath("overlay.toml").read_text().splitlines().index('engine.grammar_backend = "none"')
    assert said.document["launch"] == mixed.place.name
    assert said.document["causes"] == [
        f"lax-0 runs with --grammar-backend none ({mixed.files[1]}:{line + 1})",
        f"lax-0 runs without --enable-output-logprobs ({mixed.files[1]}:{line + 2})",
    ]


def test_bad_worker_is_named_for_a_url(mixed: Deployed) -> None:
    """For the URL of a foreign gateway it is named as that names it, and no cause is given, since none was read."""
    said = smgcfg("verify", mixed.url, "--require", "tools,regex", "--json")
    assert said.code == 1
    named = {p["worker"] for p in said.document["promises"] if p["verdict"] == "ignored"} - {None}
    lax = mixed.place.ports.worker + 2
    assert named == {f"engine-{lax}"}
    assert said.document["causes"] == []
    assert all(worker["answers"] >= 4 for worker in said.document["workers"])


@pytest.mark.parametrize("mixed", ["cache_aware"], indirect=True)
def test_url_of_a_launch_of_ones_own(mixed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the URL of a launch that runs here, workers have their own names, and what they run with is the cause."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mixed.place.home))
    said = smgcfg("verify", mixed.url.replace("127.0.0.1", "localhost"), "--require", "json_schema,logprobs")
    assert said.code == 1
    _, head, *rows = said.out.splitlines()
    assert head.split() == ["PROMISE", "demo-0", "demo-1", "lax-0"]
    assert [row.split() for row in rows[:2]] == [
        ["json_schema", "enforced", "enforced", "IGNORED"],
        ["logprobs", "present", "present", "IGNORED"],
    ]
    assert f"cause (launch {mixed.place.name}): lax-0 runs with --grammar-backend none (" in said.out


@pytest.mark.parametrize("mixed", ["cache_aware"], indirect=True)
def test_file_of_a_launch_that_was_started_with_other_words(mixed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is the cause, not what the file says, and workers are called what they run as."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mixed.place.home))
    said = smgcfg("verify", mixed.place.base, "--stand-in", "--set", "pools.demo.replicas=2")
    assert said.code == 1
    causes = [line.partition(" (/")[0] for line in said.out.splitlines() if line.startswith("cause")]
    assert causes == [
        f"cause (launch {mixed.place.name}): lax-0 runs with --grammar-backend none",
        f"cause (launch {mixed.place.name}): lax-0 runs without --enable-output-logprobs",
    ]


@pytest.mark.parametrize("mixed", ["cache_aware"], indirect=True)
def test_bad_worker_is_named_by_counters(mixed: Deployed) -> None:
    """Where answers do not name their worker, the gateway's counters tell them apart, and the report says so."""
    with without_header(mixed.url, ROUTED) as front:
        said = smgcfg("verify", front, "--metrics", mixed.metrics, "--require", "json_schema,logprobs", "--json")
    assert said.document["means"] == "by repeats, told apart by the gateway's counters"
    bad = {p["worker"] for p in said.document["promises"] if p["verdict"] == "ignored"}
    assert bad == {f"engine-{mixed.place.ports.worker + 2}"}


@pytest.mark.parametrize("mixed", ["cache_aware"], indirect=True)
def test_bad_worker_that_can_not_be_named(mixed: Deployed) -> None:
    """Where nothing tells answers apart, the bad ones are counted, nobody is named, and the report says why."""
    with without_header(mixed.url, ROUTED) as front:
        said = smgcfg("verify", front, "--require", "regex")
    assert said.code == 1
    assert "IGNORED" in said.out
    assert " of 72" in said.out
    assert "the gateway does not tell whose answer is whose" in said.out
    assert "which worker it was can not be told" in said.out
    assert "cause" not in said.out


def test_worker_that_hangs() -> None:
    """A worker that hangs is named by its streams, and does not hold up the verdict on the others."""
    with new_place() as place:
        files = (place.base, place.file("overlay", 'pools.demo.replicas = 2\ngateway.policy = "round_robin"'))
        with serving(place, *files, "--stand-in") as serve:
            url, pid = serve.ready(), serve.pid_of("demo-1")
            os.kill(pid, signal.SIGSTOP)
            try:
                report = verify(Target(url=url), ["regex"], limits=Limits(timeout=1.0))
            finally:
                os.kill(pid, signal.SIGCONT)
            assert serve.stop() == 143
    good, bad = (report.cell("regex", f"engine-{place.ports.worker + index}") for index in (0, 1))
    assert good is not None
    assert bad is not None
    assert (good.verdict, bad.verdict) == ("enforced", "failed")
    assert bad.bad[0].seen == '200 "no whole answer in 1 s"'
    assert report.seconds < 20.0


def test_model_has_to_be_served(enforcing: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that the gateway does not serve is bad input; its public name and alias are not."""
    monkeypatch.setenv("THE_KEY", API_KEY)
    keyed = ["verify", enforcing.url, "--api-key-env", "THE_KEY", "--require", "regex"]
    assert smgcfg(*keyed, "--model", MODEL).code == 0
    assert smgcfg(*keyed, "--model", "alias").code == 0
    wrong = smgcfg(*keyed, "--model", "other")
    assert wrong.code == 2
    assert "SMG040 --model" in wrong.err


def _normal(text: str) -> list[str]:
    """Return lines of output without what differs from run to run.

    The gateway chooses the workers: now and then one of them is seen in one of an endpoint's two ways only.
    """
    text = re.sub(r"(/v1/\w+) (?:not )?streamed", r"\1", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    return re.sub(r"argument \d+|>= \d+ times|\d+ requests, [\d.]+ s", "...", text).splitlines()


def test_readme_example() -> None:
    """The example of the README prints what stands there, but for the port, counts and times."""
    shown = README.read_text(encoding="utf-8").partition("\n$ smgcfg verify ")[2].partition("\n```")[0]
    command, _, output = shown.partition("\n")
    words = shlex.split(command)
    with new_place() as place:
        ports = [f"gateway.port={place.ports.gateway}", f"pools.chat.port={place.ports.worker}"]
        move = [word for port in (*ports, f"launch.run_dir={place.run_dir}") for word in ("--set", port)]
        example = str(README.parent / words[0])
        with serving(place, example, *move, "--stand-in", *words[-3:]) as serve:
            serve.ready()
            said = smgcfg("verify", example, *move, *words[1:])
            assert serve.stop() == 143
    assert said.code == 1
    assert _normal(said.out) == _normal(output)
