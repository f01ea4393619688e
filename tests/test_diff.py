"""What a change of a deployment does to its processes."""

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from planning import HERE, deployment, pool

from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.by_key import Words, data_of, side_in, side_of
from smgcfg.cli import main
from smgcfg.config import Deployment
from smgcfg.diffing import GATEWAY_RESTARTS, Difference, difference
from smgcfg.errors import errors_in
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.plan import Planned, plan
from smgcfg.process import ProcessSpec
from smgcfg.testing import strategies

EXAMPLES = Path(__file__).parents[1] / "examples"

#: Values that change without a launch becoming impossible.
CHANGES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(1, 4),
        "port": st.integers(31000, 31003),
        "transport": st.sampled_from(["zmq", "grpc"]),
        "model": st.sampled_from(["org/m", "org/n"]),
        "reasoning_parser": st.sampled_from(["qwen3", "kimi"]),
        "wrapper": st.sampled_from([("numactl", "-N", "{index}"), ("nice",), ()]),
        "python": st.sampled_from(["/opt/a/python", "/opt/b/python"]),
        "command": st.sampled_from([("run", "--it"), ("go",)]),
        "env": st.sampled_from([(("A", "1"),), (("A", "2"), ("B", "{port}"))]),
        "gpus": st.sampled_from([tuple("01234567"), tuple("76543210")]),
        "startup_timeout": st.sampled_from([5.0, 6.0]),
    },
)


@st.composite
def sides(draw: st.DrawFn) -> Planned:
    """A plan with anything set, that has nothing wrong with it."""
    keys = draw(CHANGES)
    args = strategies.settings(TokenspeedArgs, "0.1.1")
    gateway = strategies.settings(GatewayArgs, "1.13.0")
    engine = draw(st.sampled_from([{}, {"max_num_seqs": 8}, {"grammar_backend": "none"}]) | args)
    other = draw(st.sampled_from([{}, {"policy": "random"}, {"api_key": "k1"}, {"api_key": "k2"}]) | gateway)
    one = attrs.evolve(pool(**keys), engine=TokenspeedArgs(**engine))
    result = plan(deployment(one, gateway=other, run_dir="/run/x"), HERE)
    assume(not errors_in(result.findings))
    return result


def processes(side: Planned) -> dict[str, ProcessSpec]:
    """The processes of a plan by name."""
    assert side.plan is not None
    return {process.name: process for process in side.plan.processes}


@settings(max_examples=200)
@given(sides(), sides())
def test_what_is_said_is_what_happens(old: Planned, new: Planned) -> None:
    """A process restarts exactly when its command or environment differs, or the gateway of a zmq worker restarts."""
    before, after = processes(old), processes(new)
    found = difference(side_of(old), side_of(new))
    fates = {process.name: process for process in found.processes}
    assert fates.keys() == before.keys() | after.keys()
    for name, process in fates.items():
        if name not in before or name not in after:
            assert process.fate == ("stops" if name in before else "starts")
            continue
        differs = (before[name].argv, before[name].env) != (after[name].argv, after[name].env)
        assert bool(process.changes) == differs
        dials = name != "gateway" and new.shapes[0].transport == "zmq" and fates["gateway"].fate == "restarts"
        assert process.fate == ("restarts" if differs or dials else "stays")
        assert process.because == (GATEWAY_RESTARTS if dials and not differs else "")


@settings(max_examples=100)
@given(sides())
def test_every_word_belongs_to_one_key(side: Planned) -> None:
    """The words of a process by key, put together, are its command and its variables: none is lost, none is new."""
    assert side.plan is not None
    for process, shape in [(side.plan.gateway, None), *((worker, side.shapes[0]) for worker in side.plan.workers)]:
        by_key = Words(side, shape).of(process)
        words = sorted(word for entry in by_key.values() for word in entry)
        assert words == sorted([*process.argv, *(f"{name}={text}" for name, text in process.env)])


@settings(max_examples=50)
@given(sides())
def test_a_deployment_does_not_differ_from_itself(side: Planned) -> None:
    """The same deployment twice is no difference, nor is it to what another program was told of it."""
    told = side_in(json.loads(json.dumps(data_of(side_of(side)))))
    assert told == side_of(side)
    assert not difference(told, side_of(side))


def of(old: Deployment, new: Deployment) -> Difference:
    """The difference between two deployments on one machine."""
    return difference(side_of(plan(old, HERE)), side_of(plan(new, HERE)))


def test_a_changed_gateway_restarts_engines_that_have_dialled_it() -> None:
    """A zmq engine dials its gateway once; an engine behind gRPC is called by whatever gateway there is."""
    for transport, fate in (("zmq", "restarts"), ("grpc", "stays")):
        one = pool(transport=transport)
        found = of(deployment(one), deployment(one, gateway={"log_level": "debug"}))
        assert [(process.name, process.fate) for process in found.processes] == [
            ("gateway", "restarts"),
            ("chat-0", fate),
        ]


