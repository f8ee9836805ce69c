"""Which replays are of one recording."""

from __future__ import annotations

from typing import Any

import pytest
from report_data import broken_plan, clean, hostile, recording, row, still_failing, told, unrecorded

from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.report.page.recordings import recordings
from pytest_statebase.report.rows import Row


def said(*inputs: str, at: str | None = None) -> Row:
    """A recording without times, states or calls, of which nothing is replayed but its first turn."""
    events: list[Any] = [SessionCreated("sess_told", "support", at=at)]
    for number, one in enumerate(inputs, 1):
        events += [TurnStarted(number, {"type": "text", "content": one}), TurnAdded({"type": "text", "content": "ok"})]
    ledger = Ledger(events)
    return row(clean()) | {"session": "sess_told", **row_of(ledger)}


def row_of(ledger: Ledger) -> dict[str, Any]:
    from pytest_statebase.report.measures import production_row
    from pytest_statebase.report.timeline import timeline_row

    return {**timeline_row(ledger, set()), "turns": [], "production": production_row(ledger)}


def test_replays_of_one_recording_share_its_number() -> None:
    """Whatever of it they replay, of whichever plan, with whichever agent, and however much of it was cut."""
    whole = recording("w" * 200_000)
    early = row(told(whole))
    late = row(told(whole, fork="turn 3"))
    late["turns"] = late["turns"][1:]
    late["others"] = [*late["others"], {"turn": 2, "input": early["turns"][0]["input"], "at": early["turns"][0]["at"]}]
    plan, agent = early | {"cassette": "fixtures/other.session.yaml"}, early | {"agent": "other:agent"}
    assert recordings([early, late, plan, agent]) == [0, 0, 0, 0]


def test_an_input_that_was_cut_is_the_same() -> None:
    long, cut = said("w" * 500), said("w" * 500)
    cut["others"][0]["input"] = {"!cut": {"head": "w" * 200, "size": 500}}
    assert recordings([long, cut]) == [0, 0]


@pytest.mark.parametrize(
    "other",
    [
        said("Hello", "Bye now"),
        said("Hello"),
        said("Hello", "Bye", "Bye"),
        said("Hello", "Bye", at="2026-03-15T10:00:00Z"),
        said("Hello", "Bye") | {"session": "sess_other"},
        said("Hello", "Bye") | {"production": {"ms": [5.0, None]}},
    ],
)
def test_recordings_that_share_a_session_id_are_told_apart(other: Row) -> None:
    one = said("Hello", "Bye")
    assert recordings([one, other, one, other]) == [0, 1, 0, 1]


def test_rows_that_tell_nothing_of_the_recording_go_by_session_and_plan() -> None:
    """As those of earlier versions, and of replays that could not begin."""
    first, again, other = (
        row(still_failing()),
        row(
            still_failing(),
        ),
        row(unrecorded()) | {"session": "sess_refund"},
    )
    again["turns"] = again["turns"][:1]
    assert recordings([first, again, other, broken_plan(), broken_plan()]) == [0, 0, 1, 2, 2]


def test_odd_rows_have_numbers() -> None:
    odd = hostile() | {
        "others": [{"turn": -1, "input": {"!cut": 5}}, {"turn": 0, "input": None}],
        "production": {"ms": 5},
    }
    assert recordings([odd, hostile(), odd]) == [0, 1, 0]
