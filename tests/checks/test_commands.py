"""Words that take the place of others."""

import pytest
from checking import POOL, found, told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (POOL + '[gateway]\nextra = ["--polic", "random"]\n', ["error SMG061 gateway.extra d.toml:5"]),
        (POOL + '[gateway]\nextra = ["--polic=random"]\n', ["error SMG061 gateway.extra d.toml:5"]),
        (POOL + '[gateway]\nextra = ["--re", "random"]\n', []),
        (POOL + '[gateway]\nextra = ["--new", "1", "--new", "2"]\n', ["warning SMG061 gateway.extra d.toml:5"]),
        (POOL + '[pools.a.engine]\nextra = ["--max-num-seq", "1"]\n', []),
        (POOL + '[pools.a.engine]\nextra = ["--new", "1", "--newer", "2"]\n', []),
        (
            POOL + 'command = ["ts", "serve", "--max-num-seqs", "1"]\nengine = { max_num_seqs = 2 }\n',
            ["warning SMG061 pools.a.command d.toml:4"],
        ),
        (POOL + 'command = ["ts", "serve", "--max-num-seqs", "1"]\n', []),
        (POOL + '[gateway]\ncommand = ["smg", "launch", "--port=1"]\n', ["warning SMG061 gateway.command d.toml:5"]),
        (POOL + '[gateway]\ncommand = ["smg", "--model-alias", "a=b"]\nmodel_alias = ["c=org/m"]\n', []),
        (POOL + 'wrapper = ["srun", "--port", "1"]\n', []),
    ],
)
def test_a_flag_that_takes_the_place_of_another_is_found(text: str, expected: list[str]) -> None:
    """Beginnings of flags (smg takes them, TokenSpeed does not), flags of one's own command, and repeats are found."""
    assert told(found(text)) == expected
