"""Deployment files, overrides and words: what wins, what is refused, and how it is said."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smgcfg import ConfigError, Deployment, TokenspeedArgs, load
from smgcfg.args import set_settings
from smgcfg.errors import Finding
from smgcfg.flags import specs_of
from smgcfg.gateway.args import GatewayArgs
from smgcfg.loading import EngineFlags, Loaded, load_sources
from smgcfg.origin import FromArgv, FromFile
from smgcfg.sources.overrides import Override, read_path
from smgcfg.testing import strategies
from smgcfg.toml_write import deployment_text

POOL = '[pools.chat]\nbackend = "tokenspeed"\nmodel = "org/m"\n'


def read(*texts: str, sets: tuple[str, ...] = (), unsets: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> Loaded:
    """Load files given as text, named a.toml, b.toml, ..., and options in the order set, unset."""
    files = [(f"{chr(97 + at)}.toml", text.encode()) for at, text in enumerate(texts)]
    overrides = [Override("set", text, 10 + at) for at, text in enumerate(sets)]
    overrides += [Override("unset", text, 20 + at) for at, text in enumerate(unsets)]
    return load_sources(files, overrides=overrides, engine_flags=EngineFlags(flags, 30))


def good(*texts: str, **more: Any) -> Deployment:
    """Load what must be without a problem."""
    loaded = read(*texts, **more)
    assert loaded.findings == ()
    assert loaded.deployment is not None
    return loaded.deployment


def bad(*texts: str, **more: Any) -> list[Finding]:
    """Load what must be refused."""
    loaded = read(*texts, **more)
    assert loaded.findings
    return list(loaded.findings)


def lines(findings: list[Finding]) -> list[tuple[str, int | None, str]]:
    """Return (code, line, key) of every finding."""
    return [(f.code, f.where.line if isinstance(f.where, FromFile) else None, f.key) for f in findings]


def test_sources_win_in_their_order() -> None:
    """Defaults lose to files, files to later files, those to --set and --unset, and engine flags win over all."""
    base = POOL + "[pools.chat.engine]\nmax_num_seqs = 1\n"
    top = "[pools.chat.engine]\nmax_num_seqs = 2\n"

    def seqs(*texts: str, **more: Any) -> int | None:
        engine: TokenspeedArgs = good(*texts, **more).pools[0].engine
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


def test_every_problem_stands_in_one_report() -> None:
    """Unknown keys, wrong types, bad choices and clashes are all reported, each at its line."""
    text = """dp_size = 4
