"""One rank: admission, steps, endings and refusals."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin.answers import LIBRARY

from smgcfg.standin.engine import Rank
from smgcfg.standin.settings import EngineSettings, Play
from smgcfg.standin.tokenizer import EOS_ID
from smgcfg.standin.wire import GenerateRequest, OutputBatch, SamplingParams


class Bench:
    """A rank, and everything it has said so far."""

    def __init__(self, *, enforce: bool = True, **settings: Any) -> None:
        self.log: list[str] = []
        self.batches: list[OutputBatch] = []
        self.rank = Rank(EngineSettings(model="m", **settings), 0, LIBRARY if enforce else None, self.log.append)

    def add(self, rid: str = "r", prompt: int = 3, **fields: Any) -> None:
        """Queue a request; fields of the request and of its sampling parameters by name."""
        names = set(GenerateRequest.__struct_fields__)
        self.rank.add(
            GenerateRequest(
                rid=rid,
                input_ids=list(range(prompt)),
                sampling_params=SamplingParams(**{name: each for name, each in fields.items() if name not in names}),
                **{name: each for name, each in fields.items() if name in names},
            )
        )

    def step(self, times: int = 1) -> None:
        """Take steps, and check what holds for every batch."""
        for _ in range(times):
            batch = self.rank.step()
            if batch is not None:
                columns = {
                    len(getattr(batch, name))
                    for name in batch.__struct_fields__
                    if isinstance(getattr(batch, name), list)
                }
                assert columns == {len(batch.rids)}
                self.batches.append(batch)

    def run(self) -> "Bench":
        """Step until there is nothing to do."""
        for _ in range(100_000):
            if not self.rank.busy:
                return self
            self.step()
        raise AssertionError("the rank never rests")

    def rows(self, rid: str = "r") -> list[dict[str, Any]]:
        """Collect the outputs of one request."""
        return [
            {name: getattr(batch, name)[batch.rids.index(rid)] for name in batch.__struct_fields__[:8]}
            for batch in self.batches
            if rid in batch.rids
        ]

    def tokens(self, rid: str = "r") -> list[int]:
        """Collect the tokens of one request."""
        return [token for row in self.rows(rid) for token in row["output_ids"]]

    def ending(self, rid: str = "r") -> str:
        """Return the finish reason, after checking that it came once and last."""
        *before, last = [row["finished_reasons"] for row in self.rows(rid)]
        assert not any(before)
        return last


def test_a_free_answer() -> None:
    """A free answer ends by itself, with its end token and a right count of all tokens."""
    bench = Bench(enforce=False)
    bench.add(stream=True)
    bench.run()
    assert bench.ending() == "stop"
    assert bench.tokens()[-1] == EOS_ID
    assert [row["completion_tokens"] for row in bench.rows()] == list(range(1, len(bench.tokens()) + 1))
    assert {(row["prompt_tokens"], row["cached_tokens"]) for row in bench.rows()} == {(3, 0)}


@given(st.integers(0, 99), st.none() | st.sampled_from(['{"type":"object"}', '{"type":"array"}']), st.integers(0, 7))
def test_streaming_changes_no_token(seed: int, json_schema: str | None, interval: int) -> None:
    """Streamed in any rhythm or not at all, with logprobs or without, a request has the same tokens."""
    bench = Bench(output_logprobs=True)
    common = {"seed": seed, "json_schema": json_schema, "max_new_tokens": 120}
    bench.add("plain", **common)
    bench.add("stream", **common, stream=True, stream_interval=interval)
    bench.add("logprobs", **common, return_logprob=True)
    bench.run()
    assert bench.tokens("plain") == bench.tokens("stream") == bench.tokens("logprobs")
    assert bench.ending("plain") == bench.ending("stream")
    assert len(bench.rows("plain")) <= len(bench.rows("stream")) or interval > 1


def test_the_rhythm_of_outputs() -> None:
    """Without streaming the first token goes out, then each fifty; streamed, each interval."""
    bench = Bench()
    bench.add("plain", ignore_eos=True, max_new_tokens=120)
    bench.add("stream", ignore_eos=True, max_new_tokens=10, stream=True, stream_interval=4)
    bench.run()
    assert [len(row["output_ids"]) for row in bench.rows("plain")] == [1, 50, 50, 19]
    assert [len(row["output_ids"]) for row in bench.rows("stream")] == [4, 4, 2]


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_the_limit_on_tokens(limit: int) -> None:
    """An answer has as many tokens as it may, and says that it was cut."""
    bench = Bench()
    bench.add(max_new_tokens=limit)
    bench.add("json", max_new_tokens=limit, json_schema='{"type":"array","minItems":40}')
    bench.run()
    assert (len(bench.tokens()), bench.ending()) == (limit, "length")
    assert (len(bench.tokens("json")), bench.ending("json")) == (limit, "length")


def test_the_context_is_a_limit() -> None:
    """Prompt and answer fit into the context with a token to spare; a prompt that fills it is aborted."""
    bench = Bench(max_model_len=64)
    bench.add(prompt=10, ignore_eos=True)
    bench.add("cut", prompt=10, ignore_eos=True, max_new_tokens=500)
    bench.add("full", prompt=63)
    bench.run()
    assert len(bench.tokens()) == len(bench.tokens("cut")) == 53
    assert bench.ending("full") == "abort"


def test_stop_tokens() -> None:
    """A stop token ends the answer, which still holds it; ignore_eos ignores it; min_new_tokens puts it off."""
    bench = Bench()
    letters = list(range(ord("a"), ord("n")))
    bench.add("stop", stop_token_ids=letters)
    bench.add("ignore", stop_token_ids=letters, ignore_eos=True, max_new_tokens=300)
    bench.add("later", stop_token_ids=letters, min_new_tokens=40)
    bench.run()
    assert bench.ending("stop") == "stop"
    assert bench.tokens("stop")[-1] in letters
    assert (len(bench.tokens("ignore")), bench.ending("ignore")) == (300, "length")
    assert bench.ending("later") == "stop"
    assert len(bench.tokens("later")) > 40


def test_many_requests_take_turns() -> None:
    """All running requests gain a token in each step, no more run than may, and the rest waits."""
    bench = Bench(max_num_seqs=4, max_model_len=64, page_size=16)
    for number in range(6):
        bench.add(f"r{number}", ignore_eos=True, max_new_tokens=8, stream=True, seed=number)
    bench.step()
    assert bench.batches[0].rids == ["r0", "r1", "r2", "r3"]
    assert (bench.batches[0].num_running, bench.batches[0].num_waiting) == (4, 2)
    assert (bench.batches[0].kv_active_pages, bench.batches[0].kv_total_pages) == (4, 16)
    bench.run()
    assert {bench.ending(f"r{number}") for number in range(6)} == {"length"}
    assert len({tuple(bench.tokens(f"r{number}")) for number in range(6)}) == 6


def test_ranks_share_the_seats() -> None:
    """The limit on running requests is split between the ranks, as in TokenSpeed 0.1.1."""
    assert EngineSettings(model="m", max_num_seqs=5, ranks=2).rank_seqs == 2
    assert EngineSettings(model="m", max_num_seqs=1, ranks=2).rank_seqs == 1


def test_an_abort_ends_a_request_in_silence() -> None:
    """A running and a waiting request are forgotten; nothing more is sent for them; others go on."""
    bench = Bench(max_num_seqs=2)
    for rid in ("running", "other", "waiting"):
        bench.add(rid, ignore_eos=True, max_new_tokens=20, stream=True)
    bench.step(3)
    bench.rank.abort(["running", "waiting", "unknown"])
    bench.run()
    assert len(bench.rows("running")) == 3
    assert bench.rows("waiting") == []
    assert bench.ending("other") == "length"


def test_logprobs() -> None:
    """Each new token comes with a log probability and its own id; who did not ask gets empty columns."""
    bench = Bench(output_logprobs=True)
    bench.add(return_logprob=True, stream=True, stream_interval=3)
    bench.add("without")
    bench.run()
    for row in bench.rows():
        assert row["output_token_logprobs_idx"] == row["output_ids"]
        assert len(row["output_token_logprobs_val"]) == len(row["output_ids"])
        assert all(-10 < value <= 0 for value in row["output_token_logprobs_val"])
    assert {str(row["output_token_logprobs_val"]) for row in bench.rows("without")} == {"[]"}


@pytest.mark.parametrize(
    "fields",
    [
        {"json_schema": "{"},
        {"json_schema": "{}", "regex": "a"},
        {"regex": "("},
        {"n": 2},
        {"return_logprob": True},
        {"prompt": 0},
    ],
)
def test_refused_requests_are_aborted(fields: dict[str, Any]) -> None:
    """A refused request gets one output, an abort without tokens, and the cause is in the log."""
    bench = Bench()
    bench.add(**fields)
    bench.run()
    assert [(row["output_ids"], row["finished_reasons"]) for row in bench.rows()] == [([], "abort")]
    assert len(bench.log) == 1
    assert bench.log[0].startswith("aborting r: ")


@pytest.mark.parametrize("fields", [{"top_logprobs_num": 2}, {"token_ids_logprob": [1]}, {"logprob_start_len": 0}])
def test_logprobs_that_the_wire_can_not_carry(fields: dict[str, Any]) -> None:
    """Even with logprobs on, only those of the chosen tokens are given."""
    bench = Bench(output_logprobs=True)
    bench.add(return_logprob=True, **fields)
    assert bench.run().ending() == "abort"


@pytest.mark.parametrize("constraint", ["json_schema", "regex", "ebnf", "structural_tag"])
def test_constraints_without_a_backend(constraint: str) -> None:
    """Without a grammar backend a constrained request is aborted, or answered freely when told to ignore it."""
    bench = Bench(enforce=False)
    bench.add(**{constraint: "x"})
    assert bench.run().ending() == "abort"
    assert bench.tokens() == []
    ignoring = Bench(enforce=False, play=Play(ignore_unsupported=True))
    ignoring.add(**{constraint: "x"})
    free = Bench()
    free.add()
    assert ignoring.run().tokens() == free.run().tokens()


def test_logprobs_without_the_flag() -> None:
    """Asked for logprobs, an engine without them aborts the request, or answers without when told to ignore it."""
    bench = Bench()
    bench.add(return_logprob=True)
    assert bench.run().ending() == "abort"
    ignoring = Bench(play=Play(ignore_unsupported=True))
    ignoring.add(return_logprob=True)
    free = Bench()
    free.add()
    assert ignoring.run().tokens() == free.run().tokens()
    assert [row["output_token_logprobs_val"] for row in ignoring.rows()] == [[]] * len(ignoring.rows())


def test_a_constraint_is_enforced() -> None:
    """With a grammar backend the answer obeys, and ends with the grammar even under ignore_eos."""
    bench = Bench()
    bench.add(regex="(yes|no)!", ignore_eos=True)
    bench.run()
    assert bytes(bench.tokens()[:-1]) in (b"yes!", b"no!")
    assert bench.ending() == "stop"
