"""What the plan fills in: facts about the model where they are used, the gateway's settings; never an override."""

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning import HERE, codes, deployment, flag, good, planned, pool

from smgcfg.args import set_settings
from smgcfg.backends import BACKENDS
from smgcfg.config import Gateway
from smgcfg.errors import errors_in
from smgcfg.flags import specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.gateway.command import OWNED
from smgcfg.origin import Derived
from smgcfg.planning.plan import plan
from smgcfg.testing import strategies

FACTS = {
    "tokenizer": "org/t",
    "reasoning_parser": "qwen3",
    "tool_call_parser": "qwen",
    "chat_template": "/t.jinja",
    "served_model_name": ("m", "n", "o"),
}


# --- facts about the model -------------------------------------------------------------------------------------------


def test_facts_about_the_model_reach_who_uses_them() -> None:
    """Over zmq the engine gets what it reads itself, and the gateway everything that clients see."""
    made = good(pool(**FACTS))
    (worker,) = made.workers
    assert {name: flag(worker.argv, name) for name in ("--model", "--tokenizer", "--reasoning-parser")} == {
        "--model": "org/m",
        "--tokenizer": "org/t",
        "--reasoning-parser": "qwen3",
    }
    for name in ("--served-model-name", "--tool-call-parser", "--chat-template"):
        assert name not in worker.argv
    names = ("--model-path", "--tokenizer-path", "--reasoning-parser", "--tool-call-parser", "--chat-template")
    assert [flag(made.gateway.argv, name) for name in names] == ["m", "org/t", "qwen3", "qwen", "/t.jinja"]
    aliases = [word for at, word in enumerate(made.gateway.argv) if made.gateway.argv[at - 1] == "--model-alias"]
    assert aliases == ["n=m", "o=m"]
    assert made.model == "m"


@pytest.mark.parametrize(
    ("keys", "gateway", "path", "tokenizer"),
    [
        ({}, {}, "org/m", None),
        ({"tokenizer": "org/t"}, {}, "org/m", "org/t"),
        ({"served_model_name": ("m",)}, {}, "m", "org/m"),
        ({"served_model_name": ("org/m",)}, {}, "org/m", None),
        ({}, {"model_path": "m"}, "m", "org/m"),
        ({"served_model_name": ("m",)}, {"model_path": "m", "tokenizer_path": "/t"}, "m", "/t"),
        ({"model": None, "engine": {"model": "org/m"}}, {}, "org/m", None),
    ],
)
def test_the_public_name_and_the_tokenizer(
    keys: dict[str, Any], gateway: dict[str, Any], path: str, tokenizer: str | None
) -> None:
    """The gateway's model path is the public name; where that is not the model, the tokenizer's path is said."""
    made = good(pool(**keys), gateway=gateway)
    assert (flag(made.gateway.argv, "--model-path"), flag(made.gateway.argv, "--tokenizer-path")) == (path, tokenizer)
    assert made.model == path
    assert flag(made.workers[0].argv, "--model") == "org/m"


def test_a_raw_flag_goes_to_its_own_process_only() -> None:
    """What stands in [engine] or [gateway] is not passed on."""
    made = good(pool(engine={"reasoning_parser": "qwen3", "served_model_name": "e"}), gateway={"chat_template": "/c"})
    (worker,) = made.workers
    assert flag(worker.argv, "--reasoning-parser") == "qwen3"
    assert flag(worker.argv, "--served-model-name") == "e"
    assert "--reasoning-parser" not in made.gateway.argv
    assert flag(made.gateway.argv, "--chat-template") == "/c"


@pytest.mark.parametrize(
    ("keys", "gateway", "key"),
    [
        ({"engine": {"model": "x"}}, {}, "pools.chat.engine.model"),
        (
            {"reasoning_parser": "qwen3", "engine": {"reasoning_parser": "kimi"}},
            {},
            "pools.chat.engine.reasoning_parser",
        ),
        (
            {"served_model_name": ("m",), "engine": {"served_model_name": "x"}},
            {},
            "pools.chat.engine.served_model_name",
        ),
        ({"served_model_name": ("m",)}, {"model_path": "x"}, "gateway.model_path"),
        ({"served_model_name": ("m", "n")}, {"model_alias": ("x=m",)}, "gateway.model_alias"),
        ({"tokenizer": "t"}, {"tokenizer_path": "x"}, "gateway.tokenizer_path"),
        ({"reasoning_parser": "qwen3"}, {"reasoning_parser": "kimi"}, "gateway.reasoning_parser"),
        ({"tool_call_parser": "qwen"}, {"tool_call_parser": "llama"}, "gateway.tool_call_parser"),
        ({"chat_template": "c"}, {"chat_template": "x"}, "gateway.chat_template"),
    ],
)
def test_two_values_for_one_fact_are_an_error(keys: dict[str, Any], gateway: dict[str, Any], key: str) -> None:
    """A raw flag that differs from the pool's fact is an error that names both keys; an equal one is none."""
    (finding,) = planned(pool(**keys), gateway=gateway).findings
    assert (finding.code, finding.key) == ("SMG009", key)
    assert "pools.chat." in finding.message
    same = {setting: FACTS_AS_SET[setting] for setting in gateway if setting in FACTS_AS_SET}
    assert not codes(pool(**FACTS), gateway=same)


