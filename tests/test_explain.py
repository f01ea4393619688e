"""Where values come from, what they won over, and what becomes of them."""

from typing import Any

import pytest
from planning import HERE

from smgcfg.explain import Explained, Explainer, Part
from smgcfg.flags import keys_of, spec_of
from smgcfg.loading import EngineFlags, load_sources
from smgcfg.origin import Derived, FromArgv, FromDefault, FromFile
from smgcfg.overlay import UNSET, Overlay
from smgcfg.planning.plan import Planned, plan
from smgcfg.reference import Reference
from smgcfg.schema import Path
from smgcfg.sources.overrides import Override, read_path

FIRST = """\
[pools.chat]
backend = "tokenspeed"
model = { env = "MODEL" }
served_model_name = ["q", "alias"]
replicas = 2
wrapper = ["numactl", "-N{index}"]
[pools.chat.engine]
tp = 1
[pools.chat.env]
HF_TOKEN = { env = "HF" }
PLAIN = "x{port}"
[gateway]
api_key = "s3cret"
history_backend = "redis"
redis_url = { file = "/k" }
"""
SECOND = '[pools.chat.engine]\ntensor_parallel_size = 2\ngrammar_backend = "none"\n'


def planned_files(
    *files: str, sets: tuple[str, ...] = (), flags: tuple[str, ...] = ()
) -> tuple[Planned, Overlay[Path]]:
    """Plan files given as text, a.toml, b.toml and so on, with overrides and engine flags behind them."""
    loaded = load_sources(
        [(f"{chr(97 + at)}.toml", text.encode()) for at, text in enumerate(files)],
        overrides=[Override("set" if "=" in text else "unset", text, at) for at, text in enumerate(sets, 5)],
        engine_flags=EngineFlags(flags, 20),
        environ={"MODEL": "org/m"},
    )
    assert loaded.deployment is not None
    return plan(loaded.deployment, HERE, overlay=loaded.overlay), loaded.overlay


def explained(key: str, *files: str, **more: Any) -> Explained:
    """One setting of them, explained."""
    path = read_path(key)
    assert path is not None
    return Explainer(*planned_files(*(files or (FIRST, SECOND)), **more)).explain(path)


def said(one: Explained) -> list[tuple[str, str]]:
    """What it becomes: words and processes."""
    return [(" ".join(part.words), ", ".join(part.processes)) for part in one.becomes]


def test_the_whole_path_of_a_value() -> None:
    """The winner with its place, everything it won over in order, its words and processes, and what follows."""
    key = "pools.chat.engine.tensor_parallel_size"
    one = explained(key, FIRST, SECOND, sets=(f"{key}=4",))
    assert (one.value, one.origin) == (4, FromArgv(5, f"--set {key}"))
    assert one.overridden == ((2, FromFile("b.toml", 2)), (1, FromFile("a.toml", 8)))
    assert one.becomes == (Part(("--tensor-parallel-size", "4"), ("chat-0", "chat-1")),)
    assert one.effects == ("4 GPUs per worker, 8 in all",)
    assert one.derives == ()


def test_engine_flags_and_unset_are_choices_like_others() -> None:
    """A flag behind -- and "do not pass this" are explained with what they took the place of, defaults too."""
    one = explained("pools.chat.engine.grammar_backend", flags=("--grammar-backend", "xgrammar"))
    assert (one.value, one.origin) == ("xgrammar", FromArgv(20, "--grammar-backend"))
    assert one.overridden == (("none", FromFile("b.toml", 3)), ("xgrammar", FromDefault()))
    one = explained("pools.chat.engine.enable_output_logprobs", sets=("pools.chat.engine.enable_output_logprobs",))
    assert (one.value, one.overridden, one.becomes) == (UNSET, ((True, FromDefault()),), ())


@pytest.mark.parametrize(
    ("key", "value", "origin", "becomes"),
    [
        ("pools.chat.engine.enable_output_logprobs", True, FromDefault(), ["--enable-output-logprobs"]),
        ("launch.grace", 30.0, FromDefault(), []),
        ("pools.chat.engine.seed", None, None, []),
        ("gateway.chat_template", None, None, []),
        ("pools.chat.engine.extra", None, None, []),
        ("pools.chat.env.OTHER", None, None, []),
    ],
)
def test_what_nobody_set_is_a_default_or_left_to_the_program(
    key: str, value: Any, origin: Any, becomes: list[str]
) -> None:
    """A default says that it is one; what has none is left to the program."""
    one = explained(key)
    assert (one.value, one.origin, one.overridden) == (value, origin, ())
    assert [words for words, _ in said(one)] == becomes


def test_a_fact_about_the_model_becomes_what_follows_from_it() -> None:
    """A key of the pool is explained by the settings that are derived from it, in engine and gateway."""
    one = explained("pools.chat.model")
    assert (one.value, one.origin, one.reference) == ("org/m", FromFile("a.toml", 3), Reference("env", "MODEL"))
    assert said(one) == [("--model org/m", "chat-0, chat-1"), ("--tokenizer-path org/m", "gateway")]
    assert {path for path, _, _ in one.derives} == {
        ("pools", "chat", "engine", "model"),
        ("gateway", "tokenizer_path"),
    }
    assert said(explained("pools.chat.served_model_name")) == [
        ("--model-path q", "gateway"),
        ("--model-alias alias=q", "gateway"),
    ]


