"""Traces of which anything is changed, by chance: a session that replays, or one clear error."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.testing import Reenact
from tests.tracing import graded
from tests.unit.importers.test_otel_dialects import DIALECTS

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 1e308, float("nan"), "", [], {}, "x" * 300, "\ud800", "[[[[", "{}", "null"),
    *([None], {"a": {"b": [1]}}, ["a", {"type": "text"}], {"type": "tool_use"}, {"stringValue": 7}),
    *('[{"role": "user"}]', '[{"role": "tool", "content": null}]', {"role": "user", "content": "x"}),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys."""
    for key in list(value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
        yield value, key
        yield from places(value[key])


def changed(document: Any, chance: random.Random) -> Any:
    document = copy.deepcopy(document)
    for _ in range(chance.choice((1, 1, 2, 4))):
        found = list(places(document))
        if not found:
            break
        holder, key = chance.choice(found)
        how = chance.random()
        text = holder[key]
        if how < 0.2:
            del holder[key]
        elif how < 0.5 and isinstance(text, str) and text:
            at = chance.randrange(len(text))
            holder[key] = text[:at] + chance.choice(('"', "}", "é", "\\", "0", "")) + text[at + chance.choice((0, 1)) :]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    return document


def read(path: Path) -> list[ImportedSession | ImportFileError]:
    try:
        return list(import_file(path))
    except ImportFileError as error:
        return [error]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whatever_is_changed(dialect: str, tmp_path: Path) -> None:
    chance = random.Random(dialect)
    document = DIALECTS[dialect]()
    path = tmp_path / "trace.json"
    replayed = 0
    for _ in range(60):
        path.write_text(json.dumps(changed(document, chance)), encoding="utf-8")
        for found in read(path):
            if isinstance(found, ImportFileError):
                assert found.where
            elif graded(found)[0] == "replayable":
                cassette = Cassette.from_ledger(found.ledger)
                assert set(replay(cassette, Reenact(cassette)).verdicts) == {"unchanged"}
                replayed += 1
    assert replayed > 20
