"""State files that no launcher of ours wrote."""

import json
from pathlib import Path

import pytest

from smgcfg.launch.state import NAME, read_state


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
    launcher = {"pid": 1, "started": 1, "namespace": ""}
    texts = dict.fromkeys(("run_dir", "url", "model", "phase"), "x")
    rest = {**dict.fromkeys(("began", "written", "reason", "exit_code")), "budget": 5, "window": 600.0}
    state = {"format": 1, "name": "a", **texts, **rest, "launcher": launcher, "processes": []}
    (tmp_path / NAME).write_text(json.dumps(state))
    assert read_state(str(tmp_path)) == state
    (tmp_path / NAME).write_text(json.dumps(state | {"name": "a\x1b[31m"}))
    assert read_state(str(tmp_path)) is None
