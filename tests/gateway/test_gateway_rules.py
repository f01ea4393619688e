"""The gateway's rules across settings, held against the real gateway's own checks."""

import re
import subprocess
import sys

import attrs
import pytest
from e2e.ports import free_port
from gateway.gateway_examples import IDLE, LISTENING, ONLY_1_13_0, SHARED, WITHOUT_A_MACHINE
from oracles import gateway_start

from smgcfg.errors import errors_in
from smgcfg.flags import FlagSpec, spec_of, specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.gateway.args_models import LEGACY_REASONING_PARSERS, LEGACY_TOOL_CALL_PARSERS
from smgcfg.gateway.rules import PROGRAM
from smgcfg.gateway.versions import VERSIONS
from smgcfg.gateway.view import GatewayView
from smgcfg.rules import Rule
from smgcfg.snapshots import snapshot

EVERY = (
    *((version, *lines) for version in VERSIONS for lines in SHARED),
    *(("1.13.0", *lines) for lines in (*ONLY_1_13_0, *WITHOUT_A_MACHINE)),
)
#: What keeps a gateway from loading anything before it listens.
QUIET = ("--disable-tokenizer-autoload",)


def args_of(line: str, version: str | None = None) -> GatewayArgs:
    """The args of a line."""
    return GatewayArgs.from_argv(line.split(), version=version)


def refusal(args: GatewayArgs, version: str) -> str | None:
    """What the real gateway says to args, or None where it would start."""
    return gateway_start.real(version).refusal([*QUIET, *args.to_argv(version)])


@pytest.mark.parametrize(("version", "bad", "good"), EVERY)
def test_what_the_gateway_refuses_is_an_error(version: str, bad: str, good: str) -> None:
    """The gateway refuses the first line and so do the findings, naming the flag; the second keeps the rule."""
    refused, kept = args_of(bad, version), args_of(good, version)
    assert refusal(refused, version) is not None
    found = errors_in(refused.findings(version))
    assert found
    assert not [finding for finding in found if "--" not in finding.message]
    assert kept.findings(version) == []


@pytest.mark.parametrize(
    ("version", "good"),
    sorted({(version, good) for version, _, good in EVERY if good not in dict(WITHOUT_A_MACHINE).values()}),
)
def test_what_is_no_error_starts(version: str, good: str) -> None:
    """The gateway takes the lines that keep the rules."""
    assert refusal(args_of(good, version), version) is None


@pytest.mark.parametrize("line", [bad for bad, _ in ONLY_1_13_0])
def test_the_older_gateway_does_not_check_what_came_later(line: str) -> None:
    """A rule that only 1.13.0 has is no error for 1.10.1, as far as that one has the flags."""
    found = args_of(line).findings("1.10.1")
    assert {finding.code for finding in found} <= {"SMG012"}