def test_another_number_of_workers_changes_the_gateway() -> None:
    """A new worker starts, and the gateway restarts, because it is told of its workers at its start."""
    found = of(deployment(pool(replicas=2, transport="grpc")), deployment(pool(replicas=3, transport="grpc")))
    assert {process.name: process.fate for process in found.processes} == {
        "gateway": "restarts", "chat-0": "stays", "chat-1": "stays", "chat-2": "starts",
    }  # fmt: skip
    assert [change.key for change in found.processes[0].changes] == ["gateway.worker_urls"]


def test_what_is_about_the_launcher_restarts_nothing() -> None:
    """Timeouts are in force from the next start on; that they differ is said all the same."""
    found = of(deployment(pool(startup_timeout=5.0)), deployment(pool(startup_timeout=6.0)))
    assert {process.fate for process in found.processes} == {"stays"}
    assert [(change.key, change.new and change.new.text) for change in found.settings] == [
        ("pools.chat.startup_timeout", "6.0")
    ]
    assert found


def test_secrets_differ_without_being_shown() -> None:
    """A changed secret restarts the gateway, and neither of the two is printed."""
    found = of(deployment(gateway={"api_key": "old-s3cret"}), deployment(gateway={"api_key": "new-s3cret"}))
    (change,) = found.processes[0].changes
    assert change.key == "gateway.api_key"
    assert "s3cret" not in repr(found)


# --- the command -----------------------------------------------------------------------------------------------------

OLD = """\
[pools.chat]
backend = "tokenspeed"
model = "m"
replicas = 2

[pools.chat.engine]
max_num_seqs = 64
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A deployment, and the same with another batch size, in files of other names."""
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(OLD)
    new.write_text(OLD.replace("64", "128"))
    return str(old), str(new)


def test_the_report_names_keys_and_places(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Processes of which the same is to be said stand together; a file's name is no change."""
    assert main(["diff", *files]) == 1
    old, new = files
    assert capsys.readouterr().out == (
        "2 restart, 1 stays\n"
        "chat-0, chat-1  restarts\n"
        "  pools.chat.engine.max_num_seqs\n"
        f"    - --max-num-seqs 64   ({old}:7)\n"
        f"    + --max-num-seqs 128   ({new}:7)\n"
    )
    assert main(["diff", old, old]) == 0
    assert capsys.readouterr().out == "no difference\n"


def test_the_document_says_the_same(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """--json has every process, with its changes and their places."""
    assert main(["diff", "--json", *files]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(process["name"], process["fate"]) for process in document["processes"]] == [
        ("gateway", "stays"), ("chat-0", "restarts"), ("chat-1", "restarts"),
    ]  # fmt: skip
    (change,) = document["processes"][1]["changes"]
    assert change["old"] == {"text": "--max-num-seqs 64", "origin": f"{files[0]}:7"}
    assert document["settings"] == []


def test_a_side_may_have_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    """--old and --new take all the files of a side, the weakest first."""
    one, overlay = str(EXAMPLES / "one-node.toml"), str(EXAMPLES / "overlay-staging.toml")
    assert main(["diff", "--old", one, "--new", one, overlay]) == 1
    assert "chat-1, chat-2, chat-3  stops" in capsys.readouterr().out
    assert main(["diff", "--old", one, overlay, "--new", one, f"--new={overlay}", "--json"]) == 0


def test_a_side_may_be_standard_input(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `git show` prints is a side."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OLD.encode())))
    assert main(["diff", "-", files[0]]) == 0
    assert capsys.readouterr().out == "no difference\n"


def test_the_new_side_may_be_set_otherwise(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """--set, --unset and engine flags behind -- are on top of the new side alone, each with its place."""
    old, new = files
    assert main(["diff", old, new, "--set", "pools.chat.engine.max_num_seqs=64"]) == 0
    assert main(["diff", old, old, "--unset", "pools.chat.engine.max_num_seqs"]) == 1
    assert main(["diff", old, "--set=pools.chat.replicas=3", old]) == 1
    capsys.readouterr()
    assert main(["diff", "--new", old, "--old", old, "--", "--seed", "7"]) == 1
    assert "+ --seed 7   (argument 7 '--seed')" in capsys.readouterr().out
    assert main(["diff", old, new, "--set", "pools.chat.engine.max_num_seq=64"]) == 2
    assert "did you mean max_num_seqs?" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["", "a", "a b c", "--old a", "--old a --new", "a --old b --new c", "--odd a b"])
def test_other_command_lines_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sides, no more and no less: everything else exits with 2."""
    assert main(["diff", *shlex.split(words)]) == 2
    assert capsys.readouterr().out == ""


def test_a_side_that_can_not_be_planned_is_refused(files: tuple[str, str], tmp_path: Path) -> None:
    """A broken file, a missing one and one whose plan has an error exit with 2."""
    bad = tmp_path / "bad.toml"
    for text in ("[pools", '[pools.chat]\nbackend = "tokenspeed"\n', OLD + "port = 1\n"):
        bad.write_text(text)
        assert main(["diff", files[0], str(bad)]) == 2
        assert main(["diff", str(bad), files[0]]) == 2
    assert main(["diff", files[0], str(tmp_path / "none.toml")]) == 2