[pools.chat]
backend = "tokenspeed"
connection_mode = "zmq"
replicas = true
port = "31000"
[pools.chat.engine]
tensor_paralel_size = 2
tp = 2
attn_tp_size = 2.0
tensor_parallel_size = 2
grammar_backend = "xgramar"
enable_allreduce_fusion = false
[pools.chat.env]
A = 1
[gateway]
max_num_seqs = 3
[launch]
gracee = 30
"""
    assert lines(bad(text)) == [
        ("SMG002", 1, "dp_size"),
        ("SMG002", 4, "pools.chat.connection_mode"),
        ("SMG003", 5, "pools.chat.replicas"),
        ("SMG003", 6, "pools.chat.port"),
        ("SMG002", 8, "pools.chat.engine.tensor_paralel_size"),
        ("SMG003", 10, "pools.chat.engine.attn_tp_size"),
        ("SMG009", 11, "pools.chat.engine.tensor_parallel_size"),
        ("SMG004", 12, "pools.chat.engine.grammar_backend"),
        ("SMG006", 13, "pools.chat.engine.enable_allreduce_fusion"),
        ("SMG003", 15, "pools.chat.env.A"),
        ("SMG002", 17, "gateway.max_num_seqs"),
        ("SMG002", 19, "launch.gracee"),
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[pools.chat.engine]\ntensor_paralel_size = 2", "did you mean tensor_parallel_size?"),
        ("[pools.chat]\nconnection_mode = 'zmq'", "here it is [pools.chat] transport"),
        ("[pools.chat]\nworker_base_port = 1", "here it is [pools.chat] port"),
        ("[pools.chat]\ntensor_parallel_size = 1", "it belongs to [pools.chat.engine]"),
        ("[pools.chat.engine]\nreplicas = 1", "it belongs to [pools.chat]"),
        ("[gateway]\nrouter_policy = 'random'", "here it is [gateway] policy"),
        ("[gateway]\nreplicas = 2", "it belongs to [pools.NAME]"),
        ("[launch]\ngrce = 1", "did you mean grace?"),
        ("[pool.chat]\nmodel = 'm'", "did you mean pools?"),
    ],
)
def test_an_unknown_key_gets_the_right_suggestion(text: str, hint: str) -> None:
    """A typo, a foreign name and a key in the wrong table are each answered with where the operator wanted to go."""
    assert hint in [finding.hint for finding in bad(POOL.replace("[pools.chat]", "[pools.other]") + text)]


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_num_seqs", "true"), ("max_num_seqs", '"4"'), ("max_num_seqs", "4.0"), ("enable_metrics", "1"),
     ("enable_metrics", '"true"'), ("served_model_name", "1"), ("cudagraph_capture_sizes", "4"),
     ("cudagraph_capture_sizes", "[1.0]"), ("hf_overrides", "[1]"), ("kvstore_ratio", '"1.0"'),
     ("max_num_seqs", "1979-05-27")],
)  # fmt: skip
def test_native_types_are_strict(key: str, value: str) -> None:
    """A TOML value of another type is refused, never converted."""
    assert [f.code for f in bad(POOL + f"[pools.chat.engine]\n{key} = {value}\n")] == ["SMG003"]


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pools.chat.engine.max_num_seqs=7", ("max_num_seqs", 7)),
        ("pools.chat.engine.model=", ("model", "")),
        ("pools.chat.engine.model=a=b", ("model", "a=b")),
        ("pools.chat.engine.model='x'", ("model", "'x'")),
        ("pools.chat.engine.enable_metrics=true", ("enable_metrics", True)),
        ("pools.chat.engine.kvstore_ratio=1.5", ("kvstore_ratio", 1.5)),
        ("pools.chat.engine.cudagraph_capture_sizes=[1, 2]", ("cudagraph_capture_sizes", (1, 2))),
        ('pools."chat".engine.seqs=1', None),
        ("pools.chat.engine.max_num_seqs=x", None),
        ("pools.chat.engine.max_num_seqs='7'", None),
        ("pools.chat.engine.max_num_seqs=7\nmodel=1", None),
        ("pools.chat.engine.cudagraph_capture_sizes=1", None),
        ("pools.chat.engine.hf_overrides={a=1}", None),
        ("max_num_seqs", None),
        ("=1", None),
        ("a b=1", None),
        ("pools.chat=1", None),
    ],
)
def test_set_reads_a_value_by_the_settings_type(text: str, expected: tuple[str, object] | None) -> None:
    """Text as it is, numbers and booleans as TOML writes them, lists as TOML; anything else is refused."""
    if expected is None:
        assert len(bad(POOL, sets=(text,))) == 1
    else:
        assert getattr(good(POOL, sets=(text,)).pools[0].engine, expected[0]) == expected[1]


def test_set_reads_json_and_whole_tables() -> None:
    """JSON settings take JSON text, and a table takes a TOML table."""
    sets = (
        'pools.chat.engine.hf_overrides={"a": [1, null]}',
        'pools.chat.env={A = "1", B = "2"}',
        "pools.chat.gpus=0-2",
    )
    pool = good(POOL, sets=sets).pools[0]
    assert pool.engine.hf_overrides.value == {"a": [1, None]}
    assert pool.env == (("A", "1"), ("B", "2"))
    assert pool.gpus == ("0", "1", "2")


@settings(max_examples=200)
@given(keys=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4))
def test_paths_are_toml_keys(keys: list[str]) -> None:
    """Any key can be named in a PATH, quoted as TOML quotes it."""
    from smgcfg.schema import dotted

    if any("\ud800" <= char <= "\udfff" for key in keys for char in key):
        return
    assert read_path(dotted(tuple(keys))) == tuple(keys)


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


def test_required_keys() -> None:
    """A deployment without a pool, and a pool without a backend or with an unknown one, are refused."""
    assert lines(bad("")) == [("SMG007", None, "pools")]
    assert lines(bad("[pools.chat]\nmodel = 'm'\n")) == [("SMG007", None, "pools.chat.backend")]
    findings = bad(POOL.replace('"tokenspeed"', '"tokenspeeed"'))
    assert lines(findings) == [("SMG004", 2, "pools.chat.backend")]
    assert findings[0].hint == "did you mean tokenspeed?"


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a = ", 1), (b"\n[a\n", 2), (b"\xff\xfea\0", None), (b"a = 1\n\xff", 2), (b"a = '\0'", 1),
     (b"a = 1\na = 2\n", 2), (b"a = " + b"[" * 100_000, None), (b"a = " + b"9" * 5000, 1)],
)  # fmt: skip
def test_broken_toml_is_a_finding(data: bytes, line: int | None) -> None:
    """Whatever the bytes are, the report names the file and, where it is known, the line."""
    loaded = load_sources([("a.toml", data)])
    assert loaded.deployment is None
    assert [f.code for f in loaded.findings] == ["SMG001"]
    where = loaded.findings[0].where
    assert isinstance(where, FromFile)
    assert (where.path, where.line) == ("a.toml", line)


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


@settings(max_examples=200)
@given(deployment=strategies.deployments())
def test_deployments_survive_their_own_file(deployment: Deployment) -> None:
    """A deployment is read back from the file it writes, and from the plain data of the converter."""
    from smgcfg import converter

    assert load_sources([("x.toml", deployment_text(deployment).encode())]).deployment == deployment
    plain = converter().unstructure(deployment)
    assert converter().structure(plain, Deployment) == deployment
