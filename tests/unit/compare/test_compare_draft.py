"""Drafts of `expect`: they hold on the replay, and neither on the recording nor where nothing is done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import yaml
from compare_data import T, answered, call, judged, record, replay_of, text

from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.compare.draft import draft_expect, read_draft
from pytest_statebase.compare.expect import check, recorded_state
from pytest_statebase.compare.model import Observed, ReplayedCall, Source, Verdict
from pytest_statebase.ledger import Ledger, ToolCalled
from pytest_statebase.values import ABSENT

UUID = "0d9c2f6e-8f2b-4c51-9a54-3f1f8a2f6b10"


def new(tool: str, /, **arguments: Any) -> ReplayedCall:
    return ReplayedCall(tool, arguments, 1, Source.AUTHORED, result={"ok": True})


def drafted(ledger: Ledger, observed: Observed, **plan: Any) -> str:
    """The draft of an unproven turn, tried out on both sides and on one that does nothing."""
    (result,) = judged(ledger, [observed], failing=frozenset({1}), **plan)
    assert result.verdict is Verdict.UNPROVEN
    draft = result.reason
    assert draft is not None
    assert draft == draft_expect(result, ledger=ledger, plan=Plan(**plan))
    if "…" not in draft:
        expect, turn = read_draft(draft, 1), ledger.turn(1)
        assert check(expect, observed.output, observed.calls, observed.state) == []
        assert turn.error or check(expect, turn.output, turn.calls, recorded_state(ledger, turn))
        assert check(expect, ABSENT, (), ledger.created.state)
    return draft


def replayed(ledger: Ledger, *calls: Any, says: Any = ABSENT, state: Any = ABSENT) -> Observed:
    """Turn 1 with these calls, a number for the recorded one at that position."""
    (observed,) = replay_of(ledger)
    recorded = ledger.turn(1).calls
    observed.calls = [answered(1, one, recorded[one]) if isinstance(one, int) else one for one in calls]
    if says is not ABSENT:
        observed.output = text(says) if isinstance(says, str) else says
    observed.state = observed.state if state is ABSENT else state
    return observed


def block(draft: str) -> Any:
    return yaml.safe_load(draft)["expect"][1]


BOOKED = record(
    T((call("think", thought="x"), call("book", bags=2, nonfree=1, who="Kim")), "Booked, that is $50.", {"n": 1})
)


@pytest.mark.parametrize(
    ("calls", "says", "state", "expected"),
    [
        # What is changed in a call, with the calls that are as they were.
        (
            [0, new("book", bags=2, nonfree=0, who="Kim")],
            ABSENT,
            ABSENT,
            {
                "tools": {
                    "called": ["think", {"tool": "book", "arguments": {"nonfree": 0}}],
                    "not_called": {"tool": "book", "arguments": {"nonfree": 1}},
                }
            },
        ),
        # The same where the other call is no longer made.
        (
            [new("book", bags=2, nonfree=0, who="Kim")],
            ABSENT,
            ABSENT,
            {
                "tools": {
                    "called": {"tool": "book", "arguments": {"nonfree": 0}},
                    "not_called": [{"tool": "book", "arguments": {"nonfree": 1}}, "think"],
                }
            },
        ),
        # A new call, with all of its arguments.
        (
            [0, 1, new("pay", amount=50)],
            ABSENT,
            ABSENT,
            {"tools": {"called": ["think", "book", {"tool": "pay", "arguments": {"amount": 50}}]}},
        ),
        # One that is left out.
        ([0], ABSENT, ABSENT, {"tools": {"called": "think", "not_called": "book"}}),
        # An argument that is left out.
        (
            [0, new("book", bags=2, who="Kim")],
            ABSENT,
            ABSENT,
            {"tools": {"called": ["think", "book"], "not_called": {"tool": "book", "arguments": {"nonfree": 1}}}},
        ),
        # State, and a number of the text.
        (
            [0, 1],
            "Booked, that is $75 for 2 of you.",
            {"n": 2, "a b": ["no"]},
            {
                "tools": {"called": ["think", "book"]},
                "state": {"n": 2, '"a b"': ["no"]},
                "output": {"contains": "$75"},
            },
        ),
        # Nothing is done any more: only the words can say so.
        ([], "That is not possible.", ABSENT, {"tools": {"not_called": ["think", "book"]}, "output": ABSENT}),
    ],
)
def test_what_is_right_now(calls: list[Any], says: Any, state: Any, expected: dict[str, Any]) -> None:
    found = block(drafted(BOOKED, replayed(BOOKED, *calls, says=says, state=state)))
    if expected.get("output") is ABSENT:
        expected = {**expected, "output": {"contains": "That is not possible."}}
    assert found == expected


READS = {"tools": {"think": ToolRules(reads=True)}}


def test_reads_are_told_in_comments() -> None:
    seen = replayed(BOOKED, new("think", thought="y"), new("book", bags=2, nonfree=0, who="Kim"))
    draft = drafted(BOOKED, seen, **READS)
    was = {"tool": "book", "arguments": {"nonfree": 1}}
    assert block(draft) == {"tools": {"called": {"tool": "book", "arguments": {"nonfree": 0}}, "not_called": was}}
    assert '# now looks: think(thought="y"), recorded think(thought="x")' in draft
    assert "# no longer looks: think(" in drafted(BOOKED, replayed(BOOKED, seen.calls[1]), **READS)


def test_a_read_is_expected_where_nothing_else_shows_that_anything_is_done() -> None:
    draft = drafted(BOOKED, replayed(BOOKED, 0), **READS)
    assert block(draft) == {"tools": {"called": "think", "not_called": "book"}}


def test_an_agent_that_refuses_everything_is_not_fixed() -> None:
    seen = replayed(BOOKED, 0, new("book", bags=2, nonfree=0, who="Kim"))
    expect = {1: read_draft(drafted(BOOKED, seen), 1)}
    (fixed,) = judged(BOOKED, [seen], failing=frozenset({1}), expect=expect)
    (refused,) = judged(BOOKED, [replayed(BOOKED, says="I cannot do that.")], failing=frozenset({1}), expect=expect)
    assert (fixed.verdict, refused.verdict) == (Verdict.FIXED, Verdict.STILL_FAILING)


def test_a_call_that_is_made_otherwise_twice() -> None:
    ledger = record(T((call("refund", order="A"), call("refund", order="B")), "Done."))
    draft = drafted(ledger, replayed(ledger, 0))
    assert block(draft)["tools"] == {"called": "refund", "not_called": {"tool": "refund", "arguments": {"order": "B"}}}


def test_paths_inside_an_argument() -> None:
    ledger = record(T((call("book", items=[{"sku": "a", "n": 1}, {"sku": "b", "n": 1}], note="x"),), "Done."))
    seen = replayed(ledger, new("book", items=[{"sku": "a", "n": 1}, {"sku": "b", "n": 3}], note="x"))
    rules = block(drafted(ledger, seen))["tools"]
    assert rules["called"] == {"tool": "book", "arguments": {"items[1].n": 3}}
    assert rules["not_called"]["arguments"]["items"][1]["n"] == 1
    # Where an item is gone, no path says so.
    seen = replayed(ledger, new("book", items=[{"sku": "b", "n": 1}], note="x"))
    arguments = {"items": [{"sku": "b", "n": 1}]}
    assert block(drafted(ledger, seen))["tools"]["called"] == {"tool": "book", "arguments": arguments}


def test_types_stay() -> None:
    seen = replayed(BOOKED, 0, new("book", bags=2, nonfree=Decimal("0.0"), who="Kim"))
    assert 'arguments: {nonfree: !decimal "0.0"}' in drafted(BOOKED, seen)


LOGGED = {"until": "2031-05-05T10:00:00Z", "level": "info"}


def test_nothing_that_is_made_up_on_the_run() -> None:
    seen = replayed(
        BOOKED,
        0,
        1,
        new("log", id=UUID, at=datetime.now(UTC).isoformat(), **LOGGED),
        says=f"Logged as {UUID}.",
    )
    draft = drafted(BOOKED, seen)
    assert block(draft)["tools"] == {"called": ["think", "book", {"tool": "log", "arguments": LOGGED}]}
    assert "# log: id: made up anew on each run" in draft
    assert "# output: no number, id or quoted word tells it from the recording" in draft
    assert UUID not in draft


def test_ids_that_a_simulator_gave() -> None:
    ticket = ReplayedCall("open_ticket", {}, 1, Source.SIMULATED, result={"id": "T-77"})
    seen = replayed(BOOKED, 0, 1, ticket, new("tell", ticket="T-77"), says="See T-77 within 3 hours.")
    draft = drafted(BOOKED, seen)
    assert "T-77" not in draft
    assert block(draft)["output"] == {"contains": "3 hours"}


def test_what_is_ignored_is_not_expected() -> None:
    seen = replayed(BOOKED, 0, new("book", bags=2, nonfree=0, who="kim"))
    draft = drafted(BOOKED, seen, ignore=("tools.book.arguments.who",))
    assert block(draft)["tools"]["called"][1] == {"tool": "book", "arguments": {"nonfree": 0}}


@pytest.mark.parametrize(
    ("says", "piece"),
    [
        ("It is order R-1047-2 for $62.50.", "R-1047-2"),
        ("That makes $62.50, not $50.", "$62.50"),
        ("In 3 days.", "3 days"),
        ("It costs 10 % more.", "10 %"),
        ('Please choose "cash on delivery" there.', "cash on delivery"),
        # What the user said, or the recording.
        ("Go on, order 4711 is booked.", None),
        ("So $50 it is.", None),
        ("Sorry, no.", None),
    ],
)
def test_a_piece_of_the_text(says: str, piece: str | None) -> None:
    ledger = record(T((call("look"),), "Booked, that is $50.", input="Book order 4711"))
    draft = drafted(ledger, replayed(ledger, 0, new("book"), says=says))
    assert block(draft).get("output") == ({"contains": piece} if piece else None)
    assert ("# output: no number" in draft) == (piece is None)


def test_an_output_that_is_no_text() -> None:
    seen = replayed(BOOKED, 0, 1, says={"type": "data", "content": {"a": 1}})
    assert block(drafted(BOOKED, seen))["output"] == {"equals": {"a": 1}}


def test_a_turn_that_raised_and_does_not_any_more() -> None:
    ledger = record(T((call("look"),), ABSENT, error={"type": "KeyError", "message": "x"}))
    (observed,) = replay_of(ledger)
    observed.error, observed.output = None, text("All is well.")
    assert block(drafted(ledger, observed)) == {"tools": {"called": "look"}}


def test_calls_inside_another_call_prove_nothing() -> None:
    inner = ToolCalled("inner", {}, result=1, during=0)
    ledger = record(T((call("outer", x=1), inner), "Done."))
    draft = drafted(ledger, replayed(ledger, new("outer", x=2)))
    was = {"tool": "outer", "arguments": {"x": 1}}
    assert block(draft) == {"tools": {"called": {"tool": "outer", "arguments": {"x": 2}}, "not_called": was}}


def test_nothing_to_go_by_is_left_to_the_reader() -> None:
    ledger = record(T((call("a"), call("b")), "Done."))
    assert 'output: {contains: "…"}' in drafted(ledger, replayed(ledger, 1, 0))


@pytest.mark.parametrize("value", [object(), lambda: 0, "x" * 5_000, float("nan")])
def test_values_of_any_kind(value: Any) -> None:
    draft = drafted(BOOKED, replayed(BOOKED, 0, new("book", bags=2, nonfree=value, who="Kim"), state={"n": value}))
    assert len(draft) < 1_000


def test_a_state_that_cannot_be_named() -> None:
    state: Mapping[str, Any] = {}
    draft = drafted(BOOKED, replayed(BOOKED, 0, 1, new("pay"), state=state))
    assert "# state.n: no longer as recorded, and no path says so" in draft
