"""What in a session shows that something went wrong."""

from __future__ import annotations

import pytest
from audit_sessions import call, said, session, turn, update

from pytest_statebase.audit.explain import explain, failing_turn
from pytest_statebase.audit.reasons import is_vague
from pytest_statebase.audit.signs import Kind, signs_of
from pytest_statebase.cassette import Plan, ToolRules
from pytest_statebase.errors import ForkError
from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.values import ABSENT


@pytest.mark.parametrize(
    "reasoning",
    [
        "Updated state",
        "User input processed",
        "ok",
        "Done.",
        "state update",
        "...",
        "processing the user's request",
        "n/a",
    ],
)
def test_reasoning_that_says_nothing(reasoning: str) -> None:
    assert is_vague(reasoning)


@pytest.mark.parametrize(
    "reasoning",
    [
        "GPT-4 suggested deleting user data, blocked by safety filter",
        "User said 'yes' to confirmation prompt, proceeding with payment",
        "Called weather API for San Francisco, cached result for 1 hour",
        "User confirmed booking via SMS code",
        "New customer support conversation",
        "User provided account number",
        "Agent responded with account details",
        "Agent exposed sensitive data, reverting to safe state",
        "Step 3 was done",
        "ユーザーが注文番号を伝えた",
    ],
)
def test_reasoning_that_says_something(reasoning: str) -> None:
    assert not is_vague(reasoning)


def kinds(ledger: Ledger, **tools: ToolRules) -> list[tuple[int | None, Kind]]:
    return [(sign.turn, sign.kind) for sign in signs_of(ledger, tools)]


def test_a_clean_session_has_none() -> None:
    found = call("look_up", {"status": "sent", "total": 89.9}, order="1047")
    ledger = session(
        turn(
            1, "Where is order 1047?", found, update(1, {"step": "found", "order": "1047", "cents": 8990}, "Found it")
        ),
        turn(2, "Thanks", answer="You are welcome."),
    )
    assert [(sign.kind, sign.text) for sign in signs_of(ledger)] == [
        (Kind.REASON, "the turn has no reasoning"),
        (Kind.REASON, "the turn has no reasoning"),
    ]


def test_where_nothing_has_a_reasoning_none_is_missing() -> None:
    assert signs_of(session(turn(1, "Hello"), turn(2, "Bye", answer="Good bye then!"))) == []


@pytest.mark.parametrize("value", ["R-9999", 4711, "gift_card_0000000", "12 Nowhere Road"])
def test_a_value_that_nobody_gave(value: object) -> None:
    ledger = session(turn(1, "Refund my order", update(1, {"step": "new", "refund": value})))
    (sign,) = signs_of(ledger)
    assert (sign.turn, sign.kind) == (1, Kind.MADE_UP)
    assert "state.refund" in sign.text
    asked = session(turn(1, "Refund my order", ToolCalled("refund", {"id": [value]})))
    assert kinds(asked) == [(1, Kind.MADE_UP)]


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("1047", "Where is #1047?"),
        (1047, "Where is 1047?"),
        (8990, "I paid 89.90 EUR"),
        ("12 Rose Road", "I moved to Rose Road, number 12"),
        ("JANE@shop.example", "it is jane@shop.example."),
        ("2026-03-15", "anything"),
        ("2026-03-15T10:00:00Z", "anything"),
        (True, "anything"),
        (7, "anything"),
        ("open", "anything"),
    ],
)
def test_a_value_that_somebody_gave_or_that_says_little(value: object, source: str) -> None:
    assert signs_of(session(turn(1, source, update(1, {"step": "new", "x": value})))) == []
    given = call("look_up", {"deep": [{"er": source}]})
    assert signs_of(session(turn(1, "Hello", given, update(1, {"step": "new", "x": value})))) == []


def test_keys_of_results_memories_and_earlier_states_give_values_too() -> None:
    known = call("cards", {"card_4711": {"brand": "visa"}})
    use = call("pay", {}, card="card_4711", seat="17F", plan="P-200")
    ledger = session(turn(1, "Pay", known, MemoryAdded("always seat 17F"), use), state={"plan": "P-200"})
    assert signs_of(ledger) == []


