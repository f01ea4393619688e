"""`smgcfg upgrade`: a file for another version of the engine."""

import re
import stat
from pathlib import Path
from typing import Any

import pytest
import tomli
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from smgcfg.args import set_settings
from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.cli import main
from smgcfg.flags import key_of, spec_of, specs_of
from smgcfg.loading import load_sources
from smgcfg.planning.plan import plan
from smgcfg.snapshots import snapshot
from smgcfg.sources.document import Document, read_document
from smgcfg.testing.strategies import settings as some_settings
from smgcfg.toml_write import table_text
from smgcfg.upgrade import TOLD, Upgrade, upgrade

FILE = """\
# a deployment of ours
name = "shop"

[pools.chat]                       # the chat models
backend = "tokenspeed"             # since May
model = "org/m"

[pools.chat.engine]
block_size = 64                    # as measured
enable_nccl_nvls = true            # on by hand
enable_symm_mem = false            # hangs here
no_enable_prefix_caching = true    # a test
disable_kvstore = true
mamba_track_interval = 4           # gone?
disaggregation_transfer_backend = "mooncake_async"
load_format = "safetensors"
max_num_seqs = 64                  # keep

[gateway]
port = 8080                        # the public one
"""

UPGRADED = """\
# a deployment of ours
name = "shop"

[pools.chat]                       # the chat models
backend = "tokenspeed"             # since May
engine_version = "0.1.1"
model = "org/m"

[pools.chat.engine]
prefix_granularity = 64                    # as measured
disable_symm_mem = true            # hangs here
disable_prefix_caching = true    # a test
disable_kvstore = true
load_format = "safetensors"
max_num_seqs = 64                  # keep

[gateway]
port = 8080                        # the public one
"""


def upgraded(text: str, version: str = "0.1.1", since: str | None = None) -> Upgrade:
    """What a version asks of a text."""
    document = read_document("d.toml", text.encode())
    assert isinstance(document, Document)
    return upgrade(document, version, since)


def said(made: Upgrade) -> list[tuple[str, str]]:
    """The kind and key of each change."""
    return [(change.kind, change.key.removeprefix("pools.chat.")) for change in made.changes]


def version_findings(text: str) -> list[tuple[str, str]]:
    """(code, key) of what the version that a file names lacks."""
    loaded = load_sources([("d.toml", text.encode())])
    assert loaded.deployment is not None, loaded.findings
    findings = [*loaded.findings, *plan(loaded.deployment, overlay=loaded.overlay).findings]
    return [(finding.code, finding.key) for finding in findings if finding.code in ("SMG012", "SMG013")]


def test_every_kind_of_change_is_made() -> None:
    """Renamed, opposite, removed and refused choices: each is done in its line, and every other byte stays."""
    made = upgraded(FILE)
    assert made.text == UPGRADED
    assert said(made)[:7] == [
        ("version", "engine_version"),
        ("renamed", "engine.block_size"),
        ("opposite", "engine.enable_nccl_nvls"),
        ("opposite", "engine.enable_symm_mem"),
        ("renamed", "engine.no_enable_prefix_caching"),
        ("removed", "engine.mamba_track_interval"),
        ("choice", "engine.disaggregation_transfer_backend"),
    ]
    assert [str(change.where) for change in made.written[1:]] == [f"d.toml:{line}" for line in (9, 10, 11, 12, 14, 15)]
    assert version_findings(made.text) == []
    assert version_findings(FILE.replace('"tokenspeed"', '"tokenspeed"\nengine_version = "0.1.1"')) != []


def test_what_is_not_set_is_told() -> None:
    """New defaults are told with the old ones, and new choices of what is set; nothing is written for them."""
    made = upgraded(FILE)
    told = {
        change.key.removeprefix("pools.chat.engine."): change.message for change in made.changes if change.kind in TOLD
    }
    assert told == {
        "load_format": "TokenSpeed 0.1.1 takes instanttensor, too",
        "weight_loader_prefetch_checkpoints": (
            "not set; was false, is true; disable_weight_loader_prefetch_checkpoints = true keeps what 0.1.0 did"
        ),
        "weight_loader_prefetch_num_threads": "not set; was 4, is 8",
        "enable_log_requests": "not set; was false, is true",
        "gpu_memory_utilization": "not set; was 0.88, is 0.95 (worked out by the engine; this is for one GPU)",
    }


