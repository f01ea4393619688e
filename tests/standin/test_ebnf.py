"""The translation of EBNF accepts exactly the strings of the grammar."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin.answers import accepts, answer

from smgcfg.standin import ebnf

LETTERS = 'abx-\n"é/'


def quoted(text: str) -> str:
    """Write a string as EBNF does."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("é", "\\u00e9")
    return f'"{escaped}"'


# Each expression is a pair: how EBNF writes it, and the regex that Python's own engine checks it with.
literals = st.text(LETTERS, max_size=3).map(lambda text: (quoted(text), re.escape(text)))
classes = st.sampled_from(
    [("[ab]", "[ab]"), ("[^x\\n]", r"[^x\n]"), ("[a-c]", "[a-c]"), ('["\\-/]', r'["\-/]'), ("[\\x61\\u00e9]", "[aé]")]
)
repeats = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])


def combined(inner):
    """Build bigger expressions of smaller ones."""
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: (" ".join(part[0] for part in parts), "".join(part[1] for part in parts))
        ),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: (f"({' | '.join(part[0] for part in parts)})", f"(?:{'|'.join(part[1] for part in parts)})")
        ),
        st.tuples(inner, repeats).map(lambda pair: (f"({pair[0][0]}){pair[1]}", f"(?:{pair[0][1]}){pair[1]}")),
    )


expressions = st.recursive(literals | classes, combined, max_leaves=6)
# Behind a class of nearly everything a random walk seldom meets the one literal that ends the answer.
narrow_literals = st.text("abx", max_size=3).map(lambda text: (quoted(text), text))
narrow_expressions = st.recursive(narrow_literals | st.just(("[ab]", "[ab]")), combined, max_leaves=6)


@given(expressions, st.text(LETTERS, max_size=5))
def test_translation_and_regex_agree(expression: tuple[str, str], text: str) -> None:
    """A grammar accepts a text exactly when the regex of the same expression does."""
    grammar, pattern = expression
    assert accepts("ebnf", f"root ::= {grammar}")(text) == (re.fullmatch(pattern, text) is not None)


@given(narrow_expressions, st.integers(0, 9))
def test_answers_obey(expression: tuple[str, str], seed: int) -> None:
    """What is written under a grammar matches the regex of the same expression."""
    grammar, pattern = expression
    assert re.fullmatch(pattern, answer("ebnf", f"root ::= {grammar}", seed))


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('root ::= word "x"\nword ::= [a-z]+', "abx"),
        ('root ::= "a" "bc" | "abd"', "abc"),
        ('root ::= root "a" | "b"', "baa"),
        ('root ::= "(" root ")" | "" # nested', "(())"),
        ('root ::= a-b a_c\na-b ::=\n  "1" |\n  "2"\na_c ::= "3"', "23"),
        ('root ::= [\\]\\-a]+ "\\U0001F600"', "-]😀"),
    ],
)
def test_grammars_that_greedy_lexing_breaks(grammar: str, text: str) -> None:
    """Literals after overlapping classes, recursion and odd names are read as EBNF means them."""
    assert accepts("ebnf", grammar)(text)


@pytest.mark.parametrize(
    "grammar",
    [
        "",
        'x ::= "a"',
        "root ::= y",
        'root ::= "a"\nroot ::= "b"',
        'root ::= ("a"',
        'root ::= "a" (= "b")',
        "root ::= 'a'",
        'root ::= "\\q"',
        "root ::= [z-a]",
        "root ::= []",
        'root ::= "a"{3,1}',
        'root ::= "\\uD800"',
        'TagDispatch(("a", root))',
        "root ::= *",
    ],
)
def test_what_is_not_understood_is_refused(grammar: str) -> None:
    """A grammar that is malformed or beyond the translation is an error, never a looser grammar."""
    with pytest.raises(ebnf.EbnfError):
        ebnf.to_lark(grammar)
