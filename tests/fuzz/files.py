"""Deployment files: built from the schema, mutated from the examples, broken, and of bytes that are no text."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz.values import ODD, any_value, quoted, right_value

from smgcfg import GatewayArgs, TokenspeedArgs
from smgcfg.config import Gateway, Launch, Pool
from smgcfg.flags import find_key, known_keys

_EXAMPLES: Final = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))]
_NAMES: Final = ("a", "chat", "main", "a.b", "x y", "", "é", "A" * 70, "../up")
_FOREIGN: Final = (
    "backend",
    "dp_size",
    "modle",
    "tensor_paralel_size",
    "env",
    "engine",
    "extra",
    "unset",
    "",
    "a b",
    "é",
)


def file(random: Random) -> bytes:
    """The bytes of one file."""
    return _KINDS[random.choices(range(len(_KINDS)), _WEIGHTS)[0]](random)


# --- built from the schema -------------------------------------------------------------------------------------------


def built(random: Random) -> bytes:
    """A file with a chance that everything in it is right."""
    wrong = random.choice((0.0, 0.0, 0.02, 0.3))
    lines = [] if random.random() < 0.8 else [f"name = {right_or_wrong(random, wrong, 'd')}"]
    for name in random.choices(_NAMES[:3], k=random.choices((0, 1, 2), (1, 8, 3))[0]):
        key = quoted(random.choice(_NAMES)) if random.random() < wrong else name
        lines += _pool(random, key, wrong)
    for table, classes in (("gateway", (GatewayArgs, Gateway)), ("launch", (Launch,))):
        if random.random() < 0.5:
            lines += [f"[{table}]", *_settings(random, classes, wrong)]
    if random.random() < 0.1:
        lines += ["[gateway.env]", *_environment(random)]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def right_or_wrong(random: Random, wrong: float, text: str) -> str:
    """A text, or anything."""
    return any_value(random) if random.random() < wrong else quoted(text)


def _pool(random: Random, key: str, wrong: float) -> Iterator[str]:
    yield f"[pools.{key}]"
    if random.random() >= wrong:
        yield f"backend = {right_or_wrong(random, wrong / 4, 'tokenspeed')}"
    if random.random() >= wrong:
        yield f"model = {right_or_wrong(random, wrong, 'org/model')}"
    yield from _settings(random, (Pool,), wrong, skip=("backend", "model"))
    if random.random() < 0.7:
        yield f"[pools.{key}.engine]"
        yield from _settings(random, (TokenspeedArgs,), wrong)
    if random.random() < 0.2:
        yield f"[pools.{key}.env]"
        yield from _environment(random)


def _settings(
    random: Random, classes: tuple[type[Any], ...], wrong: float, skip: tuple[str, ...] = ()
) -> Iterator[str]:
    for _ in range(random.choice((0, 1, 2, 6))):
        cls = random.choice(classes)
        key = random.choice([key for key in known_keys(cls) if key not in skip])
        if random.random() < wrong:
            yield f"{_key(random.choice((key, random.choice(_FOREIGN), key + 's')))} = {any_value(random)}"
        else:
            found = find_key(cls, key)
            assert found is not None
            yield f"{key} = {right_value(random, found[0])}"
    if random.random() < wrong:
        yield "unset = " + random.choice((any_value(random), "['model', 'engine.seed', 'nope']"))


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else quoted(key)


def _environment(random: Random) -> Iterator[str]:
    for name in random.sample(("A", "CUDA_VISIBLE_DEVICES", "HF_TOKEN", "a b", "a=b", ""), 2):
        yield f"{quoted(name)} = {random.choice((quoted('x'), quoted('{index}'), any_value(random)))}"


# --- mutated ---------------------------------------------------------------------------------------------------------


def mutated(random: Random) -> bytes:
    """An example, or a built file, with a few changes anywhere."""
    data = bytearray(random.choice((*_EXAMPLES, built(random))))
    for _ in range(random.choice((1, 1, 2, 5))):
        _mutate(random, data)
    return bytes(data)


def _mutate(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 1, 4, 20)))
    change = random.randrange(6)
    if change == 0:
        del data[at:end]
    elif change == 1:
        data[at:at] = data[at:end]
    elif change == 2:
        data[at:at] = random.choice(
            (b'"', b"'", b"[", b"]", b"{", b"}", b"=", b"\n", b"\r", b"#", b"\0", b"\xff", b".")
        )
    elif change == 3:
        data[at:end] = any_value(random).encode("utf-8", "surrogatepass")
    else:
        _change_line(random, data, swap=change == 4)


def _change_line(random: Random, data: bytearray, *, swap: bool) -> None:
    lines = bytes(data).split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    if swap:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = lines[at].partition(b"=")[0] + b"= " + any_value(random).encode("utf-8", "surrogatepass")
    data[:] = b"\n".join(lines)


# --- bytes -----------------------------------------------------------------------------------------------------------


def noise(random: Random) -> bytes:
    """Bytes of no meaning, or those of TOML in no order."""
    if random.random() < 0.5:
        return random.randbytes(random.randrange(200))
    return bytes(random.choices(b"[]{}=.,#'\"\\\n\r\t ab1-_+:eE\0\xc3\xa9\xff", k=random.randrange(120)))


def encoded(random: Random) -> bytes:
    """A file in another encoding, with or without its mark, or with marks that do not belong there."""
    text = built(random).decode("utf-8", "replace")
    encoding = random.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "shift_jis"))
    data = text.encode(encoding, "replace")
    return random.choice((data, codecs.BOM_UTF8 + data, data.replace(b"\n", b"\r"), data.replace(b"\n", b"\r\n")))


def deep(random: Random) -> bytes:
    """A file nested as deeply as it gets."""
    depth = random.choice((50, 399, 401, 999, 1001, 20_000))
    value = random.choice(
        ("[" * depth + "]" * depth, "{ a = " * depth + "1" + " }" * depth, "[" * depth, "{ a = " * depth)
    )
    key = random.choice(("a", "a." * depth + "a", "[" + "a." * min(depth, 2000) + "a]\nx"))
    return f"[pools.a]\nbackend = 'tokenspeed'\n[pools.a.engine]\nhf_overrides.{key} = {value}".encode()


def long(random: Random) -> bytes:
    """A file of many lines, values or problems, up to 10 MB."""
    size = random.choice((1_000, 100_000, 1_000_000, 10_000_000))
    line = random.choice((
        "# comment\n", "[pools.a.env]\nX = '{}'\n", "k{} = 1\n", "[p{}]\n", "a = 'x'\n", "[[a]]\n",
        "[pools.p{}]\nmodel = 1\n", "[pools.q{}]\nbackend = 'tokenspeed'\nmodel = 'm'\n", "x.y{} = 1979-05-27\n",
        "'", "[1,", random.choice(ODD) + "\n",
    ))  # fmt: skip
    text = "".join(line.format(number) if "{}" in line else line for number in range(size // len(line) + 1))
    return text.encode("utf-8", "surrogatepass")[:size]


_KINDS: Final[tuple[Callable[[Random], bytes], ...]] = (built, mutated, noise, encoded, deep, long)
_WEIGHTS: Final = (50, 36, 6, 4, 1, 1)
