"""The report of problems that ends a command."""

from pathlib import Path

import pytest
from in_process import run

from smgcfg.cli import COMMANDS


# `keys` would search for the word.
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "keys"])
def test_only_what_starts_something_says_that_it_did_not(command: str) -> None:
    """The last line counts the problems; of commands that start nothing anyway, it says nothing of a start."""
    code, out, err = run([command, "--no-such-option"])
    assert (code, out) == (2, "")
    end = "; nothing was started" if command in ("plan", "check", "serve") else ""
    assert err.splitlines()[-1] == f"1 error, 0 warnings{end}"


def test_a_report_goes_through_a_file_from_top_to_bottom(tmp_path: Path) -> None:
    """Whichever stage finds a problem, those of a file stand line by line, and what has no line comes last."""
    file = tmp_path / "a.toml"
    file.write_text(
        "[gateway]\nport = 80800\nhost = 'http://x'\n[launch]\nrestart = true\n"
        "[pools.a]\nbackend = 'tokenspeed'\nmodel = 'm'\nwrapper = 'numactl -N 0'\n"
    )
    code, _, err = run(["plan", str(file), "--set", "pools.a.replicas=0"])
    assert code == 2
    places = [line.partition("  ")[0].rpartition("/")[2] for line in err.splitlines() if " SMG0" in line]
    assert places == ["a.toml:2", "a.toml:3", "a.toml:5", "a.toml:9", "argument 3 '--set pools.a.replicas'"]
    assert 'hint: write ["numactl", "-N", "0"]' in err
