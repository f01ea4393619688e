"""`smgcfg status` and the state file: what can be said of a launch, whatever became of it."""

import json
import os
import re
import signal
import stat
from pathlib import Path

import pytest
from launch.operating import Home, smgcfg
from launch.plans import real_launch, until
from launch.test_state_shape import WHOLE

from smgcfg.cli.status import show_all
from smgcfg.environment import Environment
from smgcfg.launch.alive import namespace, start_of
from smgcfg.launch.running import find_all
from smgcfg.launch.state import StateFile, read_state


def test_a_launch_that_is_ready(home: Home) -> None:
    """A table shows every process with its pid; the file behind it is for its owner alone and goes with the launch."""
    with home.up(home.plan(["--say", "hello"], [])) as launcher:
        pids = {name: launcher.pid(name) for name in ("gateway", "chat-0", "chat-1")}
        said = smgcfg("status", home.name)
        head, columns, *rows = said.out.splitlines()
        assert head.startswith(f"{home.name}  up 0.") or " s  launcher pid " in head
        assert f"launcher pid {launcher.process.pid}  http://127.0.0.1:" in head
        assert head.endswith("READY (2 of 2 ready)")
        assert columns.split()[:5] == ["NAME", "STATE", "FOR", "PID", "RESTARTS"]
        assert {row.split()[0]: row.split()[1] for row in rows} == dict.fromkeys(pids, "ready")
        assert all(re.search(rf"^{name} .* {pid} +0 ", "\n".join(rows), re.MULTILINE) for name, pid in pids.items())
        assert said.code == 0
        assert head.split("  ")[-1] in smgcfg("status").out
        assert stat.S_IMODE((home.run_dir / "state.json").stat().st_mode) == 0o600
        assert stat.S_IMODE((home.run_dir / "control.sock").stat().st_mode) == 0o600
    assert not home.run_dir.exists()


def test_a_launch_that_nobody_knows(home: Home) -> None:
    """A name of no launch ends with 4, and with the name that may have been meant."""
    with home.up(home.plan([])):
        said = smgcfg("status", home.name[:-1])
        assert (said.code, said.out) == (4, "")
        assert said.err == f"smgcfg: no launch {home.name[:-1]!r}; did you mean {home.name}?\n"
        by_file = smgcfg("stop", f"{home.name}.toml")
        assert by_file.code == 4
        assert by_file.err == f"smgcfg: no launch '{home.name}.toml'; did you mean {home.name}?\n"
        other = smgcfg("stop", "some-other-thing.toml")
        assert other.err.endswith("; a launch goes by its name, not by its file\n")
        # A run directory names a launch as well, wherever it is.
        assert smgcfg("status", str(home.run_dir)).code == 0


def test_no_launch_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no launch that is said beside the output, and the exit code is that of a name of none."""
    nobody = Environment(uid=4_000_000, python="python")
    assert show_all(nobody, as_json=False) == 4
    assert capsys.readouterr() == ("", "no launches\n")
    assert show_all(nobody, as_json=True) == 4
    assert json.loads(capsys.readouterr().out) == []


def test_restarts_are_held_against_the_budget(home: Home) -> None:
    """A worker that died and came back is shown with how much of its budget it has used; one that did not, without."""
    with home.up(home.plan([], [], restart_budget=3)) as launcher:
        os.kill(launcher.pid("chat-1"), signal.SIGKILL)
        launcher.says("^chat-1 +ready again")
        said = smgcfg("status", home.name).out
        assert re.search(r"^chat-1 +ready .* 1 \(of 3\) +", said, re.MULTILINE)
        assert re.search(r"^chat-0 +ready .* \d+ +0 +", said, re.MULTILINE)
        told = json.loads(smgcfg("status", home.name, "--json").out)
        assert (told["budget"], told["window"]) == (3, 600.0)
        assert [len(one["failures"]) for one in told["processes"]] == [0, 0, 1]


def test_a_launch_whose_launcher_was_killed(home: Home) -> None:
    """After kill -9 of the launcher it says so, shows no process that is not there, and ends with 3."""
    with home.up(home.plan([])) as launcher:
        launcher.signal(signal.SIGKILL)
        # Not even waited for: a zombie is as dead.
        assert until(lambda: smgcfg("status", home.name).code == 3)
        assert until(lambda: not home.marked.left())
        said = smgcfg("status", home.name)
        assert f"DOWN (0 of 1 ready): its launcher (pid {launcher.process.pid}) is gone without a word" in said.out
        assert re.search(r"^chat-0 +down .* - +0 ", said.out, re.MULTILINE)
        assert smgcfg("stop", home.name).code == 3


def test_a_launch_that_failed(home: Home) -> None:
    """A launch that ended over a worker's death can be asked about: why, when, and what the worker said last."""
    dying = ["--say", "CUDA out of memory"]
    with home.up(home.plan(dying, [], restart="never")) as launcher:
        os.kill(launcher.pid("chat-0"), signal.SIGKILL)
        assert launcher.ends() == 137
    said = smgcfg("status", home.name)
    assert said.code == 3
    assert re.search(r"DOWN \(0 of 2 ready\): stopped at .* because of chat-0, exit code 137$", said.out, re.MULTILINE)
    assert re.search(r"^chat-0 +down .* SIGKILL \d\d:\d\d:\d\d$", said.out, re.MULTILINE)
    assert smgcfg("logs", home.name, "--last-exit").out == "chat-0  | CUDA out of memory\n"
    assert smgcfg("logs", home.name, "chat-0", "--last-exit").out == "CUDA out of memory\n"


