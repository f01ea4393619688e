"""Single keys of a TOML text are changed, and nothing else is."""

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from smgcfg.toml_edit import Add, Edit, Put, Remove, edited

TEXT = """\
# top
name = "x"   # the name

[pools.chat]   # ours
backend = "tokenspeed"   # since May
model = 'm'
engine.block-size = 64   # dotted
engine."max seqs" = [
    1,  # one
    2,
]

[gateway]
port = 1

[pools.chat.env]
A = "1"

[pools.b]
backend = "tokenspeed"
engine = { block_size = 64 , other = true }
"""


@pytest.mark.parametrize(
    ("edit", "old", "new"),
    [
        (Put(("name",), value="y"), 'name = "x"   # the name\n', 'name = "y"   # the name\n'),
        (Put(("name",), key="title"), 'name = "x"   # the name\n', 'title = "x"   # the name\n'),
        (Put(("pools", "chat", "engine", "block-size"), key="b"), "engine.block-size = 64", "engine.b = 64"),
        (Put(("pools", "chat", "engine", "max seqs"), key="m"), 'engine."max seqs" = [', "engine.m = ["),
        (Put(("pools", "b", "engine", "block_size"), key="b", value=True), "block_size = 64 ", "b = true "),
        (Remove(("pools", "chat", "model")), "model = 'm'\n", ""),
        (Remove(("pools", "chat", "engine", "block-size")), "engine.block-size = 64   # dotted\n", ""),
        (Remove(("pools", "chat", "engine", "max seqs")), 'engine."max seqs" = [\n    1,  # one\n    2,\n]\n', ""),
        (Remove(("pools", "chat", "env", "A")), 'A = "1"\n', ""),
        (
            Add(("pools", "chat", "backend"), "version", "1"),
            '"tokenspeed"   # since May\n',
            '"tokenspeed"   # since May\nversion = "1"\n',
        ),
        (Add(("gateway", "port"), "host", "h"), "port = 1\n", 'port = 1\nhost = "h"\n'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_one_key_changes(edit: Edit, old: str, new: str, end: str, mark: str) -> None:
    """The text differs in that key alone, whatever its line ends are, and with a byte order mark, too."""
    text, old, new = (part.replace("\n", end) for part in (TEXT, old, new))
    assert text.count(old) == 1
    assert edited(mark + text, [edit]) == mark + text.replace(old, new)


def test_inline_tables_keep_their_other_keys() -> None:
    """A key is taken from an inline table, or added to it, and the table is still one."""
    made = edited(TEXT, [Remove(("pools", "b", "engine", "block_size"))])
    assert tomli.loads(made)["pools"]["b"]["engine"] == {"other": True}
    made = edited('p = { backend = "t" }\n', [Add(("p", "backend"), "version", "1")])
    assert tomli.loads(made) == {"p": {"backend": "t", "version": "1"}}


def test_a_text_without_a_last_line_end_is_added_to() -> None:
    """What is added behind the last line stands on a line of its own, and the text still has no last line end."""
    assert edited('a = "b"', [Add(("a",), "c", 1)]) == 'a = "b"\nc = 1'
    assert edited('[t]\na = "b"  # c', [Add(("t", "a"), "c", 1)]) == '[t]\na = "b"  # c\nc = 1'


def test_several_edits_are_made_at_once() -> None:
    """Edits of one table do not get into each other's way, in any order."""
    edits: list[Edit] = [
        Add(("pools", "chat", "backend"), "version", "1"),
        Put(("pools", "chat", "backend"), value="t"),
        Remove(("pools", "chat", "model")),
        Put(("pools", "chat", "engine", "block-size"), key="b"),
    ]
    data = tomli.loads(edited(TEXT, edits))["pools"]["chat"]
    assert data == {"backend": "t", "version": "1", "engine": {"b": 64, "max seqs": [1, 2]}, "env": {"A": "1"}}
    assert edited(TEXT, edits) == edited(TEXT, edits[::-1])


def test_what_can_not_be_done_is_an_error() -> None:
    """A key that is not there, and a text that is no TOML, are refused."""
    with pytest.raises(ValueError, match=r"no key pools\.chat\.x"):
        edited(TEXT, [Remove(("pools", "chat", "x"))])
    with pytest.raises(ValueError, match="can not be rewritten"):
        edited("a = ", [Remove(("a",))])


KEYS = st.sampled_from(["a", "b", "c", "d e", "ß"])


@given(data=st.data(), values=st.dictionaries(KEYS, st.integers() | st.text(max_size=5) | st.booleans(), min_size=1))
def test_the_data_changes_as_it_was_asked_to(data: st.DataObject, values: dict[str, object]) -> None:
    """Of any table exactly the named key is renamed, removed or set; its order and every comment stay."""
    import tomlkit

    lines = [
        tomlkit.dumps({key: value}).rstrip("\n") + f"  # about {at}" for at, (key, value) in enumerate(values.items())
    ]
    text = "[t]\n" + "\n".join(lines) + "\n"
    key = data.draw(st.sampled_from(sorted(values)))
    at = list(values).index(key)
    kind = data.draw(st.sampled_from(["rename", "remove", "put"]))
    edit: Edit = {
        "rename": Put(("t", key), key="new"),
        "remove": Remove(("t", key)),
        "put": Put(("t", key), value=[1]),
    }[kind]
    made = edited(text, [edit])
    expected = {
        "rename": {("new" if k == key else k): v for k, v in values.items()},
        "remove": {k: v for k, v in values.items() if k != key},
        "put": values | {key: [1]},
    }[kind]
    assert list(tomli.loads(made).get("t", {}).items()) == list(expected.items())
    others = [line for number, line in enumerate(lines) if number != at]
    assert [line for line in made.split("\n")[1:-1] if not line.endswith(f"# about {at}")] == others
