"""Text that a shell would change."""

import pytest
from checking import POOL, found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('env = { CACHE = "$HOME/cache" }', [("pools.a.env.CACHE", "write out what it stands for")]),
        ('env = { P = "/a:$PATH" }', [("pools.a.env.P", "write out what it stands for")]),
        ('tokenizer = "${TOKENIZER}"', [("pools.a.tokenizer", 'write { env = "TOKENIZER" } in its place')]),
        ('python = "~/venv/bin/python"', [("pools.a.python", "write out what it stands for")]),
        ('wrapper = ["env", "A=$B"]', [("pools.a.wrapper", "write out what it stands for")]),
        ('wrapper = ["sh", "-c", "A=$B exec \\"$@\\"", "-"]', []),
        ('env = { A = "cost$1", B = "a$b", C = "{index}", D = "a~b" }', []),
        ('tokenizer = { env = "TOKENIZER" }', []),
        ('env = { HF_TOKEN = "$ecret" }', []),
        ('engine = { rl_control_api_key = "$ecret" }', []),
    ],
)
def test_what_only_a_shell_would_read_is_found(lines: str, expected: list[tuple[str, str]]) -> None:
    """A variable or a home directory is found wherever a shell would have read it, and no secret is looked at."""
    findings = [finding for finding in found(f"{POOL}{lines}\n") if finding.code == "SMG068"]
    assert [(finding.key, finding.hint) for finding in findings] == expected


def test_the_message_shows_no_more_than_the_variable() -> None:
    """Of the value only what a shell would have replaced is shown."""
    text = POOL + '[gateway]\ntls_cert_path = "$CERTS/a.pem"\ntls_key_path = "/k.pem"\n'
    (finding,) = [finding for finding in found(text) if finding.code == "SMG068"]
    assert finding.message == "$CERTS is passed on as it is: no shell reads it"
    assert finding.key == "gateway.tls_cert_path"
