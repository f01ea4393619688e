"""What is said of sources that are wrong: every problem, once, in its place, and what to do about it."""

import pytest
from loaded import POOL, bad, good

from smgcfg.errors import Finding
from smgcfg.loading import load_sources
from smgcfg.origin import FromFile
from smgcfg.sources.toml import MOST_FINDINGS


def lines(findings: list[Finding]) -> list[tuple[str, int | None, str]]:
    """Return (code, line, key) of every finding."""
    return [(f.code, f.where.line if isinstance(f.where, FromFile) else None, f.key) for f in findings]


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
        ("[launch]\nmodel = 'm'", "it belongs to [pools.NAME]"),
        ("[engine]\nseed = 1", "here it is [pools.NAME.engine]"),
        ("[launch.env]\nA = '1'", "here it is [pools.NAME.env]"),
        ("[pools.chat.engine]\ntp_size = 1", "here it is [pools.chat.engine] tensor_parallel_size"),
        ("[pools.chat]\nname = 'x'", "it stands at the top of the file"),
        ("[pools]\nmodel = 'x'", "it belongs to [pools.NAME]"),
        ("[[gateway]]\nport = 1", "write [gateway]"),
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


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("tokenizer", "8", 'write "8"'),
        ("tokenizer", "true", 'write "true"'),
        ("max_num_seqs", '"4"', "write 4 without quotes"),
        ("max_num_seqs", "4.0", "write 4"),
        ("max_num_seqs", '"32k"', "write the number in full, without its unit"),
        ("grammar_compile_timeout_secs", '"10s"', "write 10"),
        ("grammar_compile_timeout_secs", '"5 min"', "write the number in full, without its unit"),
        ("gpu_memory_utilization", '"${SHARE}"', 'write { env = "SHARE" }'),
        ("max_num_seqs", '""', "to pass nothing, leave it out"),
        ("quantization", '"None"', "to pass nothing, leave it out"),
        ("enable_metrics", '"yes"', "write true"),
        ("enable_metrics", "0", "write false"),
        ("dtype", '"bfloat-16"', "did you mean bfloat16?"),
        ("dtype", "true", ""),
    ],
)
def test_a_value_of_the_wrong_type_gets_the_right_hint(key: str, value: str, hint: str) -> None:
    """Where it is plain what was meant, the report says how to write it."""
    assert [f.hint for f in bad(POOL + f"[pools.chat.engine]\n{key} = {value}\n")] == [hint]


def test_a_value_too_long_for_python_to_show_is_refused_as_any_other() -> None:
    """An integer that Python writes only in hexadecimal is reported like any other that is wrong."""
    findings = bad(POOL + f"port = 0x{'F' * 5000}\n")
    assert [finding.message for finding in findings] == ["expected 1 to 65535, got an integer of more than 4300 digits"]


@pytest.mark.parametrize(
    ("gpus", "names"),
    [
        ("'0-2,5'", ["0", "1", "2", "5"]),
        ("[0, '1-2']", ["0", "1", "2"]),
        ("['GPU-1', 'MIG-2/1/0']", ["GPU-1", "MIG-2/1/0"]),
        ("0", ["0"]),
        *((gpus, None) for gpus in ("'3-1'", "'0-'", "[-1]", "'0,,1'", "''", "[1.5]", "true", "'0-99999999'")),
        (f"0x{'F' * 5000}", None),
    ],
)
def test_gpus_are_numbers_ranges_or_names(gpus: str, names: list[str] | None) -> None:
    """What no GPU can be called is refused and shown; names are kept as they are."""
    text = POOL + f"gpus = {gpus}\n"
    if names is None:
        assert [(f.code, f.key) for f in bad(text)] == [("SMG003", "pools.chat.gpus")]
    else:
        assert list(good(text).pools[0].gpus or ()) == names


def test_required_keys() -> None:
    """A deployment without a pool, and a pool without a backend or with an unknown one, are refused."""
    assert lines(bad("")) == [("SMG007", None, "pools")]
    assert 'backend = "tokenspeed" and model = ' in bad("")[0].hint
    assert lines(bad("[pools.chat]\nmodel = 'm'\n")) == [("SMG007", None, "pools.chat.backend")]
    findings = bad(POOL.replace('"tokenspeed"', '"tokenspeeed"'))
    assert lines(findings) == [("SMG004", 2, "pools.chat.backend")]
    assert findings[0].hint == "did you mean tokenspeed?"
    both = [("SMG007", None, "pools.chat.backend"), ("SMG007", None, "pools.chat.model")]
    assert lines(bad("[pools.chat]\nreplicas = 2\n")) == both
    assert lines(bad("[pools.chat]\n[pools.chat.engine]\nmodel = 'm'\n")) == both[:1]


