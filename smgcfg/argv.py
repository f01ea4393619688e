"""Command lines in the engine's own dialect, read by table.

The dialect is that of Python's argparse as the engines use it (measured against CPython 3.11): `--flag value`,
`--flag=value`, no abbreviations, the last of repeated scalars wins, a word that looks like a negative number or holds
a space is a value, `--` ends the flags. One optional positional word, the model, is read where a class has one.
"""

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from smgcfg.codec import FALSE_WORDS, NEGATIVE_NUMBER, TRUE_WORDS, Refused, check, expected, read_word, shown
from smgcfg.errors import Finding, error, warning
from smgcfg.flags import FlagSpec, spec_of, spelling_table
from smgcfg.origin import FromArgv

Unknown = Literal["error", "extra"]


@attrs.define(eq=False)
class Reading:
    """What a command line says.

    Attributes:
        values: Per key the value; None where the program reads the word as "unset".
        places: Per key where the value that won stands.
        extra: The words of unknown flags, in order, when they are asked for.
        findings: Every problem, in the order of the words.
    """

    values: dict[str, Any] = attrs.field(factory=dict)
    places: dict[str, FromArgv] = attrs.field(factory=dict)
    extra: list[str] = attrs.field(factory=list)
    findings: list[Finding] = attrs.field(factory=list)


def read_argv(
    cls: type,
    tokens: Sequence[str],
    *,
    positional: str = "",
    unknown: Unknown = "error",
    lenient: bool = False,
    version: str | None = None,
    first: int = 1,
) -> Reading:
    """Read a command line without stopping at the first problem.

    Args:
        cls: The args class whose flags are known.
        tokens: The words, without a program's name.
        positional: The key that a positional word sets, or empty where the program takes none.
        unknown: Whether an unknown flag is a problem, or is kept with the words behind it.
        lenient: The words are an operator's choices, not a program's complete command line. Read in addition
            `--no-<flag>` and `--flag=true|false` for every boolean; report a repeat with another value, and what the
            program would take for its positional word though it was hardly meant: a boolean word behind a switch, a
            flag and its value in one word.
        version: Read only what this version of the program has; None reads what any shipped version has.
        first: The number of the first word, for messages.

    Returns:
        The reading; it never raises for bad input.
    """
    foreign = [at for at, token in enumerate(tokens) if not isinstance(token, str)]
    if foreign:
        findings = [error("SMG003", "", f"expected text, got {tokens[at]!r}", FromArgv(first + at)) for at in foreign]
        return Reading(findings=findings)
    return _Reader(cls, tokens, positional, unknown, lenient, version, first).run()


