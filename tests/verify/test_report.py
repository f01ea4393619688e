"""Reports: what single answers come to, and how people, programs and CI read it."""

import json
import xml.etree.ElementTree as ET

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verify.reports import report, seen

from smgcfg.verify import render
from smgcfg.verify.answers import Answer, Call
from smgcfg.verify.answers import seen as shown
from smgcfg.verify.gateway import Worker, names_of
from smgcfg.verify.report import ANYONE


def test_all_enforced() -> None:
    """When every answer was good everything is, and the exit code is 0."""
    good = report(seen("regex", "chat-0"), seen("regex", "chat-1"))
    assert good.ok
    assert good.exit_code == 0
    assert render.table(good).splitlines()[-1] == "OK 2 of 2 promises (2 requests, 1.2 s)"


def test_one_bad_answer_breaks_a_promise() -> None:
    """One bad answer among good ones breaks its worker's promise and no other, and both numbers are told."""
    bad = report(seen("regex", "chat-0"), *[seen("regex", "chat-1")] * 2, seen("regex", "chat-1", "ignored"))
    assert [(kind, worker, cell.verdict) for kind, worker, cell in bad.broken] == [("regex", "chat-1", "ignored")]
    assert bad.exit_code == 1
    lines = render.table(bad).splitlines()
    assert lines[0].startswith("http://127.0.0.1:8080  m  2 of 2 workers reached (by repeats: each >= 1 times)")
    assert lines[1:3] == ["PROMISE  chat-0    chat-1", "regex    enforced  IGNORED 1 of 3"]
    assert lines[3] == (
        'chat-1: regex: asked for a nonce, got 200 "panq" finish stop (at /v1/chat/completions not streamed)'
    )
    assert lines[-1].startswith("FAILED 1 of 2 promises")


def test_worker_without_an_answer() -> None:
    """A worker of which no answer was seen keeps no promise, and the gateway's word on it is told."""
    gone = Worker(name="chat-1", url="ipc:///chat-1", problem="the gateway lists it as pending")
    found = report(seen("regex", "chat-0"), workers=("chat-0",))
    found = attrs.evolve(found, workers=(*found.workers, gone))
    assert [(worker, cell.verdict) for _, worker, cell in found.broken] == [("chat-1", "not_reached")]
    assert "chat-1: not reached: the gateway lists it as pending" in render.table(found)


def test_answers_that_nobody_can_tell_apart() -> None:
    """Where answers do not name their worker, the report counts them, names nobody and says so."""
    bad = report(*[seen("regex", None)] * 6, *[seen("regex", None, "ignored")] * 3)
    assert bad.columns == (ANYONE,)
    text = render.table(bad)
    assert "regex    IGNORED 3 of 9" in text
    assert "which worker it was can not be told" in text
    assert "chat-" not in text
    assert "cause" not in text


def test_stray_answers_have_a_column_of_their_own() -> None:
    """Answers of an endpoint that names no worker stand beside the workers, and only for the kinds they are of."""
    found = report(
        *(seen(kind, worker) for kind in ("regex", "logprobs") for worker in ("chat-0", "chat-1")),
        seen("regex", None, "ignored", "/v1/responses"),
        seen("logprobs", None, "not_supported", "/v1/responses"),
    )
    assert found.columns == ("chat-0", "chat-1", ANYONE)
    assert [(kind, worker) for kind, worker, _ in found.broken] == [("regex", ANYONE)]
    assert len(found.promises) == 5


def test_not_supported_somewhere() -> None:
    """An endpoint that lacks a kind breaks no promise while another has it; a kind that none has is broken."""
    some = report(seen("logprobs", "chat-0"), seen("logprobs", "chat-0", "not_supported", "/x"), workers=("chat-0",))
    none = report(seen("logprobs", "chat-0", "not_supported", "/x", text="taken"), workers=("chat-0",))
    assert some.ok
    assert not none.ok
    assert "not supported here: logprobs at /x: taken" in render.table(none)


def test_nothing_promised() -> None:
    """A deployment that promises nothing keeps all of it, and the report says that nothing was asked."""
    nothing = report()
    assert nothing.exit_code == 0
    assert "nothing is promised" in render.table(nothing)


def test_document() -> None:
    """The JSON document has every promise with its checks, an example of what was bad, and the verdict on the whole."""
    bad = report(
        seen("regex", "chat-0"), seen("regex", "chat-1", "aborted", streamed=True), workers=("chat-0", "chat-1")
    )
    found = json.loads(render.document_text(bad))
    assert found["ok"] is False
    assert [(p["kind"], p["worker"], p["verdict"]) for p in found["promises"]] == [
        ("regex", "chat-0", "enforced"),
        ("regex", "chat-1", "aborted"),
    ]
    assert found["promises"][1]["checks"] == [
        {
            "endpoint": "/v1/chat/completions",
            "streamed": True,
            "verdict": "aborted",
            "bad": 1,
            "answers": 1,
            "asked": "a nonce",
            "seen": '200 "panq" finish stop',
        }
    ]
    assert found["workers"][1] == {"name": "chat-1", "url": "ipc:///chat-1", "answers": 1, "problem": None}
    assert set(found) >= {
        "url",
        "model",
        "required",
        "means",
        "not_supported",
        "causes",
        "notes",
        "stopped",
        "requests",
    }


def test_junit() -> None:
    """JUnit has a case for each check of each worker: failures, errors and what is skipped, with matching counts."""
    found = report(
        seen("regex", "chat-0"),
        seen("regex", "chat-0", "ignored", "/v1/completions", text='200 "<&>" "'),
        seen("regex", "chat-0", "failed", "/v1/messages"),
        seen("regex", "chat-0", "not_supported", "/v1/responses"),
    )
    suite = ET.fromstring(render.junit(found).encode())
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",  # chat-1 gave no answer at all
        "failures": "2",
        "errors": "1",
        "skipped": "1",
    }
    case = suite.find("testcase[@name='regex /v1/completions']")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == 'asked for a nonce, got 200 "<&>" "'


@given(text=st.text())
def test_anything_can_be_reported(text: str) -> None:
    """Whatever came back, JUnit parses and the table keeps to its lines."""
    bad = report(
        seen("regex", "chat-0", "ignored", text=shown(Answer(status=200, text=text, finish=text))), workers=("chat-0",)
    )
    ET.fromstring(render.junit(bad).encode())
    assert len(render.table(bad).splitlines()) == 5


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(status=200, text="a" * 99, finish="stop"), f'200 "{"a" * 57}..." finish stop'),
        (Answer(status=200, finish="abort"), "200 nothing finish abort"),
        (Answer(status=200, calls=(Call("f", "{}"),), finish="tool_calls"), "200 f({}) finish tool_calls"),
        (Answer(status=400, problem="no such\nfield"), '400 "no such\\nfield"'),
        (Answer(problem="connection refused"), "connection refused"),
    ],
)
def test_what_was_seen(answer: Answer, text: str) -> None:
    """What came back is told short, and on one line."""
    assert shown(answer) == text


def test_names_of_workers() -> None:
    """Workers are called what the deployment calls them, else by a part of their URLs that is theirs alone."""
    assert names_of(["ipc:///d/engine-1", "ipc:///d/engine-2"], {"ipc:///d/engine-2": "chat-1"}) == {
        "ipc:///d/engine-1": "engine-1",
        "ipc:///d/engine-2": "chat-1",
    }
    assert names_of(["http://a/x", "http://b/x"], {}) == {"http://a/x": "http://a/x", "http://b/x": "http://b/x"}
