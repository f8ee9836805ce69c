from __future__ import annotations

from typing import Any

import pytest
import yaml
from compare_data import T, call, judged, record, replay_of, text

from pytest_statebase.cassette.plan import Expect, OutputExpect, Plan, ToolsExpect
from pytest_statebase.compare.expect import check, check_plan, draft_expect
from pytest_statebase.compare.model import Observed, ReplayedCall, Source, TurnResult
from pytest_statebase.errors import PlanError
from pytest_statebase.ledger import Ledger
from pytest_statebase.values import ABSENT

OUTPUT = text("Your order was already delivered.")


def details(expect: Expect, output: Any = OUTPUT, calls: Any = (), state: Any = ABSENT) -> list[str | None]:
    return [found.detail for found in check(expect, output, calls, state)]


@pytest.mark.parametrize(
    ("rules", "failed"),
    [
        (OutputExpect(contains=("order", "delivered")), []),
        (OutputExpect(contains=("order", "refund")), ["output does not contain 'refund'"]),
        (OutputExpect(not_contains=("refund",)), []),
        (OutputExpect(not_contains=("already",)), ["output contains 'already'"]),
        (OutputExpect(matches=("(?i)ALREADY +delivered",)), []),
        (OutputExpect(matches=("^already",)), ["output does not match '^already'"]),
        (OutputExpect(equals="Your order was already delivered."), []),
        (OutputExpect(equals="No."), ['output is not equal to "No."']),
    ],
)
def test_output(rules: OutputExpect, failed: list[str]) -> None:
    assert details(Expect(output=rules)) == failed


def test_output_that_is_no_text() -> None:
    output = {"type": "json", "content": {"total": 5, "who": "Zoë"}}
    assert (
        details(Expect(output=OutputExpect(contains=('"total": 5', "Zoë"), equals={"total": 5, "who": "Zoë"})), output)
        == []
    )
    assert details(Expect(output=OutputExpect(equals={"total": 5.0, "who": "Zoë"})), output) != []
    assert details(Expect(output=OutputExpect(contains=("x",))), ABSENT) == ["output does not contain 'x'"]
    assert details(Expect(output=OutputExpect(not_contains=("x",))), ABSENT) == []


def test_tools() -> None:
    calls = [call("look"), ReplayedCall("refund", {}, 1, Source.SIMULATED), ReplayedCall("late", {}, 1)]
    expect = Expect(tools=ToolsExpect(called=("look", "late"), not_called=("refund", "other")))
    assert details(expect, calls=calls) == ["late was not called", "refund was called"]


def test_state() -> None:
    state = {"refund_issued": False, "cart": [{"sku": "a"}, {"sku": "b"}]}
    assert details(Expect(state={"refund_issued": False, "cart[0].sku": "a"}), state=state) == []
    assert details(Expect(state={"refund_issued": True}), state=state) == [
        "state.refund_issued is false, true was wanted"
    ]
    assert details(Expect(state={"refund_issued": 0}), state=state) == ["state.refund_issued is false, 0 was wanted"]
    assert details(Expect(state={"cart[*].sku": "a"}), state=state) == ['state.cart[*].sku is "b", "a" was wanted']
    assert details(Expect(state={"gone": None}), state=state) == ["state.gone does not exist, null was wanted"]
    assert details(Expect(state={"gone": None})) == ["state.gone does not exist, null was wanted"]


@pytest.fixture
def ledger() -> Ledger:
    return record(T((call("look", x=1),), "Sorry, an error.", {"n": 1}))


def test_an_expect_that_the_recording_meets_is_refused(ledger: Ledger) -> None:
    expect = {1: Expect(tools=ToolsExpect(called=("look",)))}
    plan = Plan(failing=frozenset({1}), expect=expect, where={"expect.1": "p.session.yaml:7:3"})
    with pytest.raises(PlanError, match=r"^p\.session\.yaml:7:3: `expect` of turn 1 is met by the recording"):
        check_plan(ledger, plan)
    check_plan(ledger, Plan(expect=expect))
    check_plan(ledger, Plan(failing=frozenset({1}), expect={1: Expect(state={"n": 2})}))


def test_a_turn_that_raised_met_nothing() -> None:
    ledger = record(T((), ABSENT, error={"type": "KeyError", "message": "x"}))
    check_plan(ledger, Plan(failing=frozenset({1}), expect={1: Expect(output=OutputExpect(not_contains=("error",)))}))


def test_a_malformed_state_path_is_refused(ledger: Ledger) -> None:
    plan = Plan(expect={1: Expect(state={"a..b": 1})}, where={"expect.1": "p.session.yaml:7:3"})
    with pytest.raises(PlanError, match=r"^p\.session\.yaml:7:3: the path 'a\.\.b'"):
        check_plan(ledger, plan)


def drafted(ledger: Ledger, observed: Observed) -> tuple[TurnResult, str]:
    (result,) = judged(ledger, [observed], failing=frozenset({1}))
    return result, draft_expect(result)


@pytest.mark.parametrize(
    ("output", "tools", "state", "expected"),
    [
        (None, ["look", "check"], None, {"tools": {"called": ["check"]}}),
        (None, ["check"], None, {"tools": {"called": ["check"], "not_called": ["look"]}}),
        (None, [], None, {"tools": {"not_called": ["look"]}}),
        (None, ["look"], {"n": 2, "a b": "no"}, {"state": {"n": 2, '"a b"': "no"}}),
        ("All fine: done. Sorry, an error.", ["look"], None, {"output": {"contains": "All fine: done."}}),
    ],
)
def test_a_draft_is_yaml_that_the_replay_meets_and_the_recording_does_not(
    ledger: Ledger, output: str | None, tools: list[str], state: Any, expected: dict[str, Any]
) -> None:
    (observed,) = replay_of(ledger)
    observed.calls = [
        observed.calls[0] if tool == "look" else ReplayedCall(tool, {}, 1, Source.SIMULATED) for tool in tools
    ]
    observed.output = text(output) if output else observed.output
    observed.state = state or observed.state
    result, draft = drafted(ledger, observed)
    block = yaml.safe_load(draft)["expect"][1]
    assert block == expected
    said, did = block.get("output", {}), block.get("tools", {})
    expect = Expect(
        OutputExpect(contains=(said["contains"],)) if said else None,
        ToolsExpect(tuple(did.get("called", ())), tuple(did.get("not_called", ()))),
        block.get("state", {}),
    )
    assert check(expect, observed.output, observed.calls, observed.state) == []
    assert check(expect, result.recorded.output, result.recorded.calls, result.recorded_state)


def test_a_draft_with_nothing_to_go_by_leaves_it_to_the_reader(ledger: Ledger) -> None:
    (observed,) = replay_of(ledger)
    observed.calls = [ReplayedCall("look", {"x": 2}, 1, Source.SIMULATED)]
    assert yaml.safe_load(drafted(ledger, observed)[1]) == {"expect": {1: {"output": {"contains": "…"}}}}
