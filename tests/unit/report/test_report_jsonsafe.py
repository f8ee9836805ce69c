from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from report_data import ODD_STATE, RaisingRepr

from pytest_statebase.report.jsonsafe import json_safe, short_text
from pytest_statebase.values import ABSENT, TypedData


class Colour(enum.Enum):
    RED = 1


class Word(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("not for you")


@dataclass
class Order:
    id: str
    total: decimal.Decimal


def self_made() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (decimal.Decimal("1.10"), {"!decimal": "1.10"}),
        (math.nan, {"!float": "nan"}),
        (-math.inf, {"!float": "-inf"}),
        (b"\x00\xffa", {"!bytes": r"\x00\xffa"}),
        (datetime.date(2026, 3, 15), {"!date": "2026-03-15"}),
        (datetime.datetime(2026, 3, 15, 10, tzinfo=datetime.UTC), {"!datetime": "2026-03-15T10:00:00+00:00"}),
        (datetime.timedelta(1), {"!timedelta": "1 day, 0:00:00"}),
        (uuid.UUID(int=1), {"!uuid": "00000000-0000-0000-0000-000000000001"}),
        ((1, "a"), {"!tuple": [1, "a"]}),
        ({3, 1, 2}, {"!set": [1, 2, 3]}),
        ({1: "a", "1": "b"}, {"!map": [[1, "a"], ["1", "b"]]}),
        ({"!decimal": "a text of the user's"}, {"!map": [["!decimal", "a text of the user's"]]}),
        (ABSENT, {"!absent": True}),
        (TypedData("shop:Order", {"id": "7"}), {"!object": {"type": "shop:Order", "fields": {"id": "7"}}}),
        (Word("as it is"), "as it is"),
        (1 << 10_000, {"!int": hex(1 << 10_000)}),
        ({"a": [1, 2.5, None, True]}, {"a": [1, 2.5, None, True]}),
    ],
)
def test_types_have_tags(value: Any, wanted: Any) -> None:
    found = json_safe(value)
    assert found == wanted
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_objects_are_their_fields() -> None:
    found = json_safe(Order("7", decimal.Decimal("1.10")))
    assert found == {"!object": {"type": f"{__name__}:Order", "fields": {"id": "7", "total": {"!decimal": "1.10"}}}}
    assert json_safe(Colour.RED)["!enum"]["fields"] == {"name": "RED", "value": 1}
    assert json_safe(KeyError("k"))["!error"]["fields"] == {"args": ["k"]}


def test_a_repr_that_raises_is_a_placeholder() -> None:
    assert json_safe(RaisingRepr()) == {"!repr": "<report_data:RaisingRepr, whose repr raised RuntimeError>"}


@pytest.mark.parametrize("value", [ODD_STATE, self_made(), {"deep": self_made()}, [[[]]] * 3, object, lambda: None])
def test_anything_becomes_json(value: Any) -> None:
    text = json.dumps(json_safe(value), allow_nan=False, ensure_ascii=True)
    assert text.isascii()


def test_a_thousand_levels_are_no_crash() -> None:
    value: Any = "leaf"
    for _ in range(5_000):
        value = [value]
    json.dumps(json_safe(value))


@pytest.mark.parametrize("value", ["x" * 50_000, ["y" * 100] * 1_000, {"k": list(range(100_000))}])
def test_long_values_are_cut_and_say_their_size(value: Any) -> None:
    cut = json_safe(value)["!cut"]
    assert len(cut["head"]) == 20_000
    assert cut["size"] == len(value if isinstance(value, str) else json.dumps(value))


def test_the_copy_shares_nothing() -> None:
    value = {"cart": [{"sku": 1}]}
    found = json_safe(value)
    value["cart"][0]["sku"] = 2
    assert found == {"cart": [{"sku": 1}]}


def test_a_short_text_never_raises() -> None:
    assert short_text({"id": "7"}, 100) == '{"id": "7"}'
    assert short_text("abcdef", 3) == "abc…"
    assert "Error" in short_text(RaisingRepr(), 100)
    short_text(self_made(), 100)


def test_what_objects_show_is_without_secrets() -> None:
    class Sent:
        def __repr__(self) -> str:
            return "<Sent to https://x.test/?access_token=hush>"

    assert json_safe(Sent()) == {"!repr": "<Sent to https://x.test/?access_token=REDACTED>"}
