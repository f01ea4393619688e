"""`smgcfg verify`: ask a running gateway whether it keeps what its API promises."""

import os
import re
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Final
from urllib.parse import urlsplit

import attrs

from smgcfg.cli.parser import Parser
from smgcfg.cli.report import show
from smgcfg.cli.sources import elsewhere, review, take_apart
from smgcfg.config import NAME
from smgcfg.endpoint import is_host
from smgcfg.errors import ConfigError, SmgcfgError, error, errors_in
from smgcfg.verify.gateway import Target, Unreachable
from smgcfg.verify.probes import GROUPS, KINDS, Kind
from smgcfg.verify.promises import Promises, promises_of, target_of
from smgcfg.verify.report import Report
from smgcfg.verify.run import Limits, verify

_USAGE = "smgcfg verify URL | NAME | FILE... [--require LIST] [--json] [--junit FILE]"

_DESCRIPTION = """\
Send real requests through a running gateway and look at the answers: is every constraint enforced, by every worker?
A URL has to enforce what --require says, a deployment file what its engines' settings promise."""

_KINDS = """\
kinds: json_schema, json_object, tool_required, tool_named, regex, ebnf, logprobs; tools stands for two, all for all"""

#: What `positive` and `_count` take, in words.
POSITIVE: Final = "a number of seconds above 0, below 1000000"
_COUNT: Final = "an integer above 0, below 100000"

_EXIT_CODES = """\
exit codes: 0 everything promised is enforced; 1 it is not; 2 bad input; 3 there is no gateway to ask,
or the launcher does not answer; 4 no such launch"""


@attrs.frozen
class Asked:
    """What a command line asks to be verified.

    Attributes:
        target: The gateway.
        kinds: What has to be enforced.
        limits: The bounds.
        promises: What the deployment promises; None for a URL.
        launch: What the launch told of itself that ran there at first; None where nothing is known of one.
    """

    target: Target
    kinds: tuple[Kind, ...]
    limits: Limits
    promises: Promises | None
    launch: "Known | None" = None

    def report(self) -> Report:
        """Ask, and explain what is broken as far as it can be.

        Raises:
            Unreachable: There is no gateway to ask.
            ConfigError: The gateway does not take the key, or the model has to be chosen.
        """
        report = verify(self.target, self.kinds, limits=self.limits)
        if self.promises is not None:
            report = self.promises.note(report)
        # It may be another by now, and what it runs with another cause.
        running = (
            _launch_at(self.target.url, self.launch.run_dir) if self.launch is not None and report.broken else None
        )
        if running is not None and running.promises is not None:
            return running.promises.explain(report, running.name)
        return report if self.promises is None else self.promises.explain(report)


