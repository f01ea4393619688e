"""The oracles themselves: the real programs answer, the parsers built from the shipped snapshots agree with them."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import smg, snapshot_parser, tokenspeed, wheels
from oracles.argv_strategies import lines, spellings, valid_lines, written
from oracles.parsing import Oracle, Refused
from oracles.program import Program

#: The real programs that a snapshot ships for, and how many random lines each one is compared on.
PROGRAMS: dict[tuple[str, str], tuple[Callable[[str], tokenspeed.Tokenspeed | smg.Smg], int]] = {
    ("tokenspeed", "0.1.1"): (tokenspeed.real, 2000),
    ("tokenspeed", "0.1.0"): (tokenspeed.real, 500),
    ("smg", "1.13.0"): (smg.real, 2000),
    ("tokenspeed-smg", "1.10.1"): (smg.real, 500),
}

#: Words that tell the types apart.
TELLING_WORDS = ("", " ", "x", "--", "1", "-1", "1.5", "nan", "70000", "True", "None", "1,,2", "a, ,b", "é")

program = pytest.mark.parametrize(("name", "version"), PROGRAMS)


def real_program(name: str, version: str) -> tokenspeed.Tokenspeed | smg.Smg:
    """The real program that a snapshot was taken from."""
    start, _ = PROGRAMS[name, version]
    return start(version)


def outcome(oracle: Oracle, argv: Sequence[str]) -> str:
    """What an oracle makes of a line, comparable: `nan` equals itself, `1` is not `True`."""
    try:
        return repr(sorted(oracle.parse(argv).items()))
    except Refused as refusal:
        return "crashed" if refusal.crashed else "refused"


@program
def test_snapshot_agrees_on_any_line(name: str, version: str) -> None:
    """A shipped snapshot takes the lines that the real parser takes and reads the same values; a third are taken."""
    flags = snapshot_parser.shipped_flags(name, version)
    real, snapshot = real_program(name, version), snapshot_parser.shipped(name, version)
    outcomes = []

    @settings(max_examples=PROGRAMS[name, version][1])
    @given(lines(flags))
    def law(argv: list[str]) -> None:
        outcomes.append(outcome(real, argv))
        assert outcome(snapshot, argv) == outcomes[-1]

    law()
    taken = [made for made in outcomes if made not in ("refused", "crashed")]
    assert len(taken) > len(outcomes) / 3


@program
def test_snapshot_agrees_on_every_flag(name: str, version: str) -> None:
    """A shipped snapshot has the real parser's spellings and choices, and each alone reads every kind of word so."""
    flags = snapshot_parser.shipped_flags(name, version)
    real, snapshot = real_program(name, version), snapshot_parser.shipped(name, version)
    options = {spelled: flag for flag in flags if flag["kind"] != "positional" for spelled in spellings(flag)}
    assert {spelled: _choices(flag) for spelled, flag in options.items()} == real.spellings()
    for spelled, flag in options.items():
        choices = [str(choice) for choice in flag.get("choices", ())]
        one, *_, other = [*choices, *choices] or ["1", "2"]
        odd = (*TELLING_WORDS, one.upper())
        for argv in (
            [spelled],
            [spelled, one, other],
            [spelled, one, spelled, other],
            *([spelled, word] for word in odd),
            *([f"{spelled}={word}"] for word in odd),
        ):
            assert outcome(snapshot, argv) == outcome(real, argv), argv


def _choices(flag: snapshot_parser.Flag) -> frozenset[object] | None:
    return frozenset(flag["choices"]) if "choices" in flag else None


