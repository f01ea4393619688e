"""`smgcfg verify` and `smgcfg watch` as command lines: input, exit codes, files, and gateways in trouble."""

import json
import socket
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.request import urlopen

import pytest
from verify.deployments import smgcfg
from verify.servers import answer, body_of, serving

from smgcfg.cli import main

MODELS = '{"object": "list", "data": [{"id": "m"}]}'
EXAMPLE = str(Path(__file__).parents[2] / "examples" / "one-node.toml")


@pytest.fixture
def nobody() -> str:
    """The URL of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def echoing() -> Iterator[str]:
    """A server of one model and no list of workers that repeats every prompt, as a model without constraints may."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        if request.command == "GET":
            found = request.path == "/v1/models"
            return answer(request, 200 if found else 404, MODELS if found else "{}")
        asked = json.loads(body_of(request))
        if request.path != "/v1/chat/completions":
            return answer(request, 404, '{"detail": "Not Found"}')
        if asked["stream"]:
            return answer(request, 400, '{"error": {"message": "no streams today"}}')
        message = {"content": asked["messages"][0]["content"]}
        return answer(request, 200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))

    with serving(handle) as url:
        yield url


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "TARGET"),
        (["nosuch.toml"], "can not be read"),
        (["http://"], "no URL of a gateway"),
        (["http://x:99999"], "no URL of a gateway"),
        (["http://a b"], "no URL of a gateway"),
        (["http://[::1"], "no URL of a gateway"),
        (["http://127.0.0.1:1/\u00e9"], "no URL of a gateway"),
        (["http://127.0.0.1:1", "--metrics", "http://[::1"], "--metrics: expected a URL"),
        (["http://x", EXAMPLE], "a URL stands alone"),
        (["http://x", "--set", "gateway.port=1"], "a URL stands alone"),
        (["http://x", "--require", "json_scema"], "did you mean json_schema?"),
        (["http://x", "--require", ","], "names nothing"),
        (["http://x", "--timeout", "0"], "--timeout"),
        (["http://x", "--requests-in-flight", "many"], "--requests-in-flight"),
        (["http://x", "--api-key-env", "NOT_THERE"], "'NOT_THERE' is not set"),
        (["http://x", "--metrics", "x:1"], "--metrics: expected a URL"),
        ([EXAMPLE, "--set", "gateway.prot=1"], "gateway.prot"),
    ],
)
def test_bad_input(words: list[str], message: str) -> None:
    """Bad input is findings and exit code 2, before anything is asked."""
    said = smgcfg("verify", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


@pytest.mark.parametrize("command", ["verify", "watch"])
def test_launch_that_nobody_knows(command: str) -> None:
    """A name that is neither a file nor a launch is a finding with the exit code 4 of every command about launches."""
    said = smgcfg(command, "nosuch")
    assert (said.code, said.out) == (4, "")
    assert "no file of that name, and no running launch is known as 'nosuch'" in said.err


def test_gateway_that_is_not_there(nobody: str) -> None:
    """Without a gateway the exit code is 3, with the reason, as text and as JSON."""
    said = smgcfg("verify", nobody)
    assert (said.code, said.out) == (3, "")
    assert said.err == f"smgcfg: no gateway at {nobody}: connection refused\n"
    as_json = smgcfg("verify", nobody, "--json")
    assert as_json.code == 3
    assert as_json.document == {"url": nobody, "ok": False, "error": f"no gateway at {nobody}: connection refused"}


def test_server_that_is_no_gateway() -> None:
    """A server that lists no models is not taken for a gateway."""
    with serving(lambda request: answer(request, 200, "<html>", "text/html")) as url:
        said = smgcfg("verify", url)
    assert said.code == 3
    assert "/v1/models answers 200 without a list" in said.err


def test_gateway_that_hangs() -> None:
    """A gateway that takes connections and says nothing is given up within seconds, with exit code 3."""
    release = threading.Event()
    with serving(lambda request: release.wait(20.0) and None) as url:
        began = time.monotonic()
        said = smgcfg("verify", url, "--timeout", "0.5")
        release.set()
    assert said.code == 3
    assert "no whole answer in 0.5 s" in said.err
    assert time.monotonic() - began < 5.0


def test_gateway_whose_engines_hang() -> None:
    """A gateway that lists its model and answers no request breaks every promise, within the bounds."""
    release = threading.Event()

    def handle(request: BaseHTTPRequestHandler) -> None:
        if request.command == "GET":
            answer(request, 200, MODELS)
        else:
            release.wait(20.0)

    with serving(handle) as url:
        began = time.monotonic()
        said = smgcfg("verify", url, "--timeout", "0.4", "--deadline", "5")
        release.set()
    assert said.code == 1
    assert "not everything was asked: none of" in said.out
    assert "NOT REACHED" in said.out or "FAILED" in said.out
    assert time.monotonic() - began < 6.0


def test_deadline(echoing: str) -> None:
    """When the time for everything is over, what was not asked is not taken for kept."""
    said = smgcfg("verify", echoing, "--deadline", "0.001")
    assert said.code == 1
    assert "the time of 0.001 s is over" in said.out


def test_any_other_server(echoing: str) -> None:
    """A server that is no smg is asked the same way: what it ignores, refuses and does not have is told apart."""
    said = smgcfg("verify", f"{echoing}/v1/", "--json")
    assert said.code == 1
    chat = [check for promise in said.document["promises"] for check in promise["checks"]]
    found = {(check["endpoint"], check["streamed"]): check["verdict"] for check in chat}
    assert found[("/v1/chat/completions", False)] == "ignored"
    assert found[("/v1/chat/completions", True)] == "refused"
    assert found[("/v1/messages", False)] == "not_supported"
    refused = next(check for check in chat if check["verdict"] == "refused")
    assert refused["seen"] == '400 "no streams today"'
    assert "how many there are is not known: /workers answers 404" in said.document["means"]


def test_several_models() -> None:
    """With several models and none chosen the command lists them, and asks for a choice."""
    with serving(lambda request: answer(request, 200, '{"data": [{"id": "a"}, {"id": "b"}]}')) as url:
        said = smgcfg("verify", url)
    assert said.code == 2
    assert "serves 2 models: a, b" in said.err


def test_junit_file(echoing: str, tmp_path: Path) -> None:
    """`--junit FILE` writes XML that CI reads beside the table; a path that can not be written is bad input."""
    path = tmp_path / "verify.xml"
    said = smgcfg("verify", echoing, "--require", "regex,logprobs", "--junit", str(path))
    suite = ET.parse(path).getroot()
    assert said.code == 1
    assert suite.tag == "testsuite"
    assert int(suite.get("tests", "0")) == len(suite) > 4
    assert int(suite.get("failures", "0")) > 0
    assert smgcfg("verify", echoing, "--junit", str(tmp_path / "no" / "x")).code == 2


@pytest.mark.parametrize("command", ["verify", "watch"])
def test_help_tells_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` names the kinds and the exit codes."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert "tool_required" in text
    assert "3 there is no gateway to ask" in text
    assert "4 no such launch" in text
    assert ("130 after Ctrl-C" in text) is (command == "watch")


def test_watch_prints_what_changes(echoing: str) -> None:
    """Each time is a line; everything is printed the first time only, as long as nothing changes."""
    said = smgcfg("watch", echoing, "--require", "regex", "--interval", "0.01", "--count", "3")
    assert said.code == 1
    lines = said.out.splitlines()
    times = [line for line in lines if "  FAILED 1 of 1 promises" in line]
    assert len(times) == 3
    assert sum("PROMISE" in line for line in lines) == 1


def test_watch_without_a_gateway(nobody: str) -> None:
    """A gateway that is not there ends no watch: it is said each time, and is the exit code of the last."""
    said = smgcfg("watch", nobody, "--interval", "0.01", "--count", "2")
    assert said.code == 3
    assert said.out.count("UNREACHABLE  no gateway at") == 2


def test_watch_prints_metrics(echoing: str, nobody: str) -> None:
    """`--print-metrics` prints what an alert needs: whether the gateway answers, and whether each promise is kept."""
    words = ("--require", "regex", "--interval", "0.01", "--print-metrics", "--count", "2")
    text = smgcfg("watch", echoing, *words).out
    assert f'smgcfg_verify_gateway_reached{{gateway="{echoing}"}} 1.0' in text
    assert f'smgcfg_verify_ok{{gateway="{echoing}"}} 0.0' in text
    assert f'smgcfg_verify_promise_kept{{gateway="{echoing}",kind="regex",worker="any worker"}} 0.0' in text
    assert f'smgcfg_verify_rounds_total{{gateway="{echoing}",result="broken"}} 2.0' in text
    gone = smgcfg("watch", nobody, *words).out
    assert f'smgcfg_verify_gateway_reached{{gateway="{nobody}"}} 0.0' in gone
    assert "smgcfg_verify_promise_kept{" not in gone


def test_watch_exposes_metrics(echoing: str, nobody: str) -> None:
    """`--listen` shows the metrics over HTTP; a port that is taken is an error and not a traceback."""
    port = nobody.rpartition(":")[2]
    said = smgcfg("watch", echoing, "--require", "regex", "--count", "1", "--listen", port)
    assert said.code == 1
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
        assert b"smgcfg_verify_promise_kept" in reply.read()
    again = smgcfg("watch", echoing, "--count", "1", "--listen", port)
    assert again.code == 1
    assert f"metrics can not be shown at 127.0.0.1:{port}: address already in use" in again.err
    assert smgcfg("watch", echoing, "--listen", "x:y").code == 2
