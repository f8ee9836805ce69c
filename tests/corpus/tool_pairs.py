"""Pairs whose calls differ."""

from __future__ import annotations

from .pair import Did, Pair, call, tools

FIND, HOLD, PAY, MAIL = (call("find", room="blue"), call("hold", room="blue"), call("pay", euros=80), call("mail"))
KEY, OTHER = "3f2b8c1e-5d4a-4b7e-9c0d-1a2b3c4d5e6f", "a9c4e7b2-1f3d-4e5a-8b6c-7d8e9f0a1b2c"
GIVEN, NOT_GIVEN = "7c1d9e5ab3f2", "4e8b2a6dc9f1"
AT = "2026-03-15T10:24:05Z"

ROWS = [
    tools("the same calls", [FIND, HOLD, PAY], [FIND, HOLD, PAY]),
    tools("no call any more", [PAY], [], "tools missing tools.pay"),
    tools("the first of three is missing", [FIND, HOLD, PAY], [HOLD, PAY], "tools missing tools.find"),
    tools("the second of two equal ones is missing", [MAIL, MAIL], [MAIL], "tools missing tools.mail | tools.mail#2"),
    tools("a call where there was none", [], [PAY], "tools extra tools.pay"),
    tools("a call more in front", [FIND, HOLD], [MAIL, FIND, HOLD], "tools extra tools.mail"),
    tools("a call more at the end", [FIND, HOLD], [FIND, HOLD, PAY], "tools extra tools.pay"),
    tools("a write made twice", [PAY], [PAY, PAY], "tools extra tools.pay#2"),
    tools("a read made twice", [FIND], [FIND, FIND], "tools extra tools.find#2", reads=["find"]),
    tools(
        "five calls and one in front",
        [FIND, HOLD, FIND, PAY, MAIL],
        [MAIL, FIND, HOLD, FIND, PAY, MAIL],
        "tools extra tools.mail | tools.mail#2",
    ),
    tools("another tool in its place", [FIND, HOLD, MAIL], [FIND, PAY, MAIL], "tools replaced tools.hold"),
    tools("two swapped", [HOLD, PAY], [PAY, HOLD], "tools reordered tools.hold.order | tools.pay.order"),
    tools("the last one first", [FIND, HOLD, PAY], [PAY, FIND, HOLD], "tools reordered tools.pay.order"),
    tools("made at once, in another order", [call("a", at_once=1), call("b", at_once=1)], [call("b"), call("a")]),
    tools(
        "one of those made at once is missing",
        [call("a", at_once=1), call("b", at_once=1)],
        [call("b")],
        "tools missing tools.a",
    ),
    tools(
        "behind those that it was made at once before",
        [call("a", at_once=1), call("b", at_once=1), call("c", at_once=2)],
        [call("c"), call("b"), call("a")],
        "tools reordered tools.c.order",
    ),
    tools(
        "one missing and one more, apart",
        [FIND, HOLD, PAY],
        [HOLD, PAY, MAIL],
        "tools missing tools.find",
        "tools extra tools.mail",
    ),
    tools("a tool whose name has a dot", [call("srv.find", q=1)], [], 'tools missing tools."srv.find"'),
    tools("a tool that is ignored", [FIND, MAIL], [FIND], ignore=["tools.mail"]),
    tools("an order that is ignored", [HOLD, PAY], [PAY, HOLD], ignore=["tools.hold.order", "tools.pay.order"]),
]