@program
def test_snapshot_has_the_exclusions(name: str, version: str) -> None:
    """The real parser refuses the pairs that the snapshot says exclude each other, and no others."""
    real = real_program(name, version)
    options = [flag for flag in snapshot_parser.shipped_flags(name, version) if flag["kind"] != "positional"]
    groups = {flag["name"]: flag.get("mutex_group") or flag["name"] for flag in options}
    pairs = [(one, other) for one, other in combinations(groups, 2) if groups[one] == groups[other]]

    @settings(max_examples=5)
    @given(st.fixed_dictionaries({flag["name"]: written(flag) for flag in options}))
    def law(pieces: dict[str, list[str]]) -> None:
        one_per_group = {groups[flag]: piece for flag, piece in pieces.items()}
        assert outcome(real, [word for piece in one_per_group.values() for word in piece]) != "refused"
        for one, other in pairs:
            assert outcome(real, pieces[one] + pieces[other]) == "refused"

    law()


@program
def test_valid_lines_are_accepted(name: str, version: str) -> None:
    """The real parser takes every line that is meant to be good."""
    real = real_program(name, version)

    @settings(max_examples=300)
    @given(valid_lines(snapshot_parser.shipped_flags(name, version)))
    def law(argv: list[str]) -> None:
        real.parse(argv)

    law()


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        ([], {}),
        (["m", "--seed", "1_0"], {"model_path": "m", "seed": 10}),
        (["--seed", "1", "m", "--seed=-2"], {"model_path": "m", "seed": -2}),
        (["--seed", "-٣"], {"seed": -3}),
        (["--model", "-1\n"], {"model": "-1\n"}),
        (["--model", "-a b"], {"model": "-a b"}),
        (["--no-such=a b"], {"model_path": "--no-such=a b"}),
        (["--model="], {"model": ""}),
        (["--quantization-param-path", "None"], {"quantization_param_path": None}),
        (["--no-zmq-msgpack", "--zmq-msgpack"], {"zmq_msgpack": True}),
        (["--attention-use-fp4-indexer-cache"], {"attention_use_fp4_indexer_cache": True}),
        (["--attention_config.use_fp4_indexer_cache", "Off"], {"attention_use_fp4_indexer_cache": False}),
        (["--cudagraph-capture-sizes", "1", "2", "--", "m"], {"cudagraph_capture_sizes": [1, 2], "model_path": "m"}),
        (["--cudagraph-capture-sizes=1", "m"], {"cudagraph_capture_sizes": [1], "model_path": "m"}),
        (["--cudagraph-capture-sizes", "1", "--cudagraph-capture-sizes", "2"], {"cudagraph_capture_sizes": [2]}),
        (["--metrics-reporters", "prometheus"] * 2, {"metrics_reporters": ["prometheus", "prometheus"]}),
        (["--", "--"], {"model_path": "--"}),
    ],
)
def test_tokenspeed_reads(argv: list[str], values: dict[str, object]) -> None:
    """TokenSpeed 0.1.1 reads these lines so, and reports nothing that they do not set."""
    assert tokenspeed.real().parse(argv) == values


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--grammar-backend", "llguidance"], "invalid choice: 'llguidance'"),
        (["--grammar-back", "none"], "unrecognized arguments: --grammar-back"),
        (["--grammar_backend", "none"], "unrecognized arguments: --grammar_backend"),
        (["--seed"], "expected one argument"),
        (["--seed", "-1e5"], "expected one argument"),
        (["--seed", "--", "1"], "expected one argument"),
        (["--seed", "x"], "invalid int value: 'x'"),
        (["--seed", "9" * 4301], "invalid int value"),
        (["--zmq-msgpack=true"], "ignored explicit argument 'true'"),
        (["--zmq-engine-index", "65536"], "value must be in [0, 65535]"),
        (["--enable-prefix-caching", "--disable-prefix-caching"], "not allowed with argument"),
        (["m", "n"], "unrecognized arguments: n"),
        (["-h"], "leaves with status 0"),
    ],
)
def test_tokenspeed_refuses(argv: list[str], words: str) -> None:
    """TokenSpeed 0.1.1 refuses these lines, with these words."""
    with pytest.raises(Refused) as refusal:
        tokenspeed.real().parse(argv)
    assert words in refusal.value.message
    assert not refusal.value.crashed


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["m"], None),
        (["m", "--tensor-parallel-size", "4", "--grammar-backend", "xgrammar", "--enable-output-logprobs"], None),
        ([], "Model is required"),
        (["m", "--model", "m"], "Cannot specify model both"),
        (["m", "--tensor-parallel-size", "2", "--attn-tp-size", "2"], "--tensor-parallel-size is an alias"),
        (["m", "--speculative-config", "[]"], "--speculative-config must be a JSON object"),
    ],
)
@pytest.mark.parametrize("version", ["0.1.0", "0.1.1"])
def test_tokenspeed_resolves(version: str, argv: list[str], words: str | None) -> None:
    """The real checks across flags run: they pass a plain line and name what does not fit."""
    found = tokenspeed.real(version).resolve(argv)
    assert found is None if words is None else found is not None and words in found


