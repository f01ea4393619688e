"""`smgcfg serve` as an operator runs it: what is looked at before anything starts, and how a launch comes up."""

import itertools
import os
import re
import socket
import stat
import sysconfig
from pathlib import Path

import pytest
from e2e.asking import SCHEMA, answers, ask, client_of, is_ready
from e2e.deployment import MODULE, PATIENCE, Place, serving
from launch.plans import until

from smgcfg import load


@pytest.mark.parametrize(
    "program", [MODULE, (str(Path(sysconfig.get_path("scripts"), "smgcfg")),)], ids=["module", "script"]
)
def test_without_a_file(place: Place, program: tuple[str, ...]) -> None:
    """A model and a port are enough, however smgcfg is started; the file it saves says the same."""
    saved = place.home / "saved.toml"
    words = ["--backend", "tokenspeed", "--model", "org/demo", "--port", str(place.ports.worker), "--stand-in"]
    words += ["--set", f"gateway.port={place.ports.gateway}", "--set", "gateway.shutdown_grace_period_secs=1"]
    with serving(place, *words, "--save", str(saved), program=program) as serve:
        assert serve.ready() == place.url
        with client_of(place.url) as client:
            assert [model.id for model in client.models.list()] == ["org/demo"]
            assert SCHEMA.kept(ask(client, SCHEMA.fields, model="org/demo"))
        assert serve.stop() == 143
    pool = load(saved).pools[0]
    assert (pool.name, pool.model, pool.port) == ("main", "org/demo", place.ports.worker)
    assert load(saved).gateway.args.port == place.ports.gateway


def test_what_an_operator_sees(place: Place) -> None:
    """The launch says what becomes ready and what stops; each line that a process prints bears its name."""
    with serving(place, place.base, "--stand-in", "--set", "pools.demo.replicas=2") as serve:
        serve.ready()
        assert serve.stop() == 143
        lines = [line for line in serve.out.splitlines() if not re.match(r"(gateway|demo-[01]) +\| ", line)]
    said = [
        rf"trial: starting 2 workers, run dir {place.run_dir}",
        r"gateway  up \d\.\d s  pid \d+",
        *[r"demo-[01]   ready \d\.\d s  pid \d+"] * 2,
        r"verify +demo-0 ok, demo-1 ok \(14 of 14 promises, \d+\.\d s\)",
        rf"READY {place.url}   model public   stop: Ctrl-C   status: smgcfg status trial",
        r"trial: SIGTERM: stopping, the gateway finishes .*",
        r"gateway  stopped \d\.\d s  exit code 0",
        *[r"demo-[01]   stopped \d\.\d s  exit code 0"] * 2,
        r"trial: stopped",
    ]
    assert [line for line, pattern in zip(lines, said, strict=True) if not re.fullmatch(pattern, line)] == []


def test_stand_ins_for_engines_of_another_machine(place: Place) -> None:
    """A deployment made for a machine with GPUs comes up with stand-ins, which says what of it they do not use."""
    lab = """\
pools.demo.gpus = ["6"]
pools.demo.wrapper = ["no-such-wrapper", "--node={index}"]
pools.demo.command = ["no-such-engine"]
"""
    with serving(place, place.base, place.file("lab", lab), "--stand-in") as serve:
        assert answers(serve.ready())
        assert serve.stop() == 143
    warnings = re.findall(r"^(\S+):(\d)  warning SMG026 (\S+): not used: ", serve.err, re.MULTILINE)
    assert [(Path(file).name, line, key) for file, line, key in warnings] == [
        ("lab.toml", "1", "pools.demo.gpus"),
        ("lab.toml", "2", "pools.demo.wrapper"),
        ("lab.toml", "3", "pools.demo.command"),
    ]


