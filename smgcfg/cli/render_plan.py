"""A plan as an operator sees it: the short form, the commands, the JSON document."""

from collections.abc import Iterable
from typing import Any, Final

from smgcfg.backends._base import Promise
from smgcfg.cli.report import count, lines, one_line
from smgcfg.config import Gateway, Pool
from smgcfg.errors import Finding
from smgcfg.flags import spec_of
from smgcfg.origin import FromDefault, Origin
from smgcfg.planning.compose import Slot
from smgcfg.planning.derive import GATEWAY, Shape
from smgcfg.planning.plan import Planned
from smgcfg.process import Plan, ProcessSpec

#: What the shell variables of secrets begin with in `--commands`.
VARIABLE: Final = "SMGCFG_SECRET_"


# --- the short form --------------------------------------------------------------------------------------------------


def short_form(planned: Planned, plan: Plan, python: str | None = None) -> str:
    """Return the plan in a few lines: what runs where, under which name, with which promises.

    Args:
        planned: What `plan` returned.
        plan: Its plan, which there is when no finding is an error.
        python: Where the installed versions were looked for, the interpreter of what names none; None where they were
            not.
    """
    shapes = {shape.pool.name: shape for shape in planned.shapes}
    width = max(map(len, ("deployment", "promises", *(slot.name for slot in planned.slots))))
    rows = [
        ("deployment", f"{plan.name}   {_programs(planned, python)}   run dir {plan.run_dir}"),
        ("gateway", _gateway(planned, plan)),
        *zip((slot.name for slot in planned.slots), _workers(planned.slots, shapes), strict=True),
        ("model", _model(planned, plan)),
        *(("promises", text) for text in _promises(planned)),
        *(("in ps", text) for text in _shown_by_ps(plan)),
    ]
    found = [f"  {line}" for line in lines(planned.findings)]
    summary = f"{_gpus(planned)}.  {count(planned.findings)}."
    return "\n".join([*(one_line(f"{head:{width}}  {text}", 10_000) for head, text in rows), summary, *found])


def _programs(planned: Planned, python: str | None) -> str:
    gateway = planned.deployment.gateway
    engines = [_program(s.backend.name, s.pool.engine_version, s.pool, python) for s in planned.shapes]
    return ", ".join([*dict.fromkeys(engines), _program("smg", gateway.version, gateway, python)])


def _program(name: str, version: str | None, table: Pool[Any] | Gateway, python: str | None) -> str:
    if version is None:
        return name
    # What runs with a command of its own is not looked for.
    found = "" if python is None or table.command is not None else f" (found in {table.python or python})"
    return f"{name} {version}{found}"


def _gateway(planned: Planned, plan: Plan) -> str:
    ports = {port.use: port for port in plan.gateway.ports}
    metrics = f"{ports['metrics'].host}:{ports['metrics'].number}"
    chosen = planned.gateway.policy
    policy = f"{chosen} ({_place(planned.origin((*GATEWAY, 'policy')))})" if chosen else "cache_aware (smg's default)"
    return "   ".join(
        [
            plan.url,
            f"policy {policy}",
            f"metrics {metrics} ({_place(planned.origin((*GATEWAY, 'prometheus_port')))})",
        ]
    )


