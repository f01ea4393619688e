"""`smgcfg drift`, in interpreters that have the real programs, with and without planted changes."""

import json
import sys
import venv
from pathlib import Path

import pytest
from oracles import wheels
from planted import ENGINE, ENGINE_FIRST, SERVICER, SERVICER_FIRST, planted

from smgcfg.cli import main
from smgcfg.errors import errors_in
from smgcfg.loading import load_sources
from smgcfg.planning.plan import plan
from smgcfg.snapshots import read_snapshot

FILE = """
[pools.chat]
backend = "tokenspeed"
model = "org/m"
python = "{python}"

[pools.chat.engine]
max_num_seqs = 64
stream_interval = 4

[gateway]
python = "{python}"
"""

#: TokenSpeed of tomorrow: a flag came, one went, a choice came for a closed setting, two defaults changed.
TOMORROW = (
    (ENGINE_FIRST, f'        parser.add_argument("--fresh", choices=["fast", "slow"], default="slow")\n{ENGINE_FIRST}'),
    ('"--max-num-seqs"', '"--most-seqs"'),
    ('                "nvfp4",\n', '                "nvfp4",\n                "fp3",\n'),
    ('            choices=["xgrammar", "none"],\n', '            choices=["xgrammar", "llguidance", "none"],\n'),
    ("    stream_interval: int = 1\n", "    stream_interval: int = 2\n"),
    ("    seed: int | None = None\n", "    seed: int | None = 7\n"),
)


def interpreter(folder: Path, *found: Path) -> str:
    """A new interpreter that finds the packages of some folders, and no others."""
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "here.pth").write_text("".join(f"{path}\n" for path in found), encoding="utf-8")
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with TokenSpeed 0.1.1, the gateway and the servicer."""
    requirements = ("tokenspeed==0.1.1", "smg==1.13.0", "smg-grpc-servicer==0.14.1")
    return interpreter(tmp_path_factory.mktemp("today"), *map(wheels.unpacked, requirements))


@pytest.fixture(scope="module")
def tomorrow(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with a TokenSpeed 0.1.2 that there is not."""
    folder = tmp_path_factory.mktemp("tomorrow")
    engine = planted("tokenspeed==0.1.1", folder / "engine", {ENGINE: TOMORROW}, version="0.1.2")
    return interpreter(folder / "python", engine, wheels.unpacked("smg==1.13.0"))


@pytest.fixture
def file(tmp_path: Path, tomorrow: str) -> Path:
    """A deployment file for tomorrow's engine."""
    path = tmp_path / "deploy.toml"
    path.write_text(FILE.format(python=tomorrow), encoding="utf-8")
    return path


