from __future__ import annotations

import datetime
import decimal
import enum
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from pytest_statebase.compare.diff import NOT_COMPARABLE, diff, plain_equal
from pytest_statebase.compare.paths import IgnoreRules, render
from pytest_statebase.values import TypedData

UTC = datetime.UTC
TEN = datetime.datetime(2024, 1, 1, 10, 0)
NAN = float("nan")


def found(recorded: Any, replayed: Any, *rules: str) -> list[tuple[str, str]]:
    differences = diff(recorded, replayed, prefix=("state",), ignore=IgnoreRules.parse(rules))
    return [(str(each.kind), render(each.path)) for each in differences]


def test_types_in_lists_count() -> None:
    assert found({"scores": [2, 1]}, {"scores": [2.0, True]}) == [
        ("type", "state.scores[0]"),
        ("type", "state.scores[1]"),
    ]


def test_types_count_everywhere() -> None:
    assert found({"a": 1}, {"a": 1.0}) == [("type", "state.a")]
    assert found({"a": (1, 2)}, {"a": [1, 2]}) == [("type", "state.a")]
    assert found({"a": None}, {"a": 0}) == [("type", "state.a")]
    assert found({1: "x"}, {True: "x"}) == [("removed", "state.1"), ("added", 'state."True"')]
    assert found({1}, {1.0}) == [("removed", "state"), ("added", "state")]
    assert found({"a": "1"}, {"a": 1}) == [("type", "state.a")]


def test_ignored_keys_are_gone_before_the_comparison() -> None:
    old = {"id": 1, "paid": 5, "m": {"t1": 0}}
    new = {"id": 2, "paid": 6, "m": {"t2": 0}}
    assert found(old, new, "id") == [("value", "state.paid"), ("removed", "state.m.t1"), ("added", "state.m.t2")]
    assert found(old, new, "id", "state.m.*") == [("value", "state.paid")]


def test_an_ignored_item_does_not_shift_the_others() -> None:
    assert found([1, 2, 3], [9, 2, 4], "state[0]") == [("value", "state[2]")]
    assert found([1, 2], [1, 2, 3], "state[2]") == []


@pytest.mark.parametrize(
    ("recorded", "replayed"),
    [
        (TEN, TEN.replace(tzinfo=UTC)),
        (TEN.replace(tzinfo=UTC), TEN.replace(tzinfo=UTC).astimezone(datetime.timezone(datetime.timedelta(hours=2)))),
        (datetime.time(10), datetime.time(10, tzinfo=UTC)),
    ],
)
def test_zones_count_and_values_stay_as_they_were(recorded: Any, replayed: Any) -> None:
    differences = diff({"at": recorded}, {"at": replayed}, prefix=("state",))
    assert [render(each.path) for each in differences] == ["state.at"]
    assert differences[0].recorded is recorded
    assert differences[0].replayed is replayed


def test_equal_times_are_equal() -> None:
    assert found([TEN], [datetime.datetime(2024, 1, 1, 10, 0)]) == []
    assert found(datetime.date(2024, 1, 1), TEN) == [("type", "state")]


def test_nan_equals_nan() -> None:
    assert found({"a": NAN, "b": [float("nan")]}, {"a": float("nan"), "b": [float("nan")]}) == []
    assert found(NAN, 1.0) == [("value", "state")]


