from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.compare.paths import IGNORED, Call, IgnoreRules, Index, lookup, parse_steps, render
from pytest_statebase.errors import PlanError
from pytest_statebase.values import TypedData


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("state", "cart", Index(0), "sku"), "state.cart[0].sku"),
        (("state", "cart", Index(0), "odd key"), 'state.cart[0]."odd key"'),
        (("state", "a.b", 'say "hi"\n'), 'state."a.b"."say \\"hi\\"\\n"'),
        (("state", "", "1"), 'state.""."1"'),
        (("state", 1), "state.1"),
        (("state", None, (1, 2)), 'state."None"."(1, 2)"'),
        (("tools", Call("lookup_order"), "arguments", "id"), "tools.lookup_order.arguments.id"),
        (("tools", Call("srv.search", 2), "order"), 'tools."srv.search"#2.order'),
        (("output",), "output"),
    ],
)
def test_a_path_as_text_ignores_what_it_names(path: tuple[Any, ...], text: str) -> None:
    assert render(path) == text
    assert IgnoreRules.parse([text]).hides(path)


def stripped(rule: str, value: Any, *path: Any) -> Any:
    return IgnoreRules.parse([rule]).strip(value, path or ("state",))


def test_a_bare_key_means_that_key_alone_wherever_it_is() -> None:
    value = {"id": 1, "paid": 5, "rows": [{"id": 2, "identity": 3}]}
    assert stripped("id", value) == {"paid": 5, "rows": [{"identity": 3}]}
    assert stripped("**.id", value) == {"paid": 5, "rows": [{"identity": 3}]}


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("state.cart[*].added_at", {"cart": [{"sku": 1}, {"sku": 2}], "added_at": 0}),
        ("state.cart[1].added_at", {"cart": [{"sku": 1, "added_at": 5}, {"sku": 2}], "added_at": 0}),
        ("state.cart[1]", {"cart": [{"sku": 1, "added_at": 5}, IGNORED], "added_at": 0}),
        ("state.*", {}),
        ("state.**.added_at", {"cart": [{"sku": 1}, {"sku": 2}]}),
        ("**.cart[*].sku", {"cart": [{"added_at": 5}, {"added_at": 6}], "added_at": 0}),
        ("output.cart", None),
        ("state", IGNORED),
    ],
)
def test_rules_take_away_what_they_name(rule: str, kept: Any) -> None:
    value = {"cart": [{"sku": 1, "added_at": 5}, {"sku": 2, "added_at": 6}], "added_at": 0}
    found = stripped(rule, value)
    assert found is value if kept is None else found == kept


def test_what_no_rule_touches_is_the_same_object() -> None:
    value = {"a": [1, {"b": 2}]}
    assert stripped("state.a[*].c", value) is value


def test_the_fields_of_typed_values_are_keys() -> None:
    @dataclass
    class Order:
        id: int
        at: str

    assert stripped("at", {"order": TypedData("m:Order", {"id": 1, "at": "now"})}) == {
        "order": TypedData("m:Order", {"id": 1})
    }
    assert stripped("at", {"order": Order(1, "now")})["order"].fields == {"id": 1}


def test_rules_for_tools() -> None:
    rules = IgnoreRules.parse(["tools.search#2.arguments.page", 'tools."srv.log"', "tools.book.order", "**.trace"])
    arguments = {"page": 1, "trace": "x"}
    assert rules.arguments("search", arguments) == {"page": 1}
    assert rules.arguments("search", arguments, 2) == {}
    assert rules.hides(("tools", Call("srv.log", 3)))
    assert not rules.hides(("tools", Call("srv", 1)))
    assert rules.hides(("tools", Call("book"), "order"))
    assert not rules.hides(("tools", Call("book")))


def test_a_key_rule_hides_no_tool_of_that_name() -> None:
    rules = IgnoreRules.parse(["search", "arguments"])
    assert not rules.hides(("tools", Call("search")))
    assert rules.arguments("other", {"a": 1}) == {"a": 1}


def test_rules_of_tools_name_arguments() -> None:
    rules = IgnoreRules.of_tools(
        {"think": ToolRules(ignore=("arguments",)), "book": ToolRules(ignore=("key", "meta.at"))}
    )
    assert rules.arguments("think", {"text": "hm"}) is IGNORED
    assert rules.arguments("book", {"key": 1, "meta": {"at": 2, "key": 3}}) == {"meta": {"key": 3}}
    assert rules.arguments("other", {"key": 1}) == {"key": 1}
    assert rules.unmatched() == []


def test_a_rule_that_hides_nothing_is_known() -> None:
    rules = IgnoreRules.parse(["id", "state.nope", "output.x"])
    rules.strip({"id": 1}, ("state",))
    assert rules.unmatched() == ["state.nope", "output.x"]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("", "is empty"),
        ("state..x", "cannot be read from '..x' on"),
        ("state.", "cannot be read from '.' on"),
        ("state.cart[x]", "cannot be read from '[x]' on"),
        ("state.cart.[0]", "cannot be read from '.[0]' on"),
        ('state."open', "cannot be read"),
        ("state.t*", "cannot be read from '*' on"),
        ("cart.added_at", "does not begin with a facet"),
        ("[0].x", "does not begin with a facet"),
        ("**", "would hide everything"),
        ("**.**.x", "twice in a row"),
        ("tools.search.result", "not compared"),
        ("tools.srv.search", "not compared"),
        ("tools[0]", "does not name a tool"),
        ("state.x#2", "no tool is named"),
        ("tools.a.arguments#2", "no tool is named"),
        (r'state."\q"', "no JSON text"),
    ],
)
def test_a_malformed_rule_is_refused_with_its_place(rule: str, why: str) -> None:
    with pytest.raises(PlanError) as caught:
        IgnoreRules.parse([rule], where="a.session.yaml:9:3")
    assert why in caught.value.what
    assert caught.value.where == "a.session.yaml:9:3"
    assert caught.value.remedy


def test_a_plan_says_where_its_malformed_rule_stands() -> None:
    plan = Plan(
        ignore=("inherited", "id", "cart.x"),
        where={"ignore[0]": "p.session.yaml:3:10", "ignore[1]": "p.session.yaml:3:14"},
    )
    with pytest.raises(PlanError, match=r"^p\.session\.yaml:3:14: the path 'cart\.x' does not begin"):
        IgnoreRules.of_plan(plan)


def test_no_rules_are_falsy() -> None:
    assert not IgnoreRules.of_plan(Plan())
    assert IgnoreRules.of_plan(Plan(ignore=("id",)))


def test_lookup() -> None:
    state = {"cart": [{"sku": "a"}, {"sku": "b"}], "done": False, "a b": 1, 2: "two"}

    def at(path: str) -> list[Any]:
        return lookup(state, parse_steps(path))

    assert at("done") == [False]
    assert at("cart[1].sku") == ["b"]
    assert at("cart[*].sku") == ["a", "b"]
    assert at("**.sku") == ["a", "b"]
    assert at('"a b"') == [1]
    assert at("2") == ["two"]
    assert at("cart.sku") == []
    assert at("missing.x") == []
