"""Pairs whose state differs at the turn's end."""

from __future__ import annotations

import datetime
import uuid
from datetime import timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .pair import SESSION, Did, Pair, states

TEN = datetime.datetime(2026, 3, 15, 10, 0)
UTC_TEN = TEN.replace(tzinfo=datetime.UTC)
NAN, INF = float("nan"), float("inf")


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"in": leaf}
    return leaf


def tasks(*ids: int, **changed: Any) -> list[dict[str, Any]]:
    return [{"id": each, "title": f"Task {each}", "done": False} | (changed if each == 2 else {}) for each in ids]


TYPES = [
    states("an integer that became a float", {"n": 1}, {"n": 1.0}, "state type state.n"),
    states("an integer that became a boolean", {"n": 1}, {"n": True}, "state type state.n"),
    states("zero that became false", {"n": 0}, {"n": False}, "state type state.n"),
    states("a float that became a boolean", {"n": 0.0}, {"n": False}, "state type state.n"),
    states("a number that became text", {"zip": 2134}, {"zip": "2134"}, "state type state.zip"),
    states("a leading zero in text", {"zip": "02134"}, {"zip": "2134"}, "state value state.zip"),
    states("null that became zero", {"n": None}, {"n": 0}, "state type state.n"),
    states("null that became empty text", {"n": None}, {"n": ""}, "state type state.n"),
    states("an empty list that became an empty mapping", {"n": []}, {"n": {}}, "state type state.n"),
    states("a list that became text", {"n": ["a"]}, {"n": "a"}, "state type state.n"),
    states("types inside a list", {"n": [2, 1]}, {"n": [2.0, True]}, "state type state.n[0]", "state type state.n[1]"),
    states("a tuple that became a list", {"at": (1, 2)}, {"at": [1, 2]}, "state type state.at"),
    states("a set that became a list", {"at": {1}}, {"at": [1]}, "state type state.at"),
    states("a frozen set instead of a set", {"at": {1}}, {"at": frozenset({1})}, "state type state.at"),
    states("bytes that became text", {"raw": b"ab"}, {"raw": "ab"}, "state type state.raw"),
    states("bytes that became a bytearray", {"raw": b"ab"}, {"raw": bytearray(b"ab")}, "state type state.raw"),
    states("a uuid that became text", {"id": uuid.UUID(int=7)}, {"id": str(uuid.UUID(int=7))}, "state type state.id"),
    states(
        "a key that became text",
        {"m": {1: "a"}},
        {"m": {"1": "a"}},
        "state removed state.m.1",
        'state added state.m."1"',
    ),
    states("the whole state", {"a": 1}, [1], "state type state"),
]

NUMBERS = [
    states("not a number on both sides", {"x": NAN}, {"x": float("nan")}),
    states("not a number, then infinite", {"x": NAN}, {"x": INF}, "state value state.x"),
    states("the other infinity", {"x": INF}, {"x": -INF}, "state value state.x"),
    states("a rounding error", {"x": 0.3}, {"x": 0.1 + 0.2}, "state value state.x"),
    states("a huge integer", {"x": 2**80}, {"x": 2**80 + 1}, "state value state.x"),
    states("a decimal", {"x": Decimal("9.99")}, {"x": Decimal("99.9")}, "state value state.x"),
    states("equal decimals", {"x": Decimal("9.99")}, {"x": Decimal("9.99")}),
    states("a decimal that is no number", {"x": Decimal("nan")}, {"x": Decimal("nan")}),
    states("a decimal that became a float", {"x": Decimal("0.5")}, {"x": 0.5}, "state type state.x"),
    states("a fraction", {"x": Fraction(1, 3)}, {"x": Fraction(1, 4)}, "state value state.x"),
    states("a complex number", {"x": 1 + 2j}, {"x": 1 - 2j}, "state value state.x"),
]

