from __future__ import annotations

import copy
import threading
from typing import Any

import pytest

from pytest_statebase import values
from pytest_statebase.values import TypedData, copy_value, freeze, same


def nested(depth: int, leaf: Any, kind: type = dict) -> Any:
    for _ in range(depth):
        leaf = {"in": leaf} if kind is dict else [leaf]
    return leaf


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("depth", [3, 900, 20_000])
def test_depth_is_no_limit(kind: type, depth: int) -> None:
    value = nested(depth, [1, {"a": "x"}], kind)
    copied = copy_value(value)
    assert same(copied, value)
    assert not same(copied, nested(depth, [1.0, {"a": "x"}], kind))
    inner, other = value, copied
    for _ in range(depth):
        assert inner is not other
        inner, other = (inner["in"], other["in"]) if kind is dict else (inner[0], other[0])
    other[1]["a"] = "changed"
    assert inner == [1, {"a": "x"}]


def test_deep_values_differ_by_the_types_of_their_keys() -> None:
    assert not same(nested(5000, {1: "x"}), nested(5000, {True: "x"}))
    assert same(nested(5000, {1: "x", "b": 2}), nested(5000, {"b": 2, 1: "x"}))
    assert not same(nested(5000, [1]), nested(5000, [1, 2]))


def test_what_cannot_be_copied_is_shared() -> None:
    lock, numbers = threading.Lock(), iter([1, 2])
    generator = (number for number in numbers)
    copied = copy_value({"lock": lock, "generator": [generator], "list": [1]})
    assert copied["lock"] is lock
    assert copied["generator"] == [generator]
    assert list(generator) == [1, 2]


def test_a_value_that_holds_itself_is_copied_so() -> None:
    value: dict[str, Any] = {"list": [1]}
    value["self"] = value
    copied = copy_value(value)
    assert copied is not value
    assert copied["self"] is copied
    assert copied["list"] is not value["list"]


class Name(str):
    """A text that is none to the type."""


DIFFERENT: list[tuple[Any, Any]] = [
    ([1], [1.0]),
    ([True], [1]),
    ([0.0], [-0.0]),
    ({"a": (1,)}, {"a": [1]}),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": None}, {"b": None}),
    ({1: "x"}, {True: "x"}),
    ({"a": 1}, {Name("a"): 1}),
    ([1, 2], [2, 1]),
    ([TypedData("m:T", {"a": 1})], [TypedData("m:T", {"a": 1.0})]),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_values_that_differ_to_the_type(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert not same(right, left)
    assert same(left, copy.deepcopy(left))
    assert freeze(left) != freeze(right)


def test_order_of_keys_and_nan_make_no_difference() -> None:
    assert same({"a": [float("nan")], "b": {2: 3}}, {"b": {2: 3}, "a": [float("nan")]})


def test_what_is_shared_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Any] = []

    def counted(value: Any) -> Any:
        walked.append(value)
        return freeze(value)

    monkeypatch.setattr(values, "freeze", counted)
    large = {"rows": [{"id": number, "price": number / 7} for number in range(1_000)]}
    assert same(large, large)
    assert same({"result": large, "price": 1.5}, {"result": large, "price": float("1.5")})
    assert walked == [1.5, 1.5]
    assert not same({"n": 1, "rows": large["rows"]}, {"n": 2, "rows": copy.deepcopy(large["rows"])})
    assert walked == [1.5, 1.5]