def test_nothing_to_serve(place: Place) -> None:
    """Bare `serve` says how to name a deployment, and how to try one."""
    with serving(place) as serve:
        assert serve.wait() == 2
        assert "--backend tokenspeed --model demo --stand-in" in serve.err


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ("pools.demo.engine.max_num_seq = 4", r"overlay.toml:1  error   SMG002 pools.demo.engine.max_num_seq: "),
        ("\n[pools.demo.engine]\nseed = 'x'", r"overlay.toml:3  error   SMG003 pools.demo.engine.seed: "),
        ("pools.demo.engine.port = 1", r"overlay.toml:1  error   SMG008 pools.demo.engine.port: "),
        ("[pools.demo", r"overlay.toml:1  error   SMG001 "),
        ('pools.demo.transport = "grpc"', r"error   SMG017 pools.demo: "),
    ],
)
def test_nothing_starts_with_an_error(place: Place, overlay: str, said: str) -> None:
    """A deployment with an error is reported with its line, and nothing is started or made."""
    with serving(place, place.base, place.file("overlay", overlay), "--stand-in") as serve:
        assert serve.wait() == 2
        assert said in serve.err
        assert serve.err.endswith("1 error, 0 warnings; nothing was started\n")
        assert serve.out == ""
    assert not place.run_dir.parent.exists()


@pytest.mark.parametrize("use", ["gateway", "metrics"])
def test_a_taken_port_is_reported_first(place: Place, use: str) -> None:
    """A port of the gateway that somebody listens on is reported with its owner, and nothing is started."""
    port = getattr(place.ports, use)
    with socket.create_server(("127.0.0.1", port)), serving(place, place.base, "--stand-in") as serve:
        assert serve.wait() == 2
        assert f"the {use} port {port} of gateway is taken by pid {os.getpid()} (" in serve.err
        assert serve.out == ""
    assert not place.run_dir.exists()


def test_one_name_one_launch(place: Place) -> None:
    """A second launch of a name ends with 2 and names the first, which goes on."""
    with serving(place, place.base, "--stand-in") as first:
        url = first.ready()
        with serving(place, place.base, "--stand-in") as second:
            assert second.wait() == 2
            assert f"'{place.name}' is launched already, by pid {first.popen.pid}\n" in second.err
        assert answers(url)
        assert first.stop() == 143


def test_two_at_once_on_one_port(place: Place) -> None:
    """Of two launches that want one port at the same time one serves; the other fails, and never calls itself ready."""
    run_dir = place.ports.run_dir(place.home / f"rival-{number}" for number in itertools.count())
    rival = ["--set", "name=rival", "--set", f"launch.run_dir={run_dir}"]
    with (
        serving(place, place.base, "--stand-in") as one,
        serving(place, place.base, "--stand-in", *rival) as other,
    ):
        assert until(lambda: one.popen.poll() or other.popen.poll(), PATIENCE)
        winner, loser = (one, other) if one.popen.poll() is None else (other, one)
        assert answers(winner.ready())
        assert "READY" not in loser.out
        assert winner.stop() == 143


def test_gateway_elsewhere(place: Place) -> None:
    """A gateway on another address is waited for and announced there."""
    with serving(place, place.base, "--stand-in", "--set", "gateway.host=127.0.0.2") as serve:
        assert serve.ready() == f"http://127.0.0.2:{place.ports.gateway}"
        assert answers(f"http://127.0.0.2:{place.ports.gateway}")
        assert not is_ready(place.url)
        assert serve.stop() == 143


def test_run_dir_of_the_operator(place: Place) -> None:
    """The sockets stand where the operator wants them, open to nobody else, and are gone afterwards."""
    run_dir = place.ports.run_dir(place.home / f"run-{number}" for number in itertools.count())
    with serving(place, place.base, "--stand-in", "--set", f"launch.run_dir={run_dir}") as serve:
        assert answers(serve.ready())
        engines = [f"engine-{place.ports.worker}-{way}.sock" for way in ("in", "out")]
        assert place.sockets == ["control.sock", *engines]
        assert {path.parent for path in place.home.rglob("*.sock")} == {run_dir}
        assert stat.S_IMODE(run_dir.stat().st_mode) == 0o700
        assert serve.stop() == 143
    assert not run_dir.exists()