def test_a_pool_whose_backend_was_unset_is_not_taken_for_another() -> None:
    """The report points at what unset the backend, and offers no pool's own name as the right one."""
    (finding,) = bad(POOL, unsets=("pools.chat.backend",))
    assert (finding.code, finding.key, finding.hint) == ("SMG007", "pools.chat.backend", 'backend = "tokenspeed"')
    assert str(finding.where).startswith("argument ")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[pools.chat]\nbackend = 3\nmodel = 'm'\n", ["pools.chat.backend"]),
        ("[pools.chat]\nbakend = 'tokenspeed'\nmodel = 'm'\n", ["pools.chat.bakend"]),
        ("pools = 1\n", ["pools"]),
        ("[[pools]]\nbackend = 'tokenspeed'\n", ["pools"]),
        ("[pools]\nbackend = 'tokenspeed'\n", ["pools.backend"]),
        (
            "[pools.chat]\nbackend = 'other'\n[pools.chat.engine]\nunknown_here = 1\n",
            ["pools.chat.backend", "pools.chat.model"],
        ),
        (
            "[pools.chat]\nbackend = 'tokenspeeed'\n[pools.chat.engine]\nunknown = 1\n",
            ["pools.chat.engine.unknown", "pools.chat.backend", "pools.chat.model"],
        ),
    ],
)
def test_one_mistake_is_one_problem(text: str, keys: list[str]) -> None:
    """A key that was written wrongly is not missing, too, and what an unknown engine has is not guessed."""
    assert [finding.key for finding in bad(text)] == keys


def test_a_pool_that_only_words_name_is_a_misspelt_one() -> None:
    """--set and --unset of a pool that no file has are reported where they stand, with the pool that was meant."""
    findings = bad(POOL, sets=("pools.chta.replicas=2",), unsets=("pools.x.model",))
    assert [(f.code, f.key, f.hint) for f in findings] == [
        ("SMG002", "pools.chta", "did you mean chat?"),
        ("SMG002", "pools.x", ""),
    ]
    assert [str(f.where) for f in findings] == [
        "argument 10 '--set pools.chta.replicas'",
        "argument 20 '--unset pools.x.model'",
    ]
    assert good(POOL, sets=("pools.b.backend=tokenspeed",)).pools[1].name == "b"


def test_a_table_of_nothing_but_mistakes_is_not_reported_to_the_end() -> None:
    """Behind a thousand problems a file is no deployment file, and the report says where looking stopped."""
    findings = bad(POOL + "".join(f"key_{number} = 1\n" for number in range(2000)) + "[pools.chat.env]\nA = 1\n")
    assert len(findings) == MOST_FINDINGS + 1
    assert findings[-1].message == "there are 1000 problems up to here; what follows was not looked at"


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--connection-mode", "here it is [pools.chat] transport"),
        ("--tp-size", "here it is [pools.chat.engine] tensor_parallel_size"),
        ("--replicas", "it belongs to [pools.chat]"),
        ("--policy", "it belongs to [gateway]"),
        ("--headless", "smgcfg passes it itself; leave it out"),
        ("--max_num_seqs", "did you mean --max-num-seqs?"),
        ("--nothing-like-it", ""),
    ],
)
def test_a_flag_that_the_engine_does_not_have_gets_the_right_suggestion(flag: str, hint: str) -> None:
    """A flag of another launcher, of the pool or of the gateway is answered with where it belongs."""
    assert [(f.code, f.key, f.hint) for f in bad(POOL, flags=(flag, "x"))] == [("SMG010", flag, hint)]


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a = ", 1), (b"\n[a\n", 2), (b"\xff\xfea\0", 1), (b"a = 1\n\xff", 2), (b"a = '\0'", 1),
     (b"a = 1\na = 2\n", 2), (b"a = " + b"[" * 100_000, 1), (b"a = " + b"9" * 5000, 1)],
)  # fmt: skip
def test_broken_toml_is_a_finding(data: bytes, line: int | None) -> None:
    """Whatever the bytes are, the report names the file and, where it is known, the line."""
    loaded = load_sources([("a.toml", data)])
    assert loaded.deployment is None
    assert [f.code for f in loaded.findings] == ["SMG001"]
    where = loaded.findings[0].where
    assert isinstance(where, FromFile)
    assert (where.path, where.line) == ("a.toml", line)


def test_more_pools_than_anybody_has_are_refused_at_once() -> None:
    """A file of a thousand and one pools is one problem."""
    text = "".join(f"[pools.p{number}]\nbackend = 'tokenspeed'\nmodel = 'm'\n" for number in range(1001))
    assert [(f.code, f.key) for f in bad(text)] == [("SMG003", "pools")]


@pytest.mark.parametrize("value", ["inf", "1e300", "nan", "-1"])
@pytest.mark.parametrize(
    "key", ["pools.chat.startup_timeout", "gateway.startup_timeout", "launch.grace", "launch.drain_timeout"]
)
def test_no_wait_is_endless(key: str, value: str) -> None:
    """Seconds are a number that a clock can be set to."""
    (finding,) = bad(f"{POOL}\n", sets=(f"{key}={value}",))
    assert (finding.code, finding.key) == ("SMG006" if value == "nan" else "SMG005", key)
