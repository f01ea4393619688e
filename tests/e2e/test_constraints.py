"""Constraints through a whole deployment: `smgcfg serve`, the real gateway, stand-in engines, the openai client."""

import signal
from collections.abc import Iterator
from typing import Final

import attrs
import openai
import pytest
from e2e.asking import CONSTRAINTS, LOGPROBS, PROMISES, SCHEMA, Promise, ask, client_of
from e2e.deployment import Place, Serve, new_place, serving

API_KEY: Final = "key-of-the-operator"

#: So many answers of each kind are looked at; workers take turns.
ASKED: Final = 4


@attrs.frozen
class Deployed:
    """A deployment that is up.

    Attributes:
        place: Where.
        serve: The command that runs it.
        client: A client of it.
    """

    place: Place
    serve: Serve
    client: openai.OpenAI


def deployed(overlay: str = "", *words: str, key: str = "none") -> Iterator[Deployed]:
    """Bring a deployment up, and stop it cleanly in the end.

    Args:
        overlay: A file on top of the one that has a single worker with everything left to smgcfg.
        words: What stands behind the files on the command line.
        key: The client's API key.
    """
    with new_place() as place:
        files = [place.base, place.file("overlay", overlay)]
        with serving(place, *files, "--stand-in", *words) as serve, client_of(serve.ready(), key) as client:
            yield Deployed(place, serve, client)
            assert serve.stop(signal.SIGTERM) == 143


ENFORCING: Final = {
    "one": "",
    "two": """
        pools.demo = {replicas = 2, engine.tensor_parallel_size = 2}
        gateway.policy = "round_robin"
        """,
    "grouped": "pools.demo.engine.data_parallel_size = 2",
    "keyed": f'gateway.api_key = "{API_KEY}"',
}


@pytest.fixture(scope="session", params=ENFORCING)
def enforcing(request: pytest.FixtureRequest) -> Iterator[Deployed]:
    """A deployment in which nothing is said about constraints, once in each shape."""
    key = API_KEY if request.param == "keyed" else "none"
    yield from deployed(ENFORCING[request.param], key=key)


@pytest.fixture(scope="session")
def without_backend() -> Iterator[Deployed]:
    """A deployment whose operator wants no grammar backend; the engine does as TokenSpeed 0.1.1 does then."""
    yield from deployed('pools.demo.engine.grammar_backend = "none"')


@pytest.fixture(scope="session")
def ignoring() -> Iterator[Deployed]:
    """The same with an engine that takes no notice of constraints."""
    overlay = """
        [pools.demo.engine]
        grammar_backend = "none"
        [pools.demo.env]
        SMGCFG_STANDIN_UNSUPPORTED = "ignore"
        """
    yield from deployed(overlay)


@pytest.fixture(scope="session")
def overridden() -> Iterator[Deployed]:
    """A deployment whose file is overridden on the command line, by `--set` and by engine flags."""
    off = 'pools.demo.engine.grammar_backend = "none"'
    on = ["--set", "pools.demo.engine.grammar_backend=xgrammar"]
    yield from deployed(off, *on, "--", "--no-enable-output-logprobs")


@pytest.fixture(scope="session")
def mixed() -> Iterator[Deployed]:
    """Two pools of one model that take turns, the second without a grammar backend."""
    overlay = """
        gateway.policy = "round_robin"
        launch.verify = "off"
        [pools.lax]
        backend = "tokenspeed"
        model = "demo"
        served_model_name = ["public", "alias"]
        engine.grammar_backend = "none"
        env.SMGCFG_STANDIN_UNSUPPORTED = "ignore"
        """
    yield from deployed(overlay)


def each(promises: tuple[Promise, ...]) -> pytest.MarkDecorator:
    """Return the mark that has a test run for each promise."""
    return pytest.mark.parametrize("promise", promises, ids=[promise.name for promise in promises])


either_way = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@either_way
@each(PROMISES)
def test_promises_are_kept_by_default(enforcing: Deployed, promise: Promise, streamed: bool) -> None:
    """Every answer obeys what was asked for, with one worker or two, grouped or behind a key."""
    for seed in range(ASKED):
        answer = ask(enforcing.client, {**promise.fields, "seed": seed}, streamed=streamed)
        assert promise.kept(answer), answer


@pytest.mark.parametrize("name", ["public", "alias"])
def test_public_name_and_alias(enforcing: Deployed, name: str) -> None:
    """The gateway lists the public name, and answers to it and to its alias."""
    assert [model.id for model in enforcing.client.models.list()] == ["public"]
    assert ask(enforcing.client, {"max_tokens": 3}, model=name).reason == "length"
    with pytest.raises(openai.NotFoundError):
        ask(enforcing.client, {}, model="demo")


@pytest.mark.parametrize("enforcing", ["keyed"], indirect=True)
def test_the_gateway_wants_its_key(enforcing: Deployed) -> None:
    """Behind an API key nobody is answered without it, and the key stands in no line of output."""
    with client_of(enforcing.place.url, "another") as client, pytest.raises(openai.AuthenticationError):
        ask(client, {})
    assert API_KEY not in enforcing.serve.out + enforcing.serve.err


@pytest.mark.parametrize("enforcing", ["grouped"], indirect=True)
def test_both_engines_of_a_group_are_there(enforcing: Deployed) -> None:
    """A grouped worker is ready when both its engines have registered."""
    before_ready = enforcing.serve.out.partition("READY")[0]
    for index in (0, 1):
        assert f"demo-0  | standin: engine {index}: registered" in before_ready


@either_way
@each(CONSTRAINTS)
def test_no_backend_is_obeyed(without_backend: Deployed, promise: Promise, streamed: bool) -> None:
    """Without a grammar backend a constrained request is aborted, with HTTP 200 and no word of why."""
    answer = ask(without_backend.client, promise.fields, streamed=streamed)
    assert answer.aborted
    assert not promise.kept(answer)


@either_way
@each(CONSTRAINTS)
def test_no_backend_is_unenforced(ignoring: Deployed, promise: Promise, streamed: bool) -> None:
    """An engine without a grammar backend that ignores constraints answers freely, and no answer obeys."""
    for seed in range(ASKED):
        answer = ask(ignoring.client, {**promise.fields, "seed": seed}, streamed=streamed)
        assert answer.content or answer.calls
        assert not promise.kept(answer), answer


@either_way
def test_what_was_not_overridden_stays(without_backend: Deployed, streamed: bool) -> None:
    """The grammar backend was chosen, the log probabilities were not: they are still there."""
    assert LOGPROBS.kept(ask(without_backend.client, LOGPROBS.fields, streamed=streamed))


@either_way
def test_the_command_line_beats_the_file(overridden: Deployed, streamed: bool) -> None:
    """`--set` turns a backend on that the file turned off, and an engine flag turns log probabilities off."""
    for promise in CONSTRAINTS:
        assert promise.kept(ask(overridden.client, promise.fields, streamed=streamed))
    answer = ask(overridden.client, LOGPROBS.fields, streamed=streamed)
    assert answer.aborted
    assert not LOGPROBS.kept(answer)


def test_each_pool_has_its_own_choice(mixed: Deployed) -> None:
    """Of two pools of one model that take turns, only the one with a grammar backend obeys."""
    kept = [SCHEMA.kept(ask(mixed.client, {**SCHEMA.fields, "seed": seed})) for seed in range(2 * ASKED)]
    assert kept in ([True, False] * ASKED, [False, True] * ASKED)
