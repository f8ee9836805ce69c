"""What frames weigh: the values' own, and nothing that these only lead to."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from pytest_statebase.events import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import Frame, SessionOpened, TurnClosed
from pytest_statebase.journal import weight
from pytest_statebase.journal.weight import weigh
from pytest_statebase.values import ABSENT


class Colour(enum.Enum):
    RED = "red"


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


def turn(result: Any) -> Frame:
    return TurnClosed("s", (TurnStarted(1), ToolCalled("t", {}, result), TurnAdded()))


@pytest.mark.parametrize(
    "frame", [turn(ABSENT), SessionOpened(SessionCreated("s")), TurnClosed("s", (TurnStarted(1),), state_before=ABSENT)]
)
def test_what_is_absent_weighs_nothing_and_is_plain(frame: Frame) -> None:
    size, is_plain = weigh(frame)
    assert size < 3000
    assert is_plain


@pytest.mark.parametrize("value", [Colour.RED, Holder(Colour), Holder(enum), Holder(turn), [Holder(Holder)]])
def test_classes_and_modules_are_not_walked_through(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lead to all of the program: each such result would cost the agent a tenth of a second."""
    looked: list[Any] = []
    parts = weight._parts
    monkeypatch.setattr(weight, "_parts", lambda item: looked.append(item) or parts(item))
    assert weigh(turn(value))[1] is False
    assert 0 < len(looked) < 20


def test_what_an_object_holds_counts() -> None:
    assert weigh(turn(Holder("x" * 100_000)))[0] > 100_000
