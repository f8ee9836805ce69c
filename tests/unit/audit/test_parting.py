"""Where two sessions part."""

from __future__ import annotations

from audit_sessions import call, session, turn, update
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.audit.parting import Relation, Sort, part
from pytest_statebase.ledger import Event, Ledger, StateRolledBack

LOOK = call("look_up", {"status": "sent"}, order="1047")


def good(*extra: Event, id: str = "sess_good", user: str = "Where is order 1047?") -> Ledger:
    return session(
        turn(1, user, LOOK, update(1, {"step": "found"}, "It was sent"), answer="It was sent."),
        turn(2, "Refund it", *extra, call("refund", {"ok": True}, order="1047"), answer="Refunded."),
        id=id,
    )


def test_equal_sessions_do_not_part() -> None:
    found = part(good(), good(id="sess_other"))
    assert found.first is None
    assert {row.relation for row in found.rows} == {Relation.SAME}
    assert found.together == len(found.rows) == 9


def test_words_part_nobody() -> None:
    found = part(good(), good(user="What about 1047?"))
    assert found.first is None
    assert [row.relation for row in found.rows].count(Relation.REWORDED) == 1
    assert [row.b.told for row in found.said_otherwise if row.b] == ['"What about 1047?"']


def test_a_step_more_is_one_difference() -> None:
    found = part(good(), good(call("check_policy", {"days": 14})))
    assert found.first is not None
    row = found.rows[found.first]
    assert (row.relation, row.a) == (Relation.ONLY_B, None)
    assert row.b is not None
    assert (row.b.turn, row.b.told) == (2, "check_policy()")
    assert sum(row.relation.parts for row in found.rows) == 1


def test_other_arguments_and_another_result() -> None:
    asked = session(turn(1, "x", call("look_up", {"status": "sent"}, order="1052")))
    answered = session(turn(1, "x", call("look_up", {"status": "lost"}, order="1047")))
    base = session(turn(1, "x", LOOK))
    first = part(base, asked)
    assert first.first is not None
    assert first.rows[first.first].relation is Relation.ARGUMENTS
    assert first.rows[first.first].changes == (("arguments.order", "1047", "1052"),)
    second = part(base, answered)
    assert second.first is not None
    assert second.rows[second.first].relation is Relation.RESULT
    assert second.rows[second.first].changes == (("status", "sent", "lost"),)


def test_rollbacks_errors_and_ends_part() -> None:
    base = good()
    back = Ledger([*base.events[:-1], StateRolledBack(2, 0, {"step": "new"}, "Wrong"), base.events[-1]])
    found = part(base, back)
    assert found.first is not None
    assert [step.sort for step in (found.rows[found.first].b,) if step] == [Sort.ROLLBACK]
    crashed = session(turn(1, "x", LOOK, answer={"type": "error", "content": "time out"}))
    fine = session(turn(1, "x", LOOK))
    found = part(fine, crashed)
    assert found.first is not None
    assert {row.relation for row in found.rows[found.first :]} >= {Relation.ONLY_A, Relation.ONLY_B}
    assert part(session(turn(1, "x")), session(turn(1, "x"), reason="crash")).first is not None


def test_the_sessions_own_id_is_no_difference() -> None:
    one, two = (session(turn(1, "x", call("log", None, key=f"log/{name}")), id=name) for name in ("sess_a", "b"))
    assert part(one, two).first is None


steps = st.lists(st.sampled_from("abcd"), max_size=8)


@given(steps, steps)
def test_every_step_stands_in_one_row_and_in_order(left: list[str], right: list[str]) -> None:
    one, two = (session(turn(1, "x", *(call(tool) for tool in tools))) for tools in (left, right))
    found = part(one, two)
    for side, tools in (("a", left), ("b", right)):
        there = [step.told[:1] for row in found.rows if (step := getattr(row, side)) and step.sort is Sort.CALL]
        assert there == tools
    assert (found.first is None) == (left == right)
