"""A launch that an operator asks and tells by its name, from another shell."""

import json
import re
import subprocess
from collections.abc import Sequence

from e2e.deployment import MODULE, PATIENCE, Place, serving


def smgcfg(place: Place, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of smgcfg where a deployment lives."""
    argv: Sequence[str] = [*MODULE, *words]
    return subprocess.run(
        argv, capture_output=True, text=True, env=place.environment, timeout=2 * PATIENCE, check=False
    )


def test_asked_and_told_by_name(place: Place) -> None:
    """Status, verify and stop know a launch by its name: its key, what it promises, and that it ends with 0."""
    closed = place.file("closed", 'gateway.api_key = "swordfish"\n[launch]\nlog_dir = "./logs"\nverify = "off"\n')
    with serving(place, place.base, closed, "--stand-in") as serve:
        serve.ready()
        status = smgcfg(place, "status", place.name)
        assert status.returncode == 0, status
        assert f"launcher pid {serve.popen.pid}  {place.url}  READY (1 of 1 ready)" in status.stdout
        assert re.search(rf"^demo-0 +ready .* {serve.pid_of('demo-0')} +0 +- +ready +-$", status.stdout, re.MULTILINE)
        verify = smgcfg(place, "verify", place.name, "--json")
        assert verify.returncode == 0, verify
        assert json.loads(verify.stdout)["ok"] is True
        assert "demo-0" in verify.stdout
        logs = smgcfg(place, "logs", place.name, "demo-0")
        assert "standin: " in logs.stdout
        assert "swordfish" not in status.stdout + verify.stdout + logs.stdout
        assert "swordfish" not in (place.run_dir / "state.json").read_text()
        stop = smgcfg(place, "stop", place.name)
        assert (stop.returncode, stop.stdout) == (0, "trial: stopped\n")
        assert serve.wait() == 0
    assert not place.run_dir.exists()
    assert sorted(path.name for path in (place.home / "logs").iterdir()) == [
        "demo-0.log",
        "gateway.log",
        "launcher.log",
    ]
    for command in ("status", "logs", "stop", "watch", "verify"):
        gone = smgcfg(place, command, place.name)
        assert gone.returncode == 4, gone
    assert "SMG041 TARGET: no file of that name, and no running launch is known as 'trial'" in gone.stderr


def test_a_launch_is_compared_with_its_files(place: Place) -> None:
    """What a launch was started with is compared, whatever its files say by now, and no secret is read or shown."""
    closed = place.file("closed", 'gateway.api_key = { file = "./key" }\n[launch]\nverify = "off"\n')
    key = place.home / "key"
    key.write_text("swordfish\n")
    key.chmod(0o600)
    changed = ["pools.demo.engine.max_num_seqs=7", "gateway.log_level=debug", "launch.grace=7"]
    with serving(place, place.base, closed, "--stand-in", "--set", changed[0]) as serve:
        serve.ready()
        words = ["diff", "--old", place.name, "--new", place.base, closed]
        same = smgcfg(place, *words, "--set", changed[0])
        assert (same.returncode, same.stdout, same.stderr) == (0, "no difference\n", "")
        other = smgcfg(place, *words, *(word for each in changed[1:] for word in ("--set", each)), "--json")
        assert other.returncode == 1, other
        told = json.loads(other.stdout)
        changes = {one["name"]: one["changes"] for one in told["processes"]}
        assert changes["demo-0"] == [
            {
                "key": "pools.demo.engine.max_num_seqs",
                "old": {"text": "--max-num-seqs 7", "origin": f"argument 5 '--set {changed[0].partition('=')[0]}'"},
                "new": None,
            }
        ]
        assert [one["key"] for one in changes["gateway"]] == ["gateway.log_level"]
        assert [one["key"] for one in told["settings"]] == ["launch.grace"]
        key.chmod(0o000)
        place.home.joinpath("closed.toml").write_text("gateway.api_key = 'swordfish'\nlaunch.verify = 'off'\n")
        secret = smgcfg(place, *words, "--set", changed[0])
        assert "gateway.api_key" in secret.stdout
        assert "swordfish" not in secret.stdout + secret.stderr
        nobody = smgcfg(place, "diff", place.name[:-1], place.base)
        assert nobody.returncode == 2
        assert f"SMG041 OLD: no launch 'tria'; did you mean {place.name}?" in nobody.stderr
        assert serve.stop() == 143
    gone = smgcfg(place, "diff", place.name, place.base)
    assert (gone.returncode, "SMG041 OLD: no launch 'trial'" in gone.stderr) == (2, True)


def test_a_launch_for_programs(place: Place) -> None:
    """With --log-format json standard output is one object in each line, from the first to the last."""
    with serving(place, place.base, "--stand-in", "--log-format", "json") as serve:
        serve.said(r'.*"event": "launch_ready"')
        assert serve.stop() == 143
        said = [json.loads(line) for line in serve.out.splitlines()]
        assert serve.err == ""
    assert said[-1]["event"] == "launch_stopped"
    assert {one["process"] for one in said if "stream" in one} == {"gateway", "demo-0"}


def test_a_format_that_does_not_exist(place: Place) -> None:
    """A wrong word behind --log-format starts nothing."""
    with serving(place, place.base, "--stand-in", "--log-format", "xml") as serve:
        assert serve.wait() == 2
        assert "--log-format: expected text or json, got 'xml'" in serve.err
        assert serve.out == ""
