"""Real deployments to verify: stand-ins that enforce, ignore and abort behind the real gateway."""

import contextlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
from e2e.deployment import Place, new_place, serving

from smgcfg.cli import main

#: The model's public name.
MODEL: Final = "public"

IGNORE: Final = """
engine.grammar_backend = "none"
engine.enable_output_logprobs = false
env.SMGCFG_STANDIN_UNSUPPORTED = "ignore"
"""
ABORT: Final = """
engine.grammar_backend = "none"
engine.enable_output_logprobs = false
"""


@attrs.frozen
class Deployed:
    """A deployment that is up.

    Attributes:
        place: Where.
        url: Its gateway.
        files: Its deployment files.
    """

    place: Place
    url: str
    files: tuple[str, ...]

    @property
    def metrics(self) -> str:
        """Where its gateway shows its metrics."""
        return f"http://127.0.0.1:{self.place.ports.metrics}"


@contextmanager
def deployed(overlay: str = "") -> Iterator[Deployed]:
    """Bring a deployment up, and stop it cleanly in the end.

    Args:
        overlay: A file on top of the one that has a single worker with everything left to smgcfg.
    """
    with new_place() as place:
        files = (place.base, place.file("overlay", overlay))
        with serving(place, *files, "--stand-in") as serve:
            yield Deployed(place, serve.ready(), files)
            assert serve.stop() == 143


def pool(name: str, settings: str) -> str:
    """Return a further pool of the same model."""
    return (
        f'[pools.{name}]\nbackend = "tokenspeed"\nmodel = "demo"\nserved_model_name = ["public", "alias"]\n{settings}'
    )


@attrs.frozen
class Said:
    """What a command line of smgcfg came to.

    Attributes:
        code: The exit code.
        out: Standard output.
        err: Standard error.
    """

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON that was printed."""
        return json.loads(self.out)


def smgcfg(*words: str) -> Said:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return Said(code, out.getvalue(), err.getvalue())


def verdicts(document: Any) -> dict[str, dict[str, set[str]]]:
    """Return the verdicts of a JSON report: per worker and kind those of all its checks, and of the whole."""
    found: dict[str, dict[str, set[str]]] = {}
    for promise in document["promises"]:
        checks = {check["verdict"] for check in promise["checks"]}
        found.setdefault(promise["worker"], {})[promise["kind"]] = checks | {promise["verdict"]}
    return found
