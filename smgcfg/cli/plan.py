"""`smgcfg plan`: show what a deployment would start, and start nothing."""

import sys
from collections.abc import Sequence

from smgcfg.cli.parser import Parser
from smgcfg.cli.sources import add_source_options, review, save, take_apart
from smgcfg.errors import ConfigError, Finding, errors_in
from smgcfg.planning.plan import Planned

_USAGE = "smgcfg plan FILE... [--set PATH=VALUE] [--unset PATH] [--commands | --json] [--host] [-- ENGINE FLAGS]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "plan" first.

    Returns:
        0, or 2 when a finding is an error.
    """
    parser = _parser()
    words = take_apart(parser, argv)
    options = words.options
    if options.commands and options.json:
        parser.error("--commands and --json: choose one")
    if options.show_secrets and not options.json:
        parser.error("--show-secrets: only with --json")
    reviewed = review(words, argv, host=options.host, secrets=options.host)
    planned, findings = reviewed.planned, list(reviewed.findings)
    if options.host and planned is not None and planned.plan is not None:
        from smgcfg.launch.host import host_findings

        findings += host_findings(planned.plan)
    failed = bool(errors_in(findings)) or planned is None or planned.plan is None
    if options.save is not None and not failed:
        save(options.save, reviewed)
    if options.json:
        _print_json(planned, findings, show_secrets=options.show_secrets)
        return 2 if failed else 0
    if failed or planned is None:
        raise ConfigError(findings)
    looked_in = reviewed.environment.python if options.host else None
    _print(planned.evolve(findings=tuple(findings)), commands=options.commands, looked_in=looked_in)
    return 0


def _parser() -> Parser:
    parser = Parser("plan", "Show what a deployment would start, and start nothing.", _USAGE)
    add_source_options(parser, saves=True)
    parser.add_argument("--commands", action="store_true", help="lines to paste into a shell")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--show-secrets", action="store_true", help="with --json: secrets as they are")
    machine = "also check this machine: ports, run directory, programs, secrets"
    parser.add_argument("--host", action="store_true", help=machine)
    return parser


def _print(planned: Planned, *, commands: bool, looked_in: str | None) -> None:
    from smgcfg.cli import render_plan
    from smgcfg.cli.report import count, lines

    assert planned.plan is not None
    if not commands:
        print(render_plan.short_form(planned, planned.plan, looked_in))
        return
    print(render_plan.commands(planned.plan))
    if planned.findings:
        print("\n".join([*lines(planned.findings), count(planned.findings)]), file=sys.stderr)


def _print_json(planned: Planned | None, findings: list[Finding], *, show_secrets: bool) -> None:
    from smgcfg.cli import render_plan

    usable = planned is not None and planned.plan is not None and not errors_in(findings)
    print(render_plan.document_text(planned if usable else None, findings, show_secrets=show_secrets))
