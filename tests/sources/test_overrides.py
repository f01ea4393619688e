"""`--set` and `--unset`: what PATH and VALUE mean."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded import POOL, bad, good, read

from smgcfg import ConfigError, load
from smgcfg.sources.overrides import read_path

JSON_KEY = "pools.chat.engine.hf_overrides"


@pytest.mark.parametrize(
    ("text", "sets", "value"),
    [
        ("", (".a.b=1", ".a.c=2"), {"a": {"b": 1, "c": 2}}),
        (
            "hf_overrides = { a = { b = 1 }, z = 0 }",
            (".a.c=[1, null]", ".a.b=2"),
            {"a": {"b": 2, "c": [1, None]}, "z": 0},
        ),
        ("hf_overrides = { a = 1 }", ('={"x": 1}', ".y=2"), {"x": 1, "y": 2}),
        ('unset = ["hf_overrides"]', ('.a="yarn"',), {"a": "yarn"}),
        ("", ('."a.b"={"c": true}',), {"a.b": {"c": True}}),
        ("", (".a=yarn",), None),
        ("", ('.a=1,"b":2',), None),
        ("", (".a=NaN",), None),
        ("hf_overrides = { a = 1 }", (".a.b=1",), None),
        ("hf_overrides = { a = [1] }", (".a.0=1",), None),
    ],
)
def test_set_reaches_into_a_json_object(text: str, sets: tuple[str, ...], value: dict[str, Any] | None) -> None:
    """An entry of a JSON object is set on top of what weaker sources say of it; every other entry stays."""
    text = POOL + f"[pools.chat.engine]\n{text}\n"
    words = tuple(f"{JSON_KEY}{word}" for word in sets)
    if value is None:
        assert [f.code for f in bad(text, sets=words)] == ["SMG003"]
    else:
        assert good(text, sets=words).pools[0].engine.hf_overrides.value == value


@pytest.mark.parametrize(
    ("sets", "unsets", "said"),
    [
        (("tp=1", "tensor_parallel_size=2"), (), ["pools.chat.engine.tensor_parallel_size: 2 wins over 1"]),
        (("tp=1", "tp=1"), (), []),
        (("seed=1",), ("seed",), ["pools.chat.engine.seed: unset wins over 1"]),
        (("hf_overrides.a=1", "hf_overrides.a=2"), (), ["pools.chat.engine.hf_overrides.a: '2' wins over '1'"]),
        (("hf_overrides.a=1", "hf_overrides.b=2"), (), []),
        (('hf_overrides={"a": 1}', "hf_overrides.a=2"), (), []),
        (
            ("rl_control_api_key=k1", "rl_control_api_key=k2"),
            (),
            ["pools.chat.engine.rl_control_api_key: *** wins over ***"],
        ),
        (("api_key=x", "nonsense=1", "nonsense=2"), (), None),
    ],
)
def test_what_is_set_twice_is_said(sets: tuple[str, ...], unsets: tuple[str, ...], said: list[str] | None) -> None:
    """Of two values on one command line the last one wins, and a warning names both, unless they are secret."""
    engine = "pools.chat.engine."
    loaded = read(POOL, sets=tuple(engine + word for word in sets), unsets=tuple(engine + word for word in unsets))
    found = [finding for finding in loaded.findings if finding.code == "SMG009"]
    assert all(finding.severity == "warning" and "at argument 10" in finding.message for finding in found)
    words = [f"{f.key}: {f.message.removeprefix('given twice: ').removesuffix(' at argument 10')}" for f in found]
    assert words == (said or [])


def test_what_an_entry_was_set_in_stays_in_the_overlay() -> None:
    """The stack of a JSON setting holds the whole object before and after each entry, with the place of each."""
    text = POOL + "[pools.chat.engine]\nhf_overrides = { a = 1 }\n"
    loaded = read(text, sets=(f"{JSON_KEY}.b=2", f"{JSON_KEY}.c=3"))
    stack = loaded.overlay.stack(tuple(JSON_KEY.split(".")))
    assert [value.value for value, _ in stack] == [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}]
    assert [str(where) for _, where in stack[1:]] == [
        f"argument 1{at} '--set {JSON_KEY}.{key}'" for at, key in ((0, "b"), (1, "c"))
    ]


def test_an_entry_can_be_set_by_a_python_caller_and_not_unset(tmp_path: Path) -> None:
    """Native values reach into a JSON object too; an entry alone can not be unset, in words or in a file."""
    file = tmp_path / "a.toml"
    file.write_text(POOL + "[pools.chat.engine]\nhf_overrides = { a = 1 }\n")
    engine = load(file, overrides={f"{JSON_KEY}.b.c": 2, f"{JSON_KEY}.b.d": None}).pools[0].engine
    assert engine.hf_overrides.value == {"a": 1, "b": {"c": 2, "d": None}}
    with pytest.raises(ConfigError, match="a in it is no object"):
        load(file, overrides={f"{JSON_KEY}.a.b": 1})
    assert [f.code for f in bad(POOL, unsets=(f"{JSON_KEY}.a",))] == ["SMG003"]
    assert [f.code for f in bad(POOL + 'unset = ["engine.hf_overrides.a"]\n')] == ["SMG003"]


def test_a_word_that_is_no_path_is_not_repeated() -> None:
    """What follows something like a key may be a secret."""
    (finding,) = bad(POOL, sets=("gateway.api_key s3cret",))
    assert "gateway.api_key" in finding.message
    assert "s3cret" not in str(finding)


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
