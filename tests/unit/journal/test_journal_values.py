"""Values as JSON text and back, equal to the type; what cannot be stored is a marker and is counted."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import json
import threading
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_statebase.journal import settle
from pytest_statebase.journal.settle import MAX_DEPTH
from pytest_statebase.journal.tagged import tagged_text, value_of
from pytest_statebase.values import ABSENT, TypedData, Uncopied, same


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


@dataclasses.dataclass
class Order:
    number: str
    items: list[Any]


class Model(BaseModel):
    total: Decimal


Point = collections.namedtuple("Point", "x y")


def again(value: Any) -> Any:
    text, uncopied = tagged_text(value)
    assert uncopied == 0
    assert text.isascii()
    assert "\n" not in text
    assert "\t" not in text
    return value_of(text)


VALUES = [
    None,
    True,
    0,
    -1,
    1.0,
    -0.0,
    float("nan"),
    float("-inf"),
    10**30,
    -(10**3000),
    "",
    "Grüße\t\n\x00",
    "\ud800x",
    [],
    {},
    [1, [2.0, {"a": [None]}]],
    {"b": 1, "a": 2},
    (),
    (1, (2,)),
    {1: "a", "1": "b", None: 0, 2.5: 2},
    {"~": 1},
    {"~": ["!decimal", "1"]},
    {"~": 1, "b": (1,)},
    {(1, "x"): 3},
    {b"k": 1, Decimal("1"): 2},
    {1, 2},
    frozenset({(1, "a"), "b"}),
    set(),
    b"\xff\x00",
    bytearray(b"ab"),
    Decimal("1.10"),
    Fraction(1, 3),
    1 + 2j,
    uuid.UUID(int=5),
    Path("/tmp/x"),
    datetime.datetime(2026, 3, 15, 10, 0, 0, 5),
    datetime.datetime(2026, 3, 29, 1, 0, tzinfo=ZoneInfo("Europe/Berlin")),
    datetime.date(2026, 1, 1),
    datetime.time(1, 2),
    datetime.timedelta(days=-1, microseconds=3),
    collections.deque([1, (2,)]),
    collections.OrderedDict([("b", (1,)), ("a", 2)]),
    collections.Counter("aab"),
    Colour.RED,
    Level.HIGH,
    Order("1", [Colour.RED, (1,)]),
    Model(total=Decimal("2.0")),
    Point(1, (2,)),
    TypedData("m:T", {"type": 1, "fields": {"a": (1,)}}),
    {"deep": [{"in": {"it": {(1,): Order("2", [])}}}]},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_was_written_loads_back_equal_to_the_type(value: Any) -> None:
    assert same(again(value), value)
    assert same(again([{"inside": value}]), [{"inside": value}])


def test_what_python_itself_finds_unequal_loads_back_as_well() -> None:
    assert str(again(Decimal("sNaN5"))) == "sNaN5"
    assert again(ValueError("no", 3)) == TypedData("builtins:ValueError", {"args": ["no", 3]}, "error")
    assert same(again(collections.deque([Colour.RED]))[0], Colour.RED)


def test_key_order_stays() -> None:
    assert list(again({"z": 1, "a": (2,), (3, 4): 5, "b": 6})) == ["z", "a", (3, 4), "b"]
    assert list(again({"z": 1, "a": 2})) == ["z", "a"]


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.timedeltas()
    | st.fractions()
    | st.complex_numbers(allow_nan=False)
    | st.just(Colour.RED)
)
_KEYS = st.text() | st.integers() | st.booleans() | st.tuples(st.text(), st.integers()) | st.just("~")


@given(
    st.recursive(
        _SCALARS,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(_KEYS, inner)
            | st.tuples(inner, inner)
            | st.lists(st.text() | st.integers()).map(collections.deque)
            | st.dictionaries(st.text(), inner).map(collections.OrderedDict)
            | st.builds(Order, st.text(), st.lists(inner))
            | st.frozensets(st.text() | st.integers())
        ),
        max_leaves=12,
    )
)
def test_any_value_loads_back_equal_to_the_type(value: Any) -> None:
    assert same(again(value), value)


def test_plain_values_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle.Settler, "value", lambda *_: pytest.fail("looked at"))
    value = {"items": [{"price": 1.5, "name": "ä", "none": None}] * 50, "flag": True}
    assert value_of(tagged_text(value)[0]) == value
    # The same through the slow way, to see that the test can fail.
    with pytest.raises(pytest.fail.Exception):
        tagged_text({"items": (1,)})


@pytest.mark.parametrize("subclass", [Name("x"), Level.HIGH, collections.OrderedDict(a=1), {"a": Name("x")}])
def test_subclasses_are_not_taken_for_what_json_makes_of_them(subclass: Any) -> None:
    text, uncopied = tagged_text([subclass])
    assert uncopied == 1 or same(value_of(text), [subclass])


def test_integers_that_python_makes_no_text_of_are_not_stored() -> None:
    text, uncopied = tagged_text({"n": [10**5000, -(10**5000)], (10**5000,): 1})
    assert uncopied == 3
    assert text.count("!uncopied") == 3


def test_objects_that_hold_each_other_twice_and_again_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "MAX_PARTS", 1000)
    bomb: Any = Order("x", [])
    for _ in range(60):
        bomb = Order("x", [bomb, bomb])
    text, uncopied = tagged_text(bomb)
    assert uncopied > 0
    assert len(text) < 200_000


class Hostile:
    """Raises whatever is done to it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