def _workers(slots: tuple[Slot, ...], shapes: dict[str, Shape]) -> list[str]:
    """Return a line for each worker, in columns."""
    rows = []
    for slot in slots:
        shape = shapes[slot.pool]
        handshake = slot.endpoint.handshake
        rows.append(
            (
                f"{shape.backend.name} {slot.endpoint.transport}",
                str(slot.endpoint.port),
                f"GPU {','.join(slot.gpus)}" if slot.gpus else "no GPU",
                shape.backend.summary(shape.engine),
                "" if handshake is None else f"handshake {handshake}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["   ".join(f"{text:{w}}" for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _model(planned: Planned, plan: Plan) -> str:
    shape = planned.shapes[0]
    text = str(shape.model)
    if not plan.model:
        text += ", served under no name"
    elif plan.model != shape.model:
        text += f', served as "{plan.model}"'
    aliases = shape.names[1:]
    return f"{text}, also as {', '.join(aliases)}" if aliases else text


def _promises(planned: Planned) -> list[str]:
    """Return a line of promises; one for each pool where the pools differ."""
    texts = {
        s.pool.name: "   ".join(_promise(planned, s, promise) for promise in s.backend.promises) for s in planned.shapes
    }
    if len(set(texts.values())) == 1:
        return [*texts.values()][:1]
    return [f"{pool}: {text}" for pool, text in texts.items()]


def broken_promises(planned: Planned) -> list[str]:
    """Return the lines of promises that the engine settings do not keep, for whoever starts them all the same."""
    return [line for line in _promises(planned) if ": OFF (" in line]


def _promise(planned: Planned, shape: Shape, promise: Promise) -> str:
    value = getattr(shape.engine, promise.key)
    origin = planned.origin((*shape.path, "engine", promise.key))
    if origin is None and value == spec_of(type(shape.engine), promise.key).default:
        origin = FromDefault()
    said = {None: " not passed", True: "", False: " false"}.get(value, f" {value}")
    return f"{promise.what}: {'on' if promise.kept(value) else 'OFF'} ({promise.key}{said}, {_place(origin)})"


def _shown_by_ps(plan: Plan) -> list[str]:
    """Return a line that says which secrets every user of the machine can see, where there are any."""
    seen: dict[str, list[str]] = {}
    for process in plan.processes:
        for name in dict.fromkeys(secret.name for secret in process.secrets):
            seen.setdefault(name.lower(), []).append(process.name)
    if not seen:
        return []
    each = ", ".join(f"{key} of {' '.join(names)}" for key, names in seen.items())
    return [f"{each}: a word of its command, which every user of this machine can read"]


def _place(origin: Origin | None) -> str:
    return "set" if origin is None else str(origin)


def _gpus(planned: Planned) -> str:
    used, total = planned.gpus_used, planned.gpus_total
    if not used:
        return "no GPU"
    many = f"{used} GPU{'s' * (used != 1)}"
    return many if total is None else f"{used} of {total} GPU{'s' * (total != 1)}"


# --- the commands ----------------------------------------------------------------------------------------------------


def commands(plan: Plan) -> str:
    """Return a line for each process that can be pasted into a POSIX shell, the gateway's first.

    A secret stands as what it is read from, or as a variable, `$SMGCFG_SECRET_<KEY>`; different secrets of one name get
    a number behind it.
    """
    variables: dict[str, str] = {}
    return "\n".join(_command(process, variables) for process in plan.processes)


def _command(process: ProcessSpec, variables: dict[str, str]) -> str:
    # Imported here, as json below: the short form needs neither.
    import shlex

    words = ["env"]
    references = dict(process.env_references)
    for name, value in process.env:
        if name in references:
            words.append(f'{name}="{references[name]}"')
        elif name in process.secret_env:
            words.append(f'{name}="${_variable(name, value, variables)}"')
        else:
            words.append(shlex.quote(f"{name}={value}"))
    if "=" in process.argv[0]:
        # `env` would take the program for one more variable.
        words += ["sh", "-c", shlex.quote('exec "$0" "$@"')]
    secrets = {secret.index: secret for secret in process.secrets}
    for at, word in enumerate(process.argv):
        secret = secrets.get(at)
        if secret is None:
            words.append(shlex.quote(word))
        else:
            head = shlex.quote(word[: secret.start]) if secret.start else ""
            shown = secret.reference or f"${_variable(secret.name, word[secret.start :], variables)}"
            words.append(f'{head}"{shown}"')
    return " ".join(words)


def _variable(name: str, value: str, variables: dict[str, str]) -> str:
    """Return the shell variable for a secret: the same for the same secret, another for another."""
    variable, number = VARIABLE + name, 1
    while variables.setdefault(variable, value) != value:
        number += 1
        variable = f"{VARIABLE}{name}_{number}"
    return variable


# --- the document ----------------------------------------------------------------------------------------------------


def document(planned: Planned | None, findings: Iterable[Finding], *, show_secrets: bool = False) -> dict[str, Any]:
    """Return everything that a program may want to know of a plan, as JSON has it.

    Args:
        planned: What `plan` returned; None when there was nothing to plan.
        findings: Everything found, of which an error means that there are no processes.
        show_secrets: Write secrets as they are, for a harness that runs the commands.
    """
    plan = None if planned is None else planned.plan
    workers: list[dict[str, Any]] = []
    gateway = None
    if planned is not None and plan is not None:
        for slot, process in zip(planned.slots, plan.workers, strict=True):
            workers.append(
                {
                    "name": process.name,
                    "pool": slot.pool,
                    "index": slot.index,
                    **_process(process, show_secrets),
                    "url": slot.endpoint.url,
                    "port": slot.endpoint.port,
                    "gpus": list(slot.gpus),
                }
            )
        gateway = {**_process(plan.gateway, show_secrets), "url": plan.url}
    found = list(map(finding_data, dict.fromkeys(findings)))
    return {"workers": workers, "gateway": gateway, "findings": found, "redacted": not show_secrets}


def document_text(planned: Planned | None, findings: Iterable[Finding], *, show_secrets: bool = False) -> str:
    """Return `document` as text."""
    import json

    return json.dumps(document(planned, findings, show_secrets=show_secrets), indent=2)


def _process(process: ProcessSpec, show_secrets: bool) -> dict[str, Any]:
    shown = process if show_secrets else process.redacted()
    return {"argv": list(shown.argv), "env": dict(shown.env)}


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as every command's `--json` has it."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "key": finding.key,
        "where": None if finding.where is None else str(finding.where),
        "message": finding.message,
        "hint": finding.hint,
    }
