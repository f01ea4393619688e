"""Findings, the errors that carry them, and the exit code of each."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from smgcfg.origin import Origin
from smgcfg.value import Value

Severity = Literal["error", "warning"]

#: Every code a finding can carry, and the kind of problem it names.
CODES: Final[dict[str, str]] = {
    "SMG001": "the file can not be read as TOML",
    "SMG002": "no such key or table",
    "SMG003": "wrong type of value",
    "SMG004": "not one of the choices",
    "SMG005": "outside the bounds",
    "SMG006": "the value has no spelling on a command line",
    "SMG007": "a required key is missing",
    "SMG008": "the launcher owns this setting",
    "SMG009": "one setting, two values",
    "SMG010": "no such flag",
    "SMG011": "the command line can not be read",
    "SMG012": "the program's version has no such flag",
    "SMG013": "the program's version has no such choice",
    "SMG014": "settings that do not go together",
    "SMG015": "extra words that are not allowed",
    "SMG016": "a placeholder that does not exist",
    "SMG017": "not built yet",
    "SMG018": "a reference can not be read",
    "SMG019": "everybody on this machine may read a file with a secret",
    "SMG020": "ports overlap or are out of range",
    "SMG021": "two workers derive the same handshake port",
    "SMG022": "a socket path is too long",
    "SMG023": "not enough GPUs",
    "SMG024": "one gateway can not serve these pools together",
    "SMG025": "a value of the operator's stands against what would be derived",
    "SMG026": "stand-ins do not use a setting",
    "SMG030": "a port is taken",
    "SMG031": "the run directory can not be used",
    "SMG032": "a program is missing or can not be run",
    "SMG033": "the version is not the expected one, or not known",
    "SMG034": "this machine allows too little",
    "SMG035": "another launch has a GPU, too",
    "SMG040": "the gateway does not take the request",
    "SMG041": "no running launch of that name",
    "SMG050": "constraints are not enforced",
    "SMG051": "log probabilities are off",
    "SMG052": "two workers answer one model differently",
    "SMG053": "only engine or gateway knows the reasoning parser",
    "SMG054": "the environment says which GPUs a worker sees",
    "SMG055": "a scheduler says other numbers than the deployment",
    "SMG056": "the gateway and the engines disagree about data-parallel ranks",
    "SMG057": "an address that is not fit for its use",
    "SMG058": "a port is open to the network and asks for no key",
    "SMG059": "a secret stands in the list of processes",
    "SMG060": "a secret stands in clear text",
    "SMG061": "a flag stands twice in a command",
    "SMG062": "a program reads a variable that is about something else",
    "SMG063": "the environment sets what the deployment does not",
    "SMG064": "the model is not there",
    "SMG065": "the gateway finds no tokenizer",
    "SMG066": "the gateway finds no chat template",
    "SMG067": "a file that a setting names is not there",
    "SMG068": "a variable of a shell that no shell reads",
    "SMG069": "GPUs that no worker uses",
}


class Finding(Value):
    """One problem, as data.

    Attributes:
        code: A key of `CODES`.
        severity: "error" stops `plan` and `serve` with exit code 2; "warning" does not.
        key: The key or flag it is about, as the operator would write it; empty for a whole file.
        message: What is wrong: rule, what arrived, what is allowed. Never holds a secret.
        where: The place of the value, or None when it has none.
        hint: What to do about it; empty when there is nothing to add.
    """

    code: str
    severity: Severity
    key: str
    message: str
    where: Origin | None = None
    hint: str = ""

    def __str__(self) -> str:
        head = f"{self.key}: {self.message}" if self.key else self.message
        text = f"{self.severity} {self.code} {head}"
        if self.where is not None:
            text = f"{self.where}: {text}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


def error(code: str, key: str, message: str, where: Origin | None = None, hint: str = "") -> Finding:
    """Return a finding of severity "error"."""
    return Finding(code, "error", key, message, where, hint)


def warning(code: str, key: str, message: str, where: Origin | None = None, hint: str = "") -> Finding:
    """Return a finding of severity "warning"."""
    return Finding(code, "warning", key, message, where, hint)


def reason_of(problem: OSError) -> str:
    """Return why the system refused something, as messages say it: "no space left on device"."""
    return (problem.strerror or str(problem) or type(problem).__name__).lower()


def errors_in(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are errors, in their order."""
    return [finding for finding in findings if finding.severity == "error"]


class SmgcfgError(Exception):
    """The root of every error that smgcfg raises for its user.

    Attributes:
        exit_code: What the command line exits with.
    """

    exit_code = 1


class ConfigError(SmgcfgError, ValueError):
    """The input is wrong: everything found in one go.

    Attributes:
        findings: The problems, in the order of the input.
    """

    exit_code = 2

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[tuple[Finding, ...]]]:
        return (type(self), (self.findings,))


class LaunchError(SmgcfgError):
    """A launch that could not start or could not go on.

    Args:
        message: What happened, naming the process.
        exit_code: The process's own exit code where there is one, else 1.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