FACTS_AS_SET = {
    "model_path": "m",
    "model_alias": ("n=m", "o=m"),
    "tokenizer_path": "org/t",
    "reasoning_parser": "qwen3",
    "tool_call_parser": "qwen",
    "chat_template": "/t.jinja",
}


def test_a_parser_that_the_gateway_lacks_is_refused_at_the_pool() -> None:
    """A parser's name is checked where it is written, with a suggestion."""
    (finding,) = planned(pool(tool_call_parser="qwem")).findings
    assert (finding.code, finding.key) == ("SMG004", "pools.chat.tool_call_parser")
    assert "qwen" in finding.hint
    old = planned(pool(tool_call_parser="olmo3"), version="1.10.1")
    assert [(f.code, f.key) for f in errors_in(old.findings)] == [("SMG013", "pools.chat.tool_call_parser")]


def test_a_worker_needs_a_model() -> None:
    """Without a model on the pool or in the engine's settings there is no plan."""
    assert ("SMG007", "pools.chat.model") in codes(pool(model=None))


@pytest.mark.parametrize("names", [("m", "m"), ("m", "n", "n"), ("",), ("m", "a=b")])
def test_public_names_that_the_gateway_can_not_tell_apart(names: tuple[str, ...]) -> None:
    """Names stand once, are not empty, and an alias holds no '=', which would end it."""
    assert ("SMG006", "pools.chat.served_model_name") in codes(pool(served_model_name=names))


# --- several pools ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ({"model": "org/x"}, "model"),
        ({"served_model_name": ("x",)}, "served_model_name"),
        ({"tokenizer": "x"}, "tokenizer"),
        ({"reasoning_parser": "qwen3"}, "reasoning_parser"),
        ({"tool_call_parser": "qwen"}, "tool_call_parser"),
        ({"chat_template": "x"}, "chat_template"),
        ({"transport": "grpc"}, "transport"),
        ({"engine": {"data_parallel_size": 2}}, "engine.data_parallel_size"),
    ],
)
def test_what_one_gateway_can_not_serve_together(other: dict[str, Any], key: str) -> None:
    """Pools that differ in what the gateway has once are refused, and both are named."""
    found = [f for f in planned(pool("a"), pool("b", **other)).findings if f.code == "SMG024"]
    assert [finding.key for finding in found] == [f"pools.b.{key}"]
    assert "pools.a" in found[0].message
    assert "pools.b" in found[0].message


def test_pools_of_one_model_may_differ_in_their_engines() -> None:
    """Other settings of the engine do not meet in the gateway."""
    made = good(pool("a"), pool("b", {"tensor_parallel_size": 2, "max_num_seqs": 8}))
    assert len(made.workers) == 2


# --- the gateway's settings ------------------------------------------------------------------------------------------


def test_one_worker_needs_no_choice() -> None:
    """With exactly one worker the gateway passes through, without retries and breaker; with two it chooses."""
    alone = good().gateway.argv
    assert flag(alone, "--policy") == "passthrough"
    assert {"--disable-retries", "--disable-circuit-breaker"} <= set(alone)
    two = good(pool(replicas=2)).gateway.argv
    assert not {"--policy", "--disable-retries", "--disable-circuit-breaker"} & set(two)
    found = good(gateway={"discovery_provider": "file", "discovery_file": "/f"}).gateway.argv
    assert "--policy" not in found


def test_a_worker_that_was_started_again_does_not_wait_for_the_circuit_breaker() -> None:
    """Of several workers one that died is given no request while it is away, and requests at once when it is back."""
    two = good(pool(replicas=2)).gateway.argv
    assert flag(two, "--health-failure-threshold") == "1"
    assert flag(two, "--cb-timeout-duration-secs") == "1"
    over_grpc = good(pool(transport="grpc", replicas=2)).gateway.argv
    assert flag(over_grpc, "--health-failure-threshold") is None
    assert flag(over_grpc, "--cb-timeout-duration-secs") == "1"
    assert flag(good().gateway.argv, "--cb-timeout-duration-secs") is None
    own = {"health_failure_threshold": 3, "cb_timeout_duration_secs": 60}
    kept = good(pool(replicas=2), gateway=own).gateway.argv
    assert (flag(kept, "--health-failure-threshold"), flag(kept, "--cb-timeout-duration-secs")) == ("3", "60")


def test_a_gateway_that_drops_unhealthy_workers_is_left_its_patience() -> None:
    """It forgets a worker that loads for ten times the number of failed checks."""
    argv = good(gateway={"remove_unhealthy_workers": True}).gateway.argv
    assert flag(argv, "--health-failure-threshold") is None


