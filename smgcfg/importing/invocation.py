"""What stands in front of a program: variables, wrappers and the interpreter."""

import os.path
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from smgcfg.importing.outcome import Lost
from smgcfg.importing.words import Word, refuse, texts
from smgcfg.value import Value

#: The modules that are understood behind `python -m`, and which program each is.
MODULES: Final = {
    "smg": "smg",
    "smg.cli": "smg",
    "smg.launch_router": "smg.launch_router",
    "tokenspeed.cli": "tokenspeed.cli",
    "tokenspeed.runtime.entrypoints.engine": "tokenspeed.runtime.entrypoints.engine",
    "smg_grpc_servicer.tokenspeed": "smg_grpc_servicer.tokenspeed",
}

#: The console scripts of the same programs (smg 1.13.0, TokenSpeed 0.1.1), and the words that may follow each.
SCRIPTS: Final = {"smg": "smg", "ts": "tokenspeed.cli", "tokenspeed": "tokenspeed.cli"}

#: What is understood, for messages.
KNOWN: Final = "smg serve, smg launch, ts serve, tokenspeed serve and python -m smg_grpc_servicer.tokenspeed"

#: Programs that run another one in a changed environment on the same machine: `wrapper` holds them.
_WRAPPERS: Final = frozenset(
    ("numactl", "taskset", "nice", "ionice", "chrt", "prlimit", "stdbuf", "nsys", "ncu", "perf", "strace", "py-spy")
)

#: Programs that find an interpreter for what follows: `wrapper` holds them, too, and the interpreter is theirs.
_FINDERS: Final = frozenset(("uv", "poetry", "pdm", "pixi", "pipenv", "conda", "mamba", "micromamba"))

#: Programs that are about the launcher as a whole: they stand in front of `smgcfg serve`.
_OUTSIDE: Final = frozenset(("nohup", "setsid", "time", "timeout", "sudo", "doas", "runuser", "systemd-run"))

#: Programs that run another one somewhere else.
_ELSEWHERE: Final = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "kubectl", "oc", "singularity", "apptainer", "enroot", "docker-compose"),
        "in a container, whose files, ports and GPUs are its own",
    ),
    **dict.fromkeys(
        ("srun", "sbatch", "salloc", "mpirun", "mpiexec", "torchrun", "ray", "ssh"),
        "on machines that something else chooses",
    ),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "xargs", "tmux", "screen"), "by a shell, which reads it once more"),
}

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*")


class Invocation(Value):
    """A command line up to the program's own words.

    Attributes:
        program: The program, as a value of `MODULES`.
        words: The program's own words.
        env: The variables that are set.
        wrapper: The words of wrappers.
        python: The interpreter, or None where it is not known.
        python_options: The interpreter's own options.
        lost: What stands in front and could not be carried over.
    """

    program: str
    words: tuple[Word, ...]
    env: dict[str, str]
    wrapper: tuple[str, ...]
    python: str | None
    python_options: tuple[Word, ...]
    lost: tuple[Lost, ...]


class _Start(NamedTuple):
    """A program where it begins.

    Attributes:
        program: As in `Invocation`.
        python: As in `Invocation`.
        options: As in `Invocation`.
        length: How many words it takes.
    """

    program: str
    python: str | None
    options: tuple[Word, ...]
    length: int


