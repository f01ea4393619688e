"""Where the gateway reaches a worker, and what smg 1.13.0 derives from that address."""

import re
from typing import Final, Literal

from smgcfg.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

Transport = Literal["zmq", "grpc"]

#: Where smg 1.13.0 puts the handshake port of every zmq worker (`derive_handshake_port` of its `worker.rs`).
HANDSHAKE_PORTS: Final = range(20000, 30000)

#: The longest path of a Unix socket, in bytes: Linux keeps 108 for it, with the NUL that ends it.
SOCKET_PATH_LIMIT: Final = 107

#: The one raw frame by which an engine says on its output socket that it is gone; smg 1.13.0 closes the client then.
DEATH_FRAME: Final = b"ENGINE_CORE_DEAD"

#: Over zmq engine and gateway share a machine: the handshake is spoken here.
LOOPBACK: Final = "127.0.0.1"

_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_MASK_64: Final = 0xFFFFFFFFFFFFFFFF


def handshake_port(path: str) -> int:
    """Return the TCP port on which the gateway waits for the engine of a zmq worker.

    It is the 64-bit FNV-1a hash of the path's bytes, folded into `HANDSHAKE_PORTS`, as smg 1.13.0 derives it.

    Args:
        path: The worker's URL behind `ipc://`.
    """
    value = _FNV_OFFSET
    # A path need be no text; such bytes come from Python's own error handler, and go back by it.
    for byte in path.encode("utf-8", "surrogateescape"):
        value = ((value ^ byte) * _FNV_PRIME) & _MASK_64
    return HANDSHAKE_PORTS.start + value % len(HANDSHAKE_PORTS)


def bracketed(host: str) -> str:
    """Return a host as it stands in a URL: an IPv6 address in brackets, anything else as it is."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def bare(host: str) -> str:
    """Return a host as it stands in a flag or is bound to: without brackets."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def is_address(host: str) -> bool:
    """Whether a host is an IP address, in brackets or not."""
    return host in (LOOPBACK, "0.0.0.0", "::", "[::]") or _address(host) is not None


def is_host(text: str) -> bool:
    """Whether a text is an IP address, in brackets or not, or may be the name of a machine."""
    if is_address(text):
        return True
    # A name that ends in a number would be an address.
    return re.fullmatch(r"(?!-)[A-Za-z0-9_.-]*[A-Za-z][A-Za-z0-9_-]*\.?", text) is not None


def is_private(host: str) -> bool:
    """Whether only this machine reaches a host; a name that is no address may be anything but `localhost`."""
    address = None if host == LOOPBACK else _address(host)
    return host in (LOOPBACK, "localhost") or (address is not None and address.is_loopback)


def _address(host: str) -> "IPv4Address | IPv6Address | None":
    # Imported here: few deployments say another address, and the module is not cheap.
    import ipaddress

    try:
        return ipaddress.ip_address(bare(host))
    except ValueError:
        return None


def is_socket_name(name: str) -> bool:
    """Whether a file has the name of a zmq worker's socket, as `Endpoint.sockets` gives it."""
    return re.fullmatch(r"engine-\d+-(in|out)\.sock", name) is not None


class Endpoint(Value):
    """The address of one worker.

    Attributes:
        transport: How the gateway talks to it.
        host: The address it listens on; over zmq the gateway listens and the engine dials.
        port: Its port; over zmq the number that keeps it apart from the others.
        run_dir: The directory of its sockets; empty over grpc.
    """

    transport: Transport
    host: str
    port: int
    run_dir: str = ""

    @property
    def path(self) -> str:
        """What the names of a zmq worker's sockets begin with."""
        return f"{self.run_dir}/engine-{self.port}"

    @property
    def url(self) -> str:
        """The worker's URL, as the gateway takes and reports it."""
        return f"ipc://{self.path}" if self.transport == "zmq" else f"grpc://{bracketed(self.host)}:{self.port}"

    @property
    def sockets(self) -> tuple[str, ...]:
        """The paths of the two sockets that the gateway binds for a zmq worker; its input first."""
        return (f"{self.path}-in.sock", f"{self.path}-out.sock") if self.transport == "zmq" else ()

    @property
    def handshake(self) -> int | None:
        """The port of a zmq worker's handshake; None over grpc."""
        return handshake_port(self.path) if self.transport == "zmq" else None
