"""How memories that were changed and deleted are told to people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_statebase.audit.explain import explain
from pytest_statebase.cassette import load_cassette, write_record
from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    SessionCreated,
    SessionEnded,
    TurnAdded,
    TurnStarted,
)


def test_what_became_of_memories_is_told(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "keeps.record.yaml"
    events = [
        SessionCreated("sess_keeps"),
        TurnStarted(1, {"type": "text", "content": "Hi"}),
        MemoryAdded("Likes tea"),
        MemoryUpdated(1, "Likes tea", "Likes coffee"),
        MemoryDeleted(1, "Likes coffee"),
        TurnAdded({"type": "text", "content": "Hello"}),
        SessionEnded("completed"),
    ]
    write_record(path, Ledger(events))
    shown = run("show", path).stdout
    assert "changed: Likes tea → content Likes coffee" in shown
    assert "deleted: Likes coffee" in shown
    lines = [line for line in run("timeline", path).stdout.splitlines() if "memory.deleted" in line]
    assert len(lines) == 1
    assert lines[0].rstrip().endswith('"Likes coffee"')
    cassette = load_cassette(path)
    told = explain(cassette.ledger, cassette.plan, 1).words
    assert told[2:-1] == [
        'It remembered: "Likes tea"',
        'It changed what it remembered of "Likes tea": {content: "Likes coffee"}',
        'It forgot: "Likes coffee"',
    ]
