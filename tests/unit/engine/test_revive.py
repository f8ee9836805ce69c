"""Recorded results and exceptions come back as what the tool itself would have given."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

import pytest

from pytest_statebase.engine.revive import build_error, build_result, error_record
from pytest_statebase.engine.tools import Tool
from pytest_statebase.errors import ToolError
from pytest_statebase.values import TypedData


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Order:
    id: str
    colour: Colour


class ApiError(Exception):
    def __init__(self, status: int, *, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


def orders() -> list[Order]:
    return []


TOOL = Tool("orders", orders, "m:orders")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        KeyError("k"),
        ApiError(503, body="down"),
        OSError(2, "no such file"),
        ValueError(),
        TypeError("a", 1),
        StopIteration(3),
    ],
    ids=repr,
)
def test_exceptions_keep_class_args_attributes_and_text(error: Exception) -> None:
    built = build_error(error_record(error), TOOL)
    assert type(built) is type(error)
    assert (built.args, str(built), vars(built)) == (error.args, str(error), vars(error))
    if isinstance(error, OSError):
        assert built.errno == 2  # type: ignore[attr-defined]


def test_json_decode_error() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    built = build_error(error_record(caught.value), TOOL)
    assert isinstance(built, json.JSONDecodeError)
    assert (str(built), built.pos) == (str(caught.value), caught.value.pos)


def test_a_class_that_nobody_knows_is_named_and_never_imported() -> None:
    for name in ("nowhere:Gone", "antigravity:Boom", "os:system", "builtins:print"):
        with pytest.raises(ToolError, match="does not know"):
            build_error({"type": name, "message": "x"}, TOOL)


def test_dataclasses_and_enum_members_of_the_annotation_are_built_again() -> None:
    module = Order.__module__
    colour = TypedData(f"{module}:Colour", {"name": "RED", "value": 1}, "enum")
    recorded = [TypedData(f"{module}:Order", {"id": "A", "colour": colour})]
    assert build_result(recorded, TOOL) == [Order("A", Colour.RED)]
    with pytest.raises(ToolError, match="does not declare"):
        build_result(TypedData("nowhere:Gone", {}), TOOL)


def test_plain_results_are_copies() -> None:
    recorded: dict[str, Any] = {"a": [1, {"b": 2}]}
    built = build_result(recorded, None)
    built["a"][1]["b"] = 3
    assert recorded == {"a": [1, {"b": 2}]}


def test_errors_are_kept_without_secrets() -> None:
    address = "https://x.test/a?access_token={}&page=2"
    error = ApiError(401, body=address.format("hush"))
    error.add_note(f"for {address.format('hush')}")
    error.__cause__ = ValueError(address.format("hush"), 7, (address.format("hush"),))
    record = error_record(error)
    clean = address.format("REDACTED")
    assert record["message"] == f"401: {clean}"
    assert record["notes"] == [f"for {clean}"]
    assert record["attributes"] == {"status": 401, "body": clean}
    assert record["cause"]["args"] == [clean, 7, (clean,)]
    assert error.body == address.format("hush"), "the agent's own exception stays as it is"
