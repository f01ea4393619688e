"""What is bound on this machine, and by whom: TCP ports and Unix sockets, as /proc and the file system show them."""

import contextlib
import ipaddress
import os
import socket
import stat
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from smgcfg.launch.effects import Listeners
from smgcfg.process import Plan, Port
from smgcfg.value import Value

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")

#: The state of a socket that listens, in these tables.
_LISTEN: Final = "0A"


class Bound(Value):
    """A TCP socket that is bound to a port.

    Attributes:
        port: The port.
        address: The address, as text.
        inode: What tells it from other sockets.
        listens: Whether it listens.
    """

    port: int
    address: str
    inode: str
    listens: bool

    def meets(self, port: Port) -> bool:
        """Return whether it listens where a process would, so that connections to that process may reach it."""
        if self.port != port.number or not self.listens:
            return False
        mine = _addresses(port.host)
        return bool({"0.0.0.0", "::"} & {self.address, *mine}) or self.address in mine


def bound_to(numbers: Collection[int]) -> Iterator[Bound]:
    """Yield the sockets that are bound to some ports.

    Args:
        numbers: The ports.
    """
    wanted = {f"{number:04X}" for number in numbers}
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            # Fields: sl local remote st tx:rx tr:when retrnsmt uid timeout inode
            _, local, _, state, *rest = line.split(None, 10)
            address, _, port = local.partition(":")
            if port in wanted and rest[5] != "0":
                yield Bound(int(port, 16), _address(address), rest[5], state == _LISTEN)


def _address(text: str) -> str:
    """Return an address as the tables have it: in hexadecimal, each four bytes the wrong way round."""
    raw = bytes.fromhex(text)
    raw = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _addresses(host: str) -> set[str]:
    """Return the addresses of a host; one that can not be found has none."""
    with contextlib.suppress(ValueError):
        return {str(ipaddress.ip_address(host))}
    with contextlib.suppress(OSError):
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    return set()


def owner_of_port(number: int) -> str:
    """Return who has a TCP port, as "pid 123 (name)" or what else can be said.

    Args:
        number: The port.
    """
    bound = list(bound_to([number]))
    return _owner({one.inode for one in bound if one.listens} or {one.inode for one in bound})


def _owner(inodes: set[str]) -> str:
    with contextlib.suppress(OSError):
        for entry in os.listdir("/proc"):
            if entry.isdecimal() and not inodes.isdisjoint(_held(entry)):
                try:
                    name = Path("/proc", entry, "comm").read_text(encoding="utf-8", errors="replace").strip()
                except OSError:
                    name = "?"
                return f"pid {entry} ({name})"
    return "a process of another user" if inodes else "a process that can not be seen from here"


def _held(pid: object) -> Iterator[str]:
    """Yield the inodes of the sockets that a process has open, as far as we may see them.

    Raises:
        OSError: There is no descriptor left to look with.
    """
    directory = f"/proc/{pid}/fd"
    try:
        descriptors = os.listdir(directory)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            target = os.readlink(f"{directory}/{descriptor}")
            if target.startswith("socket:["):
                yield target[8:-1]


class HostSockets:
    """The sockets of this machine, for the processes of a plan.

    Args:
        plan: What is launched.
        tree: Returns the process ids of a process and of all that it started, by its name.
    """

    def __init__(self, plan: Plan, tree: Callable[[str], Iterable[int]]) -> None:
        self._ports: Mapping[str, tuple[Port, ...]] = {spec.name: spec.ports for spec in plan.processes}
        self._tree = tree
        self._known: dict[str, set[str]] = {}
        # In a container that shows the /proc of its host, a number there is not that of the same process here.
        self._sees_processes = os.readlink("/proc/self") == str(os.getpid())

    def listeners(self, name: str) -> Listeners:
        """Return who listens on the ports of a process that runs.

        Whose a socket is takes a walk through all processes to find out, and does not change: it is done once for each.
        """
        ports = self._ports[name]
        found = self._found(ports)
        if not found or not self._sees_processes:
            return Listeners(frozenset(one.port for one in found))
        inodes = {one.inode for one in found}
        known = self._known[name] = self._known.get(name, set()) & inodes
        for _ in range(2):  # the second time for a process that was forked while we looked
            if inodes <= known:
                break
            try:
                known |= inodes.intersection(inode for pid in self._tree(name) for inode in _held(pid))
            except OSError:
                return Listeners(frozenset())  # there is no descriptor left to look with: nobody is a stranger for that
        own = frozenset(one.port for one in found if one.inode in known)
        strangers = {one.port: one.inode for one in found if one.inode not in known}
        if strangers:
            # One that was closed while we looked who has it is nobody's.
            left = {one.inode for one in self._found(ports)}
            strangers = {number: inode for number, inode in strangers.items() if inode in left}
        uses = {port.number: port.use for port in ports}
        return Listeners(
            own,
            tuple(
                (number, f"the {uses[number]} port {number} is listened on by {_owner({inode})}")
                for number, inode in sorted(strangers.items())
            ),
        )

    @staticmethod
    def _found(ports: Collection[Port]) -> list[Bound]:
        return [one for one in bound_to([port.number for port in ports]) if any(map(one.meets, ports))]

    def is_listening(self, port: int) -> bool:
        """Return whether anybody listens on a TCP port."""
        return any(one.listens for one in bound_to([port]))

    def at(self, path: str) -> Hashable:
        """Return what tells the Unix socket at a path from any other that is bound there; None where there is none."""
        try:
            status = os.lstat(path)
        except OSError:
            return None
        # The time it was made, too: the number alone is soon given to the next one.
        return (status.st_dev, status.st_ino, status.st_mtime_ns) if stat.S_ISSOCK(status.st_mode) else None
