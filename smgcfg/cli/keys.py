"""`smgcfg keys`: search the settings of a deployment file."""

import json
import sys
from collections.abc import Iterator, Sequence

from smgcfg.cli.parser import Parser
from smgcfg.key_search import Entry, nearest, search

_USAGE = "smgcfg keys [WORD...] [--json]"


def run(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: The words behind the program's name, "keys" first.

    Returns:
        0, or 1 when nothing is found.
    """
    description = (
        "Search every setting of a deployment file by key, flag, alias and help. All words must be found; without any, "
        "every setting is shown."
    )
    parser = Parser("keys", description, _USAGE, "exit codes: 0 something was found; 1 nothing was; 2 bad input")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_words("WORD", "what to search for: max_num_seqs, --tp, grammar, policy")
    options = parser.parse_args([word if _is_option(word) else word.lstrip("-") for word in argv[1:]])
    pattern = " ".join(options.files)
    found = search(pattern)
    if options.json:
        print(json.dumps([entry.document() for entry in found], indent=2, ensure_ascii=False))
    else:
        print("\n\n".join("\n".join(_lines(entry)) for entry in found), end="\n" if found else "")
    if not found:
        near = nearest(pattern)
        print(f"smgcfg keys: nothing found for {pattern!r}" + (f"; {near}" if near else ""), file=sys.stderr)
    return 0 if found else 1


def _is_option(word: str) -> bool:
    """Whether a word is an option of this command and not a flag that is searched for."""
    return word in ("--json", "--help", "-h")


def _lines(entry: Entry) -> Iterator[str]:
    """Return what is to be known of a setting, a line each."""
    yield entry.path
    yield f"  {entry.help}"
    rows = {
        "takes": entry.takes + "".join(f"; {version} takes {taken}" for version, taken in entry.narrow),
        "default": entry.default,
        "flag": " ".join(entry.flags),
        "also": " ".join(entry.aliases),
        "opposite": " ".join(entry.opposites),
        "reads": f"${entry.variable}" if entry.variable else "",
        "of": f"{entry.program} {', '.join(entry.versions)}".rstrip(),
        "owned": "; ".join(map(_owned, entry.owned)),
        "secret": "never printed" if entry.secret else "",
    }
    yield from (f"  {head:8}  {text}" for head, text in rows.items() if text)


def _owned(entry: tuple[str, str]) -> str:
    transport, use = entry
    where = f" over {transport}" if transport else ""
    return f"the plan decides it{where}" + (f"; use {use}" if use else "")
