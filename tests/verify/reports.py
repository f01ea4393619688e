"""Reports that were never measured, to test what is made of them."""

from typing import Any

from smgcfg.verify.answers import Verdict
from smgcfg.verify.gateway import Worker
from smgcfg.verify.probes import Kind
from smgcfg.verify.report import Check, Observation, Report


def seen(
    kind: Kind,
    worker: str | None,
    verdict: Verdict = "enforced",
    endpoint: str = "/v1/chat/completions",
    *,
    streamed: bool = False,
    text: str = '200 "panq" finish stop',
) -> Observation:
    """Return an observation."""
    check = Check(endpoint=endpoint, kind=kind, streamed=streamed)
    return Observation(check=check, worker=worker, verdict=verdict, asked="a nonce", seen=text, seconds=0.1)


def report(*observations: Observation, workers: tuple[str, ...] = ("chat-0", "chat-1"), **fields: Any) -> Report:
    """Return a report about some workers."""
    kinds = tuple(dict.fromkeys(found.check.kind for found in observations))
    made = {
        "url": "http://127.0.0.1:8080",
        "model": "m",
        "required": kinds,
        "workers": tuple(Worker(name=name, url=f"ipc:///{name}") for name in workers),
        "means": "by repeats",
        "observations": observations,
        "requests": len(observations),
        "seconds": 1.25,
        **fields,
    }
    return Report(**made)
