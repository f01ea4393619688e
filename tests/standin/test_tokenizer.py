"""The generated model directory."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from smgcfg.standin.tokenizer import EOS_ID, SPECIAL_TOKENS, VOCAB_SIZE, byte_characters, model_files, write_model_dir


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    """Two directories written in two places are equal, small, and hold the three files."""
    first, second = write_model_dir(tmp_path / "a" / "b"), write_model_dir(str(tmp_path / "c"))
    contents = [{file.name: file.read_bytes() for file in place.iterdir()} for place in (first, second)]
    assert contents[0] == contents[1]
    assert sorted(contents[0]) == ["config.json", "tokenizer.json", "tokenizer_config.json"]
    assert sum(map(len, contents[0].values())) < 5000


@given(st.text())
def test_a_text_is_its_bytes(text: str) -> None:
    """Encoding a text by the vocabulary gives its UTF-8 bytes as token ids."""
    vocabulary = model_files()["tokenizer.json"]["model"]["vocab"]
    characters = byte_characters()
    assert [vocabulary[characters[byte]] for byte in text.encode()] == list(text.encode())


def test_ids_are_distinct_and_complete() -> None:
    """Bytes and special tokens fill the vocabulary without a gap."""
    document = model_files()["tokenizer.json"]
    ids = [*document["model"]["vocab"].values(), *(token["id"] for token in document["added_tokens"])]
    assert sorted(ids) == list(range(VOCAB_SIZE))
    assert SPECIAL_TOKENS[model_files()["tokenizer_config.json"]["eos_token"]] == EOS_ID


def test_existing_files_are_replaced(tmp_path: Path) -> None:
    """Writing into a used directory leaves the stand-in's own files."""
    (tmp_path / "tokenizer.json").write_text("{}")
    write_model_dir(tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["type"] == "BPE"
