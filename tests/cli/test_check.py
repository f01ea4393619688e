"""`smgcfg check` as an operator calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from checking import POOL, SECOND

from smgcfg.cli import main
from smgcfg.errors import CODES

BAD = POOL + 'replicas = "2"\n'
WARNS = POOL + '[pools.a.engine]\ngrammar_backend = "none"\n'
FAILS = POOL + SECOND + '[pools.b.engine]\ngrammar_backend = "none"\n'


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `smgcfg check d.toml` on a text, with an environment that says nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)

    def call(text: str, *words: str) -> tuple[int, str, str]:
        Path("d.toml").write_text(text, encoding="utf-8")
        code = main(["check", "d.toml", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_a_deployment_without_a_fault_passes(check: Any) -> None:
    """Nothing found is exit code 0, and said; no secret is read for it."""
    for text in (POOL, POOL + '[pools.a.env]\nHF_TOKEN = { env = "NOT_SET_HERE" }\n'):
        assert check(text) == (0, "0 errors, 0 warnings; nothing was started\n", "")
        assert check(text, "--strict")[0] == 0


@pytest.mark.parametrize(
    ("text", "words", "code", "counted"),
    [
        (WARNS, (), 0, "0 errors, 1 warning"),
        (WARNS, ("--strict",), 2, "0 errors, 1 warning"),
        (WARNS, ("--strict", "--ignore", "SMG050"), 0, "0 errors, 0 warnings"),
        (WARNS, ("--strict", "--ignore", "smg05"), 0, "0 errors, 0 warnings"),
        (WARNS, ("--select", "SMG051, SMG06"), 0, "0 errors, 0 warnings"),
        (FAILS, (), 2, "1 error, 1 warning"),
        (FAILS, ("--select", "SMG050"), 0, "0 errors, 1 warning"),
        (FAILS, ("--ignore", "SMG052"), 0, "0 errors, 1 warning"),
        (BAD, (), 2, "1 error, 0 warnings"),
        (BAD, ("--ignore", "SMG003"), 2, "1 error, 0 warnings"),
        (BAD, ("--select", "SMG05"), 2, "1 error, 0 warnings"),
        ("[pools", ("--ignore", "SMG"), 2, "1 error, 0 warnings"),
        (POOL + "port = 65535\nreplicas = 2\n", ("--ignore", "SMG020"), 2, "1 error, 0 warnings"),
    ],
)
def test_the_exit_code_follows_what_is_reported(
    check: Any, text: str, words: tuple[str, ...], code: int, counted: str
) -> None:
    """Errors fail, warnings with --strict; what is not selected does not count, but what stops a launch always does."""
    result, out, err = check(text, *words)
    assert (result, err) == (code, "")
    assert out.splitlines()[-1] == f"{counted}; nothing was started"


def test_a_report_goes_through_the_file_line_by_line(check: Any) -> None:
    """What sources, plan and checks find stands in the order of the lines, each with place, code, key and hint."""
    text = (
        POOL + 'env = { CUDA_VISIBLE_DEVICES = "" }\n[pools.a.engine]\nmax_num_seq = 1\n[gateway]\npolicy = "random"\n'
    )
    code, out, _ = check(text)
    assert code == 2
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("d.toml")] == [
        ["d.toml:6", "error", "SMG002"]
    ]
    code, out, _ = check(text.replace("max_num_seq ", "max_num_seqs "))
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("d.toml")] == [
        ["d.toml:4", "error", "SMG054"],
        ["d.toml:8", "warning", "SMG025"],
    ]


def test_a_parser_that_no_gateway_knows_is_one_problem(check: Any) -> None:
    """That the gateway does not have it follows from that, and is not reported besides."""
    code, out, _ = check(POOL + 'reasoning_parser = "nonsense"\n')
    assert code == 2
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("d.toml")] == [
        ["d.toml:4", "error", "SMG004"]
    ]


def test_overrides_and_flags_are_checked_too(check: Any) -> None:
    """--set, --unset and engine flags behind -- count, as they do for a plan."""
    assert check(POOL, "--unset", "pools.a.engine.grammar_backend", "--strict")[0] == 2
    assert check(WARNS, "--set", "pools.a.engine.grammar_backend=xgrammar", "--strict")[0] == 0
    assert check(POOL, "--strict", "--", "--no-enable-output-logprobs")[0] == 2


def test_the_json_has_every_finding(check: Any) -> None:
    """A program gets each finding with its file, line or argument, and the counts."""
    code, out, _ = check(FAILS, "--json", "--set", "gateway.policy=random", "--set", "gateway.api_key=s3cret")
    document = json.loads(out)
    assert (code, document["errors"]) == (2, 1)
    assert document["warnings"] == len(document["findings"]) - 1
    places = {(f["code"], f["file"], f["line"], f["argument"]) for f in document["findings"]}
    assert {("SMG052", "d.toml", 8, None), ("SMG060", None, None, 6)} <= places
    assert all(set(f) == {"code", "severity", "key", "where", "file", "line", "argument", "message", "hint"} for f in document["findings"])  # fmt: skip  # noqa: E501
    assert "s3cret" not in out


def test_the_sarif_has_every_finding(check: Any) -> None:
    """The same findings, as a code review takes them, with the same exit code."""
    code, out, _ = check(FAILS, "--sarif")
    results = json.loads(out)["runs"][0]["results"]
    assert (code, sorted(result["ruleId"] for result in results)) == (2, ["SMG050", "SMG052"])


@pytest.mark.parametrize("code", ["SMG052", "smg052"])
def test_a_code_is_explained(capsys: pytest.CaptureFixture[str], code: str) -> None:
    """--explain says what a code means, whatever the case, and wants no file."""
    assert main(["check", "--explain", code]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"SMG052: {CODES['SMG052']}\n\nBoth pools answer under one name")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--explain", "SMG999"), "no such code 'SMG999'"),
        (("--explain", "SMG5"), "no such code 'SMG5'"),
        (("d.toml", "--select", "SMG9"), "no code begins with 'SMG9'"),
        (("d.toml", "--ignore", "SMG050,"), "no code begins with ''"),
        (("d.toml", "--json", "--sarif"), "one of the two"),
        ((), "no deployment"),
        (("none.toml",), "can not be read"),
    ],
)
def test_what_can_not_be_done_is_said(
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A code that there is not, and a command line that asks for nothing, is exit code 2 and a reason."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.toml").write_text(POOL)
    assert main(["check", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["standin.toml", "one-node.toml", "two-pools.toml", "grpc.toml"])
def test_an_example_has_nothing_to_say_against(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples of the project pass their own check, but for the model that is not on this machine."""
    path = Path(__file__).parents[2] / "examples" / name
    assert main(["check", str(path), "--ignore", "SMG055,SMG062,SMG064"]) == 0, capsys.readouterr().out


def test_the_readme_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report in the README is that of the file above it."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    head, _, behind = readme.partition("```\n$ smgcfg check deploy.toml\n")
    (tmp_path / "deploy.toml").write_text(head.rpartition("```toml\n")[2].partition("```")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert main(["check", "deploy.toml"]) == 2
    assert capsys.readouterr().out == behind.partition("```")[0]
