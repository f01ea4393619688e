"""`smgcfg explain` as an operator calls it."""

import json
from pathlib import Path
from typing import Any

import pytest

from smgcfg.cli import main

FIRST = """\
[pools.chat]
backend = "tokenspeed"
model = "org/m"
replicas = 2
[pools.chat.engine]
tp = 1
hf_overrides = { a = [1, "x"] }
[gateway]
api_key = "s3cret"
port = { env = "SMGCFG_TEST_PORT" }
"""
SECOND = "[pools.chat.engine]\ntensor_parallel_size = 2\n"


@pytest.fixture
def explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `smgcfg explain` in a folder with a.toml and b.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMGCFG_TEST_PORT", "8080")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    Path("a.toml").write_text(FIRST)
    Path("b.toml").write_text(SECOND)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["explain", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_one_setting_is_explained_in_a_few_lines(explain: Any) -> None:
    """Value, place, what it won over, its words and what follows: as documented."""
    key = "pools.chat.engine.tensor_parallel_size"
    code, out, err = explain("a.toml", "b.toml", key, "--set", f"{key}=4")
    assert (code, err) == (0, "")
    assert out == (
        "pools.chat.engine.tensor_parallel_size = 4\n"
        "  set by     argument 5 '--set pools.chat.engine.tensor_parallel_size'\n"
        "  overrides  2  b.toml:2  over  1  a.toml:6\n"
        "  becomes    --tensor-parallel-size 4  in chat-0, chat-1\n"
        "  so         4 GPUs per worker, 8 in all\n"
    )


def test_what_is_needed_is_said_where_it_is_not_there(explain: Any) -> None:
    """A value that asks for more GPUs than there are is explained with what it asks for; the error stands behind it."""
    code, out, err = explain("a.toml", "tp", "--set", "pools.chat.gpus=0-1", "--set", "pools.chat.engine.tp=4")
    assert code == 2
    assert "so         4 GPUs per worker, 8 in all\n" in out
    assert "SMG023 pools.chat.gpus: 2 workers of 4 GPUs need 8; gpus has 2 for them" in err


@pytest.mark.parametrize(
    "key",
    ["pools.chat.engine.tp", 'pools."chat".engine.tensor_parallel_size', "tp", "engine.tp", "chat.engine.tp"],
)
def test_a_key_has_all_its_names(explain: Any, key: str) -> None:
    """An alias, a quoted key, and the end of a key that no other ends with are the setting that they mean."""
    assert explain("a.toml", key)[1].startswith("pools.chat.engine.tensor_parallel_size = 1\n")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("port", "did you mean pools.chat.port, pools.chat.engine.port or gateway.port?"),
        ("max_num_seq", "hint: did you mean pools.chat.engine.max_num_seqs?"),
        ("num_workers", "hint: here it is [pools.NAME] replicas"),
        ("nothing_of_the_kind", "SMG002 nothing_of_the_kind: no such key\n    hint: smgcfg keys WORD... searches all"),
    ],
)
def test_the_end_of_a_key_that_means_nothing_or_much_is_refused(explain: Any, key: str, said: str) -> None:
    """Where several settings end so all of them are named, where none does the nearest one is."""
    code, out, err = explain("a.toml", key)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("gateway.port", ["gateway.port = 8080", "set by     a.toml:10, read from $SMGCFG_TEST_PORT"]),
        ("gateway.api_key", ["gateway.api_key = ***", "becomes    --api-key ***  in gateway"]),
        ("pools.chat.engine.seed", ["pools.chat.engine.seed is not set", "set by     nobody: the program decides"]),
        ("pools.chat.engine.port", ["set by     the launcher; pools.chat.port decides"]),
        ("launch.grace", ["launch.grace = 30.0", "set by     default of smgcfg"]),
        ("gateway.prometheus_port", ["derived: a port that no other of the plan can take (gateway.port)"]),
        ("pools.chat.engine.hf_overrides", ['hf_overrides = {"a":[1,"x"]}', "becomes    --hf-overrides '{"]),
        ("pools.chat.engine.hf_overrides.a", ['hf_overrides = {"a":[1,"x"]}']),
        ("pools.chat.gpus", ['gpus = ["0", "1"]', "becomes    CUDA_VISIBLE_DEVICES=0  in the environment of chat-0"]),
        ("pools.chat.python", ["set by     nobody\n"]),
    ],
)
def test_every_kind_of_origin_is_said(explain: Any, key: str, lines: list[str]) -> None:
    """References, secrets, defaults, derivations, what the launcher decides and what nobody set are each said."""
    code, out, _ = explain("a.toml", key)
    assert code == 0
    assert "s3cret" not in out
    for line in lines:
        assert line in out


