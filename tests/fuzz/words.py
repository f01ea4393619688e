"""Command lines: options, overrides and engine flags, right ones and wrong ones."""

import os
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

from fuzz.values import TEXTS, any_value, right_value

from smgcfg import GatewayArgs, TokenspeedArgs
from smgcfg.config import Gateway, Launch, Pool
from smgcfg.flags import find_key, known_keys, spelling_table

_TABLES: Final[tuple[tuple[str, type[Any]], ...]] = (
    ("pools.{}.engine", TokenspeedArgs), ("pools.{}", Pool), ("gateway", GatewayArgs), ("gateway", Gateway),
    ("launch", Launch),
)  # fmt: skip
_FLAGS: Final = sorted(spelling_table(TokenspeedArgs))
_FOREIGN_FLAGS: Final = (
    "--headless", "--connection-mode", "--dp-size", "--tp_size", "--no-such-flag", "-tp", "-h", "--help", "--", "-",
    "-1", "--max-num-seqs 8", "--enable-metrics False", "--model=", "--hf-overrides.a", "serve",
    "--no-enable-output-logprobs",
)  # fmt: skip
#: Commands of other launchers, for `import`.
_COMMANDS: Final = (
    ("ts", "serve"), ("tokenspeed", "serve"), ("smg", "serve", "--backend", "tokenspeed"), ("smg", "launch"),
    ("python", "-m", "tokenspeed.cli", "serve"), ("python3", "-m", "smg_grpc_servicer.tokenspeed"),
    ("env", "A=1", "ts", "serve"), ("CUDA_VISIBLE_DEVICES=0", "ts", "serve"), ("numactl", "-N", "0", "ts", "serve"),
    ("docker", "run"), ("vllm", "serve"),
)  # fmt: skip
#: What would listen, and so what no test may do by chance.
_DANGEROUS: Final = ("--listen",)


def odd_word(random: Random) -> str:
    """A word as an operating system may hand it over: any bytes but NUL, of any length."""
    kind = random.random()
    if kind < 0.6:
        return random.choice(TEXTS).replace("\0", "")
    if kind < 0.9:
        return os.fsdecode(random.randbytes(random.randrange(1, 12)).replace(b"\0", b"0"))
    return random.choice(("x", "é", "--", "a.", "[", "\\")) * random.choice((1_000, 100_000))


def pool_name(random: Random) -> str:
    """The name of a pool that is there, as a rule."""
    return random.choice(("a", "chat", "main", "main", "narrow", "b", '"x y"', ""))


def override(random: Random) -> list[str]:
    """`--set` or `--unset` with its word, as one word or two."""
    table, cls = random.choice(_TABLES)
    key = random.choice(known_keys(cls))
    found = find_key(cls, key)
    assert found is not None
    path = f"{table.format(pool_name(random))}.{key}"
    value = right_value(random, found[0]) if random.random() < 0.6 else random.choice((any_value, odd_word))(random)
    if random.random() < 0.5 and value[:1] == value[-1:] == '"':
        value = value[1:-1]
    path = random.choice(
        (path, path, path, path, path + ".a.b", path + "s", key, odd_word(random), path.replace("_", "-"))
    )
    option, word = ("--set", f"{path}={value}") if random.random() < 0.8 else ("--unset", path)
    word = word.replace("\0", "0")
    return random.choice(
        ([option, word], [f"{option}={word}"], [option]) if random.random() < 0.1 else ([option, word],)
    )


def engine_flags(random: Random) -> list[str]:
    """Words of an engine's command line."""
    words: list[str] = []
    for _ in range(random.choice((1, 2, 5))):
        flag = random.choice(_FLAGS) if random.random() < 0.8 else random.choice(_FOREIGN_FLAGS)
        value = random.choice(("1", "2", "m", "true", "False", "xgrammar", "none", '{"a": 1}', odd_word(random)))
        words += random.choice(([flag, value], [flag], [f"{flag}={value}"], [flag, value, value]))
    return words


def command_line(random: Random, command: str, options: dict[str, bool], files: list[str]) -> list[str]:
    """A whole command line.

    Args:
        random: Where chance comes from.
        command: Its command.
        options: The options of the command, and whether each takes a word.
        files: Names of files that are there.
    """
    words: list[str] = []
    if random.random() < 0.9:
        words += random.sample(files, min(len(files), random.choice((1, 1, 1, 2))))
    for _ in range(random.choice((0, 0, 1, 1, 2, 4))):
        words += _option(random, options)
    if random.random() < 0.1:
        words.insert(random.randrange(len(words) + 1), odd_word(random))
    if command == "import" and random.random() < 0.9:
        return [
            command,
            *(word for word in words if word not in files),
            "--",
            *random.choice(_COMMANDS),
            *engine_flags(random),
        ]
    if random.random() < 0.25:
        words += ["--", *engine_flags(random)]
    return [command, *words]


def _option(random: Random, options: dict[str, bool]) -> list[str]:
    if "--set" in options and random.random() < 0.6:
        return override(random)
    usable = [option for option in options if option not in _DANGEROUS]
    if not usable or random.random() < 0.05:
        return [random.choice(("--jsn", "--json=1", "-x", "--", "-", "--set", "--unset=", "--=", "---"))]
    option = random.choice(usable)
    if not options[option]:
        return [option]
    value = random.choice(("tokenspeed", "m", "2", "0-3", "31000", "main", "a", "SMG0", "out", "1", odd_word(random)))
    return random.choice(([option, value], [f"{option}={value}"]))


def options_of(help: str) -> dict[str, bool]:
    """The options that a help text names, and whether each takes a word."""
    found = re.findall(r"^  (?:-h, )?(--[a-z-]+|-[a-z])(?: ([A-Z[][^ ]*))?  ", help, re.MULTILINE)
    return {name: bool(metavar) for name, metavar in found}


#: Where nobody listens, and what is no address.
_URLS: Final = (
    "http://127.0.0.1:1", "http://127.0.0.1:1/v1/", "https://127.0.0.1:1", "http://[::1]:1", "http://", "http://a b",
    "http://[::1", "http://127.0.0.1:99999", "http://127.0.0.1:x", "http://u:p@127.0.0.1:1", "http://127.0.0.1:1/?q=1",
    "http://\x7f", "http://127.0.0.1:1/" + "x" * 3000, "http://..", "http://-x:1", "http://é\udcff:1", "http:///v1",
)  # fmt: skip


def _target(random: Random) -> list[str]:
    return random.choice(([random.choice(_URLS)], ["--set", "no.such.key=1"]))


#: What is put in front of the words of a command, so that whatever comes of them starts, asks and stops nothing.
HARMLESS: Final[dict[str, Callable[[Random], list[str]]]] = {
    "serve": lambda random: ["--set", "no.such.key=1"],
    "drift": lambda random: ["--python", "./there-is-none"],
    "verify": _target,
    "watch": lambda random: [*_target(random), "--count", "1"],
}