def test_what_the_gateway_says(home: Home) -> None:
    """The real gateway is asked with the launch's own key, and a worker that it does not have is no ready one."""
    plan = real_launch(home.run_dir, home.marked, [], [], gateway=["--shutdown-grace-period-secs", "1"]).evolve(
        name=home.name
    )
    with home.up(plan) as launcher:
        said = smgcfg("status", home.name)
        assert said.code == 0
        assert re.search(r"^chat-0 +ready .* 0 +- +ready +-$", said.out, re.MULTILINE)
        told = json.loads(smgcfg("status", home.name, "--json").out)
        assert (told["status"], told["ready_workers"], told["workers"]) == ("ready", 2, 2)
        assert [one["gateway_says"] for one in told["processes"]] == [None, "ready", "ready"]
        assert plan.api_key is not None
        kept = (home.run_dir / "state.json").read_text()
        assert plan.api_key not in said.out + json.dumps(told) + kept
        # A launcher that hangs tells nobody the key. That the gateway serves is to be heard without.
        launcher.signal(signal.SIGSTOP)
        silent = smgcfg("status", home.name)
        assert silent.code == 1
        assert " DEGRADED (0 of 2 ready): the launcher does not answer within 3 s" in silent.out
        assert re.search(r"^chat-0 +ready .* 0 +- +HTTP 401 +-$", silent.out, re.MULTILINE)
        launcher.signal(signal.SIGCONT)


def test_no_file_that_is_not_ours(tmp_path: Path) -> None:
    """Half a file, one of another format and a link to one are no state."""
    state = StateFile(str(tmp_path))
    path = tmp_path / "state.json"
    state.write(WHOLE)
    assert read_state(str(tmp_path)) == WHOLE
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
    path.write_text('{"format": 1, "na')
    assert read_state(str(tmp_path)) is None
    path.write_text('{"format": 2}')
    assert read_state(str(tmp_path)) is None
    path.rename(tmp_path / "real.json")
    path.symlink_to(tmp_path / "real.json")
    (tmp_path / "real.json").write_text('{"format": 1}')
    assert read_state(str(tmp_path)) is None


def test_launches_of_one_name(tmp_path: Path) -> None:
    """Of one name every launch that runs is there, this environment's first, and one that is remembered else."""
    uid = os.getuid()
    environment = Environment(uid=uid, python="python", xdg_runtime_dir=f"{tmp_path}/a", tmpdir=f"{tmp_path}/b")
    ours = {"pid": os.getpid(), "started": start_of(os.getpid()), "namespace": namespace()}
    gone = ours | {"started": 1}
    for place, launcher in {"a/here": ours, "b/here": ours, "b/old": gone, "a/gone": gone, "b/gone": gone}.items():
        home, _, folder = place.partition("/")
        run_dir = tmp_path / home / f"smgcfg-{uid}" / folder
        run_dir.mkdir(mode=0o700, parents=True)
        name = f"{tmp_path.name}-{'here' if folder == 'old' else folder}"
        StateFile(str(run_dir)).write(WHOLE | {"name": name, "run_dir": str(run_dir), "launcher": launcher})
    found = [(one.run_dir, one.name) for one in find_all(environment) if one.name.startswith(tmp_path.name)]
    place = f"{tmp_path}/{{}}/smgcfg-{uid}/{{}}"
    assert found == [
        (place.format("a", "gone"), f"{tmp_path.name}-gone"),
        (place.format("a", "here"), f"{tmp_path.name}-here"),
        (place.format("b", "here"), f"{tmp_path.name}-here"),
    ]


def test_where_launches_are_looked_for() -> None:
    """The directory of this environment comes first, then those that another environment would have chosen."""
    found = Environment(uid=7, python="python", xdg_runtime_dir="/x/", tmpdir="relative").run_dirs("a")
    assert found == ["/x/smgcfg-7/a", "/tmp/smgcfg-7/a", "/run/user/7/smgcfg-7/a"]
