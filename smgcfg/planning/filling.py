"""The settings of one program while the plan fills in what nobody set."""

from collections.abc import Collection
from typing import Any, Generic, TypeVar

from smgcfg.args import Args, check_setting
from smgcfg.codec import Refused
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import spec_of
from smgcfg.origin import Derived, Origin
from smgcfg.overlay import Overlay
from smgcfg.schema import Path, dotted

A = TypeVar("A", bound=Args)

#: What was filled in: per path the value, and the rule it follows from.
Derivations = dict[Path, tuple[Any, Derived]]


class Choices:
    """What the operator chose, by path.

    Args:
        overlay: Every choice with its origin; None where only the values themselves are known.
        unset: The settings that were unset, and are given no value.
    """

    def __init__(self, overlay: Overlay[Path] | None, unset: Collection[Path] = ()) -> None:
        self._overlay: Overlay[Path] = overlay or Overlay()
        self._unset = frozenset(unset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choices):
            return NotImplemented
        return (self._overlay, self._unset) == (other._overlay, other._unset)

    __hash__ = None  # type: ignore[assignment]

    def where(self, path: Path) -> Origin | None:
        """Return where a value was chosen, or None where that is not known."""
        return self._overlay.where(path)

    def unset(self, path: Path) -> bool:
        """Return whether the operator chose that a flag is not passed."""
        return path in self._unset


class Filling(Generic[A]):
    """The settings of one program while the plan fills in what nobody set.

    Args:
        args: What the operator set.
        base: The table they stand in.
        choices: Where they were set.
        derived: Takes what is filled in.
    """

    def __init__(self, args: A, base: Path, choices: Choices, derived: Derivations) -> None:
        self._args = args
        self._base = base
        self._choices = choices
        self._derived = derived
        self._filled: dict[str, Any] = {}
        self._facts: dict[str, Path] = {}
        self.findings: list[Finding] = []

    def __getitem__(self, key: str) -> Any:
        return self._filled[key] if key in self._filled else getattr(self._args, key)

    def path(self, key: str) -> Path:
        """Return where a setting is written, or would be."""
        return self._facts.get(key, (*self._base, key))

    def fill(self, key: str, value: Any, rule: str, *inputs: str) -> None:
        """Set what nobody set, neither to a value nor to nothing."""
        path = (*self._base, key)
        if value is not None and self[key] is None and not self._choices.unset(path):
            self._filled[key] = value
            self._derived[path] = (value, Derived(rule, inputs))

    def tell(self, key: str, value: Any, fact: Path, *, send: bool = True) -> None:
        """Set what a fact about the model says; a different value of the operator's own is an error.

        Args:
            key: The setting that says the same.
            value: The fact.
            fact: Where it is written.
            send: Whether this program uses it; if not, it is only compared.
        """
        own = getattr(self._args, key)
        try:
            value = check_setting(spec_of(type(self._args), key), value)
        except Refused as refused:
            where = self._choices.where(fact)
            self.findings.append(error(refused.code, dotted(fact), str(refused), where, refused.hint))
            return
        if own is None and send:
            self.fill(key, value, "a fact about the model is written once, on the pool", dotted(fact))
            self._facts[key] = fact
        elif own is not None and own != value:
            here = (*self._base, key)
            message = f"{own!r} is not what {dotted(fact)} says, {value!r}"
            where = self._choices.where(here) or self._choices.where(fact)
            self.findings.append(error("SMG009", dotted(here), message, where, "say it once, on the pool"))

    def placed(self, finding: Finding) -> Finding:
        """Return a finding about one setting with the whole key and the place of its value."""
        path = self.path(finding.key)
        return finding.evolve(key=dotted(path), where=finding.where or self._choices.where(path))

    def conflict(self, key: str, message: str, hint: str) -> None:
        """Report a value of the operator's that stands against what the plan would choose; it is kept."""
        path = self.path(key)
        self.findings.append(warning("SMG025", dotted(path), message, self._choices.where(path), hint))

    def result(self) -> A:
        """Return the settings with everything filled in."""
        return self._args.evolve(**self._filled)