ARGUMENTS = [
    tools("an argument", [call("pay", euros=80)], [call("pay", euros=88)], "tools arguments tools.pay.arguments.euros"),
    tools("its type", [call("pay", euros=80)], [call("pay", euros=80.0)], "tools arguments tools.pay.arguments.euros"),
    tools(
        "a number as text",
        [call("pay", euros=80)],
        [call("pay", euros="80")],
        "tools arguments tools.pay.arguments.euros",
    ),
    tools("one more", [call("pay", euros=8)], [call("pay", euros=8, tip=1)], "tools arguments tools.pay.arguments.tip"),
    tools("one less", [call("pay", euros=8, tip=1)], [call("pay", euros=8)], "tools arguments tools.pay.arguments.tip"),
    tools("null instead of none", [call("pay", tip=None)], [call("pay")], "tools arguments tools.pay.arguments.tip"),
    tools("arguments in another order", [call("pay", a=1, b=2)], [call("pay", b=2, a=1)]),
    tools(
        "two at once",
        [call("pay", euros=8, to="Ada")],
        [call("pay", euros=9, to="Bob")],
        "tools arguments tools.pay.arguments.euros",
        "tools arguments tools.pay.arguments.to",
    ),
    tools(
        "a nested one",
        [call("book", trip={"legs": [{"to": "Oslo"}, {"to": "Bergen"}]})],
        [call("book", trip={"legs": [{"to": "Oslo"}, {"to": "Bodø"}]})],
        "tools arguments tools.book.arguments.trip.legs[1].to",
    ),
    tools(
        "an item of a nested list",
        [call("book", seats=["1A", "1B"])],
        [call("book", seats=["1A", "1B", "1C"])],
        "tools arguments tools.book.arguments.seats[2]",
    ),
    tools(
        "of the second of three calls",
        [call("find", q=1), call("find", q=2), call("find", q=3)],
        [call("find", q=1), call("find", q=7), call("find", q=3)],
        "tools arguments tools.find#2.arguments.q",
    ),
    tools(
        "and a call more in front",
        [call("pay", euros=80)],
        [FIND, call("pay", euros=81)],
        "tools extra tools.find",
        "tools arguments tools.pay.arguments.euros",
    ),
    tools(
        "a decomposed letter",
        [call("find", q="Jos\u00e9")],
        [call("find", q="Jose\u0301")],
        "tools arguments tools.find.arguments.q",
    ),
    tools("blanks", [call("find", q="a b")], [call("find", q="a  b")], "tools arguments tools.find.arguments.q"),
    tools("an ignored argument", [call("log", text="a")], [call("log", text="b")], ignore=["tools.log.arguments.text"]),
    tools("all of them ignored", [call("log", text="a")], [call("log", note=1)], ignore=["tools.log.arguments"]),
    tools(
        "an ignored one beside another",
        [call("log", text="a", level=1)],
        [call("log", text="b", level=2)],
        "tools arguments tools.log.arguments.level",
        ignore=["tools.log.arguments.text"],
    ),
    tools(
        "ignored in the first call alone",
        [call("log", text="a"), call("log", text="b")],
        [call("log", text="x"), call("log", text="y")],
        "tools arguments tools.log#2.arguments.text",
        ignore=["tools.log#1.arguments.text"],
    ),
]

IDS = [
    tools("an id made up on each run", [call("pay", key=KEY)], [call("pay", key=OTHER)]),
    tools(
        "the same made-up id twice",
        [call("pay", key=KEY), call("mail", of=KEY)],
        [call("pay", key=OTHER), call("mail", of=OTHER)],
    ),
    tools(
        "a made-up id in the first call, another one in the second",
        [call("pay", key=KEY), call("mail", of=KEY)],
        [call("pay", key=OTHER), call("mail", of="0d9c8b7a-6f5e-4d3c-8b2a-190f8e7d6c5b")],
        "tools arguments tools.mail.arguments.of",
    ),
    tools(
        "an id that was given",
        [call("refund", order=GIVEN)],
        [call("refund", order=NOT_GIVEN)],
        "tools arguments tools.refund.arguments.order",
        asked=f"Refund order {GIVEN}, but leave {NOT_GIVEN} alone.",
    ),
    tools(
        "a plain number is never made up",
        [call("refund", order=1047)],
        [call("refund", order=1048)],
        "tools arguments tools.refund.arguments.order",
    ),
    tools("the time of the call", [call("log", at=AT)], [call("log", at="2026-03-15T10:24:09Z")]),
    tools(
        "a time far from now",
        [call("book", at="2026-07-01T09:00:00Z")],
        [call("book", at="2026-07-02T09:00:00Z")],
        "tools arguments tools.book.arguments.at",
    ),
    Pair(
        "a made-up id in state and output as well",
        [Did(f"Your key is {KEY}.", [call("pay", key=KEY)], {"key": KEY})],
        [Did(f"Your key is {OTHER}.", [call("pay", key=OTHER)], {"key": OTHER})],
        [],
    ),
    Pair(
        "a made-up id in the state, and a change beside it",
        [Did(calls=[call("pay", key=KEY)], state={"key": KEY, "paid": 80})],
        [Did(calls=[call("pay", key=OTHER)], state={"key": OTHER, "paid": 81})],
        ["state value state.paid"],
    ),
    Pair(
        "an id in the state alone, never passed to a tool",
        [Did(state={"key": KEY})],
        [Did(state={"key": OTHER})],
        ["state value state.key"],
    ),
]

TURNS = [
    Pair(
        "a call made a turn earlier",
        [Did(), Did(calls=[FIND])],
        [Did(calls=[FIND]), Did()],
        ["tools moved tools.find"],
        reads=["find"],
    ),
    Pair(
        "a call made a turn later",
        [Did(calls=[FIND, PAY]), Did(calls=[MAIL])],
        [Did(calls=[PAY]), Did(calls=[FIND, MAIL])],
        ["tools moved tools.find"],
        reads=["find"],
    ),
    Pair(
        "a call made in its turn and again in the next",
        [Did(calls=[FIND]), Did()],
        [Did(calls=[FIND]), Did(calls=[FIND])],
        ["tools extra tools.find"],
        reads=["find"],
    ),
    Pair(
        "another call, and the state and the reply that follow from it",
        [Did("Held.", [HOLD], {"status": "held"})],
        [Did("Paid.", [PAY], {"status": "paid"})],
        ["tools replaced tools.hold", "state value state.status", "output wording output"],
    ),
]

PAIRS = [*ROWS, *ARGUMENTS, *IDS, *TURNS]
