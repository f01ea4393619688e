"""The flags of the real programs, read where they are installed, against the shipped tables and the real parsers."""

import sys
from pathlib import Path

import pytest
from oracles import smg, tokenspeed, wheels
from planted import GATEWAY, planted, reading

from smgcfg.drift.compare import differences
from smgcfg.snapshots import names_of, snapshot

#: Per program and release the wheel it comes in.
WHEELS = {
    ("tokenspeed", "0.1.0"): "tokenspeed==0.1.0",
    ("tokenspeed", "0.1.1"): "tokenspeed==0.1.1",
    ("smg", "1.13.0"): "smg==1.13.0",
    ("tokenspeed-smg", "1.10.1"): "tokenspeed-smg==1.10.1.post20260920",
    ("smg-grpc-servicer", "0.14.1"): "smg-grpc-servicer==0.14.1",
}

#: What the source alone does not tell: nothing of TokenSpeed, and of smg what its compiled module returns.
NOT_IN_THE_SOURCE = {
    "--reasoning-parser": {"choices": "smg.smg_rs is no Python source"},
    "--tool-call-parser": {"choices": "smg.smg_rs is no Python source"},
}


@pytest.mark.parametrize(("program", "version"), WHEELS)
def test_what_is_installed_is_what_is_shipped(program: str, version: str) -> None:
    """Every flag, kind, type, spelling, choice and default is that of the shipped table; nothing stays unknown."""
    read = reading(program, wheels.unpacked(WHEELS[program, version]), sys.executable)
    assert read.method == ("import" if program in ("smg", "tokenspeed-smg") else "source")
    assert differences(snapshot(program, version).flags, read.flags) == []
    assert len(read.flags) == len(snapshot(program, version).flags)
    assert (read.unread, [flag["name"] for flag in read.flags if "unknown" in flag]) == ((), [])


@pytest.mark.parametrize("version", ["0.1.0", "0.1.1"])
def test_the_source_says_what_the_real_engine_takes(version: str) -> None:
    """Every option string that is read from the source is one of the real parser, with the same choices."""
    read = reading("tokenspeed", wheels.unpacked(f"tokenspeed=={version}"), sys.executable)
    options = [flag for flag in read.flags if flag["kind"] != "positional"]
    spelt = {
        name: frozenset(flag["choices"]) if "choices" in flag else None
        for flag in options
        for name in (*names_of(flag), *flag.get("negatives", ()))
    }
    assert spelt == tokenspeed.real(version).spellings()


@pytest.mark.parametrize("version", ["1.13.0", "1.10.1"])
def test_the_import_says_what_the_real_gateway_takes(version: str) -> None:
    """Every option string of the real gateway's parser is read, with the same choices."""
    program = next(name for name, known in WHEELS if known == version)
    read = reading(program, wheels.unpacked(WHEELS[program, version]), sys.executable)
    spelt = {
        name: frozenset(flag["choices"]) if "choices" in flag else None
        for flag in read.flags
        for name in (*names_of(flag), *flag.get("negatives", ()))
    }
    assert spelt == smg.real(version).spellings()


@pytest.mark.parametrize("version", ["1.13.0", "1.10.1"])
def test_the_gateways_source_is_enough_where_it_can_not_be_imported(version: str, tmp_path: Path) -> None:
    """Without its compiled module, all but two lists of choices are read, and these are said to be unknown."""
    program = next(name for name, known in WHEELS if known == version)
    folder = planted(WHEELS[program, version], tmp_path, {}, without="smg/smg_rs.abi3.so")
    read = reading(program, folder, sys.executable)
    assert (read.method, read.unread) == ("source", ())
    assert "smg_rs" in read.why
    assert differences(snapshot(program, version).flags, read.flags) == []
    assert {flag["name"]: flag["unknown"] for flag in read.flags if "unknown" in flag} == NOT_IN_THE_SOURCE


def test_no_default_comes_from_the_environment() -> None:
    """A parser whose defaults are variables is made in an empty environment: what they hold is not read."""
    secret = "postgres://u:hunter2@db/x"
    folder = wheels.unpacked("smg==1.13.0")
    read = reading("smg", folder, sys.executable, POSTGRES_DB_URL=secret, ATP_POOL_MIN="7")
    assert differences(snapshot("smg", "1.13.0").flags, read.flags) == []
    assert secret not in repr(read)


def test_what_an_import_prints_is_no_answer(tmp_path: Path) -> None:
    """A program that prints while it is imported is read all the same."""
    noise = ("import argparse\n", 'import argparse\nprint("[]")\nimport os\nos.write(1, b"{}")\n')
    folder = planted("smg==1.13.0", tmp_path, {GATEWAY: (noise,)})
    assert len(reading("smg", folder, sys.executable).flags) == 212
