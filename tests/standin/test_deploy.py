"""What a deployment of stand-ins keeps of the real one, and what it says to have left out."""

from typing import Any

import attrs
import pytest
from planning import HERE, deployment, pool

from smgcfg.config import Pool
from smgcfg.origin import FromArgv
from smgcfg.planning.plan import plan
from smgcfg.schema import dotted
from smgcfg.standin.deploy import left_out, with_standins

#: What stand-ins do not use, each with a value of an operator's.
LOST: dict[str, Any] = {
    "tokenizer": "/models/t",
    "gpus": ("0", "1"),
    "gpus_per_replica": 1,
    "python": "/opt/ts/bin/python",
    "wrapper": ("numactl",),
    "command": ("ts",),
}


@pytest.mark.parametrize("key", LOST)
def test_what_is_left_out_is_said(key: str) -> None:
    """Each setting of a pool that a stand-in does not use is a warning where it was set, and in no process."""
    chosen = deployment(pool(**{key: LOST[key]}))
    (finding,) = left_out(chosen, lambda path: FromArgv(3) if path == ("pools", "chat", key) else None)
    assert (finding.code, finding.severity, finding.key) == ("SMG026", "warning", f"pools.chat.{key}")
    assert finding.where == FromArgv(3)
    assert plan(with_standins(chosen, HERE), HERE).plan == plan(with_standins(deployment(), HERE), HERE).plan


def test_what_is_left_out_elsewhere_is_said() -> None:
    """Tokenizers of engine and gateway, and the gateway's interpreter, give way too, each with a warning."""
    chosen = deployment(pool(engine={"tokenizer": "t"}), gateway={"tokenizer_path": "t"}, python="/opt/smg/bin/python")
    found = [finding.key for finding in left_out(chosen, lambda _: None)]
    assert found == ["pools.chat.engine.tokenizer", "gateway.tokenizer_path", "gateway.python"]
    # A command of the gateway's own is kept, so that nothing is lost.
    assert left_out(deployment(python="/opt/p", command=("smg", "launch")), lambda _: None) == []


def test_everything_else_is_kept() -> None:
    """Each key of a pool is either unchanged with stand-ins, or said to be left out."""
    chosen = pool(
        "chat",
        engine={"max_num_seqs": 8, "tensor_parallel_size": 2},
        **LOST,
        served_model_name=("a", "b"),
        reasoning_parser="qwen3",
        tool_call_parser="qwen",
        chat_template="/t.jinja",
        replicas=3,
        host="::1",
        port=31000,
        env=(("A", "{gpus}"),),
        startup_timeout=7.0,
        engine_version="0.1.1",
    )
    (kept,) = with_standins(deployment(chosen), HERE).pools
    changed = {field.name for field in attrs.fields(Pool) if getattr(kept, field.name) != getattr(chosen, field.name)}
    said = {finding.key for finding in left_out(deployment(chosen), lambda _: None)}
    assert {dotted(("pools", "chat", key)) for key in changed} <= said
    assert said == {f"pools.chat.{key}" for key in LOST}
