"""Values as TOML writes them, right ones and wrong ones."""

from random import Random
from typing import Final

from smgcfg.flags import FlagSpec
from smgcfg.json_value import Json

#: Text that was trouble for some launcher.
TEXTS: Final = (
    "", " ", "m", "org/model", "./here", "../there", "--", "-x", "--flag=1", "a b", "a\nb", "0123", "1e5", "true",
    "None", "null", "0-3", "${MODEL}", "$(id)", "{index}", "{", "}{", "héllo", "\u2028", "日本", "a=b", "a,b", "[x]",
    "{a=1}", "10.0.0.1:8000", "[::1]", "::1", "http://x", "'", '"', "\\", "\x7f", "*", "~", "tcp://10.0.0.1:80",
    "x" * 300,
)  # fmt: skip

#: TOML values of every kind.
ODD: Final = (
    "0", "1", "-1", "2", "007", "65535", "65536", "2147483648", "9" * 30, "9" * 5000, "0x" + "F" * 5000, "1_000",
    "0o17", "+1", "1.5", "-0.0", "1e3", "1e400", "inf", "-inf", "nan", ".5", "5.", "true", "false", "True", "None",
    "yes", "null", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "1979-99-99", "[]", "[1]", "[1, 2, 3]", "['a']",
    "['a', 1]", "[[]]", "[['a'], ['b', 'c']]", "[{}]", "{}", "{ a = 1 }", "{ a = { b = [1, nan] } }",
    "{ env = 'HOME' }", "{ env = '1X' }", "{ env = 'NOT_SET_ANYWHERE' }", "{ file = 'nope' }",
    "{ file = './a.toml' }", "{ file = '' }", "{ env = 1 }", "{ env = 'A', file = 'B' }", "hello", "0.1.1",
    "'''a\nb'''", '"""a"""', '"\\uD800"', '"\\u0000"', '"\\x"', "'\x01'", "[1 2]", "[1,", "{ a = }", "'open",
    '"open', "=", "", "{ env = 'HOME', }",
)  # fmt: skip


def quoted(text: str) -> str:
    """Text as a TOML basic string."""
    named = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(named.get(c, c if c.isprintable() else f"\\u{ord(c):04x}") for c in text) + '"'


def any_value(random: Random) -> str:
    """A value of any kind, or what is none."""
    kind = random.random()
    if kind < 0.6:
        return random.choice(ODD)
    if kind < 0.9:
        return quoted(random.choice(TEXTS))
    return "[" + ", ".join(any_value(random) for _ in range(random.randrange(4))) + "]"


def right_value(random: Random, spec: FlagSpec) -> str:
    """A value of a setting's own type, within its bounds as a rule."""
    if spec.kind == "groups":
        return '[["http://a:1", "9000"]]'
    if spec.many:
        return "[" + ", ".join(_one(random, spec) for _ in range(random.randint(max(spec.least, 1), 3))) + "]"
    return _one(random, spec)


def _one(random: Random, spec: FlagSpec) -> str:
    if spec.choices is not None:
        chosen = random.choice(spec.choices)
        return quoted(chosen) if isinstance(chosen, str) else str(chosen)
    if spec.type is bool:
        return random.choice(("true", "false"))
    if spec.type is int:
        return str(random.choice((1, 2, 4, 8, 64, 4096, 31000)))
    if spec.type is float:
        return random.choice(("1", "0.5", "30.0", "2e1"))
    if spec.type is Json:
        return random.choice(("{ a = 1 }", "{ a.b = ['x', true] }", "'{\"a\": [1, null]}'"))
    return quoted(random.choice(("m", "org/model", "a-b", "1.2.3", "auto")))
