"""The stand-in's process: dials the gateway, moves messages between sockets and ranks, ends in an orderly way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import zmq

from smgcfg.standin import wire
from smgcfg.standin.engine import Rank
from smgcfg.standin.grammar import GrammarLibrary
from smgcfg.standin.settings import EngineSettings
from smgcfg.standin.stop import Stop

#: How long TokenSpeed 0.1.1 waits for the gateway's INIT before it gives up
_INIT_SECONDS = 600

#: How long the last messages may take to leave at the end
_LINGER_MS = 500


class HandshakeError(Exception):
    """The gateway did not answer as the handshake wants; the engine ends with exit code 1."""


class Link:
    """One rank's connection: dials first, serves later.

    Attributes:
        rank: What the messages are for.
        socket: The handshake socket while dialling, the input socket while serving.
        serving: Whether the rank is registered.
    """

    def __init__(self, rank: Rank, context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> None:
        self.rank = rank
        self.serving = False
        self._context = context
        # libzmq keeps dialling until the gateway listens, and holds HELLO until then.
        self.socket = self._dealer(endpoint)
        self.socket.send(wire.encode(wire.Status("HELLO")))

    def register(self, ready: wire.ReadyResponse) -> str:
        """Answer the gateway's INIT, which has arrived, and register on the input socket.

        Returns:
            The address of the output socket.

        Raises:
            HandshakeError: What arrived is no INIT, or names no sockets.
        """
        try:
            addresses = wire.decode_init(self.socket.recv_multipart()[-1]).addresses
            inputs, outputs = addresses.inputs[0], addresses.outputs[0]
        except (ValueError, IndexError) as exc:
            raise HandshakeError(f"engine {self.rank.index}: no usable INIT from the gateway: {exc}") from exc
        self.socket.send(wire.encode(wire.Status("READY")))
        self.socket.close(linger=_LINGER_MS)
        self.socket = self._dealer(inputs)
        self.socket.send(wire.encode(ready))
        self.serving = True
        return outputs

    def receive(self, log: Callable[[str], None]) -> None:
        """Hand every message that has arrived to the rank."""
        while True:
            try:
                frames = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                message = wire.decode_request(frames)
            except ValueError as exc:
                log(f"engine {self.rank.index}: dropping a malformed message: {exc}")
                continue
            if isinstance(message, wire.GenerateRequest):
                self.rank.add(message)
            else:
                self.rank.abort(message)

    def _dealer(self, endpoint: str) -> zmq.Socket[bytes]:
        dealer = self._context.socket(zmq.DEALER)
        dealer.setsockopt(zmq.IDENTITY, wire.identity(self.rank.index))
        dealer.connect(endpoint)
        return dealer


class Server:
    """One engine process with all its ranks, in one poll loop.

    Args:
        settings: The engine's settings.
        stop: Says when to end.
        log: Receives one line per noteworthy event.
    """

    def __init__(self, settings: EngineSettings, stop: Stop, log: Callable[[str], None]) -> None:
        self._settings = settings
        self._stop = stop
        self._log = log
        self._output: zmq.Socket[bytes] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def run(self) -> int:
        """Dial, serve, and end on a signal.

        Returns:
            The exit code: 0 after a signal, 1 when the gateway did not complete the handshake.
        """
        grammars = GrammarLibrary() if self._settings.enforce else None
        endpoint = f"tcp://{self._settings.address}:{self._settings.port}"
        try:
            ranks = [Rank(self._settings, rank, grammars, self._log) for rank in range(self._settings.ranks)]
            links = [Link(rank, self._context, endpoint) for rank in ranks]
            self._log(f"dialling the gateway at {endpoint} as {_engines(ranks)}")
            self._serve(links)
            self._log(f"ending on {self._stop.signal}")
        except HandshakeError as exc:
            self._log(str(exc))
            return 1
        finally:
            self._say_goodbye()
        return 0

    def _serve(self, links: list[Link]) -> None:
        poller = zmq.Poller()
        poller.register(self._stop.wake, zmq.POLLIN)
        for link in links:
            poller.register(link.socket, zmq.POLLIN)
        deadline = time.monotonic() + _INIT_SECONDS
        next_step = 0.0
        while True:
            ready = dict(poller.poll(self._patience(links, deadline, next_step)))
            if self._stop.signal is not None:
                return
            for link in links:
                if link.socket not in ready:
                    continue
                if link.serving:
                    link.receive(self._log)
                else:
                    poller.unregister(link.socket)
                    self._register(link)
                    poller.register(link.socket, zmq.POLLIN)
            now = time.monotonic()
            if now >= deadline and not all(link.serving for link in links):
                raise HandshakeError(f"no INIT from the gateway within {_INIT_SECONDS} s")
            if now >= next_step:
                next_step = now + self._settings.play.step_seconds
                self._step(links)

    def _patience(self, links: list[Link], deadline: float, next_step: float) -> int | None:
        """How long to wait for messages, in milliseconds; None is until one comes."""
        if any(link.rank.busy for link in links):
            until = next_step
        elif all(link.serving for link in links):
            return None
        else:
            until = deadline
        return max(0, math.ceil((until - time.monotonic()) * 1000))

    def _register(self, link: Link) -> None:
        outputs = link.register(self._ready_response(link.rank))
        if self._output is None:
            self._output = self._context.socket(zmq.PUSH)
            # A gateway that is gone must not block the loop; only running answers can pile up.
            self._output.setsockopt(zmq.SNDHWM, 0)
            self._output.connect(outputs)
        self._log(f"engine {link.rank.index}: registered at the gateway, ready")

    def _step(self, links: list[Link]) -> None:
        for link in links:
            if link.rank.busy and (batch := link.rank.step()) is not None and self._output is not None:
                self._output.send(wire.encode(batch))

    def _say_goodbye(self) -> None:
        """Send one death notice for all ranks, which share the socket: a second one could hit the next engine."""
        linger = 0
        if self._output is not None:
            self._output.send(wire.ENGINE_CORE_DEAD)
            linger = _LINGER_MS
        self._context.destroy(linger=linger)

    def _ready_response(self, rank: Rank) -> wire.ReadyResponse:
        settings = self._settings
        return wire.ReadyResponse(
            max_model_len=settings.max_model_len,
            num_gpu_blocks=settings.kv_pages,
            prefix_granularity=settings.page_size,
            world_size=settings.world_size,
            data_parallel_size=settings.ranks,
            tensor_parallel_size=settings.tensor_parallel_size,
            pipeline_parallel_size=settings.pipeline_parallel_size,
            decode_context_parallel_size=settings.decode_context_parallel_size,
            data_parallel_rank=rank.index - settings.first_index,
            max_num_seqs=settings.max_num_seqs,
            max_num_batched_tokens=settings.max_num_batched_tokens,
            instance_id=settings.served_model_name or settings.model,
            kv_cache_size_tokens=settings.kv_pages * settings.page_size,
        )


def _engines(ranks: list[Rank]) -> str:
    first, last = ranks[0].index, ranks[-1].index
    return f"engine {first}" if first == last else f"engines {first} to {last}"
