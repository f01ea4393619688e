"""Every TCP port of a plan, and the two that want the same one."""

from typing import Final

from smgcfg.errors import Finding, error
from smgcfg.origin import Origin
from smgcfg.value import Value

HIGHEST: Final = 65535

HANDSHAKE: Final = "handshake"
WORKER: Final = "worker"


class Claim(Value):
    """Somebody who wants a port.

    Attributes:
        owner: The process, as messages name it.
        use: What for, in a word or two.
        group: The pool or process whose claims of this use are alike: a clash of two groups is reported once.
        key: The key that moves the port.
        where: Where that key was set.
    """

    owner: str
    use: str
    group: str
    key: str
    where: Origin | None

    def __str__(self) -> str:
        return f"the {self.use} port of {self.owner}"


class PortBook:
    """Collects the claims of a plan."""

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}
        self._clashes: dict[tuple[str, ...], tuple[int, Claim, Claim, int]] = {}
        self._findings: list[Finding] = []

    def claim(self, number: int, by: Claim) -> None:
        """Note that a process wants a port."""
        if not 1 <= number <= HIGHEST:
            message = f"{by} would be {number}; a port is 1 to {HIGHEST}"
            self._findings.append(error("SMG020", by.key, message, by.where))
            return
        first = self._claims.setdefault(number, by)
        if first is not by:
            groups = (first.group, first.use, by.group, by.use)
            before = self._clashes.get(groups)
            self._clashes[groups] = (number, first, by, 0) if before is None else (*before[:3], before[3] + 1)

    def __contains__(self, number: int) -> bool:
        return number in self._claims

    def findings(self) -> list[Finding]:
        """Return what is wrong: ports out of range, and one finding for each two groups that clash."""
        same = {(first, second) for first, use, second, other in self._clashes if use == other == WORKER}
        clashes = [
            clash
            for (first, use, second, other), clash in self._clashes.items()
            # Workers of one port derive the same ports from it: that is the same problem again.
            if (first, second) not in same or not use == other != WORKER or clash[1].key != f"{first}.port"
        ]
        return [*self._findings, *(_clash(*clash) for clash in clashes)]


def _clash(number: int, first: Claim, second: Claim, more: int) -> Finding:
    others = f" (and {more} more like it)" if more else ""
    where = second.where or first.where
    if first.use == second.use == HANDSHAKE:
        message = f"{first.owner} and {second.owner} derive the same handshake port {number} from their socket paths"
        hint = f"another {second.key} moves them, and so does another launch.run_dir"
        return error("SMG021", second.key, message + others, where, hint)
    message = f"{second} is {number}, which is {first}"
    hint = f"move one of them: {first.key} or {second.key}" if first.key != second.key else ""
    return error("SMG020", second.key, message + others, where, hint)
