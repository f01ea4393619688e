"""Every code is explained, and comes about."""

import re
from pathlib import Path

import pytest
from checks.code_examples import EXAMPLES

from smgcfg.checks import CHECKS
from smgcfg.checks.codes import EXPLANATIONS
from smgcfg.errors import CODES

SOURCES = sorted((Path(__file__).parents[2] / "smgcfg").rglob("*.py"))


def test_every_code_has_a_text_and_an_example() -> None:
    """What can be found is explained and has an example; nothing else is."""
    assert list(EXPLANATIONS) == sorted(CODES)
    assert list(EXAMPLES) == sorted(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_the_example_has_the_code(code: str, tmp_path: Path) -> None:
    """The example of a code makes a finding of that code, which names a key or a place."""
    findings = [finding for finding in EXAMPLES[code](tmp_path) if finding.code == code]
    assert findings
    assert all(finding.message and (finding.key or finding.where) for finding in findings)


def test_every_code_that_is_used_is_known() -> None:
    """No module makes a finding of a code that the table lacks, and the table has none that no module makes."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCES if path.name not in ("errors.py", "codes.py")]
    assert {code for text in texts for code in re.findall(r'"(SMG\d{3})"', text)} == set(CODES)


@pytest.mark.parametrize("text", EXPLANATIONS.values())
def test_an_explanation_is_a_few_sentences(text: str) -> None:
    """Each is long enough to help and short enough to be read."""
    assert 60 <= len(text) <= 420
    assert text.endswith(".")
    assert "  " not in text


def test_every_check_finds_its_own_code() -> None:
    """A check's own example is found by it alone, and by the name that its text begins with."""
    assert [check.code for check in CHECKS] == sorted(check.code for check in CHECKS)
    for check in CHECKS:
        assert (check.find.__doc__ or "").startswith(f"{check.code}: ")
