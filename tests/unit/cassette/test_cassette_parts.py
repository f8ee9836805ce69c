from __future__ import annotations

from typing import Any

import pytest
from cassette_values import TEXTS
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.cassette.parts import (
    END,
    LIST,
    MAP,
    after,
    begins,
    canonical_text,
    is_tag,
    part_of,
    tag_part,
    text_of,
    text_part,
    word_of,
    word_part,
)

PARTS = st.lists(
    st.sampled_from([MAP, LIST, END, tag_part("!json"), word_part(1), word_part(None)])
    | TEXTS.map(text_part)
    | st.sampled_from(["\0", "\n", "{", "\0{", "\0\n", "\n\0", "1", "!json"]).map(text_part),
    max_size=5,
)


@given(PARTS, PARTS)
def test_one_text_means_one_list_of_parts(one: list[str], other: list[str]) -> None:
    assert (canonical_text(one) == canonical_text(other)) == (one == other) or not (one and other)


@given(TEXTS)
def test_a_text_is_never_taken_for_anything_else(text: str) -> None:
    part = text_part(text)
    assert text_of(part) == text
    assert not is_tag(part)
    assert not begins(part)
    assert part != END


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (1.0, "1.0"),
        (1e16, "1.0e+16"),
        (1.5e-7, "1.5e-07"),
        (-0.0, "-0.0"),
        (float("inf"), ".inf"),
        (-float("inf"), "-.inf"),
        (float("nan"), ".nan"),
    ],
)
def test_words(value: Any, word: str) -> None:
    assert word_of(value) == word
    assert part_of(value) == word_part(value)
    assert text_of(word_part(value)) is None


def test_what_is_no_scalar_has_no_part() -> None:
    assert part_of([]) is None
    assert part_of((1,)) is None


def test_the_position_after_a_node() -> None:
    parts = [MAP, "a", tag_part("!tuple"), LIST, LIST, END, "x", END, "b", tag_part("!uuid"), "c", END]
    assert after(parts, 0) == len(parts)
    assert after(parts, 1) == 2
    assert after(parts, 2) == 8
    assert after(parts, 9) == 11
