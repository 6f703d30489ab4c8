"""A long text in parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession import split_text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("   ", []),
        ("short", ["short"]),
        ("a paragraph\n\nanother one", ["a paragraph", "another one"]),
        ("the first line\nthe second", ["the first line", "the second"]),
        ("One sentence. And another", ["One sentence.", "And another"]),
        ("some words and some more", ["some words and some", "more"]),
        ("x" * 25, ["x" * 20, "x" * 5]),
    ],
)
def test_it_is_cut_where_it_reads_best(text: str, parts: list[str]) -> None:
    assert split_text(text, 20) == parts


def test_the_default_is_what_one_whatsapp_text_holds() -> None:
    assert [len(part) for part in split_text("x" * 5000)] == [4096, 904]


def test_an_emoji_of_several_characters_stays_whole() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"

    assert split_text("x" * 7 + family, 10) == ["x" * 7, family]
    assert split_text("x" * 9 + "e\u0301", 10) == ["x" * 9, "e\u0301"]


def test_a_part_has_a_length() -> None:
    with pytest.raises(ValueError, match="at=0"):
        split_text("x", 0)


@given(st.text(alphabet="ab .\n\u0301\u200d", max_size=200), st.integers(1, 40))
def test_nothing_but_blanks_is_lost_and_no_part_is_too_long(text: str, at: int) -> None:
    parts = split_text(text, at)

    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < len(part) <= at for part in parts)
