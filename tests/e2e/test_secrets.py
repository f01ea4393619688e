"""Secrets that stand elsewhere, through a whole launch."""

import os
from pathlib import Path

import openai
import pytest
from e2e.asking import SCHEMA, ask, client_of
from e2e.deployment import Place, serving

KEY = "swordfish-5f1c"

GATEWAY = """
[gateway]
api_key = {{ file = "./key" }}

[pools.demo.env]
SOME_TOKEN = {{ env = "{}" }}
"""


def test_a_launch_reads_its_secrets_and_shows_none(place: Place) -> None:
    """The key in a file guards the gateway, the launcher asks with it, and it is printed nowhere."""
    key = Path(place.home, "key")
    key.write_text(KEY + "\n")
    os.chmod(key, 0o600)
    secrets = place.file("secrets", GATEWAY.format("E2E_TOKEN"))
    with serving(place, place.base, secrets, "--stand-in", env={"E2E_TOKEN": "token-77a0"}) as serve:
        url = serve.ready()
        with client_of(url, KEY) as client:
            assert SCHEMA.kept(ask(client, SCHEMA.fields))
        with client_of(url) as client, pytest.raises(openai.AuthenticationError):
            ask(client, SCHEMA.fields)
        worker = Path(f"/proc/{serve.pid_of('demo-0')}/environ").read_bytes().split(b"\0")
        assert b"SOME_TOKEN=token-77a0" in worker
        assert serve.stop() == 143
    assert KEY not in serve.out + serve.err
    assert "token-77a0" not in serve.out + serve.err


def test_nothing_starts_without_its_secrets(place: Place) -> None:
    """A variable and a file that are missing are both said at their lines, and nothing is started."""
    secrets = place.file("secrets", GATEWAY.format("E2E_NO_SUCH_TOKEN"))
    with serving(place, place.base, secrets, "--stand-in") as serve:
        assert serve.wait() == 2
    assert serve.out == ""
    assert f"{secrets}:3  error   SMG018 gateway.api_key: the file" in serve.err
    assert (
        f"{secrets}:6  error   SMG018 pools.demo.env.SOME_TOKEN: the variable E2E_NO_SUCH_TOKEN is not set" in serve.err
    )
    assert place.left() == ([], [])
