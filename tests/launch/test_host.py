"""What is looked at before anything starts: ports, programs, the run directory."""

import os
import socket
import sys
from pathlib import Path

import pytest
from e2e.ports import free_port
from launch.plans import plan_of, process

from smgcfg.launch.host import SOCKET_PATH_LIMIT, host_findings
from smgcfg.launch.run_dir import RunDir
from smgcfg.process import Plan, Port


def plan_with(run_dir: Path, *ports: Port, argv: tuple[str, ...] = (sys.executable,), **more: object) -> Plan:
    """Return a plan whose gateway has some ports and whose only worker has a command."""
    gateway = process("gateway", [sys.executable], "http://127.0.0.1:1/liveness", ports=ports)
    return plan_of(run_dir, gateway, [process("chat-0", argv, "http://127.0.0.1:1/", **more)])


def messages(plan: Plan) -> list[str]:
    """Return what is found, as codes and messages."""
    return [f"{finding.code} {finding.key}: {finding.message}" for finding in host_findings(plan)]


def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    """Free ports, programs that are there and a directory that can be made are no findings, and nothing is made."""
    ports = [Port(free_port(), host, "gateway") for host in ("127.0.0.1", "::1")]
    # What holds a port for a test is in the way of a listener on all addresses.
    with socket.create_server(("0.0.0.0", 0)) as server:
        ports.append(Port(server.getsockname()[1], "0.0.0.0", "gateway"))
    assert messages(plan_with(tmp_path / "a" / "b", *ports)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mine", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("theirs", ["127.0.0.1", "0.0.0.0"])
def test_taken_port_names_its_owner(tmp_path: Path, mine: str, theirs: str) -> None:
    """A port on which somebody listens is found with the owner's pid and name, before anything is started."""
    with socket.create_server((theirs, 0)) as server:
        number = server.getsockname()[1]
        name = Path("/proc/self/comm").read_text().strip()
        plan = plan_with(tmp_path / "run", Port(number, mine, "metrics"))
        assert messages(plan) == [
            f"SMG030 gateway: the metrics port {number} of gateway is taken by pid {os.getpid()} ({name})"
        ]
        assert [finding.hint for finding in host_findings(plan)] == ["stop that one, or set gateway.prometheus_port"]


def test_taken_port_of_ip_version_6(tmp_path: Path) -> None:
    """The owner of an IPv6 listener is found, too."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        (message,) = messages(plan_with(tmp_path / "run", Port(server.getsockname()[1], "::1", "gateway")))
    assert f"is taken by pid {os.getpid()} (" in message


def test_port_that_was_used_a_moment_ago_is_free(tmp_path: Path) -> None:
    """A connection that lingers after its server has gone does not stand against a new server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", number))
        connection, _ = server.accept()
        connection.close()
        client.close()
    assert messages(plan_with(tmp_path / "run", Port(number, "127.0.0.1", "gateway"))) == []


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_foreign_address(tmp_path: Path, host: str) -> None:
    """An address that this machine does not have is found as such."""
    assert messages(plan_with(tmp_path / "run", Port(9, host, "gateway"))) == [
        f"SMG030 gateway: the gateway port 9 of gateway: {host!r} is no address of this machine"
    ]


def test_program_by_path(tmp_path: Path) -> None:
    """A program that is named by a path is missing when nothing is there, or nothing that can be run."""
    script = tmp_path / "engine"
    assert messages(plan_with(tmp_path / "run", argv=(str(script), "x"))) == [
        f"SMG032 chat-0: the program {str(script)!r} does not exist"
    ]
    script.write_text("#!/bin/sh\n")
    assert messages(plan_with(tmp_path / "run", argv=(str(script),))) == [
        f"SMG032 chat-0: the program {str(script)!r} may not be executed (mode 0644)"
    ]
    script.chmod(0o755)
    assert messages(plan_with(tmp_path / "run", argv=(str(script),))) == []


def test_program_by_name(tmp_path: Path) -> None:
    """A program that is named without a path is looked for on the PATH that its process will have."""
    (tmp_path / "engine-x").write_text("#!/bin/sh\n")
    (tmp_path / "engine-x").chmod(0o755)
    assert messages(plan_with(tmp_path / "run", argv=("engine-x",))) == [
        "SMG032 chat-0: the program 'engine-x' is not on the PATH"
    ]
    assert messages(plan_with(tmp_path / "run", argv=("engine-x",), env=(("PATH", str(tmp_path)),))) == []


def test_long_socket_path(tmp_path: Path) -> None:
    """A socket path that the kernel would refuse is found; the longest that it takes is not."""
    paths = [f"/{'x' * (size - 1)}" for size in (SOCKET_PATH_LIMIT, SOCKET_PATH_LIMIT + 1)]
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError, match="too long"):
        probe.bind(paths[1])
    (message,) = messages(plan_with(tmp_path / "run", sockets=tuple(paths)))
    assert message.startswith("SMG022 launch.run_dir: chat-0: ")
    assert "has 108 bytes" in message


def test_launch_that_runs_is_one_finding(tmp_path: Path) -> None:
    """A plan that is launched already is found by its lock; that its ports are taken need not be said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        plan = plan_with(tmp_path / "run", Port(server.getsockname()[1], "127.0.0.1", "gateway"))
        with RunDir(plan):
            assert messages(plan) == [f"SMG031 launch.run_dir: 'trial' is launched already, by pid {os.getpid()}"]
        assert [message[:6] for message in messages(plan)] == ["SMG030"]


def test_everything_is_found_at_once(tmp_path: Path) -> None:
    """All that stands against a launch is in one report."""
    (tmp_path / "run").mkdir(mode=0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        plan = plan_with(tmp_path / "run", Port(server.getsockname()[1], "127.0.0.1", "gateway"), argv=("no-such-x",))
        assert [finding.code for finding in host_findings(plan)] == ["SMG031", "SMG032", "SMG030"]