def _self_holding() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (threading.Lock, "_thread:lock"),
        (Hostile, f"{__name__}:Hostile"),
        (lambda: open, "builtins:builtin_function_or_method"),
        (lambda: Uncopied(Order), f"{__name__}:Order"),
        (lambda: collections.deque([1], maxlen=3), "collections:deque"),
        (lambda: Name("x"), f"{__name__}:Name"),
        (lambda: collections.defaultdict(int), "collections:defaultdict"),
    ],
)
def test_what_has_no_form_is_a_marker_where_it_stands(make: Callable[[], Any], kind: str) -> None:
    text, uncopied = tagged_text({"kept": [1, (2,)], "not": [make()]})
    found = value_of(text)
    assert uncopied == 1
    assert found["kept"] == [1, (2,)]
    assert type(found["not"][0]) is Uncopied
    assert found["not"][0].type == kind


def test_what_cannot_be_a_key_is_a_marker_too() -> None:
    text, uncopied = tagged_text({Colour.RED: 1, "a": {Order("1", []).number, Point(1, 2)}})
    found = value_of(text)
    assert uncopied == 2
    assert [type(key) for key in found] == [Uncopied, str]
    assert {type(item) for item in found["a"]} == {str, Uncopied}


def test_what_holds_itself_ends_in_a_marker() -> None:
    text, uncopied = tagged_text(_self_holding())
    assert uncopied == 1
    assert value_of(text)[0] == 1
    assert type(value_of(text)[1]) is Uncopied


@pytest.mark.parametrize("levels", [MAX_DEPTH - 5, MAX_DEPTH, 3 * MAX_DEPTH, 100_000])
def test_what_is_too_deep_ends_in_a_marker(levels: int) -> None:
    text, uncopied = tagged_text(_deep(levels))
    assert uncopied == (levels >= MAX_DEPTH)
    found, depth = value_of(text), 0
    while type(found) is list and found:
        found, depth = found[0], depth + 1
    assert depth == min(levels, MAX_DEPTH)


def test_absent_is_not_null() -> None:
    assert again([ABSENT, None]) == [ABSENT, None]


@pytest.mark.parametrize(
    "text",
    [
        '{"~":["!object",{"type":"os:system","args":["ls"]}]}',
        '{"~":["!fraction","1e999999999"]}',
        '{"~":["!fraction","1/0"]}',
        '{"~":["!set",[[1]]]}',
        '{"~":["!set",[1,1]]}',
        '{"~":["!dict",[[[],1]]]}',
        '{"~":["!dict",[1]]}',
        '{"~":["!dict",[[1,2],[1,3]]]}',
        '{"~":["!python/object/apply","x"]}',
        '{"~":1}',
        '{"~":[]}',
        '{"~":["!decimal","x"]}',
        '{"~":["!bytes","%"]}',
        '{"~":["!datetime",1]}',
        '{"~":["!json",{"a":1}]}',
        '{"~":["!timedelta","9999999999999999"]}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"~":["!tuple",[' * 50_000,
        "1" * 5000,
        "nul",
        "",
    ],
)
def test_hostile_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        value_of(text)


def test_a_name_of_a_type_is_not_imported() -> None:
    found = value_of(json.dumps({"~": ["!object", {"type": "not_there:T", "fields": {"a": 1}}]}))
    assert found == TypedData("not_there:T", {"a": 1})