def test_without_the_users_words_nobody_knows_what_was_given() -> None:
    assert signs_of(session(turn(1, None, call("look_up", {}, phone="555-123-2002")))) == []


def test_errors_of_tools_and_of_the_agent() -> None:
    broken = ToolCalled("ship", {"order": "1"}, error={"type": "shop:LockedError", "message": "it left"})
    refused = ToolCalled("ship", {"order": "2"}, "Error: no", is_error=True)
    ledger = session(
        turn(1, "Ship it", broken, refused),
        turn(2, "And?", answer={"type": "error", "content": "time out"}),
        [TurnStarted(3, said("Hello?")), TurnAdded(ABSENT, error={"type": "KeyError", "message": "x"})],
        [TurnStarted(4, said("Hello??"))],
    )
    assert kinds(ledger) == [(1, Kind.TOOL), (1, Kind.TOOL), (2, Kind.ERROR), (3, Kind.ERROR), (4, Kind.ERROR)]
    assert signs_of(ledger)[0].text == 'ship(order="1") failed: LockedError: "it left"'


def test_a_loop_is_calls_that_bring_nothing_new() -> None:
    a, b, c = call("a"), call("b"), call("c")
    assert kinds(session(turn(1, "x", a, a, a, a))) == [(1, Kind.LOOP)]
    assert kinds(session(turn(1, "x", a, b, a, b, a, b))) == [(1, Kind.LOOP), (1, Kind.LOOP)]
    assert kinds(session(turn(1, "x", a, b, a, c, a, call("d")))) == []
    assert kinds(session(turn(1, "x", a), turn(2, "y", a, answer="Two."), turn(3, "z", a, answer="Three."))) == []


def test_a_write_that_is_made_again() -> None:
    pay = call("pay", {"ok": True}, amount=5)
    ledger = session(turn(1, "x", call("look"), pay), turn(2, "y", call("look"), pay, answer="Two."))
    assert kinds(ledger) == []
    assert kinds(ledger, look=ToolRules(reads=True)) == [(2, Kind.AGAIN)]


def test_the_same_answer_twice() -> None:
    text = "I could not find that, please say it in other words."
    assert kinds(session(turn(1, "x", answer=text), turn(2, "y", answer=text))) == [(2, Kind.AGAIN)]
    assert kinds(session(turn(1, "x", answer="Yes."), turn(2, "y", answer="Yes."))) == []


def test_unexpected_transitions() -> None:
    ledger = session(
        [StateUpdated(1, {"n": "2", "step": "new"}, "set by hand", actor="ops")],
        turn(1, "x", update(2, {"n": 2}, "Counted them anew"), reasoning="Read the number"),
        turn(2, "y", StateRolledBack(3, 0, {}, "Too early"), answer="Undone.", reasoning="They asked for it"),
        state={},
    )
    assert [(sign.turn, sign.kind, sign.text) for sign in signs_of(ledger)] == [
        (None, Kind.STATE, "state 1 was made by ops between turns"),
        (1, Kind.STATE, 'state.n changed its type: "2" → 2'),
        (1, Kind.STATE, 'state.step was taken out; it was "new"'),
        (2, Kind.ROLLBACK, 'the state went back to version 0: "Too early"'),
    ]


def test_missing_and_vague_reasoning() -> None:
    ledger = session(
        turn(1, "x", update(1, {"step": "a"}), reasoning="Updated state"),
        turn(2, "y", answer="Two.", reasoning="The user gave a name"),
    )
    assert [sign.text for sign in signs_of(ledger)] == [
        "state 1 has no reasoning",
        'the reasoning of the turn says nothing: "Updated state"',
    ]


# --- explain


def failed() -> Ledger:
    refund = call("refund", {"refund_id": "R-1"}, order="1047", cents=9999)
    return session(
        turn(1, "Where is order 1047?", call("look_up", {"total": 8990}, order="1047"), reasoning="Looked it up"),
        turn(
            2, "Refund it", refund, update(1, {"step": "paid", "refund": "R-1"}, "They asked"), reasoning="They asked"
        ),
        [StateRolledBack(2, 0, {"step": "new"}, "Refunded too much", actor="ops")],
        turn(3, "And now?", answer="Three.", reasoning="Waiting for them"),
    )


