"""Files that only look like exports of Langfuse or LangSmith give sessions or errors that say so, never a traceback."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase import load_cassette, replay
from pytest_statebase.errors import ImportFileError, StatebaseError
from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.testing import Reenact
from tests import langfuse_exports, langsmith_runs

WRONG = [None, 0, -1, 1.5, True, "", "x", "{", '{"a": 1}', "[]", [], [None], {}, {"a": None}, [[]], "2026-13-99", 1e300]
WRONG += ["\ud800", "a\x00b", "\u2028", float("nan"), 10**30]
DOCUMENTS = [
    *(document for _, documents in langfuse_exports.forms() for document in documents),
    *(document for _, documents in langsmith_runs.forms() for document in documents),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


PLACES = [(index, place) for index, document in enumerate(DOCUMENTS) for place in places(document)]


def changed(index: int, place: tuple[Any, ...], value: Any) -> Any:
    document = copy.deepcopy(DOCUMENTS[index])
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return document


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("traceId", ""),
        ("id", ""),
        ("input", [{"role": "user", "content": "\ud800"}]),
        ("output", {"role": "assistant", "content": 0}),
        ("output", {"role": "assistant", "content": {"a": 1}}),
    ],
)
def test_odd_values_of_a_model_call(place: str, value: Any) -> None:
    row = {**langfuse_exports.GENERATIONS[0], "parentObservationId": None, place: value}
    for found in read(json.dumps([row])):
        assert isinstance(found, ImportedSession)
        stored_and_replayed(found)


def read(text: str) -> list[ImportedSession | ImportFileError]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "export.json"
        path.write_text(text, encoding="utf-8")
        try:
            return list(import_file(path))
        except ImportFileError as error:
            return [error]


@given(st.sampled_from(PLACES), st.sampled_from(WRONG))
def test_one_wrong_value_anywhere(place: tuple[int, tuple[Any, ...]], value: Any) -> None:
    for found in read(json.dumps(changed(*place, value))):
        if isinstance(found, ImportedSession):
            stored_and_replayed(found)
        else:
            assert str(found)


def stored_and_replayed(session: ImportedSession) -> None:
    """What is graded replayable replays unchanged from its files; what cannot be stored says so."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            Store(Path(directory)).add(session)
        except StatebaseError:
            return
        (plan,) = Path(directory).glob("*.session.yaml")
        cassette = load_cassette(plan)
        result = replay(cassette, Reenact(cassette))
    assert session.grade is not None
    if session.grade.level == "replayable":
        assert set(result.verdicts) <= {"unchanged"}
        assert not result.unused


ROWS = [
    "id",
    "traceId",
    "type",
    "name",
    "startTime",
    "input",
    "output",
    "observations",
    "trace",
    "data",
    "meta",
    "traces",
]
ROWS += [
    "run_type",
    "inputs",
    "outputs",
    "trace_id",
    "dotted_order",
    "child_runs",
    "parent_run_id",
    "extra",
    "metadata",
]
ROWS += ["post", "patch", "runs", "timestamp", "sessionId", "scores", "level", "error", "events", "attributes"]
VALUES = st.sampled_from([*WRONG, "GENERATION", "TOOL", "llm", "tool", "a", "b", "2026-01-01T00:00:00Z"])
TREES = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(ROWS), inner, max_size=7),
    max_leaves=40,
)


@given(TREES)
def test_any_document(document: Any) -> None:
    detect(document)
    for found in read(json.dumps(document)):
        assert isinstance(found, ImportedSession) or str(found)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('{"id": "a", "run_type": "chain", "inputs": {}, "child_runs": [', "]}"),
        ('{"trace": {"id": "t"}, "observations": [', "]}"),
        ('{"id": "a", "run_type": "chain", "inputs": {"x": ', "}}"),
        ('{"id": "a", "traceId": "t", "type": "TOOL", "name": "x", "output": ', "}"),
        ('{"data": [', '], "meta": {}}'),
    ],
)
@pytest.mark.parametrize("depth", [50, 400, 20_000])
def test_depth(opening: str, closing: str, depth: int) -> None:
    inner = '{"id": "b", "run_type": "tool", "name": "x", "inputs": {}, "outputs": {}}'
    for found in read(opening * depth + inner + closing * depth):
        assert isinstance(found, ImportedSession) or str(found)


def test_many_rows_of_one_trace_are_read_once_each() -> None:
    """A chain of steps, each inside the one before it."""
    rows = [
        langfuse_exports.observation(f"o{index}", "SPAN", "step", index % 50, parentObservationId=f"o{index - 1}")
        for index in range(1_000)
    ]
    rows.append(langfuse_exports.observation("g", "GENERATION", "chat", 55, input="Hi", output="Hello"))
    (found,) = read(json.dumps({"trace": {"id": "t1"}, "observations": rows}))
    assert isinstance(found, ImportedSession)
    assert len(found.ledger.turns) == 1
