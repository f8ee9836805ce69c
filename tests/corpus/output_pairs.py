"""Pairs whose output differs."""

from __future__ import annotations

from decimal import Decimal

from pytest_statebase.values import ABSENT

from .pair import SESSION, Did, Pair, data, meant, outputs, worded

WORDED = [
    worded("another greeting", "Hello! How can I help?", "Hi there, what can I do for you?"),
    worded("a contraction", "It is on its way.", "It's on its way."),
    worded("another order of the sentences", "I booked it. The seat is 14C.", "The seat is 14C. I booked it."),
    worded("a list instead of a sentence", "You need a passport and a visa.", "You need:\n- a passport\n- a visa"),
    worded("emphasis", "Your table is booked.", "Your table is **booked**!"),
    worded("a trailing line break", "Done.", "Done.\n"),
    worded("typographic quotes", 'We call it "the loft".', "We call it “the loft”."),
    worded("a decomposed letter in a reply", "The caf\u00e9 opens at nine.", "The cafe\u0301 opens at nine."),
    worded("a number as a word", "You have 3 tickets.", "You have three tickets."),
    worded("the passive", "We shipped the lamp on Monday.", "The lamp was shipped on Monday."),
    worded("JSON in a text, spaced otherwise", '{"seats": 2}', '{ "seats" : 2 }'),
    worded("an offer of further help", "The room is yours.", "The room is yours. Anything else?"),
]

MEANT = [
    meant("negation", "You can bring your dog.", "You cannot bring your dog."),
    meant("negation", "The ticket is refundable.", "The ticket is non-refundable."),
    meant("number", "The repair costs 140 euros.", "The repair costs 410 euros."),
    meant("number", "Your table for 4 is booked.", "Your table for 14 is booked."),
    meant("unit", "Take 5 ml in the evening.", "Take 5 l in the evening."),
    meant("date", "The plumber comes on Tuesday.", "The plumber comes on Thursday."),
    meant("name", "I told Ines about it.", "I told Ivan about it."),
    meant("name", "The parcel is in Lyon.", "The parcel is in Lille."),
    meant("promise", "I asked for a refund.", "I have refunded you."),
    meant("condition", "You get a voucher.", "You get a voucher if you order again."),
    meant("omission", "It is booked. It cannot be cancelled.", "It is booked."),
    meant("refusal", "Here is the form to close your account.", "I am afraid I cannot help with that."),
    meant("instruction", "Unplug it before you open it.", "Open it before you unplug it."),
    meant("value in JSON text", '{"seats": 2}', '{"seats": 3}'),
]

EXACT = [
    Pair("exact: a word", [Did("Bye.")], [Did("Goodbye.")], ["output meaning output"], exact=True),
    Pair("exact: a number", [Did("It is 12.")], [Did("It is 21.")], ["output meaning output"], exact=True),
    Pair("exact: equal", [Did("It is 12.")], [Did("It is 12.")], [], exact=True),
]

VALUES = [
    outputs("equal texts", "Done.", "Done."),
    outputs("equal mappings in another order of keys", data({"a": 1, "b": 2}), data({"b": 2, "a": 1})),
    outputs("a value in a mapping", data({"total": 12}), data({"total": 21}), "output value output.total"),
    outputs("a type in a mapping", data({"total": 12}), data({"total": 12.0}), "output type output.total"),
    outputs(
        "a number in a mapping that became text", data({"total": 12}), data({"total": "12"}), "output type output.total"
    ),
    outputs("a key more", data({"ok": True}), data({"ok": True, "hint": "x"}), "output added output.hint"),
    outputs("a key less", data({"ok": True, "hint": None}), data({"ok": True}), "output removed output.hint"),
    outputs(
        "a nested text in a mapping is compared exactly",
        data({"reply": {"text": "Hello"}}),
        data({"reply": {"text": "Hi"}}),
        "output value output.reply.text",
    ),
    outputs("an item more", data({"ids": [1, 2]}), data({"ids": [1, 2, 3]}), "output added output.ids[2]"),
    outputs("a list as the whole output", data([1, 2, 3]), data([1, 3]), "output removed output[1]"),
    outputs("a key with a blank", data({"net price": 1}), data({"net price": 2}), 'output value output."net price"'),
    outputs(
        "a decimal in a mapping",
        data({"sum": Decimal("1.10")}),
        data({"sum": Decimal("1.20")}),
        "output value output.sum",
    ),
    outputs(
        "a decimal in a mapping that became a float",
        data({"s": Decimal("1.5")}),
        data({"s": 1.5}),
        "output type output.s",
    ),
    outputs("text that became a mapping", "Done.", data({"ok": True}), "output type output"),
    outputs("a mapping that became text", data({"ok": True}), "Done.", "output type output"),
    outputs("silence instead of words", "Your order is complete.", "", "output value output"),
    outputs("words instead of silence", "", "Your order is complete.", "output value output"),
    outputs("a blank instead of silence", "", " ", "output value output"),
    outputs("no output any more", "Done.", ABSENT, "output removed output"),
    outputs("an output that was not recorded", ABSENT, "Done."),
    outputs("an ignored key", data({"id": 1, "total": 2}), data({"id": 9, "total": 2}), ignore=["output.id"]),
    outputs(
        "an ignored key beside one that is not",
        data({"id": 1, "paid": 2}),
        data({"id": 9, "paid": 3}),
        "output value output.paid",
        ignore=["id"],
    ),
    outputs("an output that does not count", "Yes.", "No.", ignore=["output"]),
    outputs("the session's own id in a reply", f"See /chat/{SESSION}.", f"See /chat/{SESSION}."),
    outputs("the session's own id in a mapping", data({"room": SESSION}), data({"room": SESSION})),
]

PAIRS = [*WORDED, *MEANT, *EXACT, *VALUES]
