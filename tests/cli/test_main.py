"""What `smgcfg` does with its first word, and with a reader that goes away."""

import os
import subprocess
import sys
from pathlib import Path

import in_process
import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serv"], "no such command 'serv'; did you mean serve?"),
        (
            ["deploy.toml"],
            "no such command 'deploy.toml'; a file stands behind the command, as in smgcfg plan deploy.toml",
        ),
        (["--set", "a=b"], "no such command '--set'; options stand behind the command, as in"),
        (["frobnicate"], "no such command 'frobnicate'\n"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_what_was_meant(words: list[str], said: str) -> None:
    """A misspelt command, a file and an option in its place are told apart, and every command is named."""
    code, out, err = in_process.run(words)
    assert (code, out) == (2, "")
    assert said in err
    assert "commands: plan, check, " in err


def test_help_of_a_command() -> None:
    """`help COMMAND` is `COMMAND --help`; `version` is `--version`."""
    assert in_process.run(["help", "stop"]) == in_process.run(["stop", "--help"])
    assert in_process.run(["version"]) == in_process.run(["--version"])


@pytest.mark.parametrize(
    ("words", "code", "unbuffered"),
    [(["--help"], 0, "1"), (["--help"], 0, ""), (["stop", "--help"], 0, "1"), (["check", "FILE"], 2, "")],
)
def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path, words: list[str], code: int, unbuffered: str) -> None:
    """Into a pipe that nobody reads, a command ends as it would have, without a word about the pipe."""
    (tmp_path / "FILE").write_text("[gateway]\nport = '1'\n")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "smgcfg", *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    finally:
        os.close(writing)
    assert ended.returncode == code
    assert b"Pipe" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["plan", "a.toml", "--tp", "2"], "flags of the engine stand behind --, as in: -- --tp"),
        (["verify", "a.toml", "--max-num-seqs=2"], "flags of the engine stand behind --, as in: -- --max-num-seqs"),
        (["serve", "a.toml", "--policy", "random"], "as in: --set gateway.policy=VALUE"),
        (["diff", "a.toml", "b.toml", "--grace", "3"], "as in: --set launch.grace=VALUE"),
        (["explain", "a.toml", "--transport", "zmq"], "as in: --set pools.NAME.transport=VALUE"),
        (["plan", "a.toml", "--standin"], "did you mean --stand-in?"),
        (["plan", "a.toml", "--replicas", "3", "--port=9"], "--set pools.NAME.replicas=3 --set pools.NAME.port=9"),
        (["plan", "--", "a.toml"], "files stand in front of --"),
        (["verify", "127.0.0.1:8080/v1"], "a URL begins with http:// or https://: http://127.0.0.1:8080/v1"),
        (["import", "ts", "serve", "m"], "smgcfg import -- COMMAND"),
        (["verify"], "smgcfg verify URL | NAME | FILE..."),
    ],
)
def test_a_word_in_the_wrong_place_is_answered_with_the_right_one(words: list[str], hint: str) -> None:
    """A setting given as an option of the command, or a word on the wrong side of `--`: the hint says where it goes."""
    code, _, err = in_process.run(words)
    assert code == 2
    assert hint in err


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["schema"], ["keys", "--tp"]], ids=" ".join)
def test_a_disk_that_is_full_is_said(words: list[str], unbuffered: str) -> None:
    """Output that can not be written is a failure in one line, whichever command it is of."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "smgcfg", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    said = b"smgcfg: the output can not be written: no space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, said)
