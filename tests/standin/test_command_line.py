"""The command line: what the engine refuses is refused, and what was not passed keeps the engine's default."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from standin.processes import standin_words

from smgcfg.errors import ConfigError
from smgcfg.standin.__main__ import main, read_settings
from smgcfg.standin.settings import EngineSettings, Play, SettingsError, context_length
from smgcfg.standin.tokenizer import MAX_MODEL_LEN, write_model_dir

SERVE = ["serve", "--headless", "--model", "m"]


def test_absent_flags_keep_the_defaults() -> None:
    """Neither enforcement nor logprobs are on unless they were asked for."""
    settings = read_settings(SERVE, {})
    assert settings == EngineSettings(model="m")
    assert (settings.enforce, settings.output_logprobs, settings.play) == (False, False, Play())


def test_the_flags_of_a_launcher() -> None:
    """The words that a launcher writes reach the settings, whatever else stands among them."""
    words = [*standin_words(20123, "--zmq-engine-index", "2", "--data-parallel-size", "2")[3:], "--port", "31000"]
    words += ["--dist-init-addr", "127.0.0.1:31233", "--grammar-backend", "xgrammar", "--enable-output-logprobs"]
    words += ["--tp", "2", "--chunked-prefill-size", "-1", "--stream-interval", "3", "--max-num-seqs", "9"]
    assert read_settings(words, {}) == EngineSettings(
        model="tiny", port=20123, first_index=2, ranks=2, world_size=4, tensor_parallel_size=2, enforce=True,
        output_logprobs=True, max_num_batched_tokens=0, stream_interval=3, max_num_seqs=9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "usage"),
        (["serve", "--model", "m"], "headless engine only"),
        (["--headless", "--model", "m"], "headless engine only"),
        (["serve", "--headless"], "--model"),
        ([*SERVE, "--grammar-backend", "llguidance"], "llguidance"),
        ([*SERVE, "--grammar-backend", "outlines"], "outlines"),
        ([*SERVE, "--no-such-flag"], "--no-such-flag"),
        ([*SERVE, "--max-num-seqs", "many"], "many"),
        ([*SERVE, "--control-port=3"], "--control-port"),
        ([*SERVE, "--drain-timeout", "3"], "--drain-timeout"),
        ([*SERVE, "--zmq-engine-index", "65535", "--data-parallel-size", "2"], "65536"),
    ],
)
def test_refused_command_lines(words: list[str], complaint: str) -> None:
    """A command line that the engine refuses is refused, and the message names what is wrong."""
    with pytest.raises((ConfigError, SettingsError)) as caught:
        read_settings(words, {})
    assert complaint in str(caught.value)


def test_a_refusal_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever kind of refusal, it is printed on standard error only and the exit code is 2."""
    assert main(["serve", "--model", "m"], {}) == 2
    assert main([*SERVE, "--no-such-flag"], {}) == 2
    printed = capsys.readouterr()
    assert "headless" in printed.err
    assert "--no-such-flag" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    "environ",
    [
        {"SMGCFG_STANDIN_UNSUPPORTED": "Ignore"},
        {"SMGCFG_STANDIN_UNSUPPORTED": ""},
        {"SMGCFG_STANDIN_LOAD_SECONDS": "long"},
        {"SMGCFG_STANDIN_LOAD_SECONDS": "-1"},
        {"SMGCFG_STANDIN_STEP_SECONDS": "nan"},
        {"SMGCFG_STANDIN_STEP_SECONDS": "inf"},
    ],
)
def test_refused_environments(environ: dict[str, str]) -> None:
    """A value of the stand-in's own variables that means nothing is refused, and the variable is named."""
    with pytest.raises(SettingsError, match=next(iter(environ))):
        read_settings(SERVE, environ)


def test_the_environment_is_read() -> None:
    """The three variables say how the part is played."""
    environ = {
        "SMGCFG_STANDIN_UNSUPPORTED": "ignore",
        "SMGCFG_STANDIN_LOAD_SECONDS": "1.5",
        "SMGCFG_STANDIN_STEP_SECONDS": "0.01",
    }
    assert read_settings(SERVE, environ).play == Play(ignore_unsupported=True, load_seconds=1.5, step_seconds=0.01)


def test_the_context_length(tmp_path: Path) -> None:
    """The flag wins over the model directory's config.json, and that over the stand-in's own length."""
    model = write_model_dir(tmp_path)
    (model / "config.json").write_text('{"max_position_embeddings": 777}')
    words = ["serve", "--headless", str(model)]
    assert read_settings(words, {}).max_model_len == 777
    assert read_settings([*words, "--max-model-len", "99"], {}).max_model_len == 99
    for text in ("[]", "{", '{"max_position_embeddings": "x"}'):
        (model / "config.json").write_text(text)
        assert context_length(str(model)) == MAX_MODEL_LEN
    assert context_length("org/no-such-model") == MAX_MODEL_LEN


def test_an_engine_has_ranks() -> None:
    """Settings without a rank can not be made."""
    with pytest.raises(SettingsError):
        EngineSettings(model="m", ranks=0)


def test_writing_the_model(tmp_path: Path) -> None:
    """`--write-model` writes the directory that the Python function writes, and prints where."""
    words = [sys.executable, "-m", "smgcfg.standin", "--write-model", str(tmp_path / "made")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == f"{tmp_path / 'made'}\n"
    expected = write_model_dir(tmp_path / "expected")
    assert {file.name: file.read_bytes() for file in (tmp_path / "made").iterdir()} == {
        file.name: file.read_bytes() for file in expected.iterdir()
    }


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` prints the usage and the variables."""
    assert main(["--help"], {}) == 0
    assert "SMGCFG_STANDIN_UNSUPPORTED" in capsys.readouterr().out