def test_resolving_leaves_nothing_behind() -> None:
    """One line's settings do not reach the next line's checks by way of the environment."""
    first = tokenspeed.real().resolve(["m", "--mamba-ssm-dtype", "bfloat16"])
    assert (first, tokenspeed.real().resolve(["m"])) == (None, None)


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["--polic", "random"], {"policy": "random"}),
        (["--prefill", "a", "1", "--prefill", "b"], {"prefill": [["a", "1"], ["b"]]}),
        (["--worker-urls", "a", "b", "--worker-urls", "c"], {"worker_urls": ["a", "b", "c"]}),
        (["--mm-processing", "ROUTER"], {"mm_processing": "router"}),
        (["--no-worker-auto-recovery"], {"remove_unhealthy_workers": False}),
    ],
)
def test_smg_launch_reads(argv: list[str], values: dict[str, object]) -> None:
    """`smg launch` 1.13.0 reads these lines so: with abbreviations, and lists that grow."""
    assert smg.real().parse(argv) == values


def test_smg_launch_resolves() -> None:
    """The checks that smg makes after its parser run."""
    assert smg.real().resolve(["--policy", "random"]) is None
    assert "Invalid bootstrap port" in (smg.real().resolve(["--pd-disaggregation", "--prefill", "a", "x"]) or "")


def test_smg_runs_in_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours reaches smg: this one would stop its parser from being made."""
    monkeypatch.setenv("ATP_POOL_MIN", "x")
    assert smg.Smg("1.13.0").parse(["--port", "1"]) == {"port": 1}


def test_smg_serve_builds_a_worker_command(tmp_path: Path) -> None:
    """The command of `smg serve` is one that TokenSpeed reads, with ports and sockets from the given place."""
    argv = ["--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "m", "--tensor-parallel-size", "2"]
    worker = smg.real().serve_worker_command([*argv, "--worker-base-port", "31000", "--max-num-seqs", "8"], tmp_path, 3)
    module, words = worker.command[1:5], worker.command[5:]
    assert module == ["-m", "tokenspeed.cli", "serve", "--headless"]
    read = tokenspeed.real().parse(words)
    assert 20000 <= int(str(read.pop("data_parallel_rpc_port"))) < 30000
    assert read == {
        "model": "m",
        "port": 31003,
        "dist_init_addr": "127.0.0.1:31236",
        "data_parallel_address": "127.0.0.1",
        "zmq_engine_index": 0,
        "grammar_backend": "xgrammar",
        "enable_output_logprobs": True,
        "tensor_parallel_size": 2,
        "max_num_seqs": 8,
    }
    assert worker.env == {"CUDA_VISIBLE_DEVICES": "6,7", "PYTHONUNBUFFERED": "1"}
    assert worker.worker_url == f"ipc://{tmp_path}/engine-31003"


@pytest.mark.parametrize("mode", ["grpc", "http"])
def test_smg_serve_refuses(mode: str, tmp_path: Path) -> None:
    """What `smg serve` refuses to build is a refusal here."""
    with pytest.raises(Refused, match="only supports --connection-mode zmq"):
        smg.real().serve_worker_command(["--backend", "tokenspeed", "--connection-mode", mode], tmp_path)


def test_snapshots_stand_in_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real programs judge, unless `SMGCFG_ORACLES=snapshot` says otherwise."""
    monkeypatch.delenv("SMGCFG_ORACLES", raising=False)
    assert tokenspeed.oracle() is tokenspeed.real()
    assert smg.oracle() is smg.real()
    monkeypatch.setenv("SMGCFG_ORACLES", "snapshot")
    assert tokenspeed.oracle() is snapshot_parser.shipped("tokenspeed", "0.1.1")
    assert smg.oracle() is snapshot_parser.shipped("smg", "1.13.0")


