"""Real launch commands from public documents, recipes, manifests and issues: equal, or refused for the right reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from launched import RENAMED, alike, good_plan, original, planned, program_of

from smgcfg.errors import ConfigError
from smgcfg.importing import import_command
from smgcfg.loading import load_sources

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data/commands.json").read_text(encoding="utf-8"))
CARRIED = [case for case in CASES if "lost" in case]
REFUSED = [case for case in CASES if "refused" in case]


def words_of(case: dict[str, Any]) -> list[str]:
    """The command line with its variables in front."""
    return [*(f"{name}={text}" for name, text in case["env"].items()), *case["argv"]]


@pytest.mark.parametrize("case", CARRIED, ids=lambda case: str(case["id"]))
def test_the_plan_gives_what_the_command_gave(case: dict[str, Any]) -> None:
    """By the real parsers engine and gateway read the same from our plan as from the launcher, but for what is lost."""
    imported = import_command(words_of(case))
    assert [lost.name for lost in imported.lost] == case["lost"]
    lost = [word.text for entry in imported.lost for word in entry.words]
    kept = [RENAMED.get(word, word) for word in case["argv"] if word not in lost]
    program, words = program_of(kept)
    ours = alike(program, planned(program, imported.deployment), imported.decided)
    assert ours == alike(program, original(program, words), imported.decided)


@pytest.mark.parametrize("case", CARRIED, ids=lambda case: str(case["id"]))
def test_the_file_says_what_was_imported(case: dict[str, Any]) -> None:
    """The text loads to the very deployment, every lost flag stands in a comment, every variable reaches the worker."""
    imported = import_command(words_of(case))
    text = imported.text()
    loaded = load_sources([("deploy.toml", text.encode())])
    assert loaded.findings == ()
    assert loaded.deployment == imported.deployment
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert all(any(name in line for line in comments) for name in case["lost"])
    env = dict(good_plan(imported.deployment).workers[0].env)
    assert case["env"].items() <= env.items()


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: str(case["id"]))
def test_a_refusal_says_why(case: dict[str, Any]) -> None:
    """What can not be a deployment is refused, with the flag or program that makes it so."""
    with pytest.raises(ConfigError) as refused:
        import_command(words_of(case))
    assert [finding.code, finding.key] == case["refused"] if (finding := refused.value.findings[0]) else False


def test_the_cases_are_many_and_of_every_kind() -> None:
    """No case was left out on the way: each program and each outcome is there."""
    assert (len(CARRIED), len(REFUSED)) == (27, 13)
    assert {program_of(case["argv"])[0] for case in CARRIED} == {"ts serve", "headless", "servicer"}
