"""A plan as an operator and a program see it: the kept forms, no secrets, and lines that a shell takes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning import HERE, deployment, planned, pool

from smgcfg.backends.tokenspeed.args import TokenspeedArgs
from smgcfg.cli.render_plan import commands, document, document_text, short_form
from smgcfg.errors import errors_in
from smgcfg.origin import FromFile
from smgcfg.overlay import UNSET, Layer, Overlay
from smgcfg.planning.plan import Planned, plan
from smgcfg.process import Plan
from smgcfg.reference import Reference
from smgcfg.testing import strategies

GOLDEN = Path(__file__).parents[1] / "golden"

SECRETS = {"api_key": "-s1", "control_plane_api_keys": ("i:n:user:s2", "i:n:admin:s3"), "tenant_api_key": ("t:s4",)}


def test_no_secret_is_printed() -> None:
    """Neither the short form, the commands, the document nor a repr holds a secret, whatever it is called."""
    result = planned(pool(env=(("HF_TOKEN", "s5"),)), gateway=SECRETS, env=(("REDIS_URL", "s6"),))
    assert result.plan is not None
    for text in (
        short_form(result, result.plan),
        commands(result.plan),
        document_text(result, result.findings),
        repr(result.plan),
    ):
        assert not any(secret in text for secret in ("s1", "s2", "s3", "s4", "s5", "s6"))
    assert document(result, result.findings)["redacted"] is True
    shown = document(result, result.findings, show_secrets=True)
    assert shown["redacted"] is False
    assert shown["gateway"]["argv"] == list(result.plan.gateway.argv)
    assert shown["workers"][0]["env"]["HF_TOKEN"] == "s5"


def test_references_are_shown_as_a_shell_reads_them(tmp_path: Path) -> None:
    """A secret that stands elsewhere is shown as its place; a pasted line reads it from there, by variable or file."""
    (tmp_path / "a key").write_text("from file\n", encoding="utf-8")
    made = planned(
        pool(
            command=(sys.executable, "-S", "-c", _ECHO),
            engine={"rl_control_api_key": Reference("env", "K")},
            env=(("F", Reference("file", str(tmp_path / "a key"))),),
        ),
        gateway={"redis_url": Reference("env", "URL"), "api_key": Reference("file", "k")},
    )
    assert made.plan is not None
    shown = document(made, made.findings, show_secrets=True)
    assert (shown["workers"][0]["argv"][-1], shown["workers"][0]["env"]["F"]) == ("$K", f"$(cat '{tmp_path}/a key')")
    assert shown["gateway"]["env"]["REDIS_URL"] == "$URL"
    assert "in ps       api_key of gateway, rl_control_api_key of chat-0: a word" in short_form(made, made.plan)
    line = commands(made.plan).splitlines()[1]
    done = subprocess.run(["sh", "-c", line], env={"K": "from env"}, capture_output=True, text=True, check=True)
    words, env = json.loads(done.stdout)
    assert (words[-1], env["F"]) == ("from env", "from file")


def example() -> tuple[Planned, Plan]:
    """The deployment whose printed forms are kept."""
    places = {
        ("gateway", "policy"): ("round_robin", FromFile("prod.toml", 3)),
        ("gateway", "host"): ("0.0.0.0", FromFile("deploy.toml", 9)),
        ("pools", "chat", "engine", "grammar_backend"): ("none", FromFile("prod.toml", 7)),
        ("pools", "chat", "engine", "enable_output_logprobs"): (UNSET, FromFile("prod.toml", 8)),
    }
    made = deployment(
        pool(
            model="Qwen/Qwen3-8B",
            served_model_name=("qwen3-8b", "qwen"),
            replicas=2,
            engine_version="0.1.1",
            engine={"tensor_parallel_size": 2, "grammar_backend": "none", "enable_output_logprobs": None},
            env=(("HF_TOKEN", "hf_x"),),
        ),
        gateway={"port": 8080, "host": "0.0.0.0", "policy": "round_robin"},
    )
    environment = HERE.evolve(cuda_visible_devices="0,1,2,3,4,5,6,7")
    result = plan(made, environment, overlay=Overlay([Layer(places)]))
    assert result.plan is not None
    return result, result.plan


@pytest.mark.parametrize("form", ["short", "commands", "document"])
def test_the_printed_forms_are_as_kept(form: str) -> None:
    """What an operator sees changes on purpose only: `tests/golden` holds it."""
    result, made = example()
    text = {
        "short": lambda: short_form(result, made),
        "commands": lambda: commands(made),
        "document": lambda: document_text(result, result.findings),
    }[form]()
    kept = GOLDEN / f"plan.{form}.txt"
    assert text + "\n" == kept.read_text(encoding="utf-8")


def test_the_document_of_a_plan_with_errors_holds_no_process() -> None:
    """A program that reads the document sees the findings and nothing to run."""
    result = planned(pool(replicas=2, gpus=("0",)))
    found = document(result, result.findings)
    assert (found["workers"], found["gateway"]) == ([], None)
    assert found["findings"][0]["code"] == "SMG023"
    assert json.loads(document_text(None, result.findings)) == found


_ECHO = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"


@given(
    st.lists(strategies.texts(), max_size=2),
    st.dictionaries(st.sampled_from(["A", "B_KEY", "C_TOKEN"]), strategies.texts()),
    strategies.tokenspeed_args(),
    st.lists(strategies.texts().filter(bool), max_size=2, unique=True),
)
@settings(max_examples=30)
def test_pasted_commands_run_the_very_words(
    words: list[str], env: dict[str, str], engine: TokenspeedArgs, keys: list[str]
) -> None:
    """A shell that runs a printed line, its variables set, starts the program with exactly the plan's words."""
    escaped = [word.replace("{", "{{").replace("}", "}}") for word in (_ECHO, *words)]
    base = pool(
        command=(sys.executable, "-S", "-c", *escaped),
        env=tuple(sorted((name, text.replace("{", "{{").replace("}", "}}")) for name, text in env.items())),
    )
    owned = ("port", "dist_init_addr", "data_parallel_address", "data_parallel_rpc_port", "zmq_engine_index")
    free = dict.fromkeys((*owned, "zmq_msgpack", "skip_tokenizer_init", "nnodes", "model", "tensor_parallel_size"))
    control = tuple(f"i:n:admin:{key}" for key in keys) or None
    result = planned(
        attrs.evolve(base, engine=attrs.evolve(engine, **free), gpus_per_replica=0),
        gateway={"control_plane_api_keys": control, "api_key": keys[0] if keys else None},
        command=(sys.executable, "-S", "-c", _ECHO.replace("{", "{{").replace("}", "}}")),
    )
    if result.plan is None:
        assert errors_in(result.findings)
        return
    _assert_pasted(result.plan)


