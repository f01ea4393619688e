"""What a pretended gateway knows of its workers: the zmq sockets between them, and who answers on which port.

As measured with smg 1.13.0. The gateway waits for an engine to register at a zmq worker's sockets. One that has is
healthy, for ever if it is killed; told of the death, or by an engine that ends in order, the gateway drops the sockets
at once, waits for a successor REBIND seconds later, and takes the worker for healthy until STALE seconds have gone by.
"""

from collections.abc import Hashable, Sequence
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from smgcfg.launch.effects import Listeners, Loads, Probed, ProberAnswer, Routed, Told
from smgcfg.process import DeathNotice, ProcessSpec

if TYPE_CHECKING:
    from smgcfg.testing.machine import FakeMachine

REBIND = 0.5
STALE = 1.0


class FakeLink:
    """The gateway's side of one zmq worker.

    Attributes:
        socket: What tells its socket from others.
        pid: The engine that is registered, dead or alive, or None.
        dropped: When the socket was dropped, if no engine has registered since.
    """

    def __init__(self, socket: int) -> None:
        self.socket = socket
        self.pid: int | None = None
        self.dropped: float | None = None


class FakeWire:
    """All links of the gateway that is there.

    Attributes:
        links: The links, by the worker's name.
        specs: The zmq workers that were started, by name.
    """

    def __init__(self) -> None:
        self.links: dict[str, FakeLink] = {}
        self.specs: dict[str, ProcessSpec] = {}
        self._numbers = count(1)
        self._gateways = 0

    def start(self, machine: "FakeMachine", spec: ProcessSpec) -> None:
        """Note that a process started."""
        if spec.role == "gateway":
            self._gateways += 1
            old = [name for name in machine.processes if name in self.specs]
            assert self._gateways == 1 or not old, f"engines of the old gateway are there: {old}"
            self.links = {name: FakeLink(next(self._numbers)) for name in self.specs}
        elif spec.death_notice is not None:
            self.specs[spec.name] = spec
            self.links.setdefault(spec.name, FakeLink(next(self._numbers)))

    def settle(self, machine: "FakeMachine") -> None:
        """Register the engines that are ready at the sockets that wait."""
        for name, link in self.links.items():
            process = machine.processes.get(name)
            if process is not None and process.serves and self.waits(machine, name):
                link.pid, link.dropped = process.pid, None

    def waits(self, machine: "FakeMachine", name: str) -> bool:
        """Return whether the gateway waits for an engine to register."""
        link = self.links[name]
        if machine.gateway is None or link.pid is not None or name in machine.strangers:
            return False
        return link.dropped is None or machine.time >= link.dropped + REBIND

    def healthy(self, machine: "FakeMachine", name: str) -> bool:
        """Return whether the gateway takes a worker for healthy."""
        link = self.links[name]
        if link.pid is not None:
            process = machine.processes.get(name)
            # An engine that says itself that it is not ready; a dead one says nothing.
            return process is None or process.pid != link.pid or process.ready
        return link.dropped is not None and machine.time < link.dropped + STALE

    def say_goodbye(self, machine: "FakeMachine", name: str) -> None:
        """Have the gateway learn that the engine at a link is gone."""
        link = self.links.get(name)
        if link is not None and link.pid is not None:
            link.pid, link.dropped, link.socket = None, machine.time, next(self._numbers)


class FakeMessenger:
    """A messenger that reaches the pretended gateway.

    Attributes:
        missing: Why it can say nothing.
        problem: Why what it says does not arrive, or empty.
        told: Whose death it told.
    """

    def __init__(self, machine: "FakeMachine") -> None:
        self._machine = machine
        self.missing = ""
        self.problem = ""
        self.told: list[str] = []
        self._reports: list[Told] = []

    @property
    def busy(self) -> bool:
        """Whether there is something to report."""
        return bool(self._reports)

    def tell(self, name: str, notice: DeathNotice) -> None:
        """Tell the gateway that an engine is dead; with a new one there, or none expected, that would kill the next."""
        assert name not in self._machine.processes, f"{name} is alive"
        assert not self._machine.wire.waits(self._machine, name), f"nobody died at {name}"
        if not self.problem and self._machine.gateway is not None:
            self.told.append(name)
            self._machine.wire.say_goodbye(self._machine, name)
        self._reports.append(Told(name, self.problem))

    def poll(self) -> Sequence[Told]:
        """Return what became of it."""
        reports, self._reports = self._reports, []
        return reports