def test_without_a_key_everything_that_is_no_default_is_listed(explain: Any) -> None:
    """The tables stand in their order, a line for each setting with its place and what it won over."""
    code, out, _ = explain("a.toml", "b.toml")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("[")] == [
        "[pools.chat]",
        "[pools.chat.engine]",
        "[gateway]",
        "[launch]",
    ]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "tensor_parallel_size = 2 b.toml:2, over 1 (a.toml:6)" in lines
    assert "api_key = *** a.toml:9" in lines
    assert not any("grammar_backend" in line for line in lines)
    _, table, _ = explain("a.toml", "b.toml", "pools.chat.engine")
    assert table.splitlines()[0] == "[pools.chat.engine]"
    assert set(table.splitlines()) < set(out.splitlines())


def test_the_json_has_it_all(explain: Any) -> None:
    """A program gets values, places, what was overridden, words, processes and effects; secrets stay hidden."""
    code, out, _ = explain("a.toml", "b.toml", "pools.chat.engine.tp", "--json")
    (one,) = json.loads(out)["settings"]
    assert code == 0
    assert (one["key"], one["value"]) == ("pools.chat.engine.tensor_parallel_size", 2)
    assert one["set_by"] == {"where": "b.toml:2", "file": "b.toml", "line": 2}
    assert one["overrides"] == [{"value": 1, "where": "a.toml:6", "file": "a.toml", "line": 6}]
    assert one["becomes"] == [
        {"words": ["--tensor-parallel-size", "2"], "processes": ["chat-0", "chat-1"], "environment": False}
    ]
    assert one["so"] == ["2 GPUs per worker, 4 in all"]
    _, out, _ = explain("a.toml", "--json", "--set", 'gateway.redis_url={env="X"}', "--unset", "gateway.host")
    found = {one["key"]: one for one in json.loads(out)["settings"]}
    assert found["gateway.api_key"]["value"] == "***"
    assert found["gateway.redis_url"]["value"] == {"env": "X"}
    assert found["gateway.port"]["read_from"] == "$SMGCFG_TEST_PORT"
    assert (found["gateway.host"]["unset"], found["gateway.host"]["set_by"]["argument"]) == (True, 6)
    assert found["pools.chat.engine.hf_overrides"]["value"] == {"a": [1, "x"]}
    assert "s3cret" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.toml", "pools.chat.engine.tensor_paralel_size"), "did you mean tensor_parallel_size?"),
        (("a.toml", "pools.cat.model"), "did you mean chat?"),
        (("a.toml", "pools.chat.tp"), "it belongs to [pools.chat.engine]"),
        (("a.toml", "pools.chat.model", "gateway.port"), "one KEY; got pools.chat.model, gateway.port"),
        (("a.toml", "a b"), "no file, and no dotted key"),
        (("a.tml",), "'a.tml' is no file, and a KEY alone says nothing\n    hint: smgcfg explain FILE... [KEY]"),
        (("none.toml",), "can not be read"),
        (("pools.chat.model",), "is no file, and a KEY alone says nothing"),
        (("a.toml", "--set", "pools.chat.replicas=x"), "expected an integer"),
    ],
)
def test_what_can_not_be_explained_is_said(explain: Any, words: tuple[str, ...], said: str) -> None:
    """A key that there is not gets a suggestion, and a file that is none a reason; the exit code is 2."""
    code, _, err = explain(*words)
    assert code == 2
    assert said in err


def test_a_word_that_is_a_file_is_a_file(explain: Any) -> None:
    """A file without .toml is taken for one where it exists, or where its name has a slash."""
    Path("a.toml").rename("deploy")
    assert explain("deploy", "gateway.port")[1].startswith("gateway.port = 8080")
    assert "can not be read" in explain("./other", "gateway.port")[2]


def test_a_deployment_with_errors_is_explained_and_fails(explain: Any) -> None:
    """What can be said is said, the errors follow, and the exit code is that of bad input."""
    code, out, err = explain("a.toml", "pools.chat.gpus", "--set", "pools.chat.gpus=0")
    assert code == 2
    assert out.startswith('pools.chat.gpus = ["0"]\n')
    assert "SMG023" in err
