from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from compare_data import T, call, record, text

from pytest_statebase.cassette.plan import CallExpect, Expect, OutputExpect, Plan, ToolsExpect
from pytest_statebase.compare.expect import check, check_plan
from pytest_statebase.compare.model import ReplayedCall, Source
from pytest_statebase.errors import PlanError
from pytest_statebase.ledger import Ledger, ToolCalled
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


@pytest.mark.parametrize(
    ("tool", "arguments", "failed"),
    [
        ("book", {"bags": 0}, []),
        ("book", {"bags": 0, "items[1].sku": "b", "who": "Kim"}, []),
        ("book", {"bags": False}, ["book with bags: false was not called"]),
        ("book", {"bags": 1}, ["book with bags: 1 was not called"]),
        ("book", {"items[*].sku": "a"}, ['book with items[*].sku: "a" was not called']),
        ("book", {"gone": None}, ["book with gone: null was not called"]),
        ("book", {"a.b": 3}, []),
        ("book", {'"a.b"': 3}, []),
        ("other", {"bags": 0}, ["other with bags: 0 was not called"]),
        ("raw", {"x": 1}, ["raw with x: 1 was not called"]),
    ],
)
def test_a_call_with_arguments(tool: str, arguments: dict[str, Any], failed: list[str]) -> None:
    made = call("book", bags=0, items=[{"sku": "a"}, {"sku": "b"}], who="Kim", **{"a.b": 3})
    calls = [call("book", bags=2), made, ToolCalled("raw", "not JSON")]
    entry = CallExpect(tool, arguments)
    assert details(Expect(tools=ToolsExpect(called=(entry,))), calls=calls) == failed
    forbidden = details(Expect(tools=ToolsExpect(not_called=(entry,))), calls=calls)
    assert forbidden == ([] if failed else [f"{tool} with {failing(arguments)} was called"])


def failing(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{path}: {json.dumps(value)}" for path, value in arguments.items())


def test_what_was_called_instead_is_shown() -> None:
    expect = Expect(tools=ToolsExpect(called=(CallExpect("book", {"bags": 0, "who": "Kim"}),)))
    (found,) = check(expect, OUTPUT, [call("book", bags=1), call("book", bags=1, who="Kim"), call("look")], ABSENT)
    assert (found.path, found.replayed) == ("tools.book", {"bags": 1, "who": "Kim"})


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


def test_a_malformed_path_in_arguments_is_refused(ledger: Ledger) -> None:
    expect = {1: Expect(tools=ToolsExpect(not_called=("x", CallExpect("look", {"a..b": 1}))))}
    place = {"expect.1.tools.not_called[1].arguments.a..b": "p.session.yaml:9:5"}
    with pytest.raises(PlanError, match=r"^p\.session\.yaml:9:5: the path 'a\.\.b'"):
        check_plan(ledger, Plan(expect=expect, where=place))


def test_arguments_that_the_recording_has_prove_nothing(ledger: Ledger) -> None:
    plan = Plan(failing=frozenset({1}), expect={1: Expect(tools=ToolsExpect(called=(CallExpect("look", {"x": 1}),)))})
    with pytest.raises(PlanError, match="is met by the recording"):
        check_plan(ledger, plan)
    check_plan(ledger, replace(plan, expect={1: Expect(tools=ToolsExpect(called=(CallExpect("look", {"x": 2}),)))}))
