"""Hypothesis strategies for what a record can hold."""

from __future__ import annotations

import collections
import datetime
import json
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from pytest_statebase.values import TypedData

# fmt: off
TRICKY = st.sampled_from([
    "no", "yes", "on", "off", "y", "N", "null", "Null", "~", "true", "TRUE", "017", "0x1f", "1_000", "1e3", "1e+16",
    ".inf", ".nan", "12:30", "2024-01-01", "2024-13-45", "<<", "=", "-", "--- ", "...", "a: b", "a #b", "#", "&a",
    "*a", "!t", "%x", "@x", "`", "'", '"', "[", "{", "a,b", "a]", "? x", "- x", ": x", "x:", " x", "x ", "\\", "\t",
    "\ta", "a\tb", "\x00", "\x07", "\x7f", "\x85", "\u2028", "\ufeff", "\u202e", "\U0001f600", "{}", "[]",
    '{"a": 1}', "[1, 2]", '{"a":1}', "[1]x", "5.0", '"x"', "", "\n", "\n\n", "a\n", "a\n\n", "\na", " a\nb", "a \nb",
    "a\r\nb", "a\n b\n", "\ta\n", "|", "word " * 40, "x" * 300, "---\nb", "a\n---\nb\n", "a\n...\n", "\ud800",
    "\ud83d\ude00", "\\ud800", "a\\\ud800\n" * 3, '{"a": "\\ud800"}',
])
# fmt: on
ANY_CHARACTER = st.characters(codec=None, exclude_categories=())
WORDS = st.lists(st.sampled_from(["a", "the", "#", "-", ":", "", "order", "é", "\U0001f600"]), max_size=60).map(
    " ".join
)
TEXTS = st.one_of(TRICKY, st.text(ANY_CHARACTER, max_size=30), WORDS, st.text("ab \n\t:#-", max_size=60))
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans())
JSON = st.recursive(
    st.none() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
JSON_TEXTS = st.one_of(JSON.map(json.dumps), JSON.map(lambda value: json.dumps(value, indent=1)))
ZONES = st.none() | st.timezones() | st.integers(-1439, 1439).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)  # fmt: skip
MODERN = st.datetimes(
    datetime.datetime(1990, 1, 1), datetime.datetime(2037, 1, 1), timezones=ZONES, allow_imaginary=False
)
OTHERS: st.SearchStrategy[Any] = st.one_of(
    st.decimals(allow_nan=False),
    MODERN,
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.binary(max_size=40),
    st.binary(max_size=10).map(bytearray),
    st.uuids(),
    st.complex_numbers(allow_nan=False),
    st.fractions(),
)
HASHABLE = st.one_of(TEXTS, st.none(), NUMBERS, st.uuids(), st.dates(), st.tuples(st.integers(), st.text(max_size=3)))
SCALARS: st.SearchStrategy[Any] = st.one_of(st.none(), NUMBERS, TEXTS, JSON_TEXTS, OTHERS)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keyed = st.dictionaries(HASHABLE, inner, max_size=4)
    return st.one_of(
        st.lists(inner, max_size=5),
        keyed,
        keyed.map(collections.OrderedDict),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(collections.deque),
        st.sets(HASHABLE, max_size=4),
        st.frozensets(HASHABLE, max_size=4),
        st.builds(TypedData, st.just("app:Order"), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    )


VALUES: st.SearchStrategy[Any] = st.recursive(SCALARS, containers, max_leaves=25)
"""Anything that a record can hold."""
PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS, JSON_TEXTS),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=25,
)
"""Plain JSON values, of hostile texts."""


def shape(value: Any) -> Any:
    """A form of a value that is equal only for equal values of equal types in equal order."""
    name = type(value).__name__
    if isinstance(value, TypedData):
        return (name, value.type, value.kind, shape(dict(value.fields)))
    if isinstance(value, dict):
        return (name, [(shape(key), shape(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple, collections.deque)):
        return (name, [shape(item) for item in value])
    if isinstance(value, (set, frozenset)):
        return (name, sorted(repr(shape(item)) for item in value))
    if isinstance(value, (datetime.datetime, datetime.time)):
        # `fold` says nothing beyond the offset, which the text holds.
        return (name, value.isoformat(), getattr(value.tzinfo, "key", None))
    return (name, str(value) if isinstance(value, Decimal) else repr(value))