def take_apart(words: Sequence[Word]) -> Invocation:
    """Find the program in a command line.

    Args:
        words: The whole command line.

    Raises:
        ConfigError: No program that is understood, or what stands in front of it is not.
    """
    env: dict[str, str] = {}
    wrapper: list[str] = []
    lost: list[Lost] = []
    finder = False
    at = 0
    while at < len(words):
        start = _program(words[at:])
        if start is not None:
            python = start.python or ("python" if finder else None)
            behind = tuple(words[at + start.length :])
            return Invocation(
                program=start.program, words=behind, env=env, wrapper=tuple(wrapper), python=python,
                python_options=start.options, lost=tuple(lost),
            )  # fmt: skip
        word = words[at]
        name = os.path.basename(word.text)
        assignment = _ASSIGNMENT.fullmatch(word.text)
        end = _next_start(words, at)
        if assignment is not None:
            env[assignment[1]] = assignment[2]
            end = at + 1
        elif name == "env":
            end = _options_of_env(words, at, lost)
        elif name == "exec":
            end = at + 1
        elif name in _WRAPPERS or name in _FINDERS:
            wrapper += texts(words[at:end])
            finder = finder or name in _FINDERS
        elif name in _OUTSIDE:
            reason = f"{name} is about the launch as a whole: put it in front of smgcfg serve"
            lost.append(Lost(tuple(words[at:end]), reason))
        else:
            _refuse_start(words[at:end], words[end:])
        at = end
    return refuse("SMG011", "", f"no program in the command; understood are {KNOWN}")


def _program(words: Sequence[Word]) -> _Start | None:
    """Return the program that begins with the first word, if one does."""
    first = words[0].text
    name = os.path.basename(first)
    if name in SCRIPTS and _is_subcommand(words[1:]):
        # The scripts of a virtual environment stand beside its interpreter.
        folder = os.path.dirname(first)
        return _Start(SCRIPTS[name], f"{folder}/python" if folder else None, (), 1)
    if not _PYTHON.fullmatch(name):
        return None
    at = 1
    while at < len(words) and words[at].text.startswith("-") and words[at].text not in ("-m", "-c", "-"):
        at += 2 if words[at].text in ("-X", "-W") else 1
    options = tuple(words[1:at])
    behind = texts(words[at : at + 2])
    if behind[:1] == ["-m"] and behind[1:] and behind[1] in MODULES:
        return _Start(MODULES[behind[1]], first, options, at + 2)
    if behind and os.path.basename(behind[0]) in SCRIPTS and _is_subcommand(words[at + 1 :]):
        return _Start(SCRIPTS[os.path.basename(behind[0])], first, options, at + 1)
    return None


def _is_subcommand(words: Sequence[Word]) -> bool:
    return bool(words) and words[0].text in ("serve", "launch")


def _next_start(words: Sequence[Word], at: int) -> int:
    """Return where the words of the wrapper at `at` end: at the program, or at the next thing in front of it."""
    for end in range(at + 1, len(words)):
        name = os.path.basename(words[end].text)
        if name in {"env"} | _WRAPPERS | _FINDERS | _OUTSIDE or name in _ELSEWHERE or _program(words[end:]):
            return end
    return len(words)


def _options_of_env(words: Sequence[Word], at: int, lost: list[Lost]) -> int:
    """Return where the options of an `env` end."""
    end = at + 1
    while end < len(words) and words[end].text.startswith("-"):
        option = words[end]
        taken = 2 if option.text in ("-u", "--unset", "-C", "--chdir", "-S") else 1
        reason = "a deployment sets variables and changes nothing else around a process"
        lost.append(Lost(tuple(words[end : end + taken]), reason))
        end += taken
    return end


def _refuse_start(words: Sequence[Word], behind: Sequence[Word]) -> None:
    """Say why what stands in front of a program is not understood.

    Raises:
        ConfigError: Always.
    """
    name = os.path.basename(words[0].text)
    # The first words only: a later one may be a secret.
    inside = f"import what it runs: smgcfg import -- {' '.join(texts(behind[:3]))} ..." if behind else ""
    if name in _ELSEWHERE:
        hint = inside or "import the command that it runs"
        refuse("SMG011", name, f"what it runs, it runs {_ELSEWHERE[name]}", words[0], hint)
    if _PYTHON.fullmatch(name):
        what = " ".join(texts(words[:3]))
        refuse("SMG011", what, f"no program that is understood; that are {KNOWN}", words[0])
    refuse("SMG011", name, f"no program or wrapper that is understood; the programs are {KNOWN}", words[0], inside)