@pytest.mark.parametrize(("bad", "good"), LISTENING)
def test_a_parser_that_symphony_alone_reads_is_an_error(bad: str, good: str) -> None:
    """The gateway refuses the first line once it listens, and the parsers that it then names are ours."""
    words = ["--host", "127.0.0.1", "--prometheus-host", "127.0.0.1", *QUIET, *bad.split()]
    ports = ["--port", str(free_port()), "--prometheus-port", str(free_port())]
    refused = subprocess.run(
        [sys.executable, "-m", "smg", "launch", *words, *ports],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = re.sub(r"\x1b\[\d+m", "", refused.stdout + refused.stderr)
    assert refused.returncode == 1
    assert "which --parser symphony reads with" in said
    for kind, ours in (("tool", LEGACY_TOOL_CALL_PARSERS), ("reasoning", LEGACY_REASONING_PARSERS)):
        (theirs,) = re.findall(rf"legacy_{kind}_parsers=((?:[\w.]+, )*[\w.]+)", said)
        assert sorted(theirs.split(", ")) == sorted(ours)
    (finding,) = args_of(bad).findings()
    assert finding.severity == "error"
    assert "--parser symphony" in finding.message
    assert args_of(good).findings() == []


@pytest.mark.parametrize(("bad", "good"), IDLE)
def test_what_is_skipped_is_a_warning(bad: str, good: str) -> None:
    """The gateway takes the first line and skips a part of it, which a warning says."""
    idle = args_of(bad)
    (finding,) = idle.findings()
    assert finding.severity == "warning"
    assert refusal(idle, "1.13.0") is None
    assert args_of(good).findings() == []


def test_every_rule_has_an_example() -> None:
    """Each rule is broken by some example, and holds in the line beside it."""
    rules = {id(rule): rule for rule in PROGRAM.rules["1.13.0"]}
    for bad, good in (*SHARED, *ONLY_1_13_0, *WITHOUT_A_MACHINE, *LISTENING, *IDLE):
        for number, rule in list(rules.items()):
            views = [GatewayView(args_of(line), "1.13.0") for line in (bad, good)]
            if [bool(rule.broken(view)) for view in views] == [True, False]:
                del rules[number]
    assert [rule.says for rule in rules.values()] == []


@pytest.mark.parametrize("rule", {rule.says: rule for rule in PROGRAM.rules["1.13.0"]}.values())
def test_a_rule_names_its_flags(rule: Rule) -> None:
    """The words of a rule hold the canonical flag of every setting it is about."""
    flags = [spec_of(GatewayArgs, key).names[0] for key in rule.keys]
    assert [flag for flag in flags if flag not in rule.says] == []


def test_discovery_is_chosen_once() -> None:
    """The two ways to choose a discovery exclude each other however they were set; off is not set."""
    (finding,) = GatewayArgs(service_discovery=True, discovery_provider="kubernetes", selector=("a=b",)).findings()
    assert finding.message == "--service-discovery is not allowed together with --discovery-provider"
    assert GatewayArgs(service_discovery=False, discovery_provider="kubernetes", selector=("a=b",)).findings() == []


def test_the_item_that_breaks_a_rule_is_shown() -> None:
    """Of a list, the first item that is wrong stands in the message."""
    args = GatewayArgs(model_alias=("a=b", "c"), enable_mesh=True, mesh_host="10.0.0.1", mesh_peer_urls=("10.0.0.2",))
    assert [finding.message for finding in args.findings()] == [
        "--mesh-peer-urls must each be an IP address and a port with --enable-mesh, got '10.0.0.2'",
        "--model-alias must each be two different names, alias=name, got 'c'",
    ]


def test_no_secret_is_printed() -> None:
    """What is wrong with a credential is said without it."""
    line = "--tenant-api-key hunter2 --tenant-api-key a:hunter2 --api-key hunter2 --control-plane-api-keys hunter2"
    found = args_of(line).findings()
    assert len(found) == 3
    assert not [finding for finding in found if "hunter2" in str(finding)]


# --- late bounds ---

#: What makes the gateway check a bound that depends on another setting.
_CHECKED_WITH = {
    ("policy", "cache_aware"): "",
    ("policy", "prefix_hash"): "--policy prefix_hash",
    ("policy", "least_load"): "--policy least_load",
    ("policy", "bucket"): "--pd-disaggregation --prefill-policy bucket",
    ("disable_retries", False): "",
    ("disable_circuit_breaker", False): "",
    ("tokenizer_cache_enable_l0", True): "--tokenizer-cache-enable-l0",
    ("tokenizer_cache_enable_l1", True): "--tokenizer-cache-enable-l1",
    (
        "history_backend",
        "oracle",
    ): "--history-backend oracle --oracle-tns-alias a --oracle-username u --oracle-password p",
    ("history_backend", "postgres"): "--history-backend postgres --postgres-db-url postgres://127.0.0.1:1/a",
    ("history_backend", "redis"): "--history-backend redis --redis-url redis://127.0.0.1:1",
    ("enable_rl", True): "--enable-rl",
    ("enable_mesh", True): "--enable-mesh --mesh-host 127.0.0.1",
    ("discovery_provider", "kubernetes"): "--service-discovery --selector a=b",
    ("discovery_provider", "file"): "--discovery-provider file --discovery-file /a",
}
#: What keeps the gateway from checking it.
_UNCHECKED_WITH = {
    ("policy", "cache_aware"): "--policy random",
    ("disable_retries", False): "--disable-retries",
    ("disable_circuit_breaker", False): "--disable-circuit-breaker",
}

LIMITED = [spec for spec in specs_of(GatewayArgs) if spec.limits != (None, None) or spec.above is not None]


def outside(spec: FlagSpec) -> list[int | float]:
    """Values just outside the late bounds of a setting, but inside what the parser takes."""
    low, high = spec.limits
    values = [low - 1 if spec.type is int else low - 0.5] if low is not None else []
    values += [high + 1 if spec.type is int else high + 0.5] if high is not None else []
    values += [spec.above] if spec.above is not None else []
    return [spec.type(value) for value in values if spec.bounds[0] is None or value >= spec.bounds[0]]


@pytest.mark.parametrize(
    ("key", "version"),
    [
        (spec.key, version)
        for spec in LIMITED
        for version in VERSIONS
        if spec.has(version) and spec.key not in PROGRAM.unchecked.get(version, ())
    ],
)
def test_late_bounds_are_those_of_the_gateway(key: str, version: str) -> None:
    """Just outside a late bound is an error to the gateway, and to the findings."""
    spec = spec_of(GatewayArgs, key)
    line = " ".join(_CHECKED_WITH[condition] for condition in spec.limits_when)
    for value in outside(spec):
        args = attrs.evolve(args_of(line, version), **{key: value})
        assert "SMG005" in {finding.code for finding in args.findings(version)}, value
        assert refusal(args, version) is not None, value


@pytest.mark.parametrize("spec", LIMITED, ids=lambda spec: spec.key)
def test_a_bound_is_not_checked_without_its_condition(spec: FlagSpec) -> None:
    """Where the gateway does not look at a bound, the findings do not either."""
    for condition in spec.limits_when:
        line = _UNCHECKED_WITH.get(condition, "")
        smallest = spec.limits[0] or spec.above or 0
        args = attrs.evolve(args_of(line), **{spec.key: spec.type(max(smallest - 1, 0))})
        if "SMG014" not in {finding.code for finding in args.findings()}:
            assert args.findings() == []
            assert refusal(args, "1.13.0") is None


def test_infinity_is_outside_every_late_bound() -> None:
    """The gateway wants finite numbers where it wants numbers of some size."""
    (finding,) = GatewayArgs(balance_rel_threshold=float("inf")).findings()
    assert (finding.code, finding.key) == ("SMG005", "balance_rel_threshold")
    assert refusal(GatewayArgs(balance_rel_threshold=float("inf")), "1.13.0") is not None


@pytest.mark.parametrize("key", PROGRAM.unchecked["1.10.1"])
def test_the_older_gateway_takes_more_numbers(key: str) -> None:
    """Each setting that is not checked for 1.10.1 has a value that 1.13.0 refuses and 1.10.1 takes."""
    spec = spec_of(GatewayArgs, key)
    line = " ".join(_CHECKED_WITH[condition] for condition in spec.limits_when)
    value = float("inf") if spec.type is float else 0
    args = attrs.evolve(args_of(line), **{key: value})
    assert errors_in(args.findings("1.13.0"))
    assert args.findings("1.10.1") == []
    if "history_backend" not in dict(spec.limits_when):  # 1.10.1 would wait for the database
        assert refusal(args, "1.10.1") is None


# --- versions ---


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--kv-index chain", "SMG012", "smg 1.10.1 has no --kv-index"),
        ("--reasoning-parser gemma4", "SMG013", "smg 1.10.1 takes base, "),
        ("--tool-call-parser hy_v4", "SMG013", "smg 1.10.1 takes cohere, "),
    ],
)
def test_what_the_older_gateway_lacks_is_found(line: str, code: str, message: str) -> None:
    """A flag or a choice that 1.10.1 lacks is an error that names it; 1.13.0 has it."""
    (finding,) = args_of(line).findings("1.10.1")
    assert (finding.code, finding.severity) == (code, "error")
    assert finding.message.startswith(message)
    assert args_of(line).findings("1.13.0") == args_of(line).findings() == []


def test_the_defaults_of_the_view_are_those_of_the_gateway() -> None:
    """What the rules take for "not set" is the default of the gateway's own parser."""
    flags = {flag["dest"]: flag for flag in snapshot("smg", "1.13.0").flags}
    for key, value in GatewayView.defaults.items():
        assert flags[key]["default"] == value, key
