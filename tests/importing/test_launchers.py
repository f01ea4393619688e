"""Generated command lines of every launcher: what the real one gives its processes, our plan gives them, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from launched import Given, alike, original, planned
from oracles import argv_strategies
from oracles.parsing import Refused

from smgcfg.errors import ConfigError
from smgcfg.importing import Imported, import_command
from smgcfg.snapshots import snapshot

ENGINE: Final = snapshot("tokenspeed", "0.1.1").flags
GATEWAY: Final = snapshot("smg", "1.13.0").flags
BUNDLED: Final = snapshot("tokenspeed-smg", "1.10.1").flags

#: Why smgcfg refuses what a launcher's own parsers take, by the code of the finding.
REFUSALS: Final = {
    "SMG003": "JSON text that is no object",
    "SMG005": "a bound that the program checks after its parser",
    "SMG006": "a value that a file or a command line can not hold",
    "SMG007": "without a model nothing can start",
    "SMG009": "one setting, two values, which the engine refuses after its parser",
    "SMG014": "settings that the engine or the gateway refuses after its parser",
    "SMG016": "a brace that is no placeholder",
    "SMG017": "several machines, or workers that are not the deployment's own",
    "SMG020": "ports that meet each other or are none",
    "SMG022": "a socket path that is too long",
    "SMG023": "more GPUs than there are",
    "SMG024": "workers that one gateway can not serve",
}

Line = list[str]


def options(
    flags: Sequence[dict[str, Any]], *, prefix: Callable[[str], str] = str, without: tuple[str, ...] = ()
) -> st.SearchStrategy[Line]:
    """Some flags of a table as an operator may write them, each with the prefix that a launcher wants."""
    usable = [flag for flag in flags if flag["kind"] != "positional" and flag["name"] not in without]

    def renamed(words: Line) -> Line:
        name, glued, text = words[0].partition("=")
        return [prefix(name) + glued + text, *words[1:]]

    one = st.sampled_from(usable).flatmap(argv_strategies.written).map(renamed)
    return st.lists(one, max_size=4).map(lambda pieces: [word for piece in pieces for word in piece])


def shuffled(*parts: st.SearchStrategy[Line]) -> st.SearchStrategy[Line]:
    """The parts one behind the other, in any order."""
    return st.tuples(*parts).flatmap(st.permutations).map(lambda pieces: [word for piece in pieces for word in piece])


def router(name: str) -> str:
    """How `smg serve` spells a flag of the gateway."""
    return f"--no-router-{name[5:]}" if name.startswith("--no-") else f"--router-{name[2:]}"


def test_as_many_workers_as_nobody_has_are_refused() -> None:
    """A number of workers that no ports are left for is refused at once."""
    words = ["smg", "serve", "--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "m", "--dp-size"]
    for count in ("750041759", "234", "0", "-1"):
        with pytest.raises(ConfigError):
            import_command([*words, count])


def compare(program: str, front: Line, words: Line) -> None:
    """Hold the import of a command line against the real launcher."""
    imported, codes = _imported([*front, *words])
    theirs = _original(program, words)
    if theirs is None:
        event("refused by the real one")
        # What the real one does not take is refused, or at least not carried over in silence.
        assert imported is None or imported.lost
    elif imported is None:
        event(f"refused by smgcfg: {sorted(codes)}")
        assert codes <= set(REFUSALS)
    elif not imported.lost:
        event("imported")
        ours = alike(program, planned(program, imported.deployment), imported.decided)
        assert ours == alike(program, theirs, imported.decided)


def _imported(words: Line) -> tuple[Imported | None, set[str]]:
    """What was imported, or the codes that say why not."""
    try:
        return import_command(words), set()
    except ConfigError as bad:
        return None, {finding.code for finding in bad.findings if finding.severity == "error"}


def _original(program: str, words: Line) -> Given | None:
    """What the real launcher gives its processes, or None where it refuses."""
    try:
        return original(program, words)
    except Refused:
        return None


TS_OWN = st.sampled_from(
    [
        [], ["--engine-startup-timeout", "5"], ["--gateway-startup-timeout=7"], ["--drain-timeout", "9"],
        ["--host", "::1"], ["--port", "1234"], ["--policy", "cache_aware"], ["--no-tokenizer-cache-enable-l1"],
        ["--tool-call-parser", "qwen"], ["--tp", "2"], ["--log-level", "error"], ["--reasoning-parser", "qwen3"],
    ]
)  # fmt: skip
MODELS = st.sampled_from(
    ["org/m", "./m", "DeepSeek-V4.1", "x/deepseek_v4", "GLM-5", "a/kimi_k3/", "Inkling", "deepseek-v4-1x"]
)


@settings(max_examples=150)
@given(model=MODELS, words=shuffled(TS_OWN, TS_OWN, options(ENGINE), options(BUNDLED)))
@example(model="org/m", words=["--data-parallel-size=2"])
def test_ts_serve(model: str, words: Line) -> None:
    """Whatever stands behind `ts serve`: what the real one sends to engine and gateway, the plan sends."""
    compare("ts serve", ["ts", "serve"], [model, *words])


SERVE_OWN = st.sampled_from(
    [
        [], ["--host", "::1"], ["--port=1234"], ["--dp-size", "2"], ["--data-parallel-size", "3"],
        ["--worker-base-port", "32000"], ["--worker-host", "127.0.0.2"], ["--router-policy", "random"],
        ["--router-disable-arg-fallback"], ["--router-model-path", "public"], ["--router-model", "org/m"],
        ["--router-tokenizer-path", "t"], ["--grammar-backend", "none"], ["--tensor-parallel-size", "2"],
        ["--conn", "zmq"], ["--router-disable-retries"],
    ]
)  # fmt: skip


@settings(max_examples=150)
@given(
    shuffled(SERVE_OWN, SERVE_OWN, options(GATEWAY, prefix=router, without=("--host", "--port", "--worker-urls"))),
    # In front of `--` it is the number of workers, and smg makes as many as it is told.
    options(ENGINE, without=("--data-parallel-size",)),
    options(ENGINE),
)
def test_smg_serve(words: Line, before: Line, behind: Line) -> None:
    """Whatever stands behind `smg serve`: what the real one gives its workers and gateway, the plan gives them."""
    start = ["--backend", "tokenspeed", "--connection-mode", "zmq", "--model", "org/m"]
    compare("smg serve", ["smg", "serve"], [*start, *words, *before, *(["--", *behind] if behind else [])])


@settings(max_examples=150)
@given(options(GATEWAY, without=("--worker-urls", "--backend", "--zmq-engine-count")))
def test_smg_launch(words: Line) -> None:
    """Whatever stands behind `smg launch`: the plan's gateway reads the same, and finds its workers where they were."""
    start = ["--backend", "tokenspeed", "--model-path", "org/m"]
    start += ["--worker-urls", "ipc:///run/s/engine-31000", "ipc:///run/s/engine-31001"]
    compare("smg launch", ["smg", "launch"], [*start, *words])


@settings(max_examples=150)
@given(argv_strategies.lines(ENGINE), st.sampled_from(["headless", "servicer"]))
def test_engines(words: Line, program: str) -> None:
    """Whatever an engine is given, good or bad: the plan gives it the same, or the import says what is wrong."""
    front = {"headless": ["ts", "serve", "--headless"], "servicer": ["python3", "-m", "smg_grpc_servicer.tokenspeed"]}
    compare(program, front[program], [*words, "--model", "org/m"] if "--" not in words else words)


@pytest.mark.parametrize("program", ["ts serve", "smg serve"])
def test_the_comparison_can_fail(program: str) -> None:
    """A deployment that is off by one setting is told apart."""
    words = ["--model", "org/m", "--max-num-seqs", "5"]
    words += ["--backend", "tokenspeed", "--connection-mode", "zmq"] if program == "smg serve" else []
    imported = import_command([*program.split(), *words])
    other = import_command([*program.split(), *words, "--max-num-seqs", "6"])
    theirs = alike(program, original(program, words), imported.decided)
    assert alike(program, planned(program, imported.deployment), imported.decided) == theirs
    assert alike(program, planned(program, other.deployment), other.decided) != theirs
