"""What looks as if a program made it up anew, found in texts of all kinds."""

from __future__ import annotations

import base64
import random

import pytest

from pytest_statebase.compare.shapes import SHAPES, is_text_in_base64, shapes_in

PARTS = (
    "a", "word ", " ", "-", "1", "47", "2026-01-02", "T10:00:00.123456789 +01:00", " 10:00", "Z", "é", "_", ".", "\n",
    "12", "9f8a7b6c5d4e", "aaaaaaaa-1111-4111-8111-aaaaaaaaaaaa", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
    "x" * 40, "lorem ipsum " * 40, "+0100", "ab1cd2ef3gh4",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_looking_at_words_with_digits_alone_finds_the_same(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(200):
        text = "".join(dice.choices(PARTS, k=dice.randint(0, 16)))
        assert [(one.span(), one.lastgroup) for one in shapes_in(text)] == [
            (one.span(), one.lastgroup) for one in SHAPES.finditer(text)
        ]


def test_in_prose_all_kinds_are_found() -> None:
    prose = " lorem ipsum dolor sit amet " * 40
    ids = ["9f8a7b6c5d4e", "2026-01-02 10:00:00,5 +01:00", "aaaaaaaa-1111-4111-8111-aaaaaaaaaaaa"]
    found = shapes_in(prose.join(["", *ids, "47"]))
    assert [(one.lastgroup, one[0]) for one in found] == list(zip(["token", "time", "uuid"], ids, strict=True))


@pytest.mark.parametrize(
    "text", ["hello world 1", "order 104", "order 1047 of 7", '{"order": 1047}', "a > b ? 10 : 27", "order 1047, " * 40]
)
@pytest.mark.parametrize("around", ["{}", "data:text/plain;base64,{}", '"{}"', "?q={}&a=1"])
def test_texts_in_base64(text: str, around: str) -> None:
    (found,) = SHAPES.finditer(around.format(base64.b64encode(text.encode()).decode()))
    assert found.lastgroup == "token"
    assert is_text_in_base64(found)


@pytest.mark.parametrize("token", ["9f8a7b6c5d4e", "fLxcMYQFvKcOdQNYvY2s3A==", "0123456789abcdef0123456789abcdef"])
@pytest.mark.parametrize("around", ["{}", "/v1/orders/{}/items", "{},", "a={}"])
def test_random_tokens_are_no_texts(token: str, around: str) -> None:
    (found,) = SHAPES.finditer(around.format(token))
    assert not is_text_in_base64(found)