def test_nothing_differs_today(today: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An interpreter with the known releases has no drift."""
    assert main(["drift", "--python", today]) == 0
    engine, gateway, servicer = capsys.readouterr().out.split("\n\n")
    assert engine.splitlines()[1] == "  186 flags, as 0.1.1 has them"
    assert gateway.splitlines()[1] == "  212 flags, as 1.13.0 has them"
    assert servicer.splitlines()[1:] == ["  3 flags, as 0.14.1 has them"]


def test_a_difference_is_told_with_what_it_means_for_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every difference stands in a line with what to do; what the engine would refuse has its place in the file."""
    assert main(["drift", str(file)]) == 1
    engine, gateway = capsys.readouterr().out.split("\n\n")
    assert [" ".join(line.split()) for line in engine.splitlines()[1:]] == [
        "7 differences to 0.1.1",
        'added --fresh fast|slow ("slow" by default) extra = ["--fresh", "fast"]',
        'choices --quantization: takes fp3, too extra = ["--quantization", "fp3"]',
        'added --most-seqs INT extra = ["--most-seqs", "INT"]',
        "default --stream-interval: was 1, is 2 stream_interval is set, so nothing changes",
        "default --seed: was unset, is 7 seed is not set in pools.chat.engine",
        "choices --grammar-backend: takes llguidance, too set grammar_backend",
        "removed --max-num-seqs",
        f"{file}:8 error SMG012 pools.chat.engine.max_num_seqs: TokenSpeed 0.1.2 has no --max-num-seqs",
        "hint: leave it out",
    ]
    assert gateway.splitlines()[1] == "  212 flags, as 1.13.0 has them"


def test_json_has_everything(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` is one document with the same differences and findings."""
    assert main(["drift", str(file), "--json", "--program", "tokenspeed"]) == 1
    document = json.loads(capsys.readouterr().out)
    (engine,) = document["programs"]
    assert document["drift"] is True
    assert (engine["version"], engine["compared_with"], engine["method"]) == ("0.1.2", "0.1.1", "source")
    assert [(d["part"], d["flag"]) for d in engine["differences"]][:2] == [
        ("added", "--fresh"),
        ("choices", "--quantization"),
    ]
    assert [finding["code"] for finding in engine["findings"]] == ["SMG012"]
    assert "--fresh" in engine["flags"]
    assert engine["unread"] == engine["unknown"] == []


def test_a_new_table_is_written_and_can_be_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the written table the file is checked against tomorrow's engine: its flags pass, what it lacks does not."""
    assert main(["drift", str(file), "--write"]) == 1
    table = file.parent / "tokenspeed-0.1.2.snapshot.json"
    assert f'pools.chat.engine_version = "./{table.name}"' in capsys.readouterr().out
    assert [path.name for path in file.parent.glob("*.json")] == [table.name]
    assert (read_snapshot(table).version, len(read_snapshot(table).flags)) == ("0.1.2", 187)

    text = file.read_text(encoding="utf-8").replace("[pools.chat]", f'[pools.chat]\nengine_version = "./{table.name}"')
    file.write_text(text, encoding="utf-8")
    assert found(file) == [("SMG012", "pools.chat.engine.max_num_seqs")]
    new = 'grammar_backend = "llguidance"\nextra = ["--most-seqs", "4", "--quantization", "fp3"]'
    file.write_text(text.replace("max_num_seqs = 64", new), encoding="utf-8")
    assert found(file) == []
    file.write_text(text.replace("max_num_seqs = 64", 'extra = ["--quantization", "fp4"]'), encoding="utf-8")
    assert found(file) == [("SMG013", "pools.chat.engine.extra")]

    assert main(["drift", str(file)]) == 0, "the file names what is installed"
    assert "187 flags, as 0.1.2 has them" in capsys.readouterr().out


def found(file: Path) -> list[tuple[str, str]]:
    """(code, key) of the errors in a file."""
    loaded = load_sources([(str(file), file.read_bytes())], environ={})
    assert loaded.deployment is not None
    findings = [*loaded.findings, *plan(loaded.deployment, overlay=loaded.overlay).findings]
    return [(finding.code, finding.key) for finding in errors_in(findings)]


def test_what_stands_there_is_not_overwritten(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table is not written over a file."""
    (file.parent / "tokenspeed-0.1.2.snapshot.json").write_text("mine", encoding="utf-8")
    assert main(["drift", str(file), "--write"]) == 2
    assert "it exists" in capsys.readouterr().err
    assert (file.parent / "tokenspeed-0.1.2.snapshot.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--program", "vllm"], "expected one of tokenspeed, smg"),
        (["--python", "/no/such/python"], "/no/such/python can not be run: No such file or directory"),
        (["--python", "/bin/true"], "/bin/true did not answer with a flag table"),
        (["--python", "/bin/false"], "/bin/false failed with exit code 1"),
        (["no-such-file.toml"], "can not be read"),
    ],
)
def test_bad_input_is_reported(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What can not be asked ends with exit code 2 and says why."""
    assert main(["drift", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_servicer_of_tomorrow_is_told_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new flag of the servicer goes into extra; no table of it is written, as no key names one, and that is said."""
    fresh = f'    parser.add_argument("--fresh", type=int)\n{SERVICER_FIRST}'
    changes = {SERVICER: ((SERVICER_FIRST, fresh),)}
    servicer = planted("smg-grpc-servicer==0.14.1", tmp_path / "servicer", changes, version="0.14.2")
    python = interpreter(tmp_path / "python", wheels.unpacked("tokenspeed==0.1.1"), servicer)
    assert main(["drift", "--python", python, "--write"]) == 1
    out, err = capsys.readouterr()
    assert [" ".join(line.split()) for line in out.split("\n\n")[1].splitlines()[1:]] == [
        "1 difference to 0.14.1",
        'added --fresh INT extra = ["--fresh", "INT"]',
    ]
    assert err.splitlines() == [
        "tokenspeed 0.1.1: no file written: nothing differs",
        "smg-grpc-servicer 0.14.2: no file written: no key names its version; new flags go into extra",
    ]


def test_what_is_not_installed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pool's interpreter without its engine is bad input, with the key that names it."""
    python = interpreter(tmp_path / "bare")
    (tmp_path / "deploy.toml").write_text(FILE.format(python=python), encoding="utf-8")
    assert main(["drift", str(tmp_path / "deploy.toml")]) == 2
    assert "pools.chat.python: TokenSpeed is not installed" in capsys.readouterr().err
    assert main(["drift", "--python", python]) == 2
    assert "not installed" in capsys.readouterr().err


def test_a_command_of_its_own_needs_an_interpreter(
    tmp_path: Path, today: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which interpreter an operator's command runs is not guessed; `--python` says it."""
    path = tmp_path / "deploy.toml"
    path.write_text('[pools.a]\nbackend = "tokenspeed"\nmodel = "m"\ncommand = ["run-it"]\n', encoding="utf-8")
    assert main(["drift", str(path)]) == 2
    assert "pools.a.command: which interpreter this runs is not known" in capsys.readouterr().err
    assert main(["drift", str(path), "--python", today]) == 0


def test_grpc_pools_have_the_servicers_flags(tmp_path: Path, today: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Over grpc the servicer stands in front of the engine, and its flags are told, too."""
    path = tmp_path / "deploy.toml"
    text = FILE.format(python=today).replace("[pools.chat]", '[pools.chat]\ntransport = "grpc"')
    path.write_text(text, encoding="utf-8")
    assert main(["drift", str(path)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:1].strip()] == [
        *("tokenspeed", "smg-grpc-servicer", "smg"),
    ]


def test_this_interpreter_is_looked_in_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file and a `--python` it is the one that runs smgcfg."""
    code = main(["drift", "--program", "smg"])
    assert (code, sys.executable in capsys.readouterr().out) == (0, True)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"program": "tokenspeed"}', "[" * 100000, '{"parsers": [{"flags": [1]}]}']
)
def test_a_broken_table_is_one_finding(content: str, tmp_path: Path) -> None:
    """A file that stands for a version and holds none is an error at the key that names it."""
    (tmp_path / "x.snapshot.json").write_text(content, encoding="utf-8")
    text = '[pools.a]\nbackend = "tokenspeed"\nmodel = "m"\nengine_version = "./x.snapshot.json"\n'
    loaded = load_sources([(str(tmp_path / "d.toml"), text.encode())], environ={})
    (finding,) = loaded.findings
    assert (finding.code, finding.key) == ("SMG001", "pools.a.engine_version")
    assert str(finding.where).endswith("d.toml:4")
