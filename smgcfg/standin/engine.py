"""One rank of the stand-in engine: takes requests, gives outputs, knows no sockets."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable

import attrs

from smgcfg.standin.grammar import GrammarError, GrammarLibrary, constraints_of
from smgcfg.standin.settings import EngineSettings
from smgcfg.standin.tokenizer import EOS_ID
from smgcfg.standin.wire import GenerateRequest, OutputBatch
from smgcfg.standin.writer import ConstrainedWriter, FreeWriter, Writer, seeded

#: Tokens between two outputs of a request that does not stream (TokenSpeed 0.1.1 sends its first token as well)
_UNSTREAMED_INTERVAL = 50


class Refusal(ValueError):
    """A request that is aborted before it runs. The wire carries no cause, so the message is only logged."""


@attrs.define
class Generation:
    """One answer in the making.

    Attributes:
        rid: The gateway's id of the request.
        prompt_tokens: Length of the prompt.
        writer: Produces the tokens; None when the request is finished before it runs.
        limit: Most tokens of the answer.
        stop_ids: Tokens that end it.
        interval: Tokens between two outputs.
        streams: Whether the client reads along.
        logprobs: Whether each token goes out with its log probability.
        count: Tokens so far.
        unsent: Tokens that have not gone out.
        finished: Why it ended: stop, length or abort; empty while it runs.
    """

    rid: str
    prompt_tokens: int
    writer: Writer | None = None
    limit: int = 0
    stop_ids: frozenset[int] = frozenset()
    interval: int = 1
    streams: bool = False
    logprobs: bool = False
    count: int = 0
    unsent: list[int] = attrs.Factory(list)
    finished: str = ""

    def advance(self, log: Callable[[str], None]) -> None:
        """Write a token, or several where there is no choice, and see whether the answer ends with it."""
        if self.writer is None:
            return
        if self.count >= self.limit:
            self.finished = "length"
            return
        try:
            tokens = self.writer.more(self.count, self.limit)
        except GrammarError as exc:
            log(f"aborting {self.rid}: {exc}")
            self.finished = "abort"
            return
        for token in tokens:
            self.unsent.append(token)
            self.count += 1
            if token == EOS_ID or token in self.stop_ids:
                self.finished = "stop"
                return
            if self.count >= self.limit:
                self.finished = "length"
                return

    @property
    def due(self) -> bool:
        """Whether its unsent tokens go out now, by the rhythm of TokenSpeed 0.1.1."""
        if self.finished:
            return True
        if self.streams:
            return len(self.unsent) >= self.interval
        return len(self.unsent) == self.count or len(self.unsent) >= _UNSTREAMED_INTERVAL


class Rank:
    """Schedules the requests of one engine index, all running ones in turn, one token each per step.

    Args:
        settings: The engine's settings.
        rank: The data-parallel rank.
        grammars: Where constraints are compiled; None without a grammar backend.
        log: Receives one line per noteworthy event.
    """

    def __init__(
        self, settings: EngineSettings, rank: int, grammars: GrammarLibrary | None, log: Callable[[str], None]
    ) -> None:
        self.index = settings.first_index + rank
        self._settings = settings
        self._grammars = grammars
        self._log = log
        self._waiting: deque[GenerateRequest] = deque()
        self._running: dict[str, Generation] = {}

    @property
    def busy(self) -> bool:
        """Whether a step has something to do."""
        return bool(self._running or self._waiting)

    def add(self, request: GenerateRequest) -> None:
        """Queue a request."""
        self._waiting.append(request)

    def abort(self, rids: Iterable[str]) -> None:
        """Forget requests whose client has gone; nothing is sent for them."""
        gone = set(rids)
        for rid in gone:
            self._running.pop(rid, None)
        self._waiting = deque(request for request in self._waiting if request.rid not in gone)

    def step(self) -> OutputBatch | None:
        """Admit what fits, write one token of every running answer, and hand out what is due.

        Returns:
            The outputs of this step, or None when there are none.
        """
        self._admit()
        batch = OutputBatch(engine_index=self.index)
        for generation in list(self._running.values()):
            generation.advance(self._log)
            if generation.due:
                self._emit(generation, batch)
            if generation.finished:
                del self._running[generation.rid]
        if not batch.rids:
            return None
        batch.num_running = len(self._running)
        batch.num_waiting = len(self._waiting)
        batch.kv_active_pages = sum(
            math.ceil((generation.prompt_tokens + generation.count) / self._settings.page_size)
            for generation in self._running.values()
        )
        batch.kv_total_pages = self._settings.kv_pages
        return batch

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._settings.rank_seqs:
            request = self._waiting.popleft()
            try:
                generation = self._start(request)
            except (Refusal, GrammarError) as exc:
                self._log(f"aborting {request.rid}: {exc}")
                generation = Generation(request.rid, len(request.input_ids or ()), finished="abort")
            self._running[request.rid] = generation

    def _start(self, request: GenerateRequest) -> Generation:
        self._check(request)
        params = request.sampling_params
        prompt = request.input_ids or []
        # TokenSpeed 0.1.1 keeps one token of the context free.
        room = self._settings.max_model_len - len(prompt) - 1
        if room < 1:
            raise Refusal(f"the prompt of {len(prompt)} tokens leaves no room in {self._settings.max_model_len}")
        return Generation(
            rid=request.rid,
            prompt_tokens=len(prompt),
            writer=self._writer(request),
            limit=room if params.max_new_tokens is None else min(params.max_new_tokens, room),
            # ignore_eos ignores every stop token; the end of a grammar still ends the answer (both as in 0.1.1).
            stop_ids=frozenset() if params.ignore_eos else frozenset(params.stop_token_ids or ()),
            interval=params.stream_interval or self._settings.stream_interval,
            streams=request.stream,
            logprobs=request.return_logprob and self._settings.output_logprobs,
        )

    def _check(self, request: GenerateRequest) -> None:
        if not request.input_ids:
            raise Refusal("the request has no token ids")
        if request.sampling_params.n != 1:
            raise Refusal(f"n={request.sampling_params.n} is the gateway's to fan out")
        if request.return_logprob and not self._settings.output_logprobs and not self._settings.play.ignore_unsupported:
            raise Refusal("logprobs were asked of an engine started without --enable-output-logprobs")
        if request.return_logprob and (request.top_logprobs_num or request.token_ids_logprob):
            raise Refusal("only the logprob of the chosen token is on the wire")
        if request.return_logprob and 0 <= request.logprob_start_len < len(request.input_ids) - 1:
            raise Refusal("logprobs of the prompt are not on the wire")

    def _writer(self, request: GenerateRequest) -> Writer:
        params = request.sampling_params
        rng = seeded(request.input_ids or (), params.seed)
        constraints = constraints_of(params)
        if len(constraints) > 1:
            raise Refusal(f"one constraint at a time, got {', '.join(each.kind for each in constraints)}")
        if constraints and self._grammars is not None:
            return ConstrainedWriter(rng, self._grammars.start(constraints[0]))
        if constraints and not self._settings.play.ignore_unsupported:
            raise Refusal(f"{constraints[0].kind} was asked of an engine without a grammar backend")
        return FreeWriter(
            rng, least=params.min_new_tokens, endless=params.ignore_eos, avoid=params.stop_token_ids or ()
        )

    @staticmethod
    def _emit(generation: Generation, batch: OutputBatch) -> None:
        tokens, generation.unsent = generation.unsent, []
        first = generation.count - len(tokens)
        batch.rids.append(generation.rid)
        batch.output_ids.append(tokens)
        batch.finished_reasons.append(generation.finished)
        batch.prompt_tokens.append(generation.prompt_tokens)
        batch.completion_tokens.append(generation.count)
        batch.cached_tokens.append(0)
        logged = tokens if generation.logprobs else []
        batch.output_token_logprobs_val.append([_logprob(first + at, token) for at, token in enumerate(logged)])
        batch.output_token_logprobs_idx.append(list(logged))


def _logprob(position: int, token: int) -> float:
    """A made-up log probability, the same for the same token in the same place."""
    return -((position * 31 + token * 17) % 97) / 40