class FakeSockets:
    """What is bound on the machine."""

    def __init__(self, machine: "FakeMachine") -> None:
        self._machine = machine

    def listeners(self, name: str) -> Listeners:
        """Return the ports of a process, and who else is there."""
        process = self._machine.processes.get(name)
        if process is None:
            return Listeners(frozenset())
        port = urlsplit(process.spec.ready.url).port or 0
        foreign = [(port, who) for whose, who in self._machine.strangers.items() if whose == name and port]
        if process.spec.role == "gateway":
            notices = ((whose, spec.death_notice) for whose, spec in self._machine.wire.specs.items())
            foreign += [
                (notice.handshake, self._machine.strangers[whose])
                for whose, notice in notices
                if notice is not None and whose in self._machine.strangers
            ]
        return Listeners(frozenset({port} if process.runs else ()), tuple(foreign))

    def is_listening(self, port: int) -> bool:
        """Return whether the gateway waits for an engine at a port, or somebody else is there."""
        for name, spec in self._machine.wire.specs.items():
            if spec.death_notice is not None and spec.death_notice.handshake == port:
                return name in self._machine.strangers or self._machine.wire.waits(self._machine, name)
        return False

    def at(self, path: str) -> Hashable:
        """Return the number of the socket at a path."""
        for name, spec in self._machine.wire.specs.items():
            if spec.death_notice is not None and spec.death_notice.socket == path:
                link = self._machine.wire.links[name]
                dropped = link.dropped is not None and self._machine.time < link.dropped + REBIND
                return None if dropped else link.socket
        return None


class FakeProber:
    """A prober that asks the pretended gateway, which gives probes to its workers in turn.

    Attributes:
        avoided: The URLs of workers that no probes are given to.
    """

    def __init__(self, machine: "FakeMachine") -> None:
        self._machine = machine
        self._asked: list[str | None] = []
        self._answers: list[ProberAnswer] = []
        self.avoided: set[str] = set()
        self._turn = 0
        self._given: dict[int, str] = {}

    @property
    def busy(self) -> bool:
        """Whether there are answers."""
        return bool(self._asked or self._answers) or any(map(self._answered, self._given.values()))

    def ask_gateway(self) -> None:
        """Ask for the view."""
        if None not in self._asked:
            self._asked.append(None)

    def ask(self, url: str) -> None:
        """Ask whether a URL answers."""
        if url not in self._asked:
            self._asked.append(url)

    def ask_loads(self) -> None:
        """Ask for loads: here nothing is told of them."""
        self._answers.append(Loads(()))

    def probe(self, number: int) -> None:
        """Have the next worker answer, if it can."""
        urls = [view.url for view in self._machine.view().workers if view.healthy and view.url not in self.avoided]
        if self._machine.gateway is None:
            self._answers.append(Probed(number, "lost", "connection refused"))
        elif not urls:
            self._answers.append(Probed(number, "failed", "no worker"))
        else:
            self._turn += 1
            self._given[number] = urls[self._turn % len(urls)]
            self._answers.append(Routed(number, self._given[number]))

    def give_up(self, number: int) -> None:
        """Let go of a probe."""
        self._given.pop(number, None)

    def poll(self) -> Sequence[ProberAnswer]:
        """Return the answers there are by now."""
        asked, self._asked = self._asked, []
        answers, self._answers = self._answers, []
        for number, url in list(self._given.items()):
            if Routed(number, url) not in answers and self._answered(url):
                del self._given[number]
                answers.append(Probed(number, "answered"))
        return [*answers, *(self._machine.view() if url is None else self._machine.answer(url) for url in asked)]

    def _answered(self, url: str) -> bool:
        return any(p.serves for p in self._machine.processes.values() if p.spec.ready.url == url)
