"""Addresses that do not mean what they seem to, and ports that anybody on the network may use."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from smgcfg.checks.subject import Subject
from smgcfg.endpoint import LOOPBACK, bare
from smgcfg.errors import Finding
from smgcfg.gateway import command
from smgcfg.planning.derive import GATEWAY, Shape

#: The ports of the gateway that have an address of their own, and what says which.
_HOSTS: Final = {command.METRICS: "prometheus_host", "mesh_port": "mesh_host"}


def unfit_address(subject: Subject) -> Iterator[Finding]:
    """SMG057: an address that can not be called, or that is another one elsewhere."""
    for shape in subject.shapes:
        yield from _of_pool(subject, shape)
    for key in ("host", "prometheus_host"):
        host = getattr(subject.gateway, key)
        if host is not None and bare(host) == "::":
            message = "'::' is every address of this machine, those of IPv4 too (measured with smg 1.13.0)"
            yield subject.finding("warning", "SMG057", (*GATEWAY, key), message, "name one address, or write 0.0.0.0")


def _of_pool(subject: Subject, shape: Shape) -> Iterator[Finding]:
    host, path = bare(shape.pool.host), (*shape.path, "host")
    if shape.transport == "zmq":
        if host != LOOPBACK:
            message = f"{host!r} is not used: over zmq a worker listens nowhere, it calls the gateway on this machine"
            yield subject.finding("warning", "SMG057", path, message, "leave it out")
        return
    address = _address(host)
    if address is None:
        message = f"the name {host!r} may stand for another address here and in the gateway, or for an IPv6 one"
        yield subject.finding("warning", "SMG057", path, message, "write the address, as in 127.0.0.1 or ::1")
    elif address.is_unspecified:
        message = f"{host!r} is an address to listen on; the gateway would have to call it"
        yield subject.finding("warning", "SMG057", path, message, "write the address under which it is called")
    elif address.is_link_local and address.version == 6:
        message = f"the link-local address {host!r} is none without its interface, and a URL has no place for that"
        yield subject.finding("warning", "SMG057", path, message, "write another address of the machine")


def open_port(subject: Subject) -> Iterator[Finding]:
    """SMG058: a port beside the gateway's own is open to the network, and asks for no key.

    The gateway's own port is a finding of the plan, SMG025.
    """
    for key, port in command.gateway_ports(subject.gateway).items():
        path = (*GATEWAY, _HOSTS.get(key, "host"))
        guarded = _is_private(port.host) or (key == "mesh_port" and subject.gateway.mesh_tls_cert is not None)
        if key in _HOSTS and not guarded:
            message = f"the {port.use} port {port.number} is open to the network ({port.host}), and asks for no key"
            yield subject.finding("warning", "SMG058", path, message, f'set {path[-1]} = "127.0.0.1", or guard it')
    for shape in subject.shapes:
        yield from _open_workers(subject, shape)


def _open_workers(subject: Subject, shape: Shape) -> Iterator[Finding]:
    engine, host = shape.engine, bare(shape.pool.host)
    if shape.transport == "grpc" and not _is_private(host):
        message = f"the workers answer whoever reaches {host}: their gRPC service asks for no key"
        yield subject.finding("warning", "SMG058", (*shape.path, "host"), message, "let only the gateway reach them")
    # TokenSpeed 0.1.1, `control_bind_host`: its own host, else the engine's, which is 127.0.0.1 unless it is set.
    own = getattr(engine, "rl_control_host", None) or getattr(engine, "host", None)
    control = bare(own or (host if shape.transport == "grpc" else LOOPBACK))
    guarded = getattr(engine, "rl_control_api_key", None) is not None or _is_private(control)
    if getattr(engine, "rl_control_port", None) and not guarded:
        message = f"whoever reaches {control} may change the weights: there is no rl_control_api_key"
        path = (*shape.path, "engine", "rl_control_port")
        yield subject.finding("warning", "SMG058", path, message, "set rl_control_api_key")


def _address(host: str) -> "ipaddress.IPv4Address | ipaddress.IPv6Address | None":
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_private(host: str) -> bool:
    """Whether only this machine reaches a host."""
    address = _address(bare(host))
    return host == "localhost" if address is None else address.is_loopback
