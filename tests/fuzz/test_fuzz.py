"""Whatever is typed: never a traceback, never a hang, always a documented exit code, always a key or a place.

`SMGCFG_FUZZ=100000 pytest -m fuzz -n auto` runs a hundred thousand inputs. Each has a number, from which it is made.
"""

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Final

import pytest
from fuzz.files import file
from fuzz.judging import judged, verdict
from fuzz.words import HARMLESS, command_line, odd_word, options_of
from in_process import run

from smgcfg.cli import COMMANDS

pytestmark = pytest.mark.fuzz

COUNT: Final = int(os.environ.get("SMGCFG_FUZZ", "2000"))
PARTS: Final = 8
#: How much of the inputs each command gets; the others get one part.
SHARES: Final = {"plan": 12, "check": 6, "serve": 3, "explain": 3, "diff": 2, "import": 3, "verify": 2}


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, bool]]:
    """The options of every command, as its help names them."""
    return {command: options_of(run([command, "--help"])[1]) for command in COMMANDS}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place of its own, without launches, GPUs or secrets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def an_input(number: int, options: dict[str, dict[str, bool]]) -> tuple[list[str], bytes]:
    """The command line and the standard input of a number; its files are written to the current directory."""
    random = Random(number)
    names = ["a.toml", "b.toml"] if random.random() < 0.1 else ["a.toml"]
    for name in names:
        Path(name).write_bytes(file(random))
    stdin = file(random) if random.random() < 0.02 else b""
    if random.random() < 0.01:
        return [odd_word(random), *names], stdin
    command = random.choices(list(COMMANDS), [SHARES.get(command, 1) for command in COMMANDS])[0]
    words = command_line(random, command, options[command], ["-"] if stdin else names)
    return [command, *HARMLESS.get(command, lambda random: [])(random), *words[1:]], stdin


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_is_typed_breaks_it(part: int, options: dict[str, dict[str, bool]]) -> None:
    """Any file and any words end in a documented exit code, in time, and what is refused is named."""
    problems = []
    for number in range(part, COUNT, PARTS):
        argv, stdin = an_input(number, options)
        found = verdict(argv, stdin)
        if found:
            problems.append(f"input {number}: {[word[:200] for word in argv]}\n{found[-2000:]}")
    assert not problems, f"{len(problems)} problems\n\n" + "\n\n".join(problems[:10])


def test_most_kinds_of_end_are_seen(options: dict[str, dict[str, bool]]) -> None:
    """Among the inputs are some that every stage takes, and some that it refuses: else they would show little."""
    seen = set()
    for number in range(1200):
        argv, stdin = an_input(number, options)
        code, out, err = run(argv, stdin)
        seen |= {
            (argv[0], code),
            *(code for code in ("SMG001", "SMG002", "SMG003", "SMG004", "SMG010") if code in out + err),
        }
    ends = {("plan", 0), ("plan", 2), ("check", 2), ("serve", 2)}
    assert ends | {"SMG001", "SMG002", "SMG003", "SMG010"} <= seen


@pytest.mark.parametrize("number", range(-12, 0))
def test_a_process_of_its_own_ends_as_well(number: int, options: dict[str, dict[str, bool]]) -> None:
    """The same holds behind the operating system, for words and files of any bytes."""
    argv, stdin = an_input(number, options)
    done = subprocess.run(
        [sys.executable, "-m", "smgcfg", *map(os.fsencode, argv)],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    out, err = (stream.decode("utf-8", "backslashreplace") for stream in (done.stdout, done.stderr))
    assert not judged(argv, done.returncode, out, err)
