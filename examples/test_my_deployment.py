"""A user's own property test: whatever is changed on top of the deployment, answers stay within their constraints."""

from pathlib import Path

from hypothesis import given, settings

from smgcfg import TokenspeedArgs, load
from smgcfg.testing import settings as choices

DEPLOYMENT = load(Path(__file__).with_name("one-node.toml"))


@settings(max_examples=50, deadline=None)
@given(changes=choices(TokenspeedArgs, "0.1.1"))
def test_constraints_stay_enforced(changes: dict[str, object]) -> None:
    """Only an explicit choice turns the grammar backend off."""
    for pool in DEPLOYMENT.pools:
        argv = pool.engine.overlay(changes).to_argv()
        expected = changes.get("grammar_backend", "xgrammar")
        assert argv[argv.index("--grammar-backend") + 1] == expected
