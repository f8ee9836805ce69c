"""Pairs that need more than one thing to be seen right at once."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from .pair import SESSION, Call, Did, Pair, call, data, states, tools
from .state_pairs import TEN, UTC_TEN, tasks
from .tool_pairs import AT, FIND, HOLD, KEY, MAIL, OTHER, PAY

SECOND, THIRD = "11c2d3e4-5f60-4a7b-8c9d-0e1f2a3b4c5d", "f0e1d2c3-b4a5-4968-8776-655443322110"


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Seat:
    row: int
    place: Any


KEYS = [
    states("a key with a dot", {"a.b": 1}, {"a.b": 2}, 'state value state."a.b"'),
    states("a key with a dot under a rule", {"a.b": 1}, {"a.b": 2}, ignore=['state."a.b"']),
    states("a key with quotes and brackets", {'a"[0]': 1}, {'a"[0]': 2}, 'state value state."a\\"[0]"'),
    states("an empty key", {"": 1}, {"": 2}, 'state value state.""'),
    states(
        "a key that is a number and became true", {1: 1}, {True: 1}, "state removed state.1", 'state added state."True"'
    ),
    states("a key of another case", {"ID": 1}, {"id": 1}, "state removed state.ID", "state added state.id"),
    states(
        "a rule for id hides no paid",
        {"paid": 1, "ids": 1},
        {"paid": 2, "ids": 1},
        "state value state.paid",
        ignore=["**.id"],
    ),
    states("lone surrogates", {"a": "\ud83d"}, {"a": "\ud83c"}, "state value state.a"),
    states("an invisible blank", {"a": "x\u200b"}, {"a": "x"}, "state value state.a"),
]

SHAPES = [
    states("an enum", {"size": Size.SMALL}, {"size": Size.LARGE}, "state value state.size"),
    states("an enum that became its value", {"size": Size.SMALL}, {"size": "s"}, "state type state.size"),
    states("a field of a dataclass", {"seat": Seat(1, "A")}, {"seat": Seat(1, "B")}, "state value state.seat.place"),
    states(
        "the type of a field of a dataclass",
        {"seat": Seat(1, [2])},
        {"seat": Seat(1, [2.0])},
        "state type state.seat.place[0]",
    ),
    states("a dataclass that became a mapping", {"s": Seat(1, 2)}, {"s": {"row": 1, "place": 2}}, "state type state.s"),
    states("a rule inside a dataclass", {"s": Seat(1, 2)}, {"s": Seat(1, 3)}, ignore=["state.s.place"]),
    states(
        "an ordered mapping that became a plain one", {"m": OrderedDict(a=1)}, {"m": {"a": 1}}, "state type state.m"
    ),
    states(
        "a member of a set of tuples", {"s": {(1, 2)}}, {"s": {(1, 3)}}, "state removed state.s", "state added state.s"
    ),
    states("a set among lists", {"l": [{1}, {2}]}, {"l": [{9}, {1}, {2}]}, "state added state.l[0]"),
    states("a time among others", {"l": [TEN, UTC_TEN]}, {"l": [UTC_TEN]}, "state removed state.l[0]"),
    states("an exception", {"e": ValueError("a")}, {"e": ValueError("b")}, "state value state.e.args[0]"),
    states(
        "not a number in a list of others",
        {"l": [float("nan"), 1]},
        {"l": [0, float("nan"), 1]},
        "state added state.l[0]",
    ),
]

LISTS = [
    states(
        "one item changed and the next one gone",
        {"l": ["a", "b", "c", "d"]},
        {"l": ["a", "x", "d"]},
        "state value state.l[1] | state.l[2]",
        "state removed state.l[2] | state.l[1]",
    ),
    states(
        "two items changed, one of them in two fields",
        {"l": tasks(1, 2, 3)},
        {"l": [{**tasks(1)[0], "done": True}, {**tasks(2)[0], "done": True, "title": "Other"}, *tasks(3)]},
        "state value state.l[0].done",
        "state value state.l[1].title",
        "state value state.l[1].done",
    ),
    states(
        "an item in front of one that changed twice",
        {"l": [{"id": 1, "a": 1, "b": 1, "c": 1}]},
        {"l": [{"id": 7, "a": 7, "b": 7, "c": 7}, {"id": 1, "a": 1, "b": 2, "c": 2}]},
        "state added state.l[0]",
        "state value state.l[0].b",
        "state value state.l[0].c",
    ),
    states("one, one and true", {"l": [1, 1.0, True]}, {"l": [1, True]}, "state removed state.l[1]"),
    states(
        "an insertion two levels down",
        {"days": [{"visits": tasks(1, 2)}, {"visits": tasks(3)}]},
        {"days": [{"visits": tasks(1, 9, 2)}, {"visits": tasks(3)}]},
        "state added state.days[0].visits[1]",
    ),
    states(
        "insertions at both levels",
        {"days": [{"on": "mon", "visits": tasks(1, 2)}, {"on": "tue", "visits": tasks(3)}]},
        {
            "days": [
                {"on": "sun", "visits": []},
                {"on": "mon", "visits": tasks(1, 2, 9)},
                {"on": "tue", "visits": tasks(3)},
            ]
        },
        "state added state.days[0]",
        "state added state.days[0].visits[2]",
    ),
    states(
        "an ignored item and one more", {"l": [1, 2]}, {"l": [9, 2, 3]}, "state added state.l[2]", ignore=["state.l[0]"]
    ),
    states(
        "an ignored field, and an item in front",
        {"l": [{"id": 1, "rev": 1}, {"id": 2, "rev": 1}]},
        {"l": [{"id": 0, "rev": 5}, {"id": 1, "rev": 6}, {"id": 2, "rev": 7}]},
        "state added state.l[0]",
        ignore=["**.rev"],
    ),
]

IDS = [
    Pair(
        "two made-up ids that changed places",
        [Did(calls=[call("a", key=KEY), call("b", key=SECOND)], state={"first": KEY, "second": SECOND})],
        [Did(calls=[call("a", key=OTHER), call("b", key=THIRD)], state={"first": THIRD, "second": OTHER})],
        ["state value state.first", "state value state.second"],
    ),
    Pair(
        "a made-up id as a key",
        [Did(calls=[call("a", key=KEY)], state={"by": {KEY: 1}})],
        [Did(calls=[call("a", key=OTHER)], state={"by": {OTHER: 1}})],
        [],
    ),
    Pair(
        "a made-up id among the items of a list, and one more item",
        [Did(calls=[call("a", key=KEY)], state={"l": [{"key": KEY}]})],
        [Did(calls=[call("a", key=OTHER)], state={"l": [{"key": "none"}, {"key": OTHER}]})],
        ["state added state.l[0]"],
    ),
    Pair(
        "a made-up id in a mapping as output",
        [Did(data({"ref": KEY, "euros": 1}), [call("a", key=KEY)])],
        [Did(data({"ref": OTHER, "euros": 1}), [call("a", key=OTHER)])],
        [],
    ),
    Pair(
        "a made-up id in a memory",
        [Did(calls=[call("a", key=KEY)], memory=[{"content": f"paid as {KEY}"}])],
        [Did(calls=[call("a", key=OTHER)], memory=[{"content": f"paid as {OTHER}"}])],
        [],
    ),
    tools(
        "a made-up id inside a longer text", [call("mail", text=f"Ref. {KEY}!")], [call("mail", text=f"Ref. {OTHER}!")]
    ),
    tools(
        "a made-up id beside another argument",
        [call("pay", key=KEY, euros=80)],
        [call("pay", key=OTHER, euros=81)],
        "tools arguments tools.pay.arguments.euros",
    ),
    tools("a time in seconds", [call("log", at=1773570245)], [call("log", at=1773570299)]),
    tools(
        "a number that is no time",
        [call("log", n=17735)],
        [call("log", n=17736)],
        "tools arguments tools.log.arguments.n",
    ),
    tools(
        "the time of the call beside another argument",
        [call("log", at=AT, level=1)],
        [call("log", at="2026-03-15T10:24:09Z", level=2)],
        "tools arguments tools.log.arguments.level",
    ),
    Pair(
        "the session's id in an argument",
        [Did(calls=[call("a", of=SESSION)])],
        [Did(calls=[call("a", of=SESSION)])],
        [],
    ),
]

ROWS = [
    tools(
        "the first of two calls of a tool gone, the other one changed",
        [call("find", q=1, page=1), call("find", q=2, page=1)],
        [call("find", q=2, page=3)],
        "tools missing tools.find",
        "tools arguments tools.find#2.arguments.page",
    ),
    tools("one more among equal ones", [MAIL, MAIL, PAY], [MAIL, MAIL, MAIL, PAY], "tools extra tools.mail#3"),
    tools(
        "another tool, and another argument in the next call",
        [FIND, HOLD, call("pay", euros=80)],
        [FIND, MAIL, call("pay", euros=8)],
        "tools replaced tools.hold",
        "tools arguments tools.pay.arguments.euros",
    ),
    tools(
        "made at once, one of them with another argument",
        [call("a", x=1, at_once=1), call("b", x=1, at_once=1)],
        [call("b", x=2), call("a", x=1)],
        "tools arguments tools.b.arguments.x",
    ),
    tools(
        "one gone, and two others swapped",
        [FIND, HOLD, PAY, MAIL],
        [HOLD, MAIL, PAY],
        "tools missing tools.find",
        "tools reordered tools.pay.order | tools.mail.order",
    ),
    tools(
        "five in reverse order",
        [call(name) for name in "abcde"],
        [call(name) for name in "edcba"],
        *["tools reordered " + " | ".join(f"tools.{name}.order" for name in "abcde")] * 4,
    ),
    tools(
        "arguments that are no mapping",
        [Call("sql", "select 1")],
        [Call("sql", "select 2")],
        "tools arguments tools.sql.arguments",
    ),
    tools(
        "a rule for an argument of every tool",
        [call("a", trace=1), call("b", trace=1)],
        [call("a", trace=2), call("b", trace=3)],
        ignore=["tools.*.arguments.trace"],
    ),
    tools(
        "a rule anywhere reaches arguments",
        [call("a", x={"trace": 1})],
        [call("a", x={"trace": 2})],
        ignore=["**.trace"],
    ),
    Pair(
        "a write made a turn later",
        [Did(calls=[PAY]), Did()],
        [Did(), Did(calls=[PAY])],
        ["tools moved tools.pay"],
    ),
    Pair(
        "two turns, each with a change of its own",
        [Did(calls=[FIND], state={"n": 1}), Did(calls=[HOLD], state={"n": 2})],
        [Did(calls=[FIND], state={"n": 5}), Did(calls=[HOLD, MAIL], state={"n": 2})],
        ["state value state.n", "tools extra tools.mail"],
    ),
    Pair(
        "a turn that raised ends the replay",
        [Did(), Did(state={"n": 1})],
        [Did(raises=("ValueError", "no")), Did(state={"n": 2})],
        ["error raised error"],
    ),
]

PAIRS = [*KEYS, *SHAPES, *LISTS, *IDS, *ROWS]
