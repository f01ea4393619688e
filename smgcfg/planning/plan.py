"""From a deployment to a plan: which process runs where, with which words. Pure: the same inputs, the same bytes."""

from smgcfg.args import set_settings
from smgcfg.config import Deployment, Gateway, Launch
from smgcfg.environment import Environment as Environment
from smgcfg.errors import Finding, error, errors_in
from smgcfg.flags import spec_of
from smgcfg.gateway import GatewayArgs, command
from smgcfg.origin import Origin
from smgcfg.overlay import Overlay
from smgcfg.planning.compose import Slot, gateway_process, surroundings, worker_processes
from smgcfg.planning.derive import GATEWAY, Shape, fill_metrics_port, gateway_filling, together
from smgcfg.planning.filling import Choices, Derivations
from smgcfg.planning.layout import Layout, unknown_version
from smgcfg.planning.owned import owned_findings
from smgcfg.planning.placeholders import OF_GATEWAY, OF_WORKER
from smgcfg.planning.ports import Claim
from smgcfg.process import LaunchSettings, Plan, Port
from smgcfg.rules import covering
from smgcfg.schema import Path, dotted
from smgcfg.value import Value


class Planned(Value):
    """A plan, and how it came about.

    Attributes:
        deployment: What was planned.
        plan: The plan; None when a finding is an error.
        findings: Everything found, errors and warnings.
        derived: What was filled in: per path the value, and the rule with its inputs.
        shapes: The pools, with the engine settings filled in.
        gateway: The gateway's settings, filled in.
        slots: The places of the workers, in file order.
        gpus_used: How many GPUs the workers see.
        gpus_total: How many GPUs are named; None where they are merely counted from 0.
        choices: What the operator chose.
    """

    deployment: Deployment
    plan: Plan | None
    findings: tuple[Finding, ...]
    derived: Derivations
    shapes: tuple[Shape, ...]
    gateway: GatewayArgs
    slots: tuple[Slot, ...]
    gpus_used: int
    gpus_total: int | None
    choices: Choices

    def origin(self, path: Path) -> Origin | None:
        """Return where the value at a path comes from, or None where it is a default or not known."""
        return self.derived[path][1] if path in self.derived else self.choices.where(path)


def plan(
    deployment: Deployment, environment: Environment | None = None, *, overlay: Overlay[Path] | None = None
) -> Planned:
    """Plan a deployment. Nothing is started, read or probed.

    Args:
        deployment: The deployment.
        environment: What to plan for; by default this process's own.
        overlay: Where each value was chosen, for messages.

    Returns:
        The plan with all findings; no plan when one of them is an error.
    """
    layout = Layout(deployment, environment or Environment.current(), Choices(overlay, deployment.unset))
    gateway = _gateway(layout) if layout.shapes else deployment.gateway.args
    made = _made(layout, gateway)
    return Planned(
        deployment=deployment,
        plan=made,
        findings=tuple(layout.findings),
        derived=layout.derived,
        shapes=tuple(layout.shapes),
        gateway=gateway,
        slots=layout.slots,
        gpus_used=layout.gpus.used,
        gpus_total=layout.gpus.total,
        choices=layout.choices,
    )


def _made(layout: Layout, gateway: GatewayArgs) -> Plan | None:
    """Return the plan, or None when a finding is an error.

    Args:
        layout: Where everything stands.
        gateway: The gateway's settings, everything filled in.
    """
    deployment, choices, findings = layout.deployment, layout.choices, layout.findings
    around = [surroundings(shape.pool, OF_WORKER, shape.path, choices, findings) for shape in layout.shapes]
    around_gateway = surroundings(deployment.gateway, OF_GATEWAY, GATEWAY, choices, findings)
    key = command.workers_key(gateway)
    if isinstance(key, Finding) or errors_in(findings):
        return None
    python = layout.environment.python
    return Plan(
        name=deployment.name,
        run_dir=layout.run_dir,
        url=command.gateway_url(gateway),
        model=gateway.model_path or "",
        gateway=gateway_process(deployment.gateway, gateway, layout.slots, around_gateway, layout.run_dir, python),
        workers=tuple(
            worker
            for shape, slots, words in zip(layout.shapes, layout.places, around, strict=True)
            for worker in worker_processes(shape, slots, words, python)
        ),
        settings=_launch_settings(deployment.launch, gateway),
        api_key=key,
        request_key=command.request_key(gateway) or key,
    )


