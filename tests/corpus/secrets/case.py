"""One value in one place."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

UPPER, LOWER, DIGITS, HEX = string.ascii_uppercase, string.ascii_lowercase, string.digits, "0123456789abcdef"
LETTERS = UPPER + LOWER
ALNUM = LETTERS + DIGITS


@dataclass(frozen=True)
class Case:
    """A value that must go, or one that must stay."""

    kind: str
    """`key` for the published forms of keys; `named`, `email`, `phone`, `card`, `iban`."""
    name: str
    value: str
    """What must not be found; of what must stay what is looked for."""
    carrier: Any
    """What a tool returns: the value in its place."""


def dice(name: str) -> random.Random:
    """The same dice for the same name."""
    return random.Random(f"corpus {name}")


def thrown(name: str, letters: str, size: int) -> str:
    """Letters thrown with dice, at least one of each sort that a scanner wants to see."""
    throw = dice(name)
    made = throw.choices(letters, k=size)
    if any(digit in letters for digit in DIGITS) and not any(one in DIGITS for one in made):
        made[size // 2] = "7"
    return "".join(made)


Place = Callable[[str], Any]
