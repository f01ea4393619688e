"""The versions that are installed where a deployment would run."""

import importlib.metadata
import sys
from pathlib import Path

import pytest

from smgcfg.installed import versions_in

NAMES = ("pytest", "no-such-distribution", "attrs")


def test_both_ways_to_ask_give_the_same(tmp_path: Path) -> None:
    """What the metadata folders of this interpreter say is what it says when it is run and asked."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    expected = {name: importlib.metadata.version(name) for name in ("pytest", "attrs")}
    assert versions_in(sys.executable, NAMES) == versions_in(str(other), NAMES) == expected


def test_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for an import, the first folder of the path that has a distribution decides; the names keep their order."""
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder / f"Some_Thing-1.{number}.dist-info").mkdir(parents=True)
    (tmp_path / "b" / "other-2.0+local.dist-info").mkdir()
    (tmp_path / "b" / "other-3.0.egg-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "none"), str(tmp_path / "a"), str(tmp_path / "b")])
    found = versions_in(sys.executable, ("other", "some-thing"))
    assert list(found.items()) == [("other", "2.0+local"), ("some-thing", "1.0")]


def test_an_interpreter_that_is_not_there_is_said() -> None:
    """An interpreter that can not be run is a sentence, not an exception."""
    assert versions_in("/no/such/python", NAMES) == "/no/such/python can not be run: No such file or directory"
