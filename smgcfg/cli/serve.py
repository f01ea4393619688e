"""`smgcfg serve`: start a deployment, watch it, and stop it cleanly."""

import sys
from collections.abc import Sequence

import attrs

from smgcfg.cli.report import count, lines
from smgcfg.cli.sources import Parser, add_source_options, all_findings, read_deployment, save, take_apart
from smgcfg.config import Deployment
from smgcfg.environment import Environment
from smgcfg.errors import ConfigError, errors_in
from smgcfg.plan import plan

_USAGE = "smgcfg serve FILE... [--set PATH=VALUE] [--unset PATH] [--stand-in] [-- ENGINE FLAGS]"

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
    add_source_options(parser)
    parser.add_argument("--stand-in", action="store_true", help="run CPU stand-ins in place of the engines")
    words = take_apart(parser, argv)
    loaded = read_deployment(words, argv)
    environment = Environment.current()
    deployment = loaded.deployment
    if deployment is not None and words.options.stand_in and not errors_in(loaded.findings):
        deployment, environment = _with_standins(deployment, environment)
    planned = None if deployment is None else plan(deployment, environment, overlay=loaded.overlay)
    findings = all_findings(loaded, planned)
    if planned is None or planned.plan is None or errors_in(findings):
        raise ConfigError(findings)
    if findings:
        print("\n".join([*lines(findings), count(findings)]), file=sys.stderr)
    if words.options.save is not None and loaded.deployment is not None:
        save(words.options.save, loaded.deployment)
    if words.options.stand_in:
        _write_model(environment)
    from smgcfg.launch.run import serve

    return serve(planned.plan)


def _with_standins(deployment: Deployment, environment: Environment) -> tuple[Deployment, Environment]:
    from smgcfg.standin.deploy import missing_extra, with_standins

    missing = missing_extra()
    if missing is not None:
        raise ConfigError([missing])
    # No GPU is asked for, so none has to be visible.
    return with_standins(deployment, environment), attrs.evolve(environment, cuda_visible_devices=None)


def _write_model(environment: Environment) -> None:
    from smgcfg.launch.run_dir import run_dir_findings
    from smgcfg.standin.deploy import model_dir, write_model

    write_model(model_dir(environment), run_dir_findings)
