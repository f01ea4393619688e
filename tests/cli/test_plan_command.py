"""Options of `smgcfg plan` and its like: each has an effect, or is refused."""

import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from e2e.ports import Ports
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


def test_a_saved_deployment_plans_the_same() -> None:
    """What was unset stays so, relative paths mean the same from another directory, and only the owner may read it."""
    Path("in").mkdir()
    Path("in/deep").mkdir()
    words = ["plan", "--backend=tokenspeed", "--model=./m", "--unset=gateway.health_check_interval_secs"]
    words += ["--set=pools.main.chat_template=../t.jinja", "--set=pools.main.env.CACHE=./cache"]
    words += ["--set", 'gateway.api_key={ file = "./key" }', "--commands"]
    code, out, _ = run([*words, "--set=name=x", "--save=in/deep/x.toml"])
    assert (code, "--health-check-interval-secs" in out) == (0, False)
    text = Path("in/deep/x.toml").read_text(encoding="utf-8")
    for said in ('model = "../../m"', 'chat_template = "../../../t.jinja"', 'CACHE = "../../cache"', '"../../key"'):
        assert said in text
    assert stat.S_IMODE(Path("in/deep/x.toml").stat().st_mode) == 0o600
    assert run(["plan", "in/deep/x.toml", "--commands"])[1] == out
    # Beside the file it came from a path stays as it is.
    assert run(["plan", "in/deep/x.toml", "--save=y.toml"])[0] == 0
    assert 'model = "./m"' in Path("y.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_only_what_plans_saves(command: str) -> None:
    """A command that would ignore --save does not have it."""
    code, _, err = run([command, "d.toml", "--save", "saved.toml"])
    assert (code, "no such option --save" in err) == (2, True)


def test_the_look_at_the_machine_includes_secrets_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """--host says where a version was found, and which variable or file of a secret is missing; without it neither."""
    Path("secret.toml").write_text(
        f'{POOL}command = ["true"]\nenv = {{ HF_TOKEN = {{ env = "NO_SUCH" }} }}\n'
        '[gateway]\napi_key = { file = "./none" }\n',
        encoding="utf-8",
    )
    assert run(["plan", "secret.toml"])[0] == 0
    code, _, err = run(["plan", "secret.toml", "--host"])
    assert code == 2
    assert "SMG018 pools.chat.env.HF_TOKEN: the variable NO_SUCH is not set" in err
    assert "SMG018 gateway.api_key: the file" in err
    monkeypatch.setenv("NO_SUCH", "s3cret")
    Path("none").write_text("s3cret", encoding="utf-8")
    with closing(Ports()) as ports:
        run_dir = ports.run_dir(Path.cwd() / str(number) for number in range(100))
        places = {"gateway.port": ports.gateway, "pools.chat.port": ports.worker, "launch.run_dir": run_dir}
        sets = [f"--set={key}={value}" for key, value in places.items()]
        code, out, err = run(["plan", "secret.toml", "--host", *sets])
    assert (code, err) == (0, "")
    assert f"tokenspeed, smg 1.13.0 (found in {sys.executable})   run dir {run_dir}\n" in out
    assert "s3cret" not in out


def test_secrets_are_shown_in_json_alone() -> None:
    """--show-secrets is refused where it would have no effect."""
    code, _, err = run(["plan", "d.toml", "--show-secrets"])
    assert (code, "--show-secrets: only with --json" in err) == (2, True)
