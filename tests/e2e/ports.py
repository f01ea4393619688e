"""Ports that test processes can not take from one another, however many of them run at once."""

import random
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from smgcfg.backends.tokenspeed.backend import dist_port
from smgcfg.endpoint import Endpoint
from smgcfg.planning.derive import METRICS_PORTS

#: Below the ports that the kernel gives away, and below the handshake band.
_GATEWAYS: Final = range(10000, 11000)
_SINGLES: Final = range(16300, 20000)
_WORKERS: Final = range(12000, 16000, 4)

#: As many workers as a deployment here ever has.
_MOST: Final = 4

#: Whoever holds a port of this address, on which nobody listens, may use that port of 127.0.0.1. The kernel sees to it
#: that no two processes do, and ends the claims of a process with it.
_CLAIMS: Final = "127.77.7.7"


class Ports:
    """The ports of one deployment, claimed until it lets go of them.

    Attributes:
        gateway: The gateway's.
        metrics: That of the gateway's metrics, which follows from it.
        worker: The first of four workers'. Over zmq they listen on no port of their own, but each meets its processes
            on one that follows from it.
    """

    def __init__(self) -> None:
        self._claims = ExitStack()
        pairs = ((port, METRICS_PORTS[port % len(METRICS_PORTS)]) for port in _GATEWAYS)
        self.gateway, self.metrics = next(pair for pair in pairs if self._claim(*pair))
        self.worker = next(
            port
            for port in _WORKERS
            if self._claim(*(number for index in range(_MOST) for number in (port + index, dist_port(port + index))))
        )

    def run_dir(self, candidates: Iterable[Path]) -> Path:
        """Return the first of some directories in which nobody else meets an engine on the same ports.

        Args:
            candidates: Run directories; the ports of the handshakes are hashes of their paths.
        """

        def handshake(path: Path, worker: int) -> int:
            port = Endpoint("zmq", "127.0.0.1", worker, str(path)).handshake
            assert port is not None
            return port

        return next(
            path
            for path in candidates
            if self._claim(*(handshake(path, self.worker + index) for index in range(_MOST)))
        )

    def close(self) -> None:
        """Let go of the ports."""
        self._claims.close()

    def _claim(self, *numbers: int) -> bool:
        """Claim some ports, and return whether all of them are ours and free."""
        claim = claimed(*numbers)
        if claim is not None:
            self._claims.push(claim)
        return claim is not None


def claimed(*numbers: int) -> ExitStack | None:
    """Claim some ports.

    Args:
        numbers: The ports.

    Returns:
        What holds them until it is closed, or nothing if somebody has one of them.
    """
    with ExitStack() as stack:
        for number in numbers:
            if not _bind(stack.enter_context(socket.socket()), _CLAIMS, number):
                return None
            with socket.socket() as probe:
                # As every server does: what is left of closed connections is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if not _bind(probe, "127.0.0.1", number):
                    return None
        return stack.pop_all()


_singles = ExitStack()


def free_port() -> int:
    """Return a port of the loopback that nobody else gets as long as this test process lives."""
    while True:
        number = random.SystemRandom().choice(_SINGLES)
        if (claim := claimed(number)) is not None:
            _singles.push(claim)
            return number


def _bind(probe: socket.socket, host: str, number: int) -> bool:
    try:
        probe.bind((host, number))
    except OSError:
        return False
    return True
