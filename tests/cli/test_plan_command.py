"""Options of `smgcfg plan` and its like: each has an effect, or is refused."""

from pathlib import Path

import pytest
from in_process import run
from loaded import POOL

from smgcfg import load


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment to plan, in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("d.toml").write_text(POOL, encoding="utf-8")


@pytest.mark.parametrize("shape", [(), ("--json",), ("--commands",)])
def test_a_deployment_is_saved_whatever_is_printed(shape: tuple[str, ...]) -> None:
    """--save writes the file for every form of output, and nothing when there is an error."""
    assert run(["plan", "d.toml", "--set", "pools.chat.replicas=2", "--save", "saved.toml", *shape])[0] == 0
    assert load("saved.toml").pools[0].replicas == 2
    assert run(["plan", "d.toml", "--set", "pools.chat.replicas=0", "--save", "bad.toml", *shape])[0] == 2
    assert not Path("bad.toml").exists()


@pytest.mark.parametrize("command", ["check", "explain"])
def test_only_what_plans_saves(command: str) -> None:
    """A command that would ignore --save does not have it."""
    code, _, err = run([command, "d.toml", "--save", "saved.toml"])
    assert (code, "no such option --save" in err) == (2, True)


def test_secrets_are_shown_in_json_alone() -> None:
    """--show-secrets is refused where it would have no effect."""
    code, _, err = run(["plan", "d.toml", "--show-secrets"])
    assert (code, "--show-secrets: only with --json" in err) == (2, True)
