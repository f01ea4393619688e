"""Lines made of the pieces in which output arrives."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from smgcfg.launch.logs import LINE_LIMIT, LINES_KEPT, LineSplitter, Log
from smgcfg.process import ProcessSpec, Readiness, Secret


def spec_with(argv: tuple[str, ...], *secrets: Secret, **more: object) -> ProcessSpec:
    """Return a process with secrets in its words."""
    ready = Readiness(seen_by="http", url="http://h/", timeout=1.0)
    return ProcessSpec(name="w", role="worker", argv=argv, ready=ready, secrets=secrets, **more)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """Return data cut at some places."""
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places)]


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"))), cuts=st.lists(st.integers(0)))
def test_lines_survive_any_cutting(lines: list[str], cuts: list[int]) -> None:
    """However output is cut into pieces, also within a character, the lines are those that were printed."""
    splitter = LineSplitter()
    data = "".join(f"{line}\n" for line in lines).encode()
    found = [line for piece in pieces(data, cuts) for line in splitter.feed(piece)]
    assert found == lines
    assert splitter.flush() == []


@given(
    states=st.lists(st.text("abc", min_size=1), min_size=1), end=st.sampled_from([b"\n", b"\r\n"]), cut=st.integers(0)
)
def test_progress_bar_is_one_line(states: list[str], end: bytes, cut: int) -> None:
    """A line that is started over with carriage returns is its last state, and each state is seen in between."""
    splitter = LineSplitter()
    for state in states:
        assert splitter.feed(b"\r" + state.encode()) == []
        assert splitter.unfinished == state
    found = [line for piece in pieces(end, [cut]) for line in splitter.feed(piece)]
    assert found == [states[-1]]


@given(size=st.integers(LINE_LIMIT - 3, LINE_LIMIT + 3), cuts=st.lists(st.integers(0), max_size=4))
def test_long_line_is_cut_and_counted(size: int, cuts: list[int]) -> None:
    """A line is kept up to the limit; what is cut off is counted, and the next line is whole again."""
    splitter = LineSplitter()
    data = b"x" * size + b"\nnext\n"
    first, second = [line for piece in pieces(data, cuts) for line in splitter.feed(piece)]
    more = size - LINE_LIMIT
    assert first == "x" * min(size, LINE_LIMIT) + (f" [{more} bytes more]" if more > 0 else "")
    assert second == "next"


def test_endless_line_takes_no_memory() -> None:
    """A program that never ends its line is held to the limit."""
    splitter = LineSplitter()
    for _ in range(100):
        splitter.feed(b"x" * 65536)
    assert len(splitter.unfinished) == LINE_LIMIT


def test_last_lines_are_the_last() -> None:
    """A log keeps the last lines of both streams together, in the order in which they came."""
    log = Log(spec_with(("w",)))
    for index in range(50):
        log.feed("out" if index % 2 else "err", f"{index}\n".encode())
    assert log.last_lines == tuple(str(index) for index in range(50 - LINES_KEPT, 50))
    assert log.last_line == "49"


def test_line_without_an_end() -> None:
    """What stands on an unfinished line is the last thing said, and a line of its own once the program has ended."""
    log = Log(spec_with(("w",)))
    log.feed("out", b"done\n")
    log.feed("err", b"Loading 18/48")
    assert log.last_line == "Loading 18/48"
    assert log.flush() == ["Loading 18/48"]
    assert log.last_lines == ("done", "Loading 18/48")


def test_last_line_is_plain() -> None:
    """The last thing said is shown among other text: colours, moves of the cursor and empty lines are left out."""
    log = Log(spec_with(("w",)))
    log.feed("out", b"\x1b[2m2026\x1b[0m \x1b[32m INFO\x1b[0m\tserving\x07\n\n\x1b[0m\n")
    assert log.last_line == "2026  INFOserving"


def test_secrets_are_masked_everywhere() -> None:
    """A secret of the command or the environment shows in no line, a longer one before a shorter one it holds."""
    argv = ("smg", "--api-key=sesame", "--tenant-api-key", "sesame-open")
    secrets = (Secret(1, len("--api-key="), "API_KEY"), Secret(3, 0, "TENANT_API_KEY"))
    log = Log(spec_with(argv, *secrets, env=(("TOKEN", "t0ken"), ("X", "abc")), secret_env=("TOKEN", "X")))
    assert log.feed("out", b"sesame sesame-open t0ken abc\n") == [
        "$SMGCFG_SECRET_API_KEY $SMGCFG_SECRET_TENANT_API_KEY $SMGCFG_SECRET_TOKEN abc"
    ]
    log.feed("out", b"unfinished sesame")
    assert log.last_line == "unfinished $SMGCFG_SECRET_API_KEY"
