"""The last look at a launch before it is ready: does it keep what it promises?"""

import threading
from typing import Any, Literal

from smgcfg.errors import SmgcfgError
from smgcfg.launch.effects import Checked
from smgcfg.planning.plan import Planned
from smgcfg.verify.access import to_access
from smgcfg.verify.gateway import Target
from smgcfg.verify.launching import LIMITS, summary, verify_launch
from smgcfg.verify.promises import Promises, promises_of, target_of
from smgcfg.verify.run import Limits

Mode = Literal["off", "warn", "require"]


def verified(planned: Planned, mode: Mode | None = None) -> dict[str, Any]:
    """Return what has a launch verified before it is ready: `Launch(planned.plan, **verified(planned))`.

    `smgcfg verify NAME` then knows, too, what the launch promises.

    Args:
        planned: What was planned; it has a plan.
        mode: What a broken promise leads to; by default what `[launch] verify` says, or "require" where it is silent.
    """
    assert planned.plan is not None
    mode = mode or planned.deployment.launch.verify or "require"
    target, promises = target_of(planned, planned.plan), promises_of(planned)
    looks = mode != "off" and promises.kinds
    return {
        "check": LaunchCheck(target, promises, mode) if looks else None,
        "access": to_access(target, promises),
    }


class LaunchCheck:
    """Verifies a launch in a thread of its own, so that its processes are looked after meanwhile.

    Args:
        target: Its gateway.
        promises: What its settings promise.
        mode: Whether a broken promise keeps it from going ready.
        limits: The bounds.
    """

    def __init__(self, target: Target, promises: Promises, mode: Mode, *, limits: Limits = LIMITS) -> None:
        self._target = target
        self._promises = promises
        self._mode = mode
        self._limits = limits
        self._found: Checked | None = None
        # A daemon: a launch that is stopped meanwhile does not wait for answers.
        self._thread = threading.Thread(target=self._run, name="smgcfg verify", daemon=True)

    def poll(self) -> Checked | None:
        """Begin when called for the first time; return what was found once that is known."""
        if self._thread.ident is None:
            try:
                self._thread.start()
            except RuntimeError as problem:  # a limit on the number of threads
                return self._bad([f"NOT VERIFIED: {problem}"])
        return self._found

    def _run(self) -> None:
        try:
            report = verify_launch(self._target, self._promises, limits=self._limits)
        except (SmgcfgError, OSError, RuntimeError) as problem:
            self._found = self._bad([f"NOT VERIFIED: {problem}"])
        else:
            self._found = Checked(True, tuple(summary(report))) if report.ok else self._bad(summary(report))

    def _bad(self, lines: list[str]) -> Checked:
        last = "not going ready" if self._mode == "require" else "going ready all the same"
        return Checked(self._mode == "warn", (*lines, f'{last}: launch.verify is "{self._mode}"'))
