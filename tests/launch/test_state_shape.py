"""State files that no launcher of ours wrote."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launch.operating import Home, smgcfg

from smgcfg.launch.run_dir import make_private
from smgcfg.launch.state import NAME, read_state

WHOLE: dict[str, Any] = {
    "format": 1,
    **dict.fromkeys(("name", "run_dir", "model"), "x"),
    "url": "http://127.0.0.1:1",
    "phase": "up",
    "reason": None,
    "exit_code": None,
    "budget": 5,
    "window": 600.0,
    **dict.fromkeys(("began", "written"), 1.0),
    "launcher": {"pid": 1, "started": 1, "namespace": ""},
    "processes": [
        {
            "name": "chat-0",
            "role": "worker",
            "url": "ipc:///x",
            "seen_by": "gateway",
            "state": "ready",
            "gpus": ["0"],
            "since": 1.0,
            "pid": 1,
            "started": 1,
            "restarts": 1,
            "failures": [1.0],
            "last_exit": {"how": "SIGKILL", "status": -9, "at": 2.0, "asked": False, "lines": ["a"]},
            "last_lines": ["b"],
        }
    ],
}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", "", '{"format": 1}', "[" * 100_000, '{"format": 1, "name": "x", "processes": null}', "null"],
)
def test_a_foreign_state_file_is_none(tmp_path: Path, text: str) -> None:
    """What lacks any part that a reader relies on is no state, whatever else it is."""
    (tmp_path / NAME).write_text(text)
    assert read_state(str(tmp_path)) is None


def test_a_name_that_can_not_be_printed_is_none(tmp_path: Path) -> None:
    """A name with commands to a terminal in it is not shown to anybody."""
    (tmp_path / NAME).write_text(json.dumps(WHOLE))
    assert read_state(str(tmp_path)) == WHOLE
    (tmp_path / NAME).write_text(json.dumps(WHOLE | {"name": "a\x1b[31m"}))
    assert read_state(str(tmp_path)) is None


def places_in(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in some data."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*above, key)
        yield from places_in(value, (*above, key))


@pytest.mark.parametrize("place", list(places_in(WHOLE)), ids=str)
def test_what_commands_show_of_a_state_file_that_was_tampered_with(home: Home, place: tuple[Any, ...]) -> None:
    """Whatever stands anywhere in a state file, commands show it or know no launch: no traceback, no terminal codes."""
    make_private(str(home.run_dir))
    strange = [None, -1, 1e300, 10**30, math.nan, "", "\x1b[31m", "\ud800", True, [], {}, [None], {"how": 5}]
    strange += ["http://[::1", "http://h:99999999"]
    for value in strange:
        data = copy.deepcopy(WHOLE)
        inner: Any = data
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        (home.run_dir / NAME).write_text(json.dumps(data))
        for words in (["status", home.name], ["status", home.name, "--json"], ["logs", home.name, "--last-exit"]):
            said = smgcfg(*words)
            assert said.code in (0, 3, 4), (value, words)
            if "lines" not in place:  # which are a process's own
                assert "\x1b" not in said.out + said.err