def test_walking_back_from_a_failure() -> None:
    ledger = failed()
    found = explain(ledger, Plan(failing=frozenset({2})), 2)
    assert found.failing
    assert found.words == [
        'The user said: "Refund it"',
        'The agent called refund(order="1047", cents=9999), and got: {refund_id: "R-1"}',
        "The state became version 1",
        'It answered: "Done, anything else?"',
    ]
    assert found.reasons == [("state 1", "They asked"), ("the answer", "They asked")]
    assert [(origin.names, origin.value, origin.place) for origin in found.origins] == [
        (("refund.order",), "1047", "the user, turn 1"),
        (("refund.cents",), 9999, None),
        (("state.refund",), "R-1", "refund, turn 2"),
    ]
    assert [sign.kind for sign in found.signs] == [Kind.ROLLBACK, Kind.AGAIN, Kind.MADE_UP]
    assert found.root is not None
    assert "9999" in found.root.text
    assert explain(ledger, Plan(), 1).signs == []


def test_the_turn_to_explain() -> None:
    ledger = failed()
    assert failing_turn(ledger, Plan(failing=frozenset({3, 1}))) == 1
    assert failing_turn(ledger, Plan()) == 2
    assert failing_turn(session(turn(1, "Hello")), Plan()) is None
    broken = ToolCalled("ship", {}, "no", is_error=True)
    assert failing_turn(session(turn(1, "x", broken), turn(2, "y", answer="Two.")), Plan()) == 1
    with pytest.raises(ForkError, match="no turn 9"):
        explain(ledger, Plan(), 9)


def test_a_session_without_states_and_outputs_can_be_explained() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1), ToolCalled("x", "no json"), TurnAdded(), TurnStarted(2)])
    assert explain(ledger, Plan(), 1).words == [
        "The agent spoke first",
        'The agent called x("no json"); what came back was not recorded',
        "No answer was recorded",
    ]
    assert explain(ledger, Plan(), 2).words[-1] == "The turn was never finished"


def test_a_result_that_says_that_it_failed_is_an_error_of_the_tool() -> None:
    ledger = session(turn(1, "Order 9999?", call("look_up", {"error": "not found"}, order="9999")), turn(2, "Thanks"))
    told = [sign.text for sign in signs_of(ledger) if sign.kind is Kind.TOOL]
    assert told == ['look_up(order="9999") failed: {error: "not found"}']
    assert failing_turn(ledger, Plan()) == 1
    assert 'called look_up(order="9999"), which said that it failed: {error: "not found"}' in str(
        explain(ledger, Plan(), 1).words
    )


def test_what_happened_is_told_in_the_order_of_the_recording() -> None:
    broken = ToolCalled("book", {"trip": "BK-PA-3"}, error={"type": "m:Full", "message": "no seat"})
    ledger = session(turn(1, "Book BK-PA-3", update(1, {"step": "checkpoint"}), broken, call("wait", "ok")))
    assert explain(ledger, Plan(), 1).words == [
        'The user said: "Book BK-PA-3"',
        "The state became version 1",
        'The agent called book(trip="BK-PA-3"), which failed: Full: "no seat"',
        'Then it called wait(), and got: "ok"',
        'It answered: "Done, anything else?"',
    ]


def test_short_names_and_addresses_have_an_origin_and_are_never_made_up() -> None:
    used = call("book", "ok", trip="BK-PA-3", mail="jane@corp.com", seat="A1", kind="window", day="2026-03-15")
    ledger = session(turn(1, "Book BK-PA-3 for jane@corp.com, by the window, on 2026-03-15", used))
    found = explain(ledger, Plan(), 1)
    assert [(origin.names, origin.value, origin.place) for origin in found.origins] == [
        (("book.trip",), "BK-PA-3", "the user, turn 1"),
        (("book.mail",), "jane@corp.com", "the user, turn 1"),
    ]
    assert found.signs == []
