from __future__ import annotations

import dataclasses

import pytest
from cassette_ledgers import support_ledger

from pytest_statebase.cassette import shapes
from pytest_statebase.errors import UnstorableError
from pytest_statebase.ledger import MemoryAdded, Said, ToolCalled


def test_every_field_of_every_event_has_a_key() -> None:
    for shape in shapes.BY_EVENT.values():
        fields = {field.name for field in dataclasses.fields(shape.kind)} - {"extra"}
        assert {name for name, _ in shape.keys.values()} == fields


def test_every_event_is_told_as_an_item_and_back() -> None:
    for event in support_ledger().events:
        key = next((key for key, shape in shapes.ITEMS.items() if shape.kind is type(event)), None)
        if key is not None:
            item = shapes.item_of(event)
            assert next(iter(item)) == key
            form = shapes.memory_form(item) if key == "memory" else item
            assert shapes.decode(shapes.ITEMS[key], form) == event


def test_defaults_are_left_out_and_values_are_not() -> None:
    assert shapes.encode(ToolCalled("a")) == {"tool": "a"}
    assert shapes.encode(ToolCalled("a", {"x": 1}, None, is_error=True, latency_ms=0)) == {
        "tool": "a",
        "arguments": {"x": 1},
        "result": None,
        "is_error": True,
        "latency_ms": 0,
    }


def test_a_problem_knows_its_place() -> None:
    with pytest.raises(shapes.MalformedError) as caught:
        shapes.decode(shapes.TOOL, {"tool": "a", "step": "one"})
    assert caught.value.keys == ("step",)
    assert caught.value.under("events", 3).keys == ("events", 3, "step")
    with pytest.raises(shapes.MalformedError, match="`tool` is missing"):
        shapes.decode(shapes.TOOL, {})


def test_memory_clashes_and_extra_clashes() -> None:
    with pytest.raises(shapes.MalformedError, match="inside and beside"):
        shapes.memory_form({"memory": {"content": "a", "x": 1}, "x": 2})
    with pytest.raises(UnstorableError, match="'said'"):
        shapes.encode(Said("x", extra={"said": "y"}))
    assert shapes.item_of(MemoryAdded("a", during=0)) == {"memory": {"content": "a"}, "during": 0}
