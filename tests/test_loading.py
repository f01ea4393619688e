"""Deployment files, overrides and words: what they say, and what wins."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from loaded import POOL, bad, good, read
from planning import HERE

from smgcfg import ConfigError, Deployment, TokenspeedArgs, load
from smgcfg.args import set_settings
from smgcfg.flags import specs_of
from smgcfg.gateway.args import GatewayArgs
from smgcfg.loading import EngineFlags, load_sources
from smgcfg.origin import FromArgv, FromFile
from smgcfg.planning.plan import plan
from smgcfg.testing import strategies
from smgcfg.toml_write import deployment_text


def test_sources_win_in_their_order() -> None:
    """Defaults lose to files, files to later files, those to --set and --unset, and engine flags win over all."""
    base = POOL + "[pools.chat.engine]\nmax_num_seqs = 1\n"
    top = "[pools.chat.engine]\nmax_num_seqs = 2\n"

    def seqs(*texts: str, **more: Any) -> int | None:
        loaded = read(*texts, **more)
        assert loaded.deployment is not None
        assert {finding.code for finding in loaded.findings} <= {"SMG009"}, "what a command line says twice"
        engine: TokenspeedArgs = loaded.deployment.pools[0].engine
        assert engine.grammar_backend == "xgrammar"
        return engine.max_num_seqs

    path = "pools.chat.engine.max_num_seqs"
    assert seqs(POOL) is None
    assert seqs(base) == 1
    assert seqs(base, top) == 2
    assert seqs(top, base) == 1
    assert seqs(base, top, sets=(f"{path}=3",)) == 3
    assert seqs(base, top, sets=(f"{path}=3", f"{path}=4")) == 4
    assert seqs(base, top, sets=(f"{path}=3",), unsets=(path,)) is None
    assert seqs(base, top, sets=(f"{path}=3",), flags=("--max-num-seqs", "5")) == 5


def test_the_overlay_keeps_what_lost_and_where_it_came_from() -> None:
    """Per key the whole stack stays, weakest first, each with file and line or argument number."""
    text = POOL + "[pools.chat.engine]\ntp = 1\n"
    loaded = read(text, "\n\n[pools.chat.engine]\ntensor_parallel_size = 2\n", sets=("pools.chat.engine.tp=4",))
    stack = loaded.overlay.stack(("pools", "chat", "engine", "tensor_parallel_size"))
    assert [value for value, _ in stack] == [1, 2, 4]
    assert [where for _, where in stack][:2] == [FromFile("a.toml", 5), FromFile("b.toml", 4)]
    assert isinstance(stack[2][1], FromArgv)
    assert stack[2][1].index == 10


def test_an_integer_stands_for_a_float_of_the_same_value() -> None:
    """What loses nothing is taken: 2 for 2.0, and a list for a tuple."""
    engine = good(POOL + "[pools.chat.engine]\nkvstore_ratio = 2\ncudagraph_capture_sizes = [1, 2]\n").pools[0].engine
    assert (engine.kvstore_ratio, engine.cudagraph_capture_sizes) == (2.0, (1, 2))
    assert type(engine.kvstore_ratio) is float


@pytest.mark.parametrize("cls", [TokenspeedArgs, GatewayArgs])
def test_every_alias_of_a_flag_is_a_key(cls: type[Any]) -> None:
    """Each alias and each disabling spelling is a key of its setting, and no key means two settings."""
    seen: dict[str, str] = {}
    for spec in specs_of(cls):
        for key in (*spec.keys, *(name.lstrip("-").replace("-", "_").replace(".", "_") for name in spec.off)):
            assert seen.setdefault(key, spec.key) == spec.key
    assert {"block_size", "ep_size", "tp"} <= seen.keys() or cls is GatewayArgs


def test_a_disabling_spelling_is_a_key_with_the_opposite_value() -> None:
    """`disable_prefix_caching = true` is `enable_prefix_caching = false`."""
    engine = good(POOL + "[pools.chat.engine]\ndisable_prefix_caching = true\n").pools[0].engine
    assert engine.enable_prefix_caching is False


def test_unset_takes_away_defaults_and_what_files_set() -> None:
    """`unset` in any table, and --unset, mean "do not pass this flag"; a pool's key falls back to its default."""
    text = (
        POOL
        + 'replicas = 3\nunset = ["engine.enable_output_logprobs"]\n[pools.chat.engine]\nunset = ["grammar_backend"]\n'
    )
    pool = good(text).pools[0]
    assert set_settings(pool.engine) == {}
    assert good(text, '[pools.chat]\nunset = ["replicas"]\n').pools[0].replicas == 1
    assert good(text, unsets=("pools.chat.replicas",)).pools[0].replicas == 1
    assert [
        f.code for f in bad(POOL + '[pools.chat.engine]\ngrammar_backend = "none"\nunset = ["grammar_backend"]\n')
    ] == ["SMG009"]
    assert [f.code for f in bad(text, unsets=("pools.chat",))] == ["SMG003"]
    assert [f.code for f in bad(text, unsets=("pools.chat.replica",))] == ["SMG002"]