TIMES = [
    states("equal times", {"at": TEN}, {"at": datetime.datetime(2026, 3, 15, 10)}),
    states("a time that got a zone", {"at": TEN}, {"at": UTC_TEN}, "state value state.at"),
    states(
        "the same instant in another zone",
        {"at": UTC_TEN},
        {"at": UTC_TEN.astimezone(timezone(timedelta(hours=2)))},
        "state value state.at",
    ),
    states("an appointment an hour later", {"at": TEN}, {"at": TEN + timedelta(hours=1)}, "state value state.at"),
    states("an appointment in text", {"at": "2026-03-16T10:00"}, {"at": "2026-03-16T11:00"}, "state value state.at"),
    states("a date that became a time", {"at": TEN.date()}, {"at": TEN}, "state type state.at"),
    states("a time that became text", {"at": TEN}, {"at": TEN.isoformat()}, "state type state.at"),
    states("a duration", {"for": timedelta(hours=1)}, {"for": timedelta(minutes=1)}, "state value state.for"),
    states("a time of each run under a rule", {"seen_at": TEN}, {"seen_at": UTC_TEN}, ignore=["**.seen_at"]),
]

ABSENCE = [
    states("null that is gone", {"a": 1, "b": None}, {"a": 1}, "state removed state.b"),
    states("empty text that appeared", {"a": 1}, {"a": 1, "b": ""}, "state added state.b"),
    states("false that appeared", {"a": 1}, {"a": 1, "b": False}, "state added state.b"),
    states("empty text that was filled", {"a": ""}, {"a": "x"}, "state value state.a"),
    states("blanks around a text", {"a": "x"}, {"a": " x"}, "state value state.a"),
    states("capitals", {"a": "Berlin"}, {"a": "berlin"}, "state value state.a"),
    states("a renamed key", {"colour": 1}, {"color": 1}, "state removed state.colour", "state added state.color"),
    states("a composed and a decomposed letter", {"a": "\u00e9"}, {"a": "e\u0301"}, "state value state.a"),
    states(
        "a key with a decomposed letter",
        {"\u00e9": 1},
        {"e\u0301": 1},
        'state removed state."\u00e9"',
        'state added state."e\u0301"',
    ),
    states("look-alike letters", {"a": "paypal"}, {"a": "p\u0430ypal"}, "state value state.a"),
    states("another order of keys", {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
    states("everything cleared", {"a": 1, "b": [1]}, {}, "state removed state.a", "state removed state.b"),
]

LISTS = [
    states("an item at the end", {"l": tasks(1, 2)}, {"l": tasks(1, 2, 3)}, "state added state.l[2]"),
    states("an item at the front", {"l": tasks(1, 2, 3)}, {"l": tasks(9, 1, 2, 3)}, "state added state.l[0]"),
    states("an item in the middle", {"l": tasks(1, 2, 3)}, {"l": tasks(1, 9, 2, 3)}, "state added state.l[1]"),
    states("an item less", {"l": tasks(1, 2, 3)}, {"l": tasks(1, 3)}, "state removed state.l[1]"),
    states("the first item less", {"l": tasks(1, 2, 3)}, {"l": tasks(2, 3)}, "state removed state.l[0]"),
    states(
        "one field of one item", {"l": tasks(1, 2, 3)}, {"l": tasks(1, 2, 3, done=True)}, "state value state.l[1].done"
    ),
    states(
        "an item in front and one field changed",
        {"l": tasks(1, 2, 3)},
        {"l": tasks(9, 1, 2, 3, done=True)},
        "state added state.l[0]",
        "state value state.l[1].done",
    ),
    states("an item twice", {"l": tasks(1, 2)}, {"l": tasks(1, 1, 2)}, "state added state.l[0] | state.l[1]"),
    states(
        "the last item first",
        {"l": tasks(1, 2, 3)},
        {"l": tasks(3, 1, 2)},
        "state removed state.l[2]",
        "state added state.l[0]",
    ),
    states(
        "two items swapped",
        {"l": tasks(1, 2)},
        {"l": tasks(2, 1)},
        "state removed state.l[0] | state.l[1]",
        "state added state.l[0] | state.l[1]",
    ),
    states("a list in a list", {"l": [[1, 2], [3]]}, {"l": [[1, 2], [3, 4]]}, "state added state.l[1][1]"),
    states("a value three lists deep", {"l": [[[1], [2]]]}, {"l": [[[1], [5]]]}, "state value state.l[0][1][0]"),
    states("a list that was emptied", {"l": ["a"]}, {"l": []}, "state removed state.l[0]"),
    states("a value in a tuple", {"t": (1, 2)}, {"t": (1, 3)}, "state value state.t[1]"),
    states("a member of a set", {"s": {1, 2}}, {"s": {1, 3}}, "state removed state.s", "state added state.s"),
    states("a set in another order", {"s": {"a", "b", "c"}}, {"s": {"c", "b", "a"}}),
    states("bytes", {"raw": b"\x00\x01"}, {"raw": b"\x00\x02"}, "state value state.raw"),
    states("fifty levels deep", nested(50, 1), nested(50, 2), "state value state" + ".in" * 50),
    states("two hundred levels deep", nested(200, 1), nested(200, 2), "state value state" + ".in" * 200),
]

RULES = [
    states("a rule for one key", {"id": 1, "paid": 5}, {"id": 2, "paid": 6}, "state value state.paid", ignore=["id"]),
    states("a rule for every item", {"l": [{"t": 1}, {"t": 2}]}, {"l": [{"t": 3}, {"t": 4}]}, ignore=["state.l[*].t"]),
    states("a rule for one item", {"l": [1, 2]}, {"l": [8, 9]}, "state value state.l[1]", ignore=["state.l[0]"]),
    states("a rule for keys of any name", {"m": {"t1": 0}}, {"m": {"t2": 0}}, ignore=["state.m.*"]),
    states("a rule at any depth", {"a": {"b": [{"rev": 1}]}}, {"a": {"b": [{"rev": 2}]}}, ignore=["**.rev"]),
    states("a rule whose key appeared", {"a": 1}, {"a": 1, "rev": 2}, ignore=["rev"]),
    states("a rule for something else", {"a": 1}, {"a": 2}, "state value state.a", ignore=["state.b"]),
]

OPAQUE = [
    states("two handles", {"h": object()}, {"h": object()}, "state value state.h"),
    states("two functions", {"h": lambda: 1}, {"h": lambda: 1}, "state value state.h"),
    states("a handle under a rule", {"h": object()}, {"h": object()}, ignore=["state.h"]),
]

ROLLBACKS = [
    Pair(
        "a rollback on both sides",
        [Did(state={"status": "paid"}, rolls_back_to=0)],
        [Did(state={"status": "paid"}, rolls_back_to=0)],
        [],
    ),
    Pair(
        "a rollback that was not made",
        [Did(state={"status": "paid"}, rolls_back_to=0)],
        [Did(state={"status": "paid"})],
        ["state value state.status"],
    ),
    Pair(
        "a rollback more",
        [Did(state={"status": "paid"})],
        [Did(state={"status": "paid"}, rolls_back_to=0)],
        ["state value state.status"],
    ),
    Pair(
        "a rollback to another version",
        [Did(state={"status": "open"}), Did(state={"status": "paid"}, rolls_back_to=1)],
        [Did(state={"status": "open"}), Did(state={"status": "paid"}, rolls_back_to=0)],
        ["state value state.status"],
    ),
    Pair("a state that is left alone", [Did(state={"status": "open"})], [Did()], ["state value state.status"]),
    Pair("a state written as it was", [Did()], [Did(state={"status": "new"})], []),
    states("the session's own id", {"room": SESSION}, {"room": SESSION}),
]

PAIRS = [*TYPES, *NUMBERS, *TIMES, *ABSENCE, *LISTS, *RULES, *OPAQUE, *ROLLBACKS]
