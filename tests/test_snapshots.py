"""The shipped snapshots: which there are, and what they know of each other."""

import subprocess
import sys
from pathlib import Path

import pytest

import smgcfg.backends
from smgcfg.errors import SmgcfgError
from smgcfg.snapshots import VERSIONS, Successor, names_of, snapshot

RELEASES = [(program, version) for program, versions in VERSIONS.items() for version in versions]


def test_every_file_is_listed() -> None:
    """The listed releases are the files that ship."""
    folder = Path(smgcfg.backends.__file__).parent / "snapshots"
    assert {f"{program}-{version}" for program, version in RELEASES} == {path.stem for path in folder.glob("*.json")}


@pytest.mark.parametrize(("program", "version"), RELEASES)
def test_a_snapshot_is_what_it_is_called(program: str, version: str) -> None:
    """A snapshot names its program and version, and no two of its flags share a spelling."""
    there = snapshot(program, version)
    assert (there.program, there.version) == (program, version)
    spellings = [name for flag in there.flags for name in (*names_of(flag), *flag.get("negatives", ()))]
    assert len(spellings) == len(set(spellings)) == len(there.spellings)


@pytest.mark.parametrize(("program", "version"), RELEASES)
def test_records_hold_facts_only(program: str, version: str) -> None:
    """A record holds nothing empty, and no word about where a fact was found."""
    for flag in snapshot(program, version).flags:
        assert not [key for key, value in flag.items() if value in (None, "", [], {}) or value is False], flag
        assert not [key for key in flag if key.endswith(("_source", "_note"))], flag


def test_an_unknown_release_is_an_error() -> None:
    """Asking for a release that does not ship names those that do."""
    with pytest.raises(SmgcfgError, match=r"no snapshot of tokenspeed 0\.0\.1; there is tokenspeed 0\.1\.0"):
        snapshot("tokenspeed", "0.0.1")
    with pytest.raises(SmgcfgError, match="no snapshot of vllm"):
        snapshot("vllm", "0.1.1")


def test_successors_replace_what_is_gone() -> None:
    """A flag with a successor is in 0.1.0 and not in 0.1.1, and its successor is in 0.1.1."""
    old, new = snapshot("tokenspeed", "0.1.0"), snapshot("tokenspeed", "0.1.1")
    assert new.successors["--no-enable-prefix-caching"] == Successor("--disable-prefix-caching")
    assert new.successors["--enable-nccl-nvls"] == Successor("--disable-nccl-nvls", opposite=True)
    for flag, successor in new.successors.items():
        assert flag in old.spellings
        assert flag not in new.spellings
        assert successor.use in new.spellings


def test_the_counts_are_those_of_the_real_parsers() -> None:
    """TokenSpeed 0.1.0 and 0.1.1 register 163 and 186 arguments, the gateways 212 and 159, the servicer 3."""
    assert [len(snapshot(*release).flags) for release in RELEASES] == [163, 186, 212, 159, 3]


def test_no_snapshot_is_read_for_a_class() -> None:
    """Making args reads no snapshot, and neither does checking them where nothing is gone."""
    code = (
        "import sys\n"
        "from smgcfg.backends.tokenspeed import TokenspeedArgs\n"
        "read = []\n"
        "sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == 'open' else None)\n"
        "assert TokenspeedArgs(seed=1).findings('0.1.1') == []\n"
        "print([path for path in read if path.endswith('.json')])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