def test_paths_in_a_file_are_relative_to_the_file(tmp_path: Path) -> None:
    """./ and ../ start at the file they stand in; other text is left alone."""
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "a.toml"
    file.write_text(
        '[pools.chat]\nbackend = "tokenspeed"\nmodel = "../models/m"\ntokenizer = "org/t"\nwrapper = ["./run", "x/y"]\n'
    )
    pool = load(file).pools[0]
    assert pool.model == str(tmp_path / "models" / "m")
    assert pool.tokenizer == "org/t"
    assert pool.wrapper == (str(tmp_path / "conf" / "run"), "x/y")
    relative = good(POOL.replace("org/m", "./m"))
    assert relative.pools[0].model == "./m"


def test_names() -> None:
    """A deployment is named after its first file; a name that can not be a file name is refused."""
    assert good(POOL).name == "a"
    assert good('name = "x.y"\n' + POOL).name == "x.y"
    assert bad('name = "../x"\n' + POOL)[0].code == "SMG003"
    assert bad(POOL.replace("chat", '"a/b"'))[0].code == "SMG003"


def test_engine_flags_go_to_the_only_pool_or_to_the_named_one() -> None:
    """Flags behind -- belong to one pool; with several it has to be said which."""
    two = POOL + POOL.replace("chat", "other")
    loaded = load_sources([("a", two.encode())], engine_flags=EngineFlags(("--tp", "2"), 5))
    assert [f.code for f in loaded.findings] == ["SMG011"]
    loaded = load_sources([("a", two.encode())], engine_flags=EngineFlags(("--tp", "2"), 5, "other"))
    assert loaded.deployment is not None
    assert [pool.engine.tensor_parallel_size for pool in loaded.deployment.pools] == [None, 2]
    loaded = load_sources([("a", two.encode())], engine_flags=EngineFlags(("--tp", "2"), 5, "othr"))
    assert [f.code for f in loaded.findings] == ["SMG002"]


def test_a_flag_given_twice_is_a_warning_and_the_last_wins() -> None:
    """A repeat with another value inside one source is said, and reads as the engine reads it."""
    loaded = read(POOL, flags=("--tp", "2", "--max-num-seqs", "4", "--tp=3"))
    assert [(f.code, f.severity) for f in loaded.findings] == [("SMG009", "warning")]
    assert loaded.deployment is not None
    assert loaded.deployment.pools[0].engine.tensor_parallel_size == 3


def test_load_raises_everything_at_once(tmp_path: Path) -> None:
    """The Python call raises one error with every finding; overrides are native values."""
    file = tmp_path / "d.toml"
    file.write_text(POOL + "[pools.chat.engine]\nmax_num_seqs = 'x'\ntp = true\n")
    with pytest.raises(ConfigError) as raised:
        load(file)
    assert len(raised.value.findings) == 2
    assert f"{file}:5" in str(raised.value)
    file.write_text(POOL)
    deployment = load(file, overrides={"pools.chat.engine.max_num_seqs": 4, "pools.chat.engine.grammar_backend": None})
    assert set_settings(deployment.pools[0].engine) == {"max_num_seqs": 4, "enable_output_logprobs": True}


def test_what_was_unset_is_not_derived_for_anybody() -> None:
    """A value that the plan would fill in and a file unsets is not passed, with or without the places of the values."""
    loaded = read(POOL + "replicas = 2\n[gateway]\nunset = ['health_check_interval_secs', 'log_level']\n")
    assert loaded.deployment is not None
    assert loaded.deployment.unset == (("gateway", "health_check_interval_secs"), ("gateway", "log_level"))
    alone, placed = plan(loaded.deployment, HERE), plan(loaded.deployment, HERE, overlay=loaded.overlay)
    assert alone.plan == placed.plan is not None
    assert "--health-check-interval-secs" not in alone.plan.gateway.argv
    assert "--health-failure-threshold" in alone.plan.gateway.argv
    again = good(deployment_text(loaded.deployment)).evolve(name=loaded.deployment.name)
    assert again == loaded.deployment
    # A default that is taken away is said by the value itself.
    assert good(POOL, unsets=("pools.chat.engine.grammar_backend",)).unset == ()


@pytest.mark.parametrize("path", [("gateway", "nope"), ("pools", "b", "engine", "seed"), ("launch", "grace"), ()])
def test_only_settings_can_be_unset(path: tuple[str, ...]) -> None:
    """A deployment that unsets what engine and gateway do not have can not be made."""
    with pytest.raises(ConfigError, match="no setting that can be unset"):
        good(POOL).evolve(unset=(path,))


@settings(max_examples=200)
@given(deployment=strategies.deployments())
def test_deployments_survive_their_own_file(deployment: Deployment) -> None:
    """A deployment is read back from the file it writes, and from the plain data of the converter."""
    from smgcfg import converter

    assert load_sources([("x.toml", deployment_text(deployment).encode())]).deployment == deployment
    plain = converter().unstructure(deployment)
    assert converter().structure(plain, Deployment) == deployment