def test_an_upgraded_file_needs_nothing() -> None:
    """The second time there is nothing to do, and nothing to tell."""
    assert upgraded(UPGRADED) == Upgrade((), UPGRADED)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("enable_p2p_check = false", "", ["removed"]),
        ("api_key = 'hunter2'", "", ["removed"]),
        (
            "weight_loader_prefetch_checkpoints = false",
            "disable_weight_loader_prefetch_checkpoints = true",
            ["opposite"],
        ),
        ("enable_symm_mem = false\ndisable_symm_mem = true", "disable_symm_mem = true", ["opposite"]),
        ("enable_prefix_caching = false", "enable_prefix_caching = false", []),
        ("ep_size = 2", "ep_size = 2", []),
        ("prefill_graph_capture_sizes = [1]", "prefill_graph_capture_sizes = [1]", []),
        ('unset = ["api_key"]', 'unset = ["api_key"]', []),
        ('extra = ["--fresh"]', 'extra = ["--fresh"]', []),
    ],
)
def test_single_settings(before: str, after: str, kinds: list[str]) -> None:
    """What a version has not is taken out or turned round; what it takes as it stands stays, and so does `extra`."""
    head = '[pools.chat]\nbackend = "tokenspeed"\nengine_version = "{}"\nmodel = "m"\n[pools.chat.engine]\n'
    made = upgraded(head.format("0.1.0") + before + "\n")
    assert [kind for kind, _ in said(made) if kind not in TOLD] == ["version", *kinds]
    assert made.text == head.format("0.1.1") + (after + "\n" if after else "")
    assert "hunter2" not in str(made.changes)


@pytest.mark.parametrize(
    "text",
    [
        'pools.chat.backend = "tokenspeed"\npools.chat.model = "m"\npools.chat.engine.block_size = 8 # c\n',
        '[pools]\nchat = { backend = "tokenspeed", model = "m", engine = { block_size = 8 } }\n',
        '[pools.chat]\nbackend = "tokenspeed"\nmodel = "m"\nengine.block_size = 8\n',
        '[pools."chat"]\r\n"backend" = "tokenspeed"\r\nmodel = "m"\r\n[pools.chat.engine]\r\nblock_size = 8 # c\r\n',
    ],
)
def test_any_layout_of_a_file(text: str) -> None:
    """Dotted keys, inline tables, quoted keys and Windows line ends: the data is the same but for the change."""
    made = tomli.loads(upgraded(text).text)
    assert made["pools"]["chat"].pop("engine_version") == "0.1.1"
    assert made == {"pools": {"chat": {"backend": "tokenspeed", "model": "m", "engine": {"prefix_granularity": 8}}}}
    assert ("# c" in upgraded(text).text) == ("# c" in text)


def test_a_file_laid_over_another_keeps_quiet_about_the_version() -> None:
    """A file that does not name the engine is not made to name its version; its settings are upgraded."""
    made = upgraded("[pools.chat.engine]\nblock_size = 8\n")
    assert made.text == "[pools.chat.engine]\nprefix_granularity = 8\n"


def test_the_way_back() -> None:
    """An older version lacks what came later: it is taken out, with nothing in its place."""
    text = '[pools.chat]\nbackend = "tokenspeed"\nengine_version = "0.1.1"\nmodel = "m"\n[pools.chat.engine]\n'
    made = upgraded(text + 'numerics = "rl-bitwise"\nload_format = "instanttensor"\nprefix_granularity = 8\n', "0.1.0")
    assert [kind for kind, _ in said(made) if kind not in TOLD] == ["version", "removed", "choice"]
    assert made.text == text.replace("0.1.1", "0.1.0") + "prefix_granularity = 8\n"


def kept(key: str, value: Any) -> bool:
    """Whether 0.1.1 has a setting, and takes its value."""
    spec = spec_of(TokenspeedArgs, key)
    taken = spec.taken("0.1.1")
    return spec.has("0.1.1") and (taken is None or set(value if spec.many else [value]) <= set(taken))


