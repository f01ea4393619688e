"""Files that a deployment needs."""

import json
from pathlib import Path

import pytest
from checking import POOL, found, told

from smgcfg.standin.tokenizer import write_model_dir

TEXT = POOL.replace("org/m", "{}")


def test_checks_that_look_at_files_are_asked_for(tmp_path: Path) -> None:
    """Without being asked, nothing looks at the machine."""
    assert found(TEXT.format(tmp_path / "none")) == []
    assert found(TEXT.format(tmp_path / "none"), look=True) != []


@pytest.mark.parametrize(
    ("model", "bad"),
    [
        ("/nowhere/at/all", True),
        ("./nowhere", True),
        ("~/models/a", True),
        ("models/a/b", True),
        ("a b", True),
        ("Qwen/Qwen3-8B", False),
        ("gpt2", False),
    ],
)
def test_a_model_is_a_folder_or_a_name(model: str, bad: bool) -> None:
    """A path that leads nowhere is found at the pool's model; the name of a model on a hub can not be judged here."""
    assert told(found(TEXT.format(model), look=True)) == (["error SMG064 pools.a.model d.toml:3"] if bad else [])


def test_a_model_may_stand_at_the_engine(tmp_path: Path) -> None:
    """Where the model is a setting of the engine, it is found there; a file is no folder."""
    (tmp_path / "m").write_text("")
    text = f'[pools.a]\nbackend = "tokenspeed"\n[pools.a.engine]\nmodel = "{tmp_path / "m"}"\n'
    (finding,) = found(text, look=True)
    assert (finding.key, finding.message.rpartition("' ")[2]) == ("pools.a.engine.model", "is no folder")


@pytest.mark.parametrize(
    ("files", "fine"),
    [
        ([], False),
        (["tokenizer.json"], True),
        (["tiktoken.model"], True),
        (["o200k.tiktoken"], True),
        (["vocab.json"], False),
        (["vocab.json", "merges.txt"], True),
        (["tokenizer_config.json"], False),
    ],
)
def test_the_gateway_finds_a_tokenizer(tmp_path: Path, files: list[str], fine: bool) -> None:
    """The files that smg 1.13.0 takes a tokenizer from are looked for in the model, or in the pool's tokenizer."""
    for name in files:
        (tmp_path / name).write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("x")
    expected = [] if fine else ["error SMG065 pools.a.model d.toml:3"]
    assert told(found(TEXT.format(tmp_path), look=True)) == expected
    text = POOL + f'tokenizer = "{tmp_path}"\n'
    assert told(found(text, look=True)) == [line.replace("model d.toml:3", "tokenizer d.toml:4") for line in expected]
    text = POOL + f'[gateway]\ntokenizer_path = "{tmp_path}"\n'
    expected = [line.replace("pools.a.model d.toml:3", "gateway.tokenizer_path d.toml:5") for line in expected]
    assert told(found(text, look=True)) == expected
    assert found(text + "disable_tokenizer_autoload = true\n", look=True) == []


@pytest.mark.parametrize("place", ["", "tokenizer_config.json", "chat_template.json", "chat_template.jinja", "file"])
def test_the_gateway_finds_a_chat_template(tmp_path: Path, place: str) -> None:
    """A template in the tokenizer's configuration, beside it or in a file of its own will do; without, chat fails."""
    write_model_dir(tmp_path)
    config = tmp_path / "tokenizer_config.json"
    if place != "tokenizer_config.json":
        config.write_text(json.dumps({k: v for k, v in json.loads(config.read_text()).items() if k != "chat_template"}))
        (tmp_path / (place or "other")).write_text("{}")
    text = TEXT.format(tmp_path) + (f'chat_template = "{tmp_path}/file"\n' if place == "file" else "")
    assert told(found(text, look=True)) == ([] if place else ["warning SMG066 pools.a.model d.toml:3"])


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100000])
def test_a_broken_configuration_holds_no_template(tmp_path: Path, text: str) -> None:
    """A file that is no JSON object is like one without a template."""
    write_model_dir(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(text)
    assert [finding.code for finding in found(TEXT.format(tmp_path), look=True)] == ["SMG066"]


def test_files_that_settings_name_exist(tmp_path: Path) -> None:
    """Each file that a setting of the gateway names is looked for, lists and facts of the pool included."""
    (tmp_path / "there").write_text("x")
    text = POOL + (
        f'chat_template = "{tmp_path}/none"\n[gateway]\nmcp_config_path = "{tmp_path}/there"\n'
        f'schema_config = "{tmp_path}/none"\nca_cert_paths = ["{tmp_path}/there", "{tmp_path}/none"]\n'
    )
    assert told(found(text, look=True)) == [
        "error SMG067 pools.a.chat_template d.toml:4",
        "error SMG067 gateway.ca_cert_paths d.toml:8",
        "error SMG067 gateway.schema_config d.toml:7",
    ]