@attrs.frozen
class Known:
    """What a running launch tells of itself.

    Attributes:
        name: Its name.
        run_dir: Its run directory.
        target: Its gateway.
        promises: What its settings promise; None for a launch from Python, which promises nothing.
    """

    name: str
    run_dir: str
    target: Target
    promises: Promises | None


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "verify" first.

    Returns:
        0 when everything promised is enforced, 1 when it is not, 3 when there is no gateway to ask.
    """
    parser = target_parser("verify", _DESCRIPTION, _USAGE, _EXIT_CODES)
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--junit", metavar="FILE", help="also write the checks as JUnit XML, for CI")
    asked, options = read_target(parser, argv)
    from smgcfg.verify import render

    try:
        report = asked.report()
    except Unreachable as nobody:
        if options.json:
            import json

            print(json.dumps({"url": asked.target.url, "ok": False, "error": str(nobody)}, indent=2))
        raise
    if options.junit is not None:
        _write(options.junit, render.junit(report))
    show(render.document_text(report) if options.json else render.table(report), sys.stdout)
    return report.exit_code


class NothingToVerify(ConfigError):
    """A word is neither a file nor the name of a launch, which exits as for every command about launches."""

    exit_code = 4


def target_parser(command: str, description: str, usage: str, exit_codes: str) -> Parser:
    """Return a parser of the options by which a command knows what to verify.

    Args:
        command: The command.
        description: What it does.
        usage: How it is used.
        exit_codes: What it exits with.
    """
    parser = Parser(command, description, usage, f"{_KINDS}\n{exit_codes}")
    parser.elsewhere = elsewhere
    parser.add_words("TARGET", "a URL, a launch's name, or deployment files", least=1)
    parser.add_argument("--require", metavar="LIST", help="what has to be enforced, with commas between")
    parser.add_argument("--model", dest="public_name", metavar="NAME", help="the model, where several are served")
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the API key")
    parser.add_argument("--insecure", action="store_true", help="do not check the gateway's certificate")
    parser.add_argument("--metrics", metavar="URL", help="where the gateway shows its metrics")
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument(
        "--timeout", metavar="SECONDS", type=positive, wanted=POSITIVE, help="seconds one answer may take: 30"
    )
    bounds.add_argument(
        "--deadline", metavar="SECONDS", type=positive, wanted=POSITIVE, help="seconds everything may take: 300"
    )
    bounds.add_argument("--requests-in-flight", metavar="N", type=_count, wanted=_COUNT, help="requests at once: 4")
    bounds.add_argument(
        "--max-tokens", metavar="N", type=_count, wanted=_COUNT, help="the most tokens of one answer: 256"
    )
    of_file = parser.add_argument_group("with a file")
    of_file.add_argument("--set", metavar="PATH=VALUE", help="set one key on top of the files; may be repeated")
    of_file.add_argument("--unset", metavar="PATH", help="do not pass this setting; may be repeated")
    of_file.add_argument("--pool", metavar="NAME", help="the pool that the engine flags behind -- are for")
    of_file.add_argument("--stand-in", action="store_true", help="it runs with stand-ins in place of the engines")
    # What a deployment without a file is made of: there is none of that here.
    parser.set_defaults(backend=None, model=None, replicas=None, gpus=None, port=None)
    return parser


def read_target(parser: Parser, argv: Sequence[str]) -> tuple[Asked, SimpleNamespace]:
    """Read what a command line asks to be verified.

    Args:
        parser: A parser of `target_parser`.
        argv: The words behind the program's name, the command first.

    Raises:
        ConfigError: Bad input: all of it that could be found.
    """
    words = take_apart(parser, argv)
    options = words.options
    required = None if options.require is None else _kinds(options.require)
    first = options.files[0]
    if _is_url(first):
        if len(options.files) > 1 or words.overrides or words.engine.tokens or options.pool or options.stand_in:
            parser.error("a URL stands alone: files, --set, --unset, --pool, --stand-in and -- are for files")
        target, promises = _target_at(parser, first), None
        launch = _launch_at(target.url)
        if launch is not None:
            theirs = launch.target
            target = attrs.evolve(target, names=theirs.names, metrics_url=theirs.metrics_url)
    elif (
        len(options.files) == 1 and NAME.fullmatch(first) and not first.endswith(".toml") and not os.path.exists(first)
    ):
        launch = launch_named(first)
        target, promises = launch.target, launch.promises
    elif re.fullmatch(r"[\w.-]+:\d+(/.*)?", first) and not os.path.exists(first):
        parser.error(f"neither a file nor a URL: {first!r}", f"a URL begins with http:// or https://: http://{first}")
    else:
        reviewed = review(words, argv, host=False, secrets=True)
        planned = reviewed.planned
        if planned is None or planned.plan is None or errors_in(reviewed.findings):
            raise ConfigError(reviewed.findings)
        target, promises = target_of(planned, planned.plan), promises_of(planned)
        launch = _launch_at(target.url, planned.plan.run_dir)
        if launch is not None:
            # The launch may have been started with other words than these.
            target = attrs.evolve(target, names={**target.names, **launch.target.names})
    if required is None:
        required = tuple(KINDS) if promises is None else promises.kinds
    return Asked(_with_options(parser, target, options), required, _limits(options), promises, launch), options


def launch_named(name: str) -> Known:
    """Return what a running launch tells of itself.

    Args:
        name: The deployment's name, or its run directory.

    Raises:
        NothingToVerify: No launch of that name is known.
        Down: It is known, and does not run.
        Unreachable: Its launcher does not say where its gateway answers.
    """
    from smgcfg.environment import Environment
    from smgcfg.launch.client import NoAnswer
    from smgcfg.launch.running import NoSuchLaunch, access, find
    from smgcfg.verify.access import from_access

    try:
        running = find(name, Environment.current())
    except NoSuchLaunch:
        message = f"no file of that name, and no running launch is known as {name!r}"
        finding = error("SMG041", "TARGET", message, hint="name its deployment file or its URL")
        raise NothingToVerify([finding]) from None
    running.must_be_alive()
    try:
        return Known(running.name, running.run_dir, *from_access(access(running)))
    except NoAnswer as silent:
        # Nothing was asked of its gateway, so no promise is broken.
        raise Unreachable(f"{running.name}: {silent}") from None


def _launch_at(url: str, run_dir: str = "") -> Known | None:
    """Return what the launch tells of itself that answers at a URL; None where none of this user's does.

    Args:
        url: The URL.
        run_dir: Where it would be; by default it is looked for in the usual places.
    """
    from smgcfg.environment import Environment
    from smgcfg.launch.running import access, find, find_all
    from smgcfg.verify.access import from_access

    environment = Environment.current()
    try:
        there = [find(run_dir, environment)] if run_dir else find_all(environment)
        return next(
            (
                Known(one.name, one.run_dir, *from_access(access(one)))
                for one in there
                if one.alive and _place(one.state["url"]) == _place(url)
            ),
            None,
        )
    except SmgcfgError:
        return None  # it is not there, or does not answer: what is asked about is its gateway


def _place(url: str) -> tuple[str, str | None, int | None]:
    """Return the scheme, the host and the port of a URL; this machine has one name."""
    parts = urlsplit(url)
    return parts.scheme, "127.0.0.1" if parts.hostname == "localhost" else parts.hostname, parts.port


def _is_url(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


def _is_address(url: str) -> bool:
    """Whether a URL says a host, perhaps a port and a path, and nothing else."""
    try:
        parts = urlsplit(url)
        reachable = is_host(parts.hostname or "") and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url
    return reachable and plain and not (parts.query or parts.fragment or parts.username)


def _target_at(parser: Parser, url: str) -> Target:
    if not _is_address(url):
        parser.error(f"no URL of a gateway: {url!r}")
    # People paste what their client is configured with.
    return Target(url=url.rstrip("/").removesuffix("/v1").rstrip("/"))


def _with_options(parser: Parser, target: Target, options: SimpleNamespace) -> Target:
    if options.metrics is not None:
        if not _is_url(options.metrics) or not _is_address(options.metrics):
            parser.error(f"--metrics: expected a URL, got {options.metrics!r}")
        target = attrs.evolve(target, metrics_url=options.metrics.rstrip("/").removesuffix("/metrics"))
    if options.api_key_env is not None:
        key = os.environ.get(options.api_key_env, "")
        if not key or not key.isascii() or not key.isprintable():
            what = "holds no usable key" if key else "is not set"
            raise ConfigError([error("SMG003", "--api-key-env", f"the variable {options.api_key_env!r} {what}")])
        target = attrs.evolve(target, api_key=key, workers_key=target.workers_key or key)
    return attrs.evolve(target, model=options.public_name or target.model, insecure=options.insecure or target.insecure)


def _limits(options: SimpleNamespace) -> Limits:
    chosen = {
        "timeout": options.timeout,
        "deadline": options.deadline,
        "in_flight": options.requests_in_flight,
        "tokens": options.max_tokens,
    }
    return Limits(**{name: value for name, value in chosen.items() if value is not None})


def _kinds(text: str) -> tuple[Kind, ...]:
    """Read a list of kinds and groups.

    Raises:
        ConfigError: A word is neither.
    """
    words: dict[str, tuple[Kind, ...]] = {**{kind: (kind,) for kind in KINDS}, **GROUPS}
    chosen: set[Kind] = set()
    findings = []
    for word in filter(None, map(str.strip, text.split(","))):
        if word in words:
            chosen |= set(words[word])
        else:
            from smgcfg.suggest import did_you_mean

            message = f"expected one or more of {', '.join(words)}; got {word!r}"
            findings.append(error("SMG004", "--require", message, hint=did_you_mean(word, words)))
    if not chosen and not findings:
        findings.append(error("SMG004", "--require", "names nothing", hint=f"one or more of {', '.join(words)}"))
    if findings:
        raise ConfigError(findings)
    return tuple(kind for kind in KINDS if kind in chosen)


def positive(text: str) -> float:
    """Return a number of seconds that a bound can be.

    Raises:
        ValueError: It is none.
    """
    value = float(text)
    if not 0 < value < 1e6:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 < value < 1e5:
        raise ValueError(text)
    return value


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise ConfigError([error("SMG001", "--junit", f"{path!r} can not be written: {problem.strerror}")]) from None