def test_what_is_derived_names_its_rule_and_its_sources() -> None:
    """A derived value has the rule and the keys that it follows from; the same value in a file has neither."""
    one = explained("gateway.policy", FIRST.replace("replicas = 2", "replicas = 1"))
    assert one.value == "passthrough"
    assert isinstance(one.origin, Derived)
    assert one.origin.inputs == ("pools.chat.replicas",)
    assert said(one) == [("--policy passthrough", "gateway")]
    assert explained("name").origin == Derived("what the first file is called")


def test_what_the_launcher_decides_names_who_decides() -> None:
    """An owned setting becomes its words in each worker, and the key that moves them has the same words."""
    one = explained("pools.chat.engine.port")
    assert (one.owner, one.value) == ("pools.chat.port", None)
    assert said(one) == [("--port 31000", "chat-0"), ("--port 31001", "chat-1")]
    moved = explained("pools.chat.port", FIRST, sets=("pools.chat.port=32000",))
    assert ("--port 32001", "chat-1") in said(moved)
    assert ("--dist-init-addr 127.0.0.1:32233", "chat-0") in said(moved)
    assert moved.effects == ("ports 32000, 32001",)
    assert explained("gateway.backend").owner.endswith("backend")


def test_words_around_a_command_are_shown_as_they_run() -> None:
    """Wrappers, commands and variables are shown with their placeholders filled, per worker."""
    assert said(explained("pools.chat.wrapper")) == [("numactl -N0", "chat-0"), ("numactl -N1", "chat-1")]
    assert said(explained("pools.chat.python")) == [("/usr/bin/python3", "chat-0, chat-1")]
    own = FIRST.replace("wrapper =", 'command = ["ts", "serve"]\nwrapper =')
    assert said(explained("pools.chat.command", own)) == [("ts serve", "chat-0, chat-1")]
    assert said(explained("pools.chat.python", own)) == []
    assert said(explained("pools.chat.env.PLAIN")) == [("PLAIN=x31000", "chat-0"), ("PLAIN=x31001", "chat-1")]
    assert said(explained("pools.chat.gpus")) == [
        ("CUDA_VISIBLE_DEVICES=0,1", "chat-0"),
        ("CUDA_VISIBLE_DEVICES=2,3", "chat-1"),
    ]
    assert explained("pools.chat.replicas").effects == ("workers chat-0, chat-1", "2 GPUs per worker, 4 in all")


def test_secrets_are_explained_and_not_shown() -> None:
    """A secret becomes a flag or a variable whose value is hidden, or is the reference that it is."""
    assert said(explained("gateway.api_key")) == [("--api-key ***", "gateway")]
    assert explained("gateway.api_key").secret
    assert said(explained("gateway.api_key", sets=('gateway.api_key={env="K"}',))) == [("--api-key $K", "gateway")]
    one = explained("gateway.redis_url")
    assert (one.becomes, one.value) == (
        (Part(("REDIS_URL=$(cat /k)",), ("gateway",), environment=True),),
        Reference("file", "/k"),
    )
    assert said(explained("pools.chat.env.HF_TOKEN")) == [("HF_TOKEN=$HF", "chat-0, chat-1")]
    assert explained("pools.chat.env.HF_TOKEN", sets=("pools.chat.env.HF_TOKEN=s3cret",)).secret


def test_a_pool_may_be_named_like_a_table() -> None:
    """A pool named env or engine is a pool all the same."""
    for name in ("env", "engine"):
        one = explained(f"pools.{name}.replicas", FIRST.replace("pools.chat", f"pools.{name}"))
        assert (one.value, one.effects[0]) == (2, f"workers {name}-0, {name}-1")


def test_everything_that_is_no_default_is_listed_table_by_table() -> None:
    """What was chosen and what follows from it is listed, each once, tables together and in their order."""
    paths = Explainer(*planned_files(FIRST, SECOND, sets=("launch.grace=5",))).chosen()
    assert len(set(paths)) == len(paths)
    assert {("pools", "chat", "model"), ("gateway", "host"), ("launch", "run_dir"), ("launch", "grace")} <= set(paths)
    assert ("pools", "chat", "engine", "enable_output_logprobs") not in paths
    tables = list(dict.fromkeys(path[:-1] for path in paths))
    assert tables == [
        ("pools", "chat"),
        ("pools", "chat", "engine"),
        ("pools", "chat", "env"),
        ("gateway",),
        ("launch",),
    ]
    assert [path[:-1] for path in paths] == [table for table in tables for path in paths if path[:-1] == table]


def test_a_plan_with_errors_is_explained_as_far_as_it_goes() -> None:
    """Where there are no processes, values and places are explained all the same."""
    one = explained("pools.chat.gpus", FIRST, sets=('pools.chat.gpus=["0"]',))
    assert (one.value, one.origin, one.becomes) == (("0",), FromArgv(5, "--set pools.chat.gpus"), ())


def test_every_setting_can_be_explained() -> None:
    """Each setting of engine, gateway and tables has an explanation, and each that is passed becomes its own words."""
    planned, overlay = planned_files(FIRST, SECOND)
    made = Explainer(planned, overlay)
    for base, holder in (
        (("pools", "chat", "engine"), planned.shapes[0].engine),
        (("pools", "chat"), planned.shapes[0].pool),
        (("gateway",), planned.gateway),
        (("gateway",), planned.deployment.gateway),
        (("launch",), planned.deployment.launch),
    ):
        for key in keys_of(type(holder)):
            one = made.explain((*base, key))
            assert "s3cret" not in repr(one.becomes)
            if base[-1:] == ("engine",) and getattr(holder, key) is not None:
                assert one.becomes[0].words[0] in spec_of(type(holder), key).names