def _assert_pasted(made: Plan) -> None:
    lines = _logical_lines(commands(made))
    assert len(lines) == len(made.processes)
    for line, process in zip(lines, made.processes, strict=True):
        secrets = _secret_variables(made)
        run = subprocess.run(["/bin/sh", "-c", line], env=secrets, capture_output=True, check=True)
        argv, env = json.loads(run.stdout)
        assert argv == list(process.argv[4:])
        assert {name: env[name] for name, _ in process.env} == dict(process.env)


def _logical_lines(text: str) -> list[str]:
    """Split where a command ends: a line break inside quotes belongs to a word."""
    lines, open_line = [], ""
    for line in text.split("\n"):
        open_line = f"{open_line}\n{line}" if open_line else line
        try:
            shlex.split(open_line)
        except ValueError:
            continue
        lines.append(open_line)
        open_line = ""
    return lines


def _secret_variables(made: Plan) -> dict[str, str]:
    """Give each secret its variable, as the documentation says: by name, a number behind a second value."""
    found: dict[str, list[str]] = {}
    for process in made.processes:
        env = dict(process.env)
        pairs = [(name, env[name]) for name, _ in process.env if name in process.secret_env]
        pairs += [(secret.name, process.argv[secret.index][secret.start :]) for secret in process.secrets]
        for name, value in pairs:
            values = found.setdefault(name, [])
            if value not in values:
                values.append(value)
    return {
        f"SMGCFG_SECRET_{name}" + (f"_{at + 1}" if at else ""): value
        for name, values in found.items()
        for at, value in enumerate(values)
    }
