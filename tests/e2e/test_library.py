"""smgcfg inside a Python program: a test harness brings deployments up, or starts single workers of its own."""

import io
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from e2e.asking import answers, is_ready
from e2e.deployment import PATIENCE, Place
from launch.plans import until
from verify.deployments import IGNORE, pool

from smgcfg import Environment, GatewayArgs, LaunchError, Plan, TokenspeedArgs, load, worker_command, worker_url
from smgcfg.cli import main
from smgcfg.launch import Launch
from smgcfg.launch.run_dir import run_dir_findings
from smgcfg.planning.plan import Planned, plan
from smgcfg.standin.deploy import model_dir, with_standins, write_model
from smgcfg.standin.tokenizer import write_model_dir
from smgcfg.verify.launch_check import verified


@pytest.fixture
def home(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place whose environment is this process's own."""
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    return place


def planned(place: Place, **overrides: Any) -> Plan:
    """Return the plan of a deployment of stand-ins."""
    made = with_promises(place, **overrides).plan
    assert made is not None
    return made


def with_promises(place: Place, *files: str, **overrides: Any) -> Planned:
    """Return what a deployment of stand-ins is planned to be."""
    environment = Environment.current()
    deployment = with_standins(load(place.base, *files, overrides=overrides), environment)
    write_model(model_dir(environment), run_dir_findings)
    return plan(deployment, environment)


def test_a_launch_in_a_program(home: Place) -> None:
    """A plan is launched, answers, and is gone when its block is left."""
    with Launch(planned(home)) as launch:
        launch.wait_ready()
        assert launch.url == home.url
        assert answers(launch.url)
        assert launch.pid("demo-0") in home.marked.left()
    assert launch.exit_code == 0
    assert home.left() == ([], [])


def test_a_launch_that_fails(home: Place) -> None:
    """When a worker fails, whoever waits for the launch is told its name, its exit code and its last words."""
    broken = planned(home, **{"pools.demo.engine.extra": ["--flag-of-tomorrow"]})
    with Launch(broken) as launch, pytest.raises(LaunchError, match="--flag-of-tomorrow") as failed:
        launch.wait_ready()
    assert "demo-0" in str(failed.value)
    assert (failed.value.exit_code, launch.exit_code) == (2, 2)


def test_a_launch_that_is_verified(home: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A program's launch may be verified before it is ready, and then tells other commands what it promises."""
    made = with_promises(home)
    out = io.StringIO()
    assert made.plan is not None
    with Launch(made.plan, out=out, **verified(made)) as launch:
        launch.wait_ready()
        assert re.search(r"^verify +demo-0 ok \(7 of 7 promises", out.getvalue(), re.MULTILINE)
        assert main(["verify", made.plan.name]) == 0
        assert "json_schema           enforced\n" in capsys.readouterr().out


def test_a_launch_that_breaks_a_promise(home: Place) -> None:
    """A broken promise is raised with its cause, unless the deployment says that it only has to be said."""
    lax = home.file("lax", pool("lax", IGNORE))
    made = with_promises(home, lax)
    assert made.plan is not None
    with Launch(made.plan, **verified(made)) as launch, pytest.raises(LaunchError, match="BROKEN 7 of 14") as failed:
        launch.wait_ready()
    assert "lax-0 is set to run --grammar-backend none" in str(failed.value)
    assert (failed.value.exit_code, launch.exit_code) == (1, 1)
    said = with_promises(home, lax, **{"launch.verify": "warn"})
    out = io.StringIO()
    with Launch(made.plan, out=out, **verified(said)) as launch:
        launch.wait_ready()
        assert "BROKEN 7 of 14" in out.getvalue()
    assert verified(said, "off")["check"] is None


def test_one_after_the_other(home: Place) -> None:
    """A program launches the same plan again and again."""
    again = planned(home)
    for _ in range(2):
        with Launch(again) as launch:
            launch.wait_ready()
            assert launch.kill() == 0
        assert home.left() == ([], [])


@contextmanager
def running(words: Sequence[str]) -> Iterator[None]:
    """Run a command until the block ends."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def test_workers_of_a_harness(home: Place) -> None:
    """A harness that starts gateway and worker itself gets both commands from smgcfg, and constraints that hold."""
    where: dict[str, Any] = {"port": home.ports.worker, "run_dir": str(home.run_dir)}
    model = str(write_model_dir(home.home / "model"))
    standin = [sys.executable, "-m", "smgcfg.standin"]
    gateway = GatewayArgs(
        host="127.0.0.1",
        port=home.ports.gateway,
        prometheus_host="127.0.0.1",
        prometheus_port=home.ports.metrics,
        worker_urls=(worker_url(**where),),
        backend="tokenspeed",
        model_path="public",
        tokenizer_path=model,
        health_check_interval_secs=1,
    )
    home.run_dir.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        stack.enter_context(running([sys.executable, "-m", "smg", "launch", *gateway.to_argv()]))
        stack.enter_context(running(worker_command(TokenspeedArgs(model=model), command=standin, **where)))
        assert until(lambda: is_ready(home.url), PATIENCE)
        assert answers(home.url)
    for name in home.sockets:
        (home.run_dir / name).unlink()
