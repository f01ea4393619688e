"""`--log-format json`: what happens, for programs."""

import io
import json
import re
import selectors
import signal
from pathlib import Path
from typing import Any

from launch.launcher import Launcher, launcher_of
from launch.plans import Marked, fake_launch

from smgcfg.launch import events
from smgcfg.launch.console import Console
from smgcfg.launch.effects import Exit
from smgcfg.launch.json_lines import JsonLines


def objects(launcher: Launcher) -> list[dict[str, Any]]:
    """Return what a launcher has said; every line of it is an object."""
    return [json.loads(line) for _, line in launcher.lines]


def test_a_launch_for_programs(tmp_path: Path, marked: Marked) -> None:
    """Every line is one object with a time; output says whose it is, without colours, events bear their fields."""
    plan = fake_launch(
        tmp_path / "run", marked, ["--say", "zwölf \x1b[1m"], ["--after", "1.5", "--exit", "7"], restart="never"
    )
    with launcher_of(plan, marked, tmp_path, log_format="json") as launcher:
        assert launcher.ends() == 7
    said = objects(launcher)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one.pop("time")) for one in said)
    assert said[0]["event"] == "launch_began"
    assert said[0]["processes"] == ["gateway", "chat-0", "chat-1"]
    assert {"process": "chat-0", "stream": "out", "text": "zwölf "} in said
    died = next(one for one in said if one.get("event") == "died")
    assert (died["process"], died["exit"], died["status"], died["was_ready"]) == ("chat-1", "exit code 7", 7, True)
    order = [one["event"] for one in said if "event" in one]
    assert order.index("launch_ready") < order.index("died") < order.index("stop_began")
    assert order[-1] == "launch_stopped"
    assert said[-1]["exit_code"] == 7


def test_a_stop_for_programs(tmp_path: Path, marked: Marked) -> None:
    """A signal shows as an event, and so does every process that it stops."""
    with launcher_of(fake_launch(tmp_path / "run", marked, []), marked, tmp_path, log_format="json") as launcher:
        launcher.says('"event": "launch_ready"')
        launcher.signal(signal.SIGTERM)
        assert launcher.ends() == 143
    stopped = [one["process"] for one in objects(launcher) if one.get("event") == "stopped"]
    assert stopped == ["gateway", "chat-0"]


def test_every_event_is_an_object(tmp_path: Path, marked: Marked) -> None:
    """An event's class and fields are the object's, its process under the name that output has it, its exit twice."""
    out = io.StringIO()
    with selectors.DefaultSelector() as selector:
        shown = JsonLines(fake_launch(tmp_path / "run", marked, []), Console(out, selector))
        shown.tell([events.Stopped("chat-0", 7, Exit(-9), 1.5), events.Checked(("a", "b"))])
        shown.note("something")
    first, second, third = map(json.loads, out.getvalue().splitlines())
    first.pop("time")
    assert first == {"event": "stopped", "process": "chat-0", "pid": 7, "exit": "SIGKILL", "status": -9, "after": 1.5}
    assert (second["event"], second["lines"]) == ("checked", ["a", "b"])
    assert (third["event"], third["text"]) == ("note", "something")
