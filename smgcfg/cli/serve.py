"""`smgcfg serve`: start a deployment, watch it, and stop it cleanly."""

import sys
from collections.abc import Sequence
from typing import Any

from smgcfg.cli.parser import Parser
from smgcfg.cli.render_plan import broken_promises
from smgcfg.cli.report import count, lines
from smgcfg.cli.sources import add_source_options, review, save, take_apart
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, errors_in
from smgcfg.planning.plan import Planned

_USAGE = "smgcfg serve FILE... [--set PATH=VALUE] [--unset PATH] [--stand-in] [--verify] [-- ENGINE FLAGS]"

_NOTHING = """\
smgcfg serve: no deployment. Name a file, or an engine and a model:
  smgcfg serve --backend tokenspeed --model MODEL
or try it without a GPU:
  smgcfg serve --backend tokenspeed --model demo --stand-in"""


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "serve" first.

    Returns:
        The exit code: 128 plus a signal's number, a failed process's own, 2 for bad input.
    """
    if len(argv) == 1:
        print(_NOTHING, file=sys.stderr)
        return 2
    parser = Parser("serve", "Start a deployment, watch it until it is told to stop, stop it cleanly.", _USAGE)
    add_source_options(parser, saves=True)
    parser.add_argument("--verify", action="store_true", help="do not go ready unless every promise is kept")
    parser.add_argument("--log-format", metavar="FORMAT", default="text", help="text, or json: an object in each line")
    words = take_apart(parser, argv)
    options = words.options
    if options.log_format not in ("text", "json"):
        parser.error(f"--log-format: expected text or json, got {options.log_format!r}")
    if options.stand_in:
        _check_extra()
    reviewed = review(words, argv, host=True, secrets=True)
    planned, findings = reviewed.planned, reviewed.findings
    if planned is None or planned.plan is None or errors_in(findings):
        raise ConfigError(findings)
    if findings:
        print("\n".join([*lines(findings), count(findings)]), file=sys.stderr)
    for line in broken_promises(planned):
        print(f"promises  {line}", file=sys.stderr)
    if options.save is not None and reviewed.chosen is not None:
        save(options.save, reviewed)
    if options.stand_in:
        _write_model(reviewed.environment)
    from smgcfg.launch.run import serve
    from smgcfg.verify.launch_check import verified

    mode = "require" if options.verify else planned.deployment.launch.verify
    return serve(
        planned.plan,
        **verified(planned, mode or ("require" if options.stand_in else "warn")),
        log_format=options.log_format,
        given=lambda: _given(planned, reviewed.environment, stand_in=options.stand_in),
        reap=True,
    )


def _given(planned: Planned, environment: Environment, *, stand_in: bool) -> dict[str, Any]:
    """Return what `smgcfg diff NAME FILE` has to know of the launch."""
    from smgcfg.by_key import data_of, side_of

    return {"environment": vars(environment), "stand_in": stand_in, "side": data_of(side_of(planned))}


def _check_extra() -> None:
    from smgcfg.standin.deploy import missing_extra

    missing = missing_extra()
    if missing is not None:
        raise ConfigError([missing])


def _write_model(environment: Environment) -> None:
    from smgcfg.launch.run_dir import run_dir_findings
    from smgcfg.standin.deploy import model_dir, write_model

    write_model(model_dir(environment), run_dir_findings)