def _launch_settings(launch: Launch, gateway: GatewayArgs) -> LaunchSettings:
    """Return how to launch; the time to finish requests is said in one of two places, or is the default."""
    chosen = {name: getattr(launch, name) for name in LaunchSettings.__annotations__}
    if launch.drain_timeout is None:
        own = gateway.shutdown_grace_period_secs
        chosen["drain_timeout"] = LaunchSettings.drain_timeout if own is None else float(own)
    return LaunchSettings(**chosen)


def _gateway(layout: Layout) -> GatewayArgs:
    """Return the gateway's settings with everything filled in."""
    deployment, choices, findings = layout.deployment, layout.choices, layout.findings
    findings += together(layout.shapes, choices)
    findings += owned_findings(
        [*set_settings(deployment.gateway.args), *deployment.unset_in(*GATEWAY)],
        command.OWNED,
        lambda key: dotted((*GATEWAY, key)),
        lambda key: choices.where((*GATEWAY, key)),
    )
    findings += _said_twice(deployment.gateway, choices)
    findings += _blank(deployment.gateway.args, choices)
    urls = tuple(slot.endpoint.url for slot in layout.slots)
    filling = gateway_filling(deployment, layout.shapes, urls, choices, layout.derived)

    def claim(key: str, port: Port) -> None:
        path = filling.path(key)
        layout.book.claim(port.number, Claim("the gateway", port.use, "gateway", dotted(path), choices.where(path)))

    for key, port in command.gateway_ports(filling.result()).items():
        if key != command.METRICS:
            claim(key, port)
    # The metrics take whatever port is left, so they come last.
    fill_metrics_port(filling, layout.book, zmq=layout.shapes[0].transport == "zmq")
    args = filling.result()
    claim(command.METRICS, command.gateway_ports(args)[command.METRICS])
    findings += filling.findings
    # What a setting that only the plan may set would break by its value is no second problem.
    owned = command.OWNED.keys() & set_settings(deployment.gateway.args).keys()
    named, release = deployment.gateway.version, deployment.gateway.release
    version = covering(named, command.VERSIONS)
    if named is not None and version is None and release is None:
        findings.append(unknown_version((*GATEWAY, "version"), "smg", named, command.VERSIONS, choices))
    found = args.findings(release or version)
    findings += (filling.placed(finding) for finding in found if finding.key not in owned)
    closed = command.workers_key(args)
    if isinstance(closed, Finding):
        findings.append(filling.placed(closed))
    for key in command.unsendable_keys(args):
        message = "a key has to be ASCII without line breaks, or blanks at its ends: no client can send this one"
        where = choices.where((*GATEWAY, key))
        findings.append(
            error("SMG003", dotted((*GATEWAY, key)), message, where, "a file holds the key and nothing else")
        )
    outside = {finding.key for finding in findings if finding.code == "SMG005"}
    findings += [finding for finding in layout.book.findings() if finding.key not in outside]
    return args


def _blank(args: GatewayArgs, choices: Choices) -> list[Finding]:
    """Return what is blank that smg 1.13.0 takes without a word, and goes on without a model or a tokenizer."""
    return [
        error("SMG003", dotted((*GATEWAY, key)), f"expected text that is not blank, got {value!r}", choices.where(path))
        for key in ("model_path", "tokenizer_path")
        if (value := getattr(args, key)) is not None and not value.strip()
        for path in [(*GATEWAY, key)]
    ]


def _said_twice(gateway: Gateway, choices: Choices) -> list[Finding]:
    """Return what a variable of the gateway's own table says about a setting that is set as well."""
    findings = []
    variables = dict(gateway.env)
    for key, value in set_settings(gateway.args).items() if variables else ():
        variable = spec_of(GatewayArgs, key).env
        if variable in variables and variables[variable] != value:
            path = (*GATEWAY, "env", variable)
            message = f"the same setting as {dotted((*GATEWAY, key))}"
            findings.append(error("SMG009", dotted(path), message, choices.where(path), "keep one of the two"))
    return findings
