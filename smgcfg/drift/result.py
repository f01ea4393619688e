"""How one installed program differs from what smgcfg knows of it, and what that means for a deployment. Pure."""

from collections.abc import Sequence

from smgcfg.drift.ask import Reading
from smgcfg.drift.compare import Difference, differences
from smgcfg.drift.subjects import Subject
from smgcfg.errors import Finding
from smgcfg.snapshots import VERSIONS, Snapshot, nearest, snapshot
from smgcfg.value import Value


class Drift(Value):
    """How one installed program differs from what smgcfg knows of it.

    Attributes:
        reading: The program.
        base: What it was compared with.
        differences: What differs.
        subjects: The parts of the deployment that it runs.
        findings: What it would refuse of their settings.
        written: The file that its flag table was written to; None where it was not.
    """

    reading: Reading
    base: Snapshot
    differences: tuple[Difference, ...]
    subjects: tuple[Subject, ...]
    findings: tuple[Finding, ...]
    written: str | None = None

    @property
    def release(self) -> Snapshot:
        """Its flag table."""
        return Snapshot(self.reading.program, self.reading.version, self.reading.flags, {})

    @property
    def drifted(self) -> bool:
        """Whether it differs, or could not be read to the end."""
        return bool(self.differences or self.reading.unread)


def drift_of(reading: Reading, known: Sequence[Subject] = ()) -> Drift:
    """Compare what is installed with the release that a deployment names, else with the shipped one nearest to it.

    Args:
        reading: The program.
        known: The parts of the deployment that it runs.
    """
    named = next((subject.release for subject in known if subject.release is not None), None)
    base = named or snapshot(reading.program, nearest(reading.version, VERSIONS[reading.program]))
    drift = Drift(reading, base, tuple(differences(base.flags, reading.flags)), tuple(known), ())
    # With the same flags, what the program refuses is what `plan` finds.
    findings = [finding for subject in known for finding in subject.findings(drift.release) if drift.differences]
    return drift.evolve(findings=tuple(findings))