class Handle:
    """Holds what nobody can compare."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("recorded", "replayed"),
    [(object(), object()), (lambda: 1, lambda: 1), (threading.Lock(), threading.Lock()), (iter([1]), iter([1]))],
)
def test_opaque_values_are_never_equal(recorded: Any, replayed: Any) -> None:
    (difference,) = diff({"a": [recorded]}, {"a": [replayed]}, prefix=("state",))
    assert render(difference.path) == "state.a[0]"
    assert difference.detail == NOT_COMPARABLE


def test_an_opaque_attribute_is_found() -> None:
    (difference,) = diff(Handle(), Handle(), prefix=("state",))
    assert (render(difference.path), difference.detail) == ("state.lock", NOT_COMPARABLE)


def test_nothing_is_consumed() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)

    class Box:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

    left, right, third, fourth = numbers(), numbers(), numbers(), numbers()
    diff({"a": left, "b": Box(third)}, {"a": right, "b": Box(fourth)})
    assert [list(each) for each in (left, right, third, fourth)] == [[1, 2]] * 4


def nested(depth: int, leaf: Any, kind: str = "list") -> Any:
    for _ in range(depth):
        leaf = [leaf] if kind == "list" else {"a": leaf}
    return leaf


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("depth", [900, 3000])
def test_depth_is_no_limit(depth: int, kind: str) -> None:
    assert found(nested(depth, 1, kind), nested(depth, 1, kind)) == []
    (difference,) = diff(nested(depth, 1, kind), nested(depth, 2, kind))
    assert (difference.recorded, difference.replayed) == (1, 2)


def test_deep_lists_of_other_lengths() -> None:
    assert found([nested(900, 1), 2], [nested(900, 1)]) == [("removed", "state[1]")]
    assert found([nested(900, 1), 2, 3], [nested(900, 2), 4])


def test_a_deep_value_under_rules_is_one_coarse_difference_at_most() -> None:
    assert len(diff(nested(3000, 1, "dict"), nested(3000, 2, "dict"), ignore=IgnoreRules.parse(["b"]))) == 1


class Raising:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no")

    __hash__ = object.__hash__


def test_a_failure_is_one_difference_and_the_rest_is_compared() -> None:
    differences = diff({"a": Raising(), "b": 1}, {"a": Raising(), "b": 2}, prefix=("state",))
    assert [(render(each.path), each.detail) for each in differences] == [
        ("state.a", "could not be compared: ValueError"),
        ("state.b", None),
    ]


def test_a_property_that_raises() -> None:
    @dataclass
    class Model:
        x: int

        def __getattribute__(self, name: str) -> Any:
            if name == "x":
                raise RuntimeError
            return object.__getattribute__(self, name)

    assert len(diff([Model(1)], [Model(1)])) == 1


def test_cycles_end() -> None:
    left: list[Any] = [1]
    right: list[Any] = [1]
    left.append(left)
    right.append(right)
    assert len(diff(left, right)) == 1


def rows(*ids: int) -> list[dict[str, int]]:
    return [{"id": each, "twice": 2 * each} for each in ids]


def test_one_inserted_item_is_one_difference() -> None:
    assert found(rows(1, 2, 3, 4, 5), rows(9, 1, 2, 3, 4, 5)) == [("added", "state[0]")]
    assert found(rows(1, 2, 3), rows(1, 3)) == [("removed", "state[1]")]
    assert len(found([1, 1, 2], [1, 2, 2])) <= 2


def test_an_inserted_and_a_changed_item() -> None:
    changed = rows(1, 2, 3)
    changed[0]["twice"] = 7
    assert found(rows(1, 2, 3), [{"id": 9, "twice": 18}, *changed]) == [
        ("added", "state[0]"),
        ("value", "state[0].twice"),
    ]


def test_a_long_list_with_one_inserted_item() -> None:
    long = rows(*range(5000))
    assert found(long, [{"id": -1, "twice": 0}, *long[:2500], {"id": -2, "twice": 0}, *long[2501:]]) == [
        ("added", "state[0]"),
        ("value", "state[2500].id"),
        ("value", "state[2500].twice"),
    ]


def test_too_many_differences_are_cut() -> None:
    differences = diff(list(range(2000)), list(range(5000, 7000)))
    assert len(differences) == 501
    assert differences[-1].detail == "differs in more places than are listed"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    y: Any


class Model(pydantic.BaseModel):
    name: str
    tags: list[str] = []


def test_typed_data_equals_the_object_that_it_describes() -> None:
    point, model = f"{__name__}:Point", f"{__name__}:Model"
    assert found(TypedData(point, {"x": 1, "y": [2]}), Point(1, [2])) == []
    assert found(TypedData(point, {"x": 1, "y": [2]}), Point(1, [3])) == [("value", "state.y[0]")]
    assert found(TypedData("other:Point", {"x": 1, "y": 2}), Point(1, 2)) == [("type", "state")]
    assert found(TypedData(model, {"name": "a", "tags": ["x"]}), Model(name="a", tags=["y"])) == [
        ("value", "state.tags[0]")
    ]
    assert found(TypedData(f"{__name__}:Color", {"name": "RED", "value": 1}, "enum"), Color.RED) == []
    assert found(TypedData(f"{__name__}:Color", {"name": "RED", "value": 1}, "enum"), Color.BLUE) == [
        ("value", "state")
    ]
    assert found(Point(1, 2), Point(1, 2.0)) == [("type", "state.y")]


def test_other_values() -> None:
    assert found(decimal.Decimal("1.10"), decimal.Decimal("1.10")) == []
    assert found([decimal.Decimal("1.10")], [decimal.Decimal("2")]) == [("value", "state[0]")]
    assert found({"s": frozenset({1, 2})}, {"s": frozenset({2, 3})}) == [("removed", "state.s"), ("added", "state.s")]
    assert found(decimal.Decimal("nan"), decimal.Decimal("nan")) == []
    assert found(complex("nan"), complex("nan")) == []
    assert found(OrderedDict({1: "a", "b": [1]}), OrderedDict({1: "c", "b": [1]})) == [("value", "state.1")]
    assert found(OrderedDict(a=1), {"a": 1}) == [("type", "state")]
    assert found(b"a", b"b") == [("value", "state")]
    assert found((1, 2), (1, 3)) == [("value", "state[1]")]
    assert found(ValueError("a"), ValueError("a")) == []
    assert found(ValueError("a"), ValueError("b")) == [("value", "state.args[0]")]


def test_key_order_does_not_count() -> None:
    assert found({"a": 1, "b": [1]}, {"b": [1], "a": 1}) == []


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"a": [1, None, "x", 1.5, True]}, {"a": [1, None, "x", 1.5, True]}, True),
        ({"a": NAN}, {"a": float("nan")}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 0.0}, {"a": 0}, False),
        ([1], (1,), False),
        ([], {}, False),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_plain_equal(left: Any, right: Any, equal: bool) -> None:
    assert plain_equal(left, right) is equal


def large(**last: Any) -> dict[str, Any]:
    """So many values that they are compared as a whole first."""
    return {"rows": [{"n": n, "x": n / 4, "ok": n % 2 == 0, "s": str(n)} for n in range(1000)], "last": last}


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": NAN}, {"a": float("nan")}, []),
        ({"a": -0.0}, {"a": 0.0}, []),
        ({"a": (1, 2)}, {"a": (1, 2)}, []),
        ({"a": 1}, {"a": True}, ["type"]),
        ({"a": 1}, {"a": 1.0}, ["type"]),
        ({"a": True, "b": 1}, {"b": True, "a": 1}, ["type", "type"]),
        ({"a": b"x"}, {"a": bytearray(b"x")}, ["type"]),
        ({"a": bytearray(b"x")}, {"a": b"x"}, ["type"]),
        ({"a": (1, 2)}, {"a": [1, 2]}, ["type"]),
        ({1: "x"}, {True: "x"}, ["removed", "added"]),
        ({"a": "\ud800"}, {"a": "\ud801"}, ["value"]),
    ],
)
def test_large_values_are_compared_to_the_type(left: Any, right: Any, kinds: list[str]) -> None:
    for recorded, replayed in ((left, right), (large(v=left), large(v=right))):
        assert [kind for kind, _ in found(recorded, replayed)] == kinds


def test_one_change_in_a_large_value() -> None:
    changed = large(v=1)
    changed["rows"][500]["ok"] = 1
    assert found(large(v=1), changed) == [("type", "state.rows[500].ok")]


def test_a_value_that_doubles_at_every_level_ends() -> None:
    def doubled() -> Any:
        value: Any = [1]
        for _ in range(40):
            value = [value, value]
        return value

    (difference,) = diff(doubled(), doubled(), prefix=("state",))
    assert difference.detail == "could not be compared: too deep or too large"
