"""Variables that a platform puts into the environment, and that the programs read as settings."""

import re
from collections.abc import Iterator
from typing import Final

from smgcfg.args import set_settings
from smgcfg.checks.subject import Subject
from smgcfg.errors import Finding
from smgcfg.flags import specs_of
from smgcfg.gateway import GatewayArgs
from smgcfg.planning.derive import GATEWAY
from smgcfg.schema import dotted

#: What Kubernetes and Docker put into a variable for each service or link: tcp://10.0.0.1:8080.
_LINK: Final = re.compile(r"(tcp|udp|sctp)://\S+:\d+")

#: Beginnings of the names of variables that the programs read.
_OURS: Final = ("SMG_", "TOKENSPEED_", "SMGCFG_")

#: What `int` takes.
_NUMBER: Final = re.compile(r"\s*[+-]?\d+(_\d+)*\s*", re.ASCII)


def injected(subject: Subject) -> Iterator[Finding]:
    """SMG062: a program reads a variable that is about something else."""
    for name, text in sorted(subject.environ.items()):
        if name.startswith(_OURS) and _LINK.fullmatch(text):
            message = f"the environment says {name}={text}: a service has the name of a program, which may read it"
            hint = "give the service another name, or set enableServiceLinks: false on the pod"
            yield subject.finding("warning", "SMG062", (name,), message, hint)
    environ = subject.environment(subject.planned.deployment.gateway)
    for spec in specs_of(GatewayArgs):
        # smg (1.10.1 and 1.13.0) makes numbers of these before it looks at any flag: measured.
        if spec.type is int and not _NUMBER.fullmatch(environ.get(spec.env, "0")):
            message = f"the variable {spec.env} holds no number: the gateway ends at once, whatever {spec.key} says"
            path = (*GATEWAY, "env", spec.env)
            yield subject.finding("error", "SMG062", path, message, f"unset {spec.env}, or give it a number")


def set_by_environment(subject: Subject) -> Iterator[Finding]:
    """SMG063: a variable of the environment sets what the deployment does not say."""
    given = set_settings(subject.gateway)
    own = dict(subject.planned.deployment.gateway.env)
    for spec in specs_of(GatewayArgs):
        # The settings of a storage begin with its name; those of another one do nothing.
        in_use = spec.key.partition("_")[0] == subject.gateway.history_backend
        if in_use and spec.key not in given and spec.env in subject.environ and spec.env not in own:
            message = f"not set here, but smg takes it from the environment: {spec.env}"
            hint = f'say so: {dotted((*GATEWAY, spec.key))} = {{ env = "{spec.env}" }}'
            yield subject.finding("warning", "SMG063", (*GATEWAY, spec.key), message, hint)
