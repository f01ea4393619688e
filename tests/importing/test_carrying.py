"""What becomes of single words: facts once, owned settings, model families, secrets, and the command itself."""

import json
import os
import shlex
import stat
from pathlib import Path

import pytest
from launched import good_plan
from oracles import launchers

from smgcfg.cli import main
from smgcfg.errors import ConfigError
from smgcfg.importing import import_command, local_config
from smgcfg.loading import load

TS = ["ts", "serve", "org/m"]
SMG = ["smg", "serve", "--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "/m/q"]
HEADLESS = ["ts", "serve", "--headless", "--model", "m"]


def test_facts_about_the_model_stand_on_the_pool_once() -> None:
    """What engine and gateway share, and what names the model, is said on the pool and nowhere else."""
    words = [*SMG, "--router-model-path", "q", "--router-model-alias", "chat=q", "--reasoning-parser", "qwen3"]
    words += ["--router-reasoning-parser", "qwen3", "--router-tool-call-parser", "qwen", "--tokenizer", "/t"]
    deployment = import_command([*words, "--router-tokenizer-path", "/t"]).deployment
    (pool,) = deployment.pools
    assert (pool.model, pool.served_model_name) == ("/m/q", ("q", "chat"))
    assert (pool.reasoning_parser, pool.tool_call_parser, pool.tokenizer) == ("qwen3", "qwen", "/t")
    gateway = deployment.gateway.args
    assert pool.engine.reasoning_parser is pool.engine.model is pool.engine.tokenizer is None
    assert gateway.reasoning_parser is gateway.model_path is gateway.model_alias is gateway.tokenizer_path is None


def test_what_one_side_alone_was_told_stays_there() -> None:
    """A parser that only the engine was told is not told to the gateway as well."""
    deployment = import_command([*SMG, "--reasoning-parser", "qwen3"]).deployment
    assert deployment.pools[0].reasoning_parser is None
    assert deployment.pools[0].engine.reasoning_parser == "qwen3"
    assert "--reasoning-parser" not in good_plan(deployment).gateway.argv


def test_owned_settings_are_compared_with_the_plan() -> None:
    """A setting that the plan decides is carried over where the plan decides the same, and lost aloud where not."""
    same = ["--port", "32000", "--dist-init-addr", "127.0.0.1:32233", "--zmq-engine-index", "0"]
    assert import_command([*HEADLESS, *same]).lost == ()
    other = import_command([*HEADLESS, "--zmq-engine-index", "3", "--data-parallel-address=10.0.0.1"])
    assert sorted(lost.name for lost in other.lost) == ["--data-parallel-address", "--zmq-engine-index"]
    assert [lost.name for lost in import_command([*SMG, "--", "--port", "5"]).lost] == ["--port"]


def test_a_socket_directory_is_the_run_directory() -> None:
    """With the directory of its sockets kept, a worker of smg serve keeps its URL and its handshake port."""
    words = ["SMG_ZMQ_SOCKET_DIR=/run/s", *SMG, "--dp-size", "2"]
    plan = good_plan(import_command(words).deployment)
    assert [worker.ready.url for worker in plan.workers] == ["ipc:///run/s/engine-31000", "ipc:///run/s/engine-31001"]


def test_workers_of_a_launched_gateway_stay_where_they_are() -> None:
    """`smg launch` names its workers: the plan's workers have the same URLs, run after run of ports."""
    urls = [f"ipc:///run/s/engine-{port}" for port in (31000, 31001, 31007)]
    words = ["smg", "launch", "--backend", "tokenspeed", "--model", "m", "--worker-urls", *urls]
    assert [worker.ready.url for worker in good_plan(import_command(words).deployment).workers] == urls


@pytest.mark.parametrize(
    ("urls", "code"),
    [
        (["http://127.0.0.1:8000"], "SMG017"),
        (["grpc://10.0.0.1:50051"], "SMG017"),
        (["grpc://127.0.0.1:50051", "ipc:///s/engine-31000"], "SMG024"),
        ([], "SMG007"),
    ],
)
def test_workers_that_are_not_ours_are_refused(urls: list[str], code: str) -> None:
    """Workers on other machines, or reached in two ways, or none at all, are no deployment."""
    words = ["smg", "launch", "--backend", "tokenspeed", "--model", "m", "--worker-urls", *urls]
    with pytest.raises(ConfigError) as refused:
        import_command(words)
    assert refused.value.findings[0].code == code


def test_a_forced_policy_is_said_aloud() -> None:
    """smg serve routes to one worker by passthrough whatever is said; two workers get the policy that was said."""
    assert [lost.name for lost in import_command([*SMG, "--router-policy", "random"]).lost] == ["--router-policy"]
    two = import_command([*SMG, "--router-policy", "random", "--dp-size", "2"])
    assert two.lost == ()
    assert two.deployment.gateway.args.policy == "random"


@pytest.mark.parametrize(
    "model_type", ["deepseek_v41", "deepseek_v4", "glm_moe_dsa", "inkling_mm_model", "kimi_k3", "none-of-these"]
)
def test_families_are_found_in_a_local_models_config(model_type: str, tmp_path: Path) -> None:
    """Where the model's name says nothing, its config.json does, as for ts serve itself."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    imported = import_command(["ts", "serve", str(tmp_path)], read_config=local_config)
    _, theirs, _ = launchers.ts_serve().split([str(tmp_path)])
    wanted = theirs[theirs.index("--tool-call-parser") + 1] if "--tool-call-parser" in theirs else None
    assert imported.deployment.pools[0].tool_call_parser == wanted
    assert (wanted is None) == (model_type == "none-of-these")


def test_the_promises_that_the_command_did_not_keep_are_said() -> None:
    """A command without a grammar backend is carried over as it is, and the report says what that means."""
    imported = import_command(TS)
    assert imported.deployment.pools[0].engine.grammar_backend is None
    assert any("grammar_backend is not passed" in note for note in imported.notes)
    words = [*TS, "--grammar-backend", "xgrammar", "--enable-output-logprobs"]
    assert not any("grammar_backend" in note for note in import_command(words).notes)


def test_what_the_plan_decides_is_named_in_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Each value that the plan gives the gateway and the command does not stands in a comment, with what it was."""
    assert main(["import", "--", *SMG, "--dp-size", "2", "--router-health-failure-threshold", "3"]) == 0
    out, err = capsys.readouterr()
    named = "gateway.{} = 1 in the plan, where the command leaves it to smg 1.13.0, which takes 60"
    lines = [named.format(key) for key in ("cb_timeout_duration_secs", "health_check_interval_secs")]
    assert out.startswith("# Unless it is set here:\n")
    assert all(f"\n#   {line}\n" in out and f"note  {line}: " in err for line in lines)
    assert "\nhealth_failure_threshold = 3\n" in out
    # The model's path as well: this command's gateway has none, and would never take a worker.
    assert out.count(" in the plan, ") == len(lines) + 1
    decided = {one.key: one.own for one in import_command(TS).decided}
    assert decided["gateway.worker_startup_check_interval"] == "tokenspeed-smg 1.10.1, which takes 30"


def test_relative_paths_stay_where_they_are() -> None:
    """A file's relative paths are relative to the file, a command's to where it ran: the report says so."""
    for words in (["ts", "serve", "./m"], [*TS, "--chat-template=../t.jinja"]):
        assert any("relative to the file" in note for note in import_command(words).notes)
    assert not any("relative to the file" in note for note in import_command(TS).notes)


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_a_file_that_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is the file and nothing else; the exit code says that all was carried over."""
    assert main(["import", "--", *TS]) == 0
    out, err = capsys.readouterr()
    (tmp_path / "deploy.toml").write_text(out)
    assert load(tmp_path / "deploy.toml") == import_command(TS).deployment
    assert "everything was carried over" in err


def test_the_exit_code_says_what_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """1 when something became a comment, with the flag and the reason in the file; 2 when nothing could be made."""
    assert main(["import", "--", *TS, "--enable-cache-report", "--frobnicate=3"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("# Not carried over:\n#   --enable-cache-report\n#     TokenSpeed 0.1.1 has no such flag")
    assert "#   --frobnicate 3\n#     neither TokenSpeed 0.1.1 nor its gateway has such a flag" in out
    assert "2 not carried over" in err
    assert main(["import", "--", "vllm", "serve", "m"]) == 2
    assert main(["import", *TS]) == 2
    assert main(["import"]) == 2
    assert capsys.readouterr().out == ""


def test_secrets_are_carried_and_announced_but_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A secret stands in the file, which only its owner can read; the report names no secret, not even a lost one."""
    path = tmp_path / "deploy.toml"
    secrets = ["--router-api-key", "s3cret", "--api-kee", "s3cret"]
    assert main(["import", "--save", str(path), "--", "HF_TOKEN=s3cret", *SMG, *secrets]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "s3cret" not in err
    assert "holds a secret" in err
    assert path.read_text().count("s3cret") == 4
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert main(["import", "--save", str(path), "--", *TS]) == 2


def test_comments_hold_whatever_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks and control characters of a lost word do not end the comment."""
    assert main(["import", "--", *TS, "--frob", "a\nb = 1\x00\u2028é"]) == 1
    assert "#   --frob 'a\\nb = 1\\x00\\u2028é'\n" in capsys.readouterr().out
    assert main(["import", "--", *TS, "\udcff"]) == 2


def test_the_readme_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The command in the README carries everything over."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith("smgcfg import"))
    words = shlex.split(line)
    assert main(words[1 : words.index(">")]) == 0
    assert 'gpus = ["0", "1"]' in capsys.readouterr().out


def test_a_misspelt_flag_is_told_with_what_is_missing_for_it() -> None:
    """A command that can not be a deployment names the flags that nobody has: one of them may be the reason."""
    with pytest.raises(ConfigError) as refused:
        import_command(["ts", "serve", "--modle", "org/m"])
    told = [(finding.severity, finding.code, finding.key) for finding in refused.value.findings]
    assert ("error", "SMG007", "pools.main.model") in told
    assert ("warning", "SMG010", "--modle") in told
