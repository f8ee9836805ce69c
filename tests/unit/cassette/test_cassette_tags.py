from __future__ import annotations

import collections
import datetime
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pydantic
import pytest
from cassette_values import shape

from pytest_statebase.cassette.canonical import parts_of
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.cassette.yamlwrite import document_text
from pytest_statebase.errors import FileError, UnstorableError
from pytest_statebase.values import ABSENT, TypedData

HERE = __name__


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Order:
    id: str
    total: Decimal


class Refund(pydantic.BaseModel):
    order: str
    amount: float


class RefusedError(Exception):
    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Pair(NamedTuple):
    a: int


class Text(str):
    __slots__ = ()


def round_trip(value: Any) -> Any:
    (document,) = parse(document_text(parts_of({"v": value})).encode(), where="f")
    return document.value["v"]


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.10"),
        Decimal("-0"),
        Decimal("NaN"),
        (1, (2,), []),
        frozenset({1, "1"}),
        {1, 2.5, None},
        datetime.timedelta(1),
        -datetime.timedelta(microseconds=1),
        datetime.timedelta.max,
        datetime.timedelta.min,
        datetime.datetime(2026, 3, 15, 10, 24, 1, 5),
        datetime.datetime(2026, 3, 15, tzinfo=datetime.UTC),
        datetime.datetime(2026, 3, 15, tzinfo=datetime.timezone(-datetime.timedelta(hours=3, minutes=30))),
        datetime.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        datetime.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=0),
        datetime.date(2026, 3, 15),
        datetime.time(10, 24),
        b"\xff",
        bytearray(b"x" * 100),
        uuid.UUID(int=7),
        1 + 2j,
        complex(-0.0, float("inf")),
        Fraction(1, 3),
        Path("a/b"),
        collections.deque([1, 2]),
        collections.OrderedDict(b=1, a=2),
        collections.Counter("aab"),
        {(1, 2): 3, None: 1, True: 2, uuid.UUID(int=1): 4},
        "\ud800 lone",
        "\\ud800",
        10**300,
        -0.0,
        1e16,
    ],
    ids=lambda value: type(value).__name__,  # the repr of a set differs from process to process
)
def test_types_survive(value: Any) -> None:
    assert shape(round_trip(value)) == shape(value)


def test_the_sample_of_types_keeps_its_key_order() -> None:
    value = {
        "z": Decimal("1.10"), "a": (1, 2), "s": frozenset({1}), "e": Color.RED, "m": Refund(order="1", amount=2.5),
        "d": datetime.timedelta(1), "b": b"\xff", (1, 2): 3,
    }  # fmt: skip
    loaded = round_trip(value)
    assert list(loaded) == list(value)
    assert loaded.pop("e") == TypedData(f"{HERE}:Color", {"name": "RED", "value": 1}, "enum")
    assert loaded.pop("m") == TypedData(f"{HERE}:Refund", {"order": "1", "amount": 2.5})
    assert loaded == {key: value[key] for key in loaded}


def test_objects_are_data_with_the_name_of_their_type() -> None:
    assert round_trip(Order("1", Decimal("2.50"))) == TypedData(f"{HERE}:Order", {"id": "1", "total": Decimal("2.50")})
    assert round_trip(Level.HIGH) == TypedData(f"{HERE}:Level", {"name": "HIGH", "value": 3}, "enum")
    error = round_trip(RefusedError("no", 7))
    assert error == TypedData(f"{HERE}:RefusedError", {"args": ["no"], "code": 7}, "error")
    assert round_trip(error) == error


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Order,
        lambda: None,
        Text("x"),
        collections.defaultdict(list),
        collections.deque(maxlen=2),
        PurePosixPath("x"),
        ABSENT,
        memoryview(b"x"),
        {Color.RED: 1},
        {"x": {Order: 1}},
        {frozenset({Color.RED})},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_form_is_an_error(value: Any) -> None:
    with pytest.raises(UnstorableError) as caught:
        parts_of({"v": value})
    assert (caught.value.where or "").startswith("v")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "!object {type: a}",
        "!object {type: 1, fields: {}}",
        "!object {fields: {}}",
        "!object {type: a, fields: []}",
        "!object {type: a, fields: {}, more: 1}",
        "!enum {type: a, name: b}",
        "!timedelta 1d",
        "!timedelta 99999999999999999999",
        "!bytes '*'",
        "!uuid x",
        "!fraction 1/0",
        "!datetime 2026-01-01T00:00:00+01:00[No/Where]",
        "!surrogates '\\'",
        "!complex x",
        "!path []",
    ],
)
def test_a_tagged_value_that_cannot_be_is_an_error(text: str) -> None:
    with pytest.raises(FileError, match=r"f:1:1: .*!"):
        list(parse(text.encode(), where="f"))


def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    (document,) = parse(b"!object {type: 'trap_module:X', fields: {}}", where="f")
    assert document.value == TypedData("trap_module:X", {})
