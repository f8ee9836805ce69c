"""Sessions for other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from audit_sessions import call, session, turn, update
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.audit.export import COLUMNS, session_line, trace_rows, turn_lines
from pytest_statebase.cassette import Cassette, Plan
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.ledger import Ledger, ToolCalled, TurnAdded, TurnStarted

PLAN = Plan(agent="support", failing=frozenset({2}))


def told() -> Ledger:
    return session(
        turn(1, "Where is 1047?", call("look_up", {"s": 1}, order="1047", n=1), update(1, {"step": "a"}, "Found")),
        turn(2, "Refund it", call("look_up", {"s": 2}, order="1047"), answer="Refunded twice."),
        turn(3, "Thanks", answer={"type": "error", "content": "time out"}),
        turn(4, "Hello?", answer="Yes."),
        [TurnStarted(5), TurnAdded()],
    )


def test_a_turn_is_its_messages_from_the_start() -> None:
    lines = [json.loads(line) for line in turn_lines(Cassette.from_ledger(told(), PLAN))]
    assert [(line["id"], line["failing"]) for line in lines] == [
        ("sess_1#1", False),
        ("sess_1#2", True),
        ("sess_1#4", False),
    ]
    first, second, _ = lines
    assert [message["role"] for message in first["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert (first["state_before"], first["state_after"], first["agent"]) == ({"step": "new"}, {"step": "a"}, "support")
    assert first["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "parameters": {
                    "type": "object",
                    "properties": {"order": {"type": "string"}, "n": {"type": "integer"}},
                    "required": ["order"],
                },
            },
        }
    ]


def test_good_ones_end_before_the_first_failing_turn() -> None:
    cassette = Cassette.from_ledger(told(), PLAN)
    assert [json.loads(line)["turn"] for line in turn_lines(cassette, with_failing=False)] == [1]
    line = session_line(cassette, with_failing=False)
    assert line is not None
    assert json.loads(line)["messages"][-1] == {"role": "assistant", "content": "Done, anything else?"}
    assert session_line(Cassette.from_ledger(told(), Plan(failing=frozenset({1}))), with_failing=False) is None


def test_what_is_exported_can_be_imported(tmp_path: Path) -> None:
    line = session_line(Cassette.from_ledger(told(), PLAN))
    assert line is not None
    (tmp_path / "x.jsonl").write_text(line + "\n", encoding="utf-8")
    (found,) = import_file(tmp_path / "x.jsonl")
    assert isinstance(found, ImportedSession)
    assert found.ledger.id == "sess_1"
    assert [turn.text for turn in found.ledger.turns] == [turn.text for turn in told().turns[:4]]
    calls = [(call.tool, call.arguments) for turn in found.ledger.turns for call in turn.calls]
    assert calls == [(call.tool, call.arguments) for turn in told().turns for call in turn.calls]


def test_values_beyond_json_are_written() -> None:
    odd = ToolCalled("x", {"bytes": b"\xff", 1: {"deep": {1, 2}}}, "\ud800")
    (line,) = turn_lines(Cassette.from_ledger(session(turn(1, "x \ud800", odd)), Plan()))
    assert json.loads(line)["messages"][0]["role"] == "user"
    assert line.isascii()


@given(st.text(max_size=30), st.text(max_size=10))
def test_no_cell_is_a_formula_and_no_line_is_broken(reasoning: str, actor: str) -> None:
    ledger = session(turn(1, "x", reasoning=reasoning), id=f"{actor}x")
    text = "".join(trace_rows(ledger.traces, session=ledger.id))
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["session", *COLUMNS]
    assert len(rows) == 3 == text.count("\n")
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert all(ord(char) >= 32 or char == "\n" for char in text)
