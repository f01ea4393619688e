"""The search among the settings of a deployment file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smgcfg.backends import BACKENDS
from smgcfg.cli import main
from smgcfg.codec import Refused
from smgcfg.flags import key_of, known_keys, spelling_table
from smgcfg.gateway import GatewayArgs
from smgcfg.key_search import NAME, Entry, entries, search
from smgcfg.schema import Leaf, Schema, Table
from smgcfg.snapshots import snapshot

ENTRIES = entries()
FLAGS = [(entry, flag) for entry in ENTRIES for flag in entry.flags]


def test_every_entry_is_a_key_of_the_file() -> None:
    """What is shown can be written: each path leads to a setting, and no path stands twice."""
    schema = Schema()
    for entry in ENTRIES:
        if entry.path != "unset":
            found = schema.resolve(tuple(entry.path.split(".")))
            assert isinstance(found, Leaf | Table), entry.path
    paths = [entry.path for entry in ENTRIES]
    assert len(set(paths)) == len(paths)


def test_every_setting_of_every_program_is_there() -> None:
    """No setting, alias or spelling that a file or a command line may hold is missing."""
    for prefix, cls in [
        ("gateway.", GatewayArgs), *((f"pools.{NAME}.engine.", backend.args) for backend in BACKENDS.values()),
    ]:  # fmt: skip
        here = [entry for entry in ENTRIES if entry.path.startswith(prefix)]
        keys = {key for entry in here for key in (entry.key, *entry.aliases, *entry.opposites)}
        assert set(known_keys(cls)) <= keys
        assert set(spelling_table(cls)) == {flag for entry in here for flag in entry.flags}


def keys_of(entry: Entry) -> set[str]:
    """Everything that a file or a command line calls a setting."""
    return {entry.key, *entry.aliases, *entry.opposites, *map(key_of, entry.flags)}


@given(st.sampled_from(FLAGS))
def test_a_flag_finds_its_setting_first(pair: tuple[Entry, str]) -> None:
    """A flag as it stands in a command finds its setting, in front of everything that merely sounds like it."""
    entry, flag = pair
    best = search(flag)
    assert entry in best
    exact = [found for found in best if key_of(flag) in keys_of(found)]
    assert entry in exact
    assert best[: len(exact)] == exact


def test_a_key_a_path_and_the_help_find_their_setting() -> None:
    """Whatever is known of a setting finds it."""
    for entry in ENTRIES:
        for pattern in (entry.key, entry.path, entry.key.upper().replace("_", "-"), entry.help, *entry.aliases):
            assert entry in search(pattern), (entry.path, pattern)


def test_words_are_found_together() -> None:
    """All words must be found, each at the beginning of some word."""
    found = [entry.path for entry in search("startup timeout")]
    assert found[:2] == [f"pools.{NAME}.startup_timeout", "gateway.startup_timeout"]
    assert f"pools.{NAME}.engine.enable_output_logprobs" not in [entry.path for entry in search("tp")]
    assert search("grammar nonsense") == []
    assert search("") == list(ENTRIES)


def entry_of(path: str) -> Entry:
    """The entry of a path."""
    (entry,) = [entry for entry in ENTRIES if entry.path == path]
    return entry


def test_defaults_are_those_of_the_programs() -> None:
    """A default is the program's own, or what smgcfg passes in its place; releases that differ are told apart."""
    engine = f"pools.{NAME}.engine."
    assert entry_of(engine + "max_num_seqs").default.startswith("160")
    assert entry_of(engine + "grammar_backend").default == (
        '"xgrammar", which smgcfg passes; of TokenSpeed itself "none"'
    )
    assert entry_of(engine + "tensor_parallel_size").default == "TokenSpeed decides"
    assert entry_of(engine + "disable_kvstore").default == "false"
    assert entry_of("gateway.policy").default == '"cache_aware"'
    assert entry_of(f"pools.{NAME}.replicas").default == "1"
    for version in ("0.1.0", "0.1.1"):
        flags = snapshot("tokenspeed", version).spellings
        differ = [entry for entry in ENTRIES if f"({version})" in entry.default]
        assert differ
        for entry in differ:
            record: dict[str, Any] = next(flags[flag] for flag in entry.flags if flag in flags)
            value = record.get("default") if record.get("default") is not None else record.get("resolved_default")
            assert value is None or json.dumps(value) in entry.default


def test_choices_bounds_and_owners_are_told() -> None:
    """What a setting takes, whose it is and what to use instead of it."""
    engine = f"pools.{NAME}.engine."
    assert entry_of(engine + "grammar_backend").takes == "one of xgrammar, llguidance, none"
    assert dict(entry_of(engine + "grammar_backend").narrow)["0.1.1"] == "xgrammar, none"
    assert entry_of(f"pools.{NAME}.port").takes == "an integer, at least 1, at most 65535"
    assert entry_of(f"pools.{NAME}.gpus").takes == 'numbers, ranges or names of GPUs, as in "0-3,6", [0, 1] or a UUID'
    assert entry_of(f"pools.{NAME}.served_model_name").takes == "text, or a list of text"
    assert entry_of(engine + "enable_cache_report").versions == ("0.1.0",)
    assert dict(entry_of(engine + "port").owned) == {"": "port"}
    assert dict(entry_of(engine + "zmq_engine_index").owned) == {"zmq": ""}
    assert dict(entry_of("gateway.worker_urls").owned) == {"": "[pools.NAME] host, port and replicas"}
    assert entry_of("gateway.redis_url").variable == "REDIS_URL"


def test_what_a_setting_takes_is_what_it_takes() -> None:
    """The lower bound that is shown is taken, and the number below it is not."""
    schema = Schema()
    seen = 0
    for entry in ENTRIES:
        leaf = schema.resolve(tuple(entry.path.split(".")))
        if not isinstance(leaf, Leaf) or leaf.spec is None or leaf.spec.many or leaf.spec.bounds[0] is None:
            continue
        low = int(leaf.spec.bounds[0])
        assert f"at least {max(low, leaf.spec.limits[0] or low)}" in entry.takes
        assert leaf.checked(low) == low
        with pytest.raises(Refused):
            leaf.checked(low - 1)
        seen += 1
    assert seen > 10


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_shows_what_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag with its dashes is a word to search for; the best comes first."""
    assert main(["keys", "--tp"]) == 0
    assert capsys.readouterr().out.startswith(
        f"pools.{NAME}.engine.tensor_parallel_size\n"
        "  tensor-parallel width of the attention, and of all that has no width of its own\n"
        "  takes     an integer, at least 1\n"
        "  default   TokenSpeed decides\n"
        "  flag      --tensor-parallel-size --tp\n"
        "  also      tp\n"
        "  of        TokenSpeed 0.1.0, 0.1.1\n"
    )


def test_the_document_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """--json shows the same entries as data."""
    assert main(["keys", "--json", "max_num_seqs"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)
    assert first == entry_of(f"pools.{NAME}.engine.max_num_seqs").document()


def test_what_is_not_found_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing found is exit code 1, with the nearest key."""
    assert main(["keys", "max_num_sqes"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "smgcfg keys: nothing found for 'max_num_sqes'; did you mean max_num_seqs?\n"