def test_a_grouped_worker_says_how_many_engines_it_has() -> None:
    """Engines that share a socket set are counted for the gateway: one parsed value for both sides."""
    for engine in ({"data_parallel_size": 4}, {"world_size": 8, "attn_tp_size": 2}):
        assert flag(good(pool(engine=engine)).gateway.argv, "--zmq-engine-count") == "4"
    assert "--zmq-engine-count" not in good(pool(engine={"data_parallel_size": 1})).gateway.argv


@pytest.mark.parametrize(
    ("gateway", "key"),
    [
        ({"policy": "cache_aware"}, "gateway.policy"),
        ({"health_check_interval_secs": 2}, "gateway.health_check_interval_secs"),
        ({"prometheus_port": 29000}, "gateway.prometheus_port"),
        ({"host": "0.0.0.0"}, "gateway.host"),
    ],
)
def test_a_conflicting_value_of_the_operators_is_kept_and_reported(gateway: dict[str, Any], key: str) -> None:
    """Derivation never overrides: the value stands on the command line, and a warning says what it costs."""
    result = planned(gateway=gateway)
    assert [(f.code, f.severity, f.key) for f in result.findings] == [("SMG025", "warning", key)]
    ((setting, value),) = gateway.items()
    assert getattr(result.gateway, setting) == value


def test_a_keyed_gateway_may_be_open() -> None:
    """The warning about an open gateway is about one without keys."""
    assert codes(gateway={"host": "0.0.0.0", "api_key": "k"}) == []


@pytest.mark.parametrize("host", ["127.0.0.5", "::1", "[::1]"])
def test_a_gateway_that_only_this_machine_reaches_is_not_open(host: str) -> None:
    """Every loopback address is private, in brackets or not."""
    assert codes(gateway={"host": host}) == []


@pytest.mark.parametrize("host", ["", "localhost", "nope"])
def test_what_is_no_address_is_reported_as_that_alone(host: str) -> None:
    """An address that the gateway refuses opens nothing, so there is no warning about that."""
    assert codes(gateway={"host": host}) == [("SMG014", "gateway.host")]


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        (("a", "b"), []),
        (("a", " "), ["a name can not be blank"]),
        (("a", "a", "a"), ["'a' stands twice"]),
        (("a=1", "b=2"), ["the alias 'b=2' can not hold '=', which ends it on a command line"]),
        (("", "c", "c"), ["a name can not be blank", "'c' stands twice"]),
    ],
)
def test_public_names_are_told_apart(names: tuple[str, ...], problems: list[str]) -> None:
    """Every problem of the names is one finding at their key, and none about the flag that would have carried them."""
    found = planned(pool(served_model_name=names)).findings
    assert [(f.code, f.key, f.message) for f in found] == [
        ("SMG006", "pools.chat.served_model_name", problem) for problem in problems
    ]


def test_a_name_that_only_the_engine_would_know_is_reported() -> None:
    """Over zmq the gateway alone knows the public name: one that is set in the engine is not lost in silence."""
    engine = {"served_model_name": "chat"}
    assert codes(pool(engine=engine)) == [("SMG025", "pools.chat.engine.served_model_name")]
    assert codes(pool(engine=engine, transport="grpc")) == []
    assert codes(pool(engine=engine, served_model_name=("chat",))) == []
    assert codes(pool(engine=engine), gateway={"model_path": "chat"}) == []


@given(st.data(), strategies.gateway_args(), strategies.tokenspeed_args())
@settings(max_examples=200)
def test_derivation_never_overrides(data: st.DataObject, gateway: GatewayArgs, engine: Any) -> None:
    """Whatever an operator sets, to a value or to nothing, is what the processes get; all else is told as derived."""
    owned = BACKENDS["tokenspeed"].owned["zmq"]
    gateway = attrs.evolve(gateway, **dict.fromkeys(OWNED))
    engine = attrs.evolve(engine, model=None, **dict.fromkeys(owned))
    keys = [spec.key for spec in specs_of(GatewayArgs) if getattr(gateway, spec.key) is None and spec.key not in OWNED]
    unset = data.draw(st.lists(st.sampled_from(keys), unique=True))
    made = attrs.evolve(deployment(pool()), gateway=Gateway(args=gateway))
    made = attrs.evolve(
        made,
        pools=(attrs.evolve(made.pools[0], engine=engine, gpus_per_replica=0),),
        unset=tuple(("gateway", key) for key in unset),
    )
    result = plan(made, HERE)
    for before, after, base in (
        (gateway, result.gateway, ("gateway",)),
        (engine, result.shapes[0].engine, ("pools", "chat", "engine")),
    ):
        kept, now = set_settings(before), set_settings(after)
        assert {key: now[key] for key in kept} == kept
        for key in now.keys() - kept.keys():
            value, rule = result.derived[(*base, key)]
            assert value == now[key]
            assert isinstance(rule, Derived)
            assert rule.rule
    assert not set(unset) & set_settings(result.gateway).keys()
