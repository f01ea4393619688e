"""Findings as SARIF."""

import json
from typing import Any

from checking import POOL, found

from smgcfg.checks.sarif import sarif_log
from smgcfg.errors import CODES, Finding, error, warning
from smgcfg.origin import FromArgv, FromFile


def run_of(*findings: Finding, files: tuple[str, ...] = ("d.toml",)) -> dict[str, Any]:
    """The one run of a log, after a trip through JSON."""
    log = json.loads(json.dumps(sarif_log(findings, files, "1.2.3")))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    run: dict[str, Any] = log["runs"][0]
    return run


def test_a_log_says_who_made_it_and_every_rule() -> None:
    """The driver has its name, its version and one rule for each code, also where nothing was found."""
    run = run_of()
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"], run["results"]) == ("smgcfg", "1.2.3", [])
    assert [rule["id"] for rule in driver["rules"]] == sorted(CODES)
    assert all(rule["shortDescription"]["text"] and rule["fullDescription"]["text"] for rule in driver["rules"])


def test_a_result_stands_at_its_line() -> None:
    """A finding of a real file names its rule, its level, its file and its line."""
    findings = found(POOL + '[pools.a.engine]\ngrammar_backend = "none"\n')
    run = run_of(*findings)
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "SMG050"
    assert result["level"] == "warning"
    assert result["message"]["text"].startswith("pools.a.engine.grammar_backend: 'none'")
    assert "(hint: " in result["message"]["text"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "d.toml"}, "region": {"startLine": 5}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "pools.a.engine.grammar_backend"}]


def test_what_has_no_line_stands_at_the_file() -> None:
    """A finding of an argument or of nothing in particular names the first file; of standard input, no file at all."""
    findings = (error("SMG003", "name", "x", FromArgv(3)), warning("SMG055", "", "y"), error("SMG001", "", "z"))
    assert [result["level"] for result in run_of(*findings)["results"]] == ["error", "warning", "error"]
    for result in run_of(*findings)["results"]:
        assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "d.toml"}}
    for files in (("-",), ()):
        first, *others = run_of(*findings, files=files)["results"]
        assert first["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "name"}]}]
        assert not any("locations" in result for result in others)
    assert "locations" not in run_of(error("SMG001", "", "z", FromFile("<stdin>", 1)))["results"][0]


def test_a_place_that_no_location_can_say_stands_in_the_text() -> None:
    """The number of an argument, and a line of standard input, are not lost."""
    findings = (error("SMG003", "name", "x", FromArgv(3)), error("SMG001", "", "z", FromFile("<stdin>", 4)))
    texts = [result["message"]["text"] for result in run_of(*findings)["results"]]
    assert texts == ["argument 3: name: x", "<stdin>:4: z"]


def test_paths_become_uris() -> None:
    """A relative path stays relative to the sources' root; what a URI can not hold is escaped."""
    paths = {"./a b/ü.toml": "a%20b/%C3%BC.toml", "/x/y#.toml": "file:///x/y%23.toml", "../d.toml": "../d.toml"}
    for path, uri in paths.items():
        (result,) = run_of(error("SMG001", "", "z", FromFile(path, 2)))["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
