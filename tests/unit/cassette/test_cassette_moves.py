"""Tools that moved on: recorded names and arguments are read as today's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, load_cassette
from pytest_statebase.cassette import CallExpect, ToolRules, write_record
from pytest_statebase.cassette.accepted import Accepted, AcceptedCall, AcceptedTurn
from pytest_statebase.cassette.moves import Moves, moved_accepted, moved_ledger
from pytest_statebase.errors import PlanError
from pytest_statebase.ledger import SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted

FETCH = ToolRules(was=("lookup",), rename={"order": "order_id"}, added={"region": "any"})


def ledger(*calls: ToolCalled) -> Ledger:
    start = [SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "x"})]
    return Ledger([*start, *calls, TurnAdded({"type": "text", "content": "y"}), SessionEnded()])


def moved(tools: Mapping[str, ToolRules], tool: str, arguments: Any) -> tuple[str, Any]:
    call = moved_ledger(ledger(ToolCalled(tool, arguments)), tools).turns[0].calls[0]
    return call.tool, call.arguments


def test_name_and_arguments_are_todays() -> None:
    assert moved({"fetch": FETCH}, "lookup", {"order": "1", "x": 2}) == ("fetch", {"order_id": "1", "x": 2})
    assert moved({"fetch": FETCH}, "fetch", {"order_id": "1"}) == ("fetch", {"order_id": "1"})
    assert moved({"fetch": FETCH}, "other", {"order": "1"}) == ("other", {"order": "1"})
    assert moved({"fetch": FETCH}, "lookup", "not JSON") == ("fetch", "not JSON")


def test_an_added_value_is_read_where_it_is_missing() -> None:
    tools = {"fetch": ToolRules(added={"region": "EU"})}
    assert moved(tools, "fetch", {"x": 1}) == ("fetch", {"x": 1, "region": "EU"})
    assert moved(tools, "fetch", {"region": "US"}) == ("fetch", {"region": "US"})


def test_names_follow_one_another() -> None:
    tools = {
        "third": ToolRules(was=("second",), rename={"b": "c"}),
        "second": ToolRules(was=("first",), rename={"a": "b"}),
    }
    assert moved(tools, "first", {"a": 1}) == ("third", {"c": 1})
    assert moved(tools, "second", {"b": 1}) == ("third", {"c": 1})
    listed = {"third": ToolRules(was=("first", "second"), rename={"a": "c", "b": "c"})}
    assert moved(listed, "first", {"a": 1}) == ("third", {"c": 1})
    assert moved(listed, "second", {"b": 1}) == ("third", {"c": 1})


def test_two_arguments_can_change_places() -> None:
    assert moved({"t": ToolRules(rename={"a": "b", "b": "a"})}, "t", {"a": 1, "b": 2}) == ("t", {"b": 1, "a": 2})


def test_a_ledger_in_which_nothing_moved_is_the_same_one() -> None:
    source = ledger(ToolCalled("other", {"order": 1}))
    assert moved_ledger(source, {"fetch": FETCH}) is source
    assert moved_ledger(source, {"other": ToolRules(reads=True)}) is source


@pytest.mark.parametrize(
    ("tools", "what"),
    [
        ({"a": ToolRules(was=("x",)), "b": ToolRules(was=("x",))}, "both say that they were `x`"),
        ({"a": ToolRules(was=("b",)), "b": ToolRules(was=("a",))}, "by its `was`, itself"),
        ({"a": ToolRules(was=("a",))}, "by its `was`, itself"),
        ({"a": ToolRules(rename={"x": "y"}, added={"x": 1})}, "both speak of `x`"),
    ],
)
def test_what_cannot_be_meant(tools: Mapping[str, ToolRules], what: str) -> None:
    with pytest.raises(PlanError, match=what):
        Moves.of(tools)


def test_a_name_that_is_taken() -> None:
    with pytest.raises(PlanError, match=r"gives an argument the name `b`.*session s, turn 1, call 1"):
        moved({"t": ToolRules(rename={"a": "b"})}, "t", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ("tools.lookup", "tools.fetch"),
        ("tools.lookup.order", "tools.fetch.order"),
        ("tools.lookup.arguments", "tools.fetch.arguments"),
        ("tools.lookup.arguments.order", "tools.fetch.arguments.order_id"),
        ('tools."lookup"#2.arguments."order".at[0]', "tools.fetch#2.arguments.order_id.at[0]"),
        ("tools.lookup.arguments.other", "tools.fetch.arguments.other"),
        ("tools.*.arguments.order", "tools.*.arguments.order"),
        ("**.order", "**.order"),
        ("state.lookup.order", "state.lookup.order"),
        ("order", "order"),
    ],
)
def test_paths(rule: str, wanted: str) -> None:
    assert Moves.of({"fetch": FETCH}).path(rule) == wanted


def test_odd_names_are_quoted() -> None:
    moves = Moves.of({"srv.fetch": ToolRules(was=("srv.lookup",), rename={"order no": "order id"})})
    assert moves.path('tools."srv.lookup".arguments."order no"') == 'tools."srv.fetch".arguments."order id"'


def test_places_inside_arguments() -> None:
    moves = Moves.of({"t": ToolRules(was=("s",), rename={"order": "order_id", "a.b": "odd name"})})
    paths = ["order", "order[0].x", '"order".x', "a.b", "other.order", "arguments.order", "order]"]
    wanted = ["order_id", "order_id[0].x", "order_id.x", '"odd name"', "other.order", "arguments.order", "order_id]"]
    assert [moves.place("s", path) for path in paths] == wanted


def test_two_expected_arguments_with_one_name(tmp_path: Path) -> None:
    (tmp_path / "statebase.yaml").write_text("tools: {fetch: {rename: {order: order_id}}}\n", encoding="utf-8")
    text = "cassette: 1\nexpect:\n  1:\n    tools: {called: {tool: fetch, arguments: {order: 1, order_id: 2}}}\n"
    (tmp_path / "a.session.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=r"a\.session\.yaml:4:13: two arguments that are expected of `fetch`"):
        load_cassette(tmp_path / "a.session.yaml")


def test_an_accepted_baseline_moves_as_well() -> None:
    turn = AcceptedTurn(1, (AcceptedCall("lookup", {"order": 1}),))
    found = moved_accepted(Accepted("s", turns={1: turn}), {"fetch": FETCH})
    assert found.turns[1].calls == (AcceptedCall("fetch", {"order_id": 1}),)


PLAN = """
cassette: 1
answers: [{tool: lookup, arguments: {order: "1"}, result: 1}]
expect: {1: {tools: {called: lookup, not_called: [lookup, other, {tool: lookup, arguments: {"order[0]": 1, x: 2}}]}}}
ignore: [tools.lookup.arguments.order, "**.id"]
"""


def test_a_plan_is_read_with_todays_names(tmp_path: Path) -> None:
    write_record(tmp_path / "a.record.yaml", ledger(ToolCalled("lookup", {"order": "1"}, result=1)))
    before = (tmp_path / "a.record.yaml").read_bytes()
    rules = "tools:\n  lookup: {reads: true, ignore: order}\n  fetch: {was: lookup, rename: {order: order_id}}\n"
    (tmp_path / "statebase.yaml").write_text(rules, encoding="utf-8")
    (tmp_path / "a.session.yaml").write_text(PLAN, encoding="utf-8")
    cassette = load_cassette(tmp_path / "a.session.yaml")
    plan = cassette.plan
    assert (plan.answers[0].tool, plan.answers[0].arguments) == ("fetch", {"order_id": "1"})
    assert plan.expect[1].tools is not None
    assert (plan.expect[1].tools.called, plan.expect[1].tools.not_called) == (
        ("fetch",),
        ("fetch", "other", CallExpect("fetch", {"order_id[0]": 1, "x": 2})),
    )
    assert plan.ignore == ("tools.fetch.arguments.order_id", "**.id")
    # What was said of the old name holds for the new one.
    assert (plan.tools["fetch"].reads, plan.tools["fetch"].ignore) == (True, ("order_id",))
    assert cassette.ledger.turns[0].calls[0].tool == "fetch"
    assert (tmp_path / "a.record.yaml").read_bytes() == before


def test_an_answer_with_both_arguments_is_named(tmp_path: Path) -> None:
    (tmp_path / "statebase.yaml").write_text("tools: {fetch: {rename: {order: order_id}}}\n", encoding="utf-8")
    text = "cassette: 1\nanswers:\n  - {tool: fetch, arguments: {order: 1, order_id: 2}, result: 1}\n"
    (tmp_path / "a.session.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as caught:
        load_cassette(tmp_path / "a.session.yaml")
    assert str(caught.value).startswith(f"{tmp_path / 'a.session.yaml'}:3:5: ")


def test_a_plan_adds_to_what_the_defaults_say_of_a_tool(tmp_path: Path) -> None:
    (tmp_path / "statebase.yaml").write_text("tools: {fetch: {was: lookup, result: 'm:f'}}\n", encoding="utf-8")
    (tmp_path / "a.session.yaml").write_text("cassette: 1\ntools: {fetch: {reads: true}}\n", encoding="utf-8")
    rules = load_cassette(tmp_path / "a.session.yaml").plan.tools["fetch"]
    assert (rules.was, rules.result, rules.reads) == (("lookup",), "m:f", True)


def test_known_divergences_of_plan_and_defaults_add_up(tmp_path: Path) -> None:
    entry = "known: [{{fingerprint: {}, until: 2026-11-01}}]\n"
    (tmp_path / "statebase.yaml").write_text(entry.format("aaaaaaaaaaaa"), encoding="utf-8")
    (tmp_path / "a.session.yaml").write_text("cassette: 1\n" + entry.format("123456789012"), encoding="utf-8")
    known = load_cassette(tmp_path / "a.session.yaml").plan.known
    assert [one.fingerprint for one in known] == ["aaaaaaaaaaaa", "123456789012"]
    assert known[1].where.endswith("a.session.yaml:2:9")