class _Reader:
    def __init__(
        self,
        cls: type,
        tokens: Sequence[str],
        positional: str,
        unknown: Unknown,
        lenient: bool,
        version: str | None,
        first: int,
    ) -> None:
        self.table = spelling_table(cls, version)
        self.cls = cls
        self.tokens = tokens
        self.positional = positional
        self.unknown = unknown
        self.lenient = lenient
        self.version = version
        self.first = first
        self.reading = Reading()
        self.used: dict[str, str] = {}
        self.positional_at: int | None = None

    def run(self) -> Reading:
        tokens = self.tokens
        end = next((at for at, token in enumerate(tokens) if token == "--"), len(tokens))
        at = 0
        while at < end:
            token = tokens[at]
            if not self._is_flag(token):
                at = self._words(at, 1 + len(self._take(at, end, end)))
                continue
            name, glued, text = (token, "", "") if token in self.table else token.partition("=")
            found = self.table.get(name) or self._negation(name)
            if found is None:
                at = self._unknown_flag(at, end, name)
            else:
                at = self._flag(at, end, name, *found, text if glued else None)
        if end < len(tokens):
            self._after_separator(end)
        return self.reading

    # --- words ---

    def _is_flag(self, token: str) -> bool:
        if token in self.table:
            return True
        if len(token) < 2 or token[0] != "-":
            return False
        name, glued, _ = token.partition("=")
        if glued and (name in self.table or self._negation(name) is not None):
            return True
        # argparse takes any word in "-h" for its own help flag, before it looks for numbers and spaces.
        return token[1] == "h" or not (NEGATIVE_NUMBER.match(token) or " " in token)

    def _take(self, at: int, end: int, most: int) -> list[str]:
        """Return up to `most` words behind the flag at `at` that are values."""
        words: list[str] = []
        for token in self.tokens[at + 1 : end]:
            if len(words) == most or self._is_flag(token):
                break
            words.append(token)
        return words

    def _after_separator(self, end: int) -> None:
        """Read what follows `--`: every word is a value, even what looks like a flag."""
        # The parser takes `--` together with the positional beside it; without one there it is a word too many.
        if self.positional and (self.positional_at is None or self.positional_at == end - 1):
            self._words(end + 1, len(self.tokens) - end - 1)
        else:
            self._problem("SMG011", end, "--", "stands where no positional word can follow")

    def _words(self, at: int, count: int) -> int:
        """Read words that belong to no flag, of which the first may be the positional; return where they end."""
        end = at + count
        for place in range(at, end):
            if self.lenient and self._holds_flag(place):
                continue
            if not self.positional or self.positional_at is not None:
                # The words behind a stray one are most likely its own: one report for one mistake.
                self._stray(place, end - place)
                break
            self.positional_at = place
            spec = spec_of(self.cls, self.positional)
            self._spelling(spec, f"the positional {self.positional}", place)
            self._read(spec, [self.tokens[place]], place, spec.names[0])
        return end

    def _holds_flag(self, at: int) -> bool:
        """Report a flag and its value that a shell was told to keep in one word."""
        token = self.tokens[at]
        if not token.startswith("-") or " " not in token:
            return False
        name = token.split()[0].partition("=")[0]
        known = self.table.get(name)
        shown = "a flag and its value" if known is not None and known[0].secret else repr(token)
        self._problem("SMG011", at, name, f"{shown} stands as one word", "write the flag and its value as two words")
        return True

    def _stray(self, at: int, count: int) -> None:
        """Report words that belong to no flag; behind a secret's flag they may be a part of the secret."""
        names = (token.partition("=")[0] for token in reversed(self.tokens[:at]) if self._is_flag(token))
        before = self.table.get(next(names, ""))
        secret = before is not None and before[0].secret
        words = "a word behind a secret" if secret else f"the word {self.tokens[at]!r}"
        more = f" (and {count - 1} behind it)" if count > 1 else ""
        self._problem("SMG011", at, "--" if self.lenient else "", f"{words}{more} belongs to no flag")

    # --- flags ---

    def _negation(self, name: str) -> tuple[FlagSpec, bool] | None:
        """Return the boolean that `--no-<flag>` turns off, in lenient reading."""
        if not self.lenient or not name.startswith("--no-"):
            return None
        found = self.table.get("--" + name[5:])
        return (found[0], not found[1]) if found is not None and found[0].type is bool else None

    def _unknown_flag(self, at: int, end: int, name: str) -> int:
        token = self.tokens[at]
        # The words behind it are most likely its values: one report for one mistake.
        words = self._take(at, end, end)
        if self.version is not None and name in spelling_table(self.cls):
            self._problem("SMG012", at, name, f"version {self.version} has no such flag")
        elif self.unknown == "extra" and name.startswith("--"):
            self.reading.extra += [token, *words]
        elif token[1] == "h":
            self._problem("SMG011", at, token, "a request for help is no setting")
        else:
            from smgcfg.suggest import did_you_mean

            self._problem("SMG010", at, name, "no such flag", did_you_mean(name, self.table))
        return at + 1 + len(words)

    def _flag(self, at: int, end: int, name: str, spec: FlagSpec, on: bool, text: str | None) -> int:
        """Read one known flag and return where the next word stands."""
        self._spelling(spec, name, at)
        if spec.kind in ("switch", "pair"):
            return self._switch(at, end, name, spec, on, text)
        if text is not None:
            self._read(spec, [text], at, name)
            return at + 1
        if not on:
            self._set(spec, False, at)
            return at + 1
        words = self._take(at, end, end if spec.kind in ("list", "groups") else 1)
        least = 0 if spec.kind == "optional" or (spec.kind == "list" and not spec.least) else 1
        if len(words) < least:
            self._missing_value(spec, at, name)
            return at + 1
        self._read(spec, words, at, name)
        return at + 1 + len(words)

    def _switch(self, at: int, end: int, name: str, spec: FlagSpec, on: bool, text: str | None) -> int:
        """Read a flag that takes no word, and return where the next one stands."""
        word = (text or "").lower()
        if text is None:
            behind = self.tokens[at + 1] if self.lenient and at + 1 < end else ""
            if behind.lower() in TRUE_WORDS + FALSE_WORDS:
                hint = f"write {name}={behind}"
                self._problem("SMG011", at + 1, name, f"a switch takes no word behind it, got {behind!r}", hint)
                return at + 2
            self._set(spec, on, at)
        elif self.lenient and word in TRUE_WORDS + FALSE_WORDS:
            self._set(spec, on if word in TRUE_WORDS else not on, at)
        else:
            allowed = "true or false" if self.lenient else "nothing"
            self._problem("SMG011", at, name, f"a switch takes {allowed} behind '=', got {text!r}")
        return at + 1

    def _missing_value(self, spec: FlagSpec, at: int, name: str) -> None:
        behind = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        hint = ""
        if behind is None:
            got = "the command line ends"
        elif behind.partition("=")[0] in self.table:
            got = f"the flag {behind.partition('=')[0]} follows"
        else:
            got = "a word that begins with a dash follows"
            hint = f"a value that begins with a dash is written {name}=VALUE"
        self._problem("SMG011", at, name, f"expected {expected(spec)}; {got}", hint)

    def _spelling(self, spec: FlagSpec, name: str, at: int) -> None:
        """Report two spellings, or two settings, that the program refuses together."""
        before = self.used.setdefault(spec.key, name)
        positional = spec.key == self.positional and "positional" in name + before
        if before != name and (spec.one_spelling or positional) and not self.lenient:
            self._problem("SMG009", at, name, f"not allowed together with {before}")
        self.used[spec.key] = name
        rival = self.used.get(spec.rivals) if spec.rivals else None
        if rival is not None and not self.lenient:
            self._problem("SMG009", at, name, f"not allowed together with {rival}")

    def _read(self, spec: FlagSpec, words: list[str], at: int, name: str) -> None:
        try:
            value: Any
            if spec.kind == "optional":
                value = read_word(spec, words[0]) if words else True
            elif spec.kind == "list":
                value = tuple(read_word(spec, text) for text in words)
            elif spec.kind == "groups":
                value = (tuple(read_word(spec, text) for text in words),)
            elif spec.kind == "append":
                value = (read_word(spec, words[0]),)
            else:
                value = read_word(spec, words[0])
            if value is not None:
                value = check(spec, value)
        except Refused as refused:
            self._problem(refused.code, at, name, str(refused), refused.hint)
            return
        taken = spec.taken(self.version)
        if taken is not None and self.version is not None and not spec.many and value not in taken:
            message = f"version {self.version} takes {', '.join(map(str, taken))}; got {shown(spec, value)}"
            self._problem("SMG013", at, name, message)
            return
        if spec.key in self.reading.values and (spec.kind in ("append", "groups") or spec.extends):
            self._set(spec, self.reading.values[spec.key] + value, at, adds=True)
        else:
            self._set(spec, value, at)

    def _set(self, spec: FlagSpec, value: Any, at: int, *, adds: bool = False) -> None:
        reading = self.reading
        if self.lenient and not adds and reading.values.get(spec.key, value) != value:
            lost, place = reading.values[spec.key], reading.places[spec.key].index
            message = f"given twice: {shown(spec, value)} wins over {shown(spec, lost)} at argument {place}"
            reading.findings.append(warning("SMG009", spec.names[0], message, self._place(at)))
        reading.values[spec.key] = value
        reading.places[spec.key] = FromArgv(self.first + at, spec.names[0] if spec.secret else self.tokens[at])

    # --- problems ---

    def _place(self, at: int) -> FromArgv:
        return FromArgv(self.first + at)

    def _problem(self, code: str, at: int, key: str, message: str, hint: str = "") -> None:
        self.reading.findings.append(error(code, key, message, self._place(at), hint))
