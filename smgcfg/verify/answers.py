"""What came back for a probe, whatever endpoint it came from, and what it says about the constraint."""

import math
from collections.abc import Callable
from typing import Final, Literal

import attrs

Verdict = Literal["enforced", "ignored", "aborted", "refused", "failed", "not_supported", "not_reached"]

#: The verdicts that break a promise, the one that says most first.
BAD: Final[tuple[Verdict, ...]] = ("ignored", "aborted", "refused", "failed", "not_reached")

#: So much of an answer is shown, in characters.
SHOWN: Final = 60


@attrs.frozen
class Call:
    """A tool call.

    Attributes:
        name: The tool.
        arguments: Its arguments, as the text that came.
    """

    name: str
    arguments: str


@attrs.frozen(kw_only=True)
class Answer:
    """An answer, streamed or not.

    Attributes:
        status: The HTTP status; 0 when there was none.
        text: What was written, all pieces together.
        calls: The tool calls.
        finish: Why it ended, in the endpoint's own word; empty when it did not say.
        cut: Whether it ended because the most tokens were written.
        logprobs: The log probabilities of its tokens, or None.
        problem: Why there is no answer, or what is said instead of one; else empty.
        code: The gateway's code for the problem, or empty.
        worker: The worker that wrote it, where the gateway says so.
        seconds: How long it took.
    """

    status: int = 0
    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    cut: bool = False
    logprobs: tuple[float, ...] | None = None
    problem: str = ""
    code: str = ""
    worker: str | None = None
    seconds: float = 0.0

    @property
    def silent(self) -> bool:
        """Whether nothing was said, neither text nor a call."""
        return not self.text and not self.calls


#: What the gateway says of a URL that it does not have, or of an endpoint that it does not serve (smg 1.13.0).
_NO_ENDPOINT: Final = ("unknown_url", "endpoint_not_supported")


def judge(answer: Answer, keeps: Callable[[Answer], bool], may_go_on: Callable[[Answer], bool]) -> Verdict:
    """Return what an answer says about the constraint that was asked for.

    Args:
        answer: The answer.
        keeps: Whether an answer is inside the constraint.
        may_go_on: Whether an answer that was cut off is the beginning of one inside.
    """
    if answer.status in (405, 501) or (answer.status == 404 and answer.code in ("", *_NO_ENDPOINT)):
        return "not_supported"
    if 400 <= answer.status < 500:
        return "refused"
    if answer.status != 200 or answer.problem:
        return "failed"
    if answer.finish == "abort":
        return "aborted"
    if keeps(answer):
        return "enforced"
    if answer.cut and may_go_on(answer):
        return "failed"
    return "aborted" if answer.silent else "ignored"


def seen(answer: Answer) -> str:
    """Return what came back, short: `200 "panqhtby..." finish stop`."""
    if answer.problem:
        return f"{answer.status} {quoted(answer.problem, 120)}" if answer.status else shortened(answer.problem, 120)
    parts = [str(answer.status)]
    parts += [f"{shortened(call.name)}({shortened(call.arguments)})" for call in answer.calls[:2]]
    if answer.text or not answer.calls:
        parts.append(quoted(answer.text) if answer.text else "nothing")
    if answer.logprobs is not None:
        parts.append(f"{len(answer.logprobs)} logprobs")
    if answer.finish:
        parts.append(f"finish {shortened(answer.finish)}")
    if answer.cut:
        parts.append("cut off")
    return " ".join(parts)


def quoted(text: str, most: int = SHOWN) -> str:
    """Return text in quotes, shortened, on one line."""
    return f'"{shortened(text, most)}"'


def shortened(text: str, most: int = SHOWN) -> str:
    """Return text of at most so many characters, control characters shown and not obeyed."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def has_logprobs(answer: Answer) -> bool:
    """Whether an answer holds log probabilities of its tokens."""
    # Some engines round the probability of a sure token up to a hair above one.
    return bool(answer.logprobs) and all(math.isfinite(p) and p <= 1e-3 for p in answer.logprobs or ())
