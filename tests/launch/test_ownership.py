"""Ports belong to one launch for its life, and an answer counts only if it is the process's own."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from e2e.ports import free_port
from launch.fake_worker import Server
from launch.launcher import launcher_of
from launch.plans import Marked, fake, fake_launch, plan_of, process, until
from launch.real import chat, standin_plan

from smgcfg.errors import ConfigError
from smgcfg.launch.holdings import Holdings, gpu_findings, lock_of, lock_of_gpu
from smgcfg.launch.host import port_findings
from smgcfg.launch.listeners import Bound, HostSockets, bound_to, owner_of_port
from smgcfg.process import Plan, Port

#: How this process is named to an operator.
OURSELVES = rf"pid {os.getpid()} \(.*\)"


@contextmanager
def answering(port: int) -> Iterator[None]:
    """Answer in place of whoever should, from this process."""
    with ThreadingHTTPServer(("127.0.0.1", port), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def impostor(plan: Plan, name: str) -> Plan:
    """Return a plan in which one process runs but never listens."""
    gateway = plan.gateway.evolve(argv=fake()) if name == "gateway" else plan.gateway
    workers = tuple(spec.evolve(argv=fake()) if spec.name == name else spec for spec in plan.workers)
    return plan.evolve(gateway=gateway, workers=workers)


@pytest.mark.parametrize(("name", "use"), [("chat-0", "worker"), ("gateway", "gateway")])
def test_stranger_on_a_port_is_not_taken_for_the_process(tmp_path: Path, marked: Marked, name: str, use: str) -> None:
    """A server that came to the port of a process after it was started ends the launch, and is named."""
    plan = impostor(fake_launch(tmp_path / "run", marked, [], []), name)
    port = next(spec for spec in plan.processes if spec.name == name).ports[0].number
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^chat-1 +ready")
        with answering(port):
            assert launcher.ends() == 1
    launcher.says(rf"^{name} +NOT ITSELF pid \d+: the {use} port {port} is listened on by {OURSELVES}$")
    assert "READY" not in launcher.text
    assert marked.left() == []


def test_stranger_who_came_while_a_worker_was_away(tmp_path: Path, marked: Marked) -> None:
    """A port that somebody took between two lives of a worker costs it tries, until it is free again."""
    options = ["--once", str(tmp_path / "once")]
    plan = fake_launch(tmp_path / "run", marked, options, restart_backoff_max=0.2, restart_budget=50)
    port = plan.workers[0].ports[0].number
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        launcher.says("exit code 7")
        with answering(port):
            launcher.says(r"Restart 4 of 50")
            assert "ready again" not in launcher.text
        (tmp_path / "once").unlink()
        launcher.says("^chat-0   ready again")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_stranger_who_came_where_an_engine_registers(short_dir: Path, marked: Marked) -> None:
    """A handshake port that somebody took from the gateway costs a restarted engine tries, and nobody else anything."""
    plan = standin_plan(short_dir, marked, "replicas = 2", restart_backoff_max=0.2, restart_budget=50)
    notice = plan.workers[0].death_notice
    assert notice is not None
    with launcher_of(plan, marked, short_dir) as launcher:
        launcher.says("^READY")
        with socket.create_server(("127.0.0.1", notice.handshake)):
            os.kill(launcher.pid("chat-0"), signal.SIGKILL)
            who = f"the handshake port {notice.handshake} is listened on by {OURSELVES}"
            launcher.says(rf"^chat-0   NOT ITSELF pid \d+: {who}\. Restart 2 of 50 ")
            assert chat(plan.url)
        launcher.says("^chat-0   ready again .*, chat-1 kept serving$")
        assert "gateway  restarting" not in launcher.text
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_listener_that_is_nobodys_concern(tmp_path: Path, marked: Marked) -> None:
    """With check_listeners off somebody else may listen in place of a process, as for one that a container runs."""
    plan = impostor(fake_launch(tmp_path / "run", marked, [], check_listeners=False), "chat-0")
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^gateway +up")
        with answering(plan.workers[0].ports[0].number):
            launcher.says("^READY")
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143


def test_port_is_held_while_its_process_is_away(tmp_path: Path, marked: Marked) -> None:
    """A second launch that wants a port of the first starts nothing, though nobody listens on it at this moment."""
    once = tmp_path / "once"
    plan = fake_launch(tmp_path / "run", marked, ["--once", str(once)], restart_backoff_max=30.0, restart_budget=50)
    rival = fake_launch(tmp_path / "rival", marked, []).evolve(name="rival", workers=plan.workers)
    port = plan.workers[0].ports[0].number
    with launcher_of(plan, marked, tmp_path) as first:
        first.says("^READY")
        os.kill(first.pid("chat-0"), signal.SIGKILL)
        first.says("Restart 3 of 50")
        assert list(bound_to([port])) == [] or not any(one.listens for one in bound_to([port]))
        with launcher_of(rival, marked, tmp_path) as second:
            assert second.ends() == 2
        owner = f"the launch 'trial', pid {first.process.pid}"
        assert f"the worker port {port} of chat-0 is held by {owner}" in second.text
        assert "starting" not in second.text
        first.signal(signal.SIGTERM)
        assert first.ends() == 143
    assert not lock_of(port).exists()


def test_two_launches_at_once(tmp_path: Path, marked: Marked) -> None:
    """Of two launches that begin at the same moment on the same ports one serves, and the other starts nothing."""
    plan = fake_launch(tmp_path / "run", marked, [], [])
    rival = plan.evolve(name="rival", run_dir=str(tmp_path / "rival"))
    with launcher_of(plan, marked, tmp_path) as first, launcher_of(rival, marked, tmp_path) as second:
        both = (first, second)
        assert until(lambda: any("READY" in one.text for one in both) and any(one.process.poll() for one in both))
        (winner,) = (one for one in both if one.process.poll() is None)
        (loser,) = (one for one in both if one is not winner)
        assert loser.ends() == 2
        assert f"pid {winner.process.pid}" in loser.text
        assert "| " not in loser.text
        assert until(lambda: "READY" in winner.text)
        winner.signal(signal.SIGTERM)
        assert winner.ends() == 143


def test_locks_of_a_dead_launcher_hold_nobody(tmp_path: Path, marked: Marked) -> None:
    """Locks end with their launcher, however that ends."""
    plan = fake_launch(tmp_path / "run", marked, [])
    ports = [port.number for spec in plan.processes for port in spec.ports]
    with launcher_of(plan, marked, tmp_path) as launcher:
        launcher.says("^READY")
        assert all(lock_of(port).exists() for port in ports)
        launcher.signal(signal.SIGKILL)
        launcher.ends()
    assert until(lambda: not marked.left())
    with Holdings(plan):
        assert len(port_findings((spec, port) for spec in plan.processes for port in spec.ports)) == len(ports)
    assert not any(lock_of(port).exists() for port in ports)


def test_every_held_port_is_named(tmp_path: Path) -> None:
    """A launch that can not have its ports is told of all of them at once, and keeps none."""
    numbers = [free_port() for _ in range(3)]
    gateway = process("gateway", ["smg"], "http://h/")
    ports = tuple(Port(number, "127.0.0.1", "worker") for number in numbers)
    theirs = plan_of(tmp_path, gateway.evolve(ports=ports[:2]), []).evolve(name="theirs")
    ours = plan_of(tmp_path, gateway.evolve(ports=ports), [])
    with Holdings(theirs):
        with pytest.raises(ConfigError) as refused, Holdings(ours):
            pass
        assert [finding.code for finding in refused.value.findings] == ["SMG030", "SMG030"]
        assert all("'theirs', pid" in finding.message for finding in refused.value.findings)
        assert {finding.hint for finding in refused.value.findings} == {"stop that one, or set pools.NAME.port"}
        assert not lock_of(numbers[2]).exists()
    with Holdings(ours):
        pass


def test_gpu_of_another_launch_is_said(tmp_path: Path, marked: Marked) -> None:
    """A launch whose workers get a GPU that another one has says whose it is, and goes on; a stand-in has none."""
    gpus = (f"GPU-{marked.token}", f"MIG-{marked.token}/1/0")
    plans = [fake_launch(tmp_path / name, marked, []).evolve(name=name) for name in ("first", "second")]
    first, second = (plan.evolve(workers=(plan.workers[0].evolve(gpus=gpus),)) for plan in plans)
    with launcher_of(first, marked, tmp_path) as one:
        one.says("^READY")
        assert "warning" not in one.text
        with launcher_of(second, marked, tmp_path) as two:
            two.says("^READY")
            for gpu in gpus:
                two.says(
                    f"^warning SMG035 chat-0: GPU {gpu} of chat-0 is held by the launch 'first', pid {one.process.pid}$"
                )
            two.signal(signal.SIGTERM)
            assert two.ends() == 143
        assert gpu_findings(plans[1]) == []
        assert len(gpu_findings(second)) == 2
        one.signal(signal.SIGTERM)
        assert one.ends() == 143
    assert gpu_findings(second) == []
    assert not any(lock_of_gpu(gpu).exists() for gpu in gpus)


@pytest.mark.parametrize(
    ("theirs", "ours", "meets"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("::", "127.0.0.1", True),
        ("::1", "127.0.0.1", False),
        ("::1", "::1", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "no-such-host.invalid", False),
    ],
)
def test_listeners_that_get_in_each_others_way(theirs: str, ours: str, meets: bool) -> None:
    """A listener concerns a process if connections to the address of that one may reach it."""
    bound = Bound(80, theirs, "1", True)
    assert bound.meets(Port(80, ours, "worker")) == meets
    assert not bound.meets(Port(81, ours, "worker"))
    assert not bound.evolve(listens=False).meets(Port(80, ours, "worker"))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0", "::"])
def test_addresses_as_the_kernel_shows_them(host: str) -> None:
    """A listener is found with its address, and its owner."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        number = server.getsockname()[1]
        (found,) = (one for one in bound_to([number]) if one.listens)
        assert (found.port, found.address) == (number, host)
        assert owner_of_port(number).startswith(f"pid {os.getpid()} (")


def test_unix_sockets_are_told_apart(tmp_path: Path) -> None:
    """A socket that was bound anew at a path is another one, and what is no socket is none."""
    path = tmp_path / "a.sock"
    sockets = HostSockets(plan_of(tmp_path, process("gateway", ["smg"], "http://h/"), []), lambda _: ())
    assert sockets.at(str(path)) is None
    seen = []
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            seen.append(sockets.at(str(path)))
            assert sockets.at(str(path)) == seen[-1]
        path.unlink()
        time.sleep(0.02)  # the clock of a file system ticks every few milliseconds
    assert len(set(seen)) == 3
    path.write_text("no socket")
    assert sockets.at(str(path)) is None
