"""Promises of a deployment: what its settings say, and what they explain."""

import pytest
from verify.reports import report, seen

from smgcfg.environment import Environment
from smgcfg.loading import load_sources
from smgcfg.planning.plan import Planned, plan
from smgcfg.verify import render
from smgcfg.verify.probes import KINDS
from smgcfg.verify.promises import promises_of, target_of

ENVIRONMENT = Environment(uid=1000, python="/usr/bin/python3", xdg_runtime_dir="/run/user/1000")

BASE = """\
[pools.chat]
backend = "tokenspeed"
model = "m"
replicas = 2
"""


def planned(text: str) -> Planned:
    """Plan a deployment file of some text."""
    loaded = load_sources([("deploy.toml", text.encode())])
    assert loaded.deployment is not None
    assert loaded.findings == ()
    return plan(loaded.deployment, ENVIRONMENT, overlay=loaded.overlay)


def test_everything_by_default() -> None:
    """With everything left to smgcfg all seven kinds are promised, by default."""
    promises = promises_of(planned(BASE))
    assert promises.kinds == tuple(KINDS)
    assert set(promises.settings) == {"chat-0", "chat-1"}
    assert {setting.where for setting in promises.settings["chat-0"]} == {"default"}


@pytest.mark.parametrize(
    ("setting", "left", "words"),
    [
        ('grammar_backend = "none"', ("logprobs",), "--grammar-backend none"),
        ('unset = ["grammar_backend"]', ("logprobs",), "without --grammar-backend"),
        ("enable_output_logprobs = false", tuple(KINDS)[:-1], "without --enable-output-logprobs"),
    ],
)
def test_what_is_turned_off_is_not_promised(setting: str, left: tuple[str, ...], words: str) -> None:
    """A setting that is turned off takes its kinds out of the promise, and the report notes from where."""
    promises = promises_of(planned(f"{BASE}[pools.chat.engine]\n{setting}\n"))
    assert promises.kinds == left
    kept = report(*(seen(kind, "chat-0") for kind in promises.kinds), workers=("chat-0",))
    (note,) = promises.note(kept).notes
    assert note.startswith(f"{words} (deploy.toml:6) promises no ")


MIXED = f"""{BASE}
[pools.lax]
backend = "tokenspeed"
model = "m"
engine.grammar_backend = "none"
"""


def test_what_any_worker_promises() -> None:
    """One model answers under one name: what one pool promises, the other has to keep; its setting is the cause."""
    promises = promises_of(planned(MIXED))
    assert promises.kinds == tuple(KINDS)
    broken = report(*(seen("regex", name, "ignored" if name == "lax-0" else "enforced") for name in promises.settings))
    broken = promises.explain(report(*broken.observations, workers=tuple(promises.settings)))
    assert broken.causes == ("lax-0 is set to run --grammar-backend none (deploy.toml:9)",)


def test_no_cause_is_made_up() -> None:
    """Where the settings keep a promise that is broken, the report says that they are not the cause."""
    promises = promises_of(planned(BASE))
    found = promises.explain(report(seen("regex", "chat-0", "ignored"), workers=("chat-0",)))
    assert found.causes == ("chat-0: not in its settings: --grammar-backend xgrammar (default) keeps regex",)


def test_what_holds_for_several_workers_is_said_once() -> None:
    """Workers of one setting share a cause; a running launch is said to run so, what a file says to be set so."""
    bad = [seen(kind, name, "aborted") for kind in ("regex", "ebnf") for name in ("chat-0", "chat-1")]
    kept = promises_of(planned(BASE)).explain(report(*bad))
    assert kept.causes == (
        "chat-0, chat-1: not in their settings: --grammar-backend xgrammar (default) keeps regex, ebnf",
    )
    none = promises_of(planned(f"{BASE}engine.grammar_backend = 'none'\n"))
    assert none.explain(report(*bad)).causes == (
        "chat-0, chat-1 are set to run --grammar-backend none (deploy.toml:5)",
    )
    running = none.explain(report(*bad), "prod")
    assert running.causes == ("chat-0, chat-1 run with --grammar-backend none (deploy.toml:5)",)
    assert "cause (launch prod): chat-0, chat-1 run with" in render.table(running)
    assert "chat-0, chat-1: regex: asked for" in render.table(running)


def test_target_of_a_deployment() -> None:
    """A plan says where to ask, with which keys, and what the workers are called."""
    made = planned(f'{BASE}[gateway]\nhost = "0.0.0.0"\nport = 8080\napi_key = "k"\n')
    assert made.plan is not None
    target = target_of(made, made.plan)
    assert (target.url, target.model, target.api_key, target.workers_key) == ("http://127.0.0.1:8080", "m", "k", "k")
    assert target.metrics_url is not None
    assert target.metrics_url.startswith("http://127.0.0.1:")
    assert [*target.names.values()] == ["chat-0", "chat-1"]
    assert all(url.startswith("ipc:///run/user/1000/smgcfg-1000/deploy/engine-") for url in target.names)
    assert "'k'" not in repr(target)


def test_key_of_a_tenant() -> None:
    """A tenant's key is what stands behind its name; the list of workers wants the gateway's own."""
    made = planned(f'{BASE}[gateway]\ntenant_api_key = ["t:secret"]\ncontrol_plane_api_keys = ["i:n:admin:boss"]\n')
    assert made.plan is not None
    target = target_of(made, made.plan)
    assert (target.api_key, target.workers_key) == ("secret", "boss")
