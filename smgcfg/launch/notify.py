"""Tells systemd how a launch is: what sd_notify(3) and sd_watchdog_enabled(3) say, without a library."""

import contextlib
import math
import os
import socket
from collections.abc import MutableMapping

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notifier:
    """Sends states to the service manager; does nothing where there is none. No method waits.

    Args:
        environ: Where the service manager says how to reach it. It is for us alone: the variables are taken out, so
            that no process of the launch talks in its place.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        address, usec, pid = (environ.pop(name, "") for name in _VARIABLES)
        # An abstract address begins with @ there, and with a zero byte here.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if address[:1] in ("@", "/") else None
        if self._socket is not None:
            self._socket.setblocking(False)
        self._status = ""
        watched = self._socket is not None and usec.isdecimal() and int(usec) > 0
        self._every = int(usec) / 2e6 if watched and pid in ("", str(os.getpid())) else math.inf
        self._next = -math.inf if self._every < math.inf else math.inf

    def ready(self) -> None:
        """Say that the launch is ready."""
        self._send("READY=1")

    def stopping(self) -> None:
        """Say that the launch is being stopped."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """Say how it is, in a line for people, if that is new."""
        if text != self._status:
            self._status = text
            self._send(f"STATUS={text}")

    def tick(self, now: float) -> float:
        """Say that the loop goes round, at half of the time after which it counts as hung.

        Args:
            now: The time, on any clock that does not jump.

        Returns:
            When to be called again.
        """
        if now >= self._next:
            self._next = now + self._every
            self._send("WATCHDOG=1")
        return self._next

    def close(self) -> None:
        """Let go of the socket."""
        if self._socket is not None:
            self._socket.close()

    def _send(self, text: str) -> None:
        if self._socket is not None:
            # A service manager that does not listen is no reason to end the service.
            with contextlib.suppress(OSError):
                self._socket.sendto(text.encode(), self._address)
