"""What looks as if a program made it up anew, found in texts of all kinds."""

from __future__ import annotations

import random

import pytest

from pytest_statebase.compare.shapes import SHAPES, shapes_in

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