def test_a_program_that_does_not_load_says_why(tmp_path: Path) -> None:
    """A broken oracle is an error with the program's own traceback, never an oracle that refuses everything."""
    with pytest.raises(RuntimeError, match="No module named 'tokenspeed'"):
        Program("oracles.tokenspeed", [str(tmp_path)])
    with pytest.raises(RuntimeError, match="ended with status 1"):
        Program("oracles.no_such_program")


def test_a_missing_wheel_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without network and without a filled cache the tests fail with a plain sentence."""
    for variable, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(wheels.OracleUnavailable) as failure:
        wheels.unpacked("tokenspeed==0.1.1", tmp_path)
    message = str(failure.value)
    assert message.startswith("can not fetch the wheel of tokenspeed==0.1.1 (ERROR: No matching distribution found")
    assert "pip download" in message
    assert "SMGCFG_ORACLE_DIR=DIR" in message
    assert list(tmp_path.iterdir()) == []


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    """A wheel with the right name and other content is not unpacked."""
    (tmp_path / "tokenspeed-0.1.1-py3-none-any.whl").write_bytes(b"something else")
    with pytest.raises(wheels.OracleUnavailable, match=r"is not the pinned wheel of tokenspeed==0\.1\.1"):
        wheels.unpacked("tokenspeed==0.1.1", tmp_path)


def test_a_directory_that_can_not_be_made_says_so(tmp_path: Path) -> None:
    """A cache directory that is a file is reported with its path."""
    (tmp_path / "file").touch()
    with pytest.raises(wheels.OracleUnavailable, match=r"can not keep the wheel of smg==1\.13\.0 in .*/file"):
        wheels.unpacked("smg==1.13.0", tmp_path / "file")


@settings(max_examples=20)
@given(workers=st.integers(2, 8))
def test_unpacking_at_once(workers: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Several at once unpack a wheel: each one sees all of its files, and nothing else is left."""
    cache = tmp_path_factory.mktemp("cache")
    wheel = cache / "a_toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for number in range(30):
            archive.writestr(f"toy/{number}.py", "")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(workers) as pool:
        patch.setitem(wheels.PINNED, "a-toy==1.0", hashlib.sha256(wheel.read_bytes()).hexdigest())
        found = set(pool.map(lambda _: len(list(wheels.unpacked("a-toy==1.0", cache).rglob("*.py"))), range(workers)))
    assert found == {30}
    assert {path.name for path in cache.iterdir()} == {wheel.name, "a_toy-1.0"}


@pytest.mark.parametrize(
    ("environ", "directory"),
    [
        ({"SMGCFG_ORACLE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"SMGCFG_ORACLE_DIR": "", "XDG_CACHE_HOME": "/b"}, "/b/smgcfg-oracles"),
        ({}, "~/.cache/smgcfg-oracles"),
    ],
)
def test_cache_directory(environ: dict[str, str], directory: str) -> None:
    """The cache stands where the environment says, else in the user's cache directory."""
    assert wheels.cache_directory(environ) == Path(directory).expanduser()