@settings(max_examples=40)
@given(data=st.data(), chosen=some_settings(TokenspeedArgs, "0.1.0", most=12))
def test_a_whole_file_is_good_for_the_new_version(data: st.DataObject, chosen: dict[str, Any]) -> None:
    """Whatever stands there, under any of its names: nothing is left for the version to refuse, and the rest stays."""
    args = TokenspeedArgs(**chosen)
    text = '[pools.chat]\nbackend = "tokenspeed" # b\nmodel = "m"\n# c\n[pools.chat.engine] # d\n'
    for key, value in tomlkit.parse(table_text(args)).unwrap().items():
        name = key if key == "unset" else data.draw(st.sampled_from(spec_of(TokenspeedArgs, key).keys))
        text += tomlkit.dumps({name: value}).rstrip("\n") + f" # about {key}\n"
    made = upgraded(text)
    assert version_findings(made.text) == []
    assert upgraded(made.text).written == ()
    loaded = load_sources([("d.toml", made.text.encode())])
    assert loaded.deployment is not None
    now = set_settings(loaded.deployment.pools[0].engine)
    comments = set(re.findall(r"# (?:about \w+|[bcd])$", made.text, re.MULTILINE))
    assert {"# b", "# c", "# d"} <= comments
    for key in [key for key, value in chosen.items() if kept(key, value)]:
        assert now[key] == getattr(args, key)
        assert f"# about {key}" in comments or f"# about {key}" not in text


def test_every_flag_that_went_is_known() -> None:
    """Each of the 28 flags that 0.1.1 lacks is taken out, renamed or turned round."""
    old, new = snapshot("tokenspeed", "0.1.0"), snapshot("tokenspeed", "0.1.1")
    gone = [flag["name"] for flag in old.flags if flag["name"] not in new.spellings]
    assert len(gone) == 28
    text = '[pools.chat]\nbackend = "tokenspeed"\nmodel = "m"\n[pools.chat.engine]\n'
    for flag in gone:
        spec = next(spec for spec in specs_of(TokenspeedArgs) if flag in (*spec.names, *spec.off))
        value = {int: "1", float: "0.5", bool: "true", str: "'x'"}.get(spec.type, "'{}'")
        text += f"{key_of(flag)} = {repr(spec.choices[0]) if spec.choices else value}\n"
    made = upgraded(text)
    assert {key for _, key in said(made)} >= {f"engine.{key_of(flag)}" for flag in gone}
    assert tomli.loads(made.text)["pools"]["chat"]["engine"] == {"disable_prefix_caching": True}


# --- the command ---


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of 0.1.0."""
    path = tmp_path / "deploy.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_it_prints_and_writes_when_told_to(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--write` the file stays and the exit code is 1; with it the file changes, and then needs nothing."""
    file.chmod(0o640)
    assert main(["upgrade", str(file), "--to", "0.1.1"]) == 1
    printed = capsys.readouterr().out
    assert f"{file}:9   renamed     pools.chat.engine.block_size: prefix_granularity" in printed
    assert printed.endswith("7 changes; --write makes them\n")
    assert file.read_text(encoding="utf-8") == FILE

    assert main(["upgrade", str(file), "--to=0.1.1", "--write"]) == 0
    assert capsys.readouterr().out.endswith("7 changes written\n")
    assert file.read_text(encoding="utf-8") == UPGRADED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["deploy.toml"]

    assert main(["upgrade", str(file), "--to", "0.1.1", "--write"]) == 0
    assert capsys.readouterr().out == f"{file} needs nothing\n"


def test_what_the_new_rules_refuse_is_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule across settings that the upgraded file breaks is told: no key of it is at fault alone."""
    file.write_text(FILE.replace("disable_kvstore = true\n", ""), encoding="utf-8")
    assert main(["upgrade", str(file), "--to", "0.1.1"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "SMG014" in line]
    assert "needs --disable-kvstore" in line


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    """A file that is a link is written where it leads."""
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    assert main(["upgrade", str(link), "--to", "0.1.1", "--write"]) == 0
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == UPGRADED


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected one FILE, and --to VERSION"),
        (["{file}"], "expected one FILE, and --to VERSION"),
        (["{file}", "{file}", "--to", "0.1.1"], "expected one FILE"),
        (["{file}", "--to", "9.9"], "--to: expected one of 0.1.0, 0.1.1; got '9.9'"),
        (["{file}", "--to", "0.1.1", "--from", "x"], "--from: expected one of 0.1.0, 0.1.1; got 'x'"),
        (["no-such-file", "--to", "0.1.1"], "no-such-file: can not be read: No such file or directory"),
    ],
)
def test_bad_input_is_reported(words: list[str], message: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What can not be done ends with exit code 2 and says why."""
    assert main(["upgrade", *(word.format(file=file) for word in words)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[pools.a]\nbackend = 1\n", "a = ", "[pools.a.engine]\nno_such_key = 1\n", "pools = 1\n"]
)
def test_a_bad_file_is_reported(text: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is wrong as it stands is not upgraded: its findings are reported, and it stays."""
    file.write_text(text, encoding="utf-8")
    assert main(["upgrade", str(file), "--to", "0.1.1", "--write"]) == 2
    assert "error   SMG" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == text
