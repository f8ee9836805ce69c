from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, detect, import_file

CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"id": 1}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
HELLO = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_760_000_000,
    "model": "gpt-x",
    "instructions": "Help.",
    "temperature": 0.5,
    "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
    "output": [{"type": "reasoning", "summary": []}, HELLO],
    "usage": {"input_tokens": 3, "output_tokens": 1},
}


def read(tmp_path: Path, data: Any) -> ImportedSession | ImportFileError:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    (found,) = import_file(path)
    return found


def session(tmp_path: Path, data: Any) -> ImportedSession:
    found = read(tmp_path, data)
    assert isinstance(found, ImportedSession), found
    return found


def listed(*items: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(items), "has_more": False}


def test_a_response_with_its_input_is_a_session_and_a_model_call(tmp_path: Path) -> None:
    data = {**RESPONSE, "input": [HI, CALL, RESULT]}
    assert detect(data) == "openai"
    found = session(tmp_path, data)
    (turn,) = found.ledger.turns
    assert (found.name, turn.text) == ("resp_1", "Hi")
    assert [(call.tool, call.arguments, call.result) for call in turn.calls] == [("look", {"id": 1}, "seen")]
    assert turn.output == {"type": "text", "content": "Hello"}
    assert found.grade is not None
    assert found.grade.level == "replayable"
    (exchange,) = found.exchanges
    assert exchange.request.url == "https://api.openai.com/v1/responses"
    body = json.loads(exchange.request.body)
    assert (body["instructions"], body["temperature"], len(body["input"])) == ("Help.", 0.5, 3)
    assert exchange.derived == ("parameters",)
    assert json.loads(exchange.answer.body)["id"] == "resp_1"  # type: ignore[union-attr]


def test_a_response_without_its_input_has_no_turn_to_replay(tmp_path: Path) -> None:
    found = session(tmp_path, RESPONSE)
    assert found.exchanges == ()
    assert found.grade is not None
    assert "no-input" in [reason.kind for reason in found.grade.reasons]


def test_what_the_provider_keeps_is_no_model_call(tmp_path: Path) -> None:
    assert session(tmp_path, {**RESPONSE, "input": "Hi", "previous_response_id": "resp_0"}).exchanges == ()


@pytest.mark.parametrize("items", [[HI, CALL, RESULT, HELLO], [HELLO, RESULT, CALL, HI], [HI, HELLO], [HELLO, HI]])
def test_items_of_a_conversation_in_either_order(tmp_path: Path, items: list[Any]) -> None:
    (turn,) = session(tmp_path, listed(*items)).ledger.turns
    assert (turn.text, turn.output) == ("Hi", {"type": "text", "content": "Hello"})
    assert [call.result for call in turn.calls] == ["seen"] * (len(items) == 4)


def test_messages_of_a_thread(tmp_path: Path) -> None:
    def message(number: int, role: str, text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": {"value": text, "annotations": []}}]
        known = {"id": f"msg_{number}", "object": "thread.message", "created_at": 1_760_000_000 + number // 2}
        return {**known, "thread_id": "thread_1", "assistant_id": "asst_1", "role": role, "content": content}

    found = session(tmp_path, listed(*(message(n, ("user", "assistant")[n % 2], f"m{n}") for n in reversed(range(4)))))
    assert (found.name, found.plan.agent) == ("thread_1", "asst_1")
    told = [(turn.text, turn.output["content"]) for turn in found.ledger.turns]
    assert told == [("m0", "m1"), ("m2", "m3")]


@pytest.mark.parametrize(
    "data",
    [{**RESPONSE, "output": [7, {"type": "x"}]}, {**RESPONSE, "output": []}, listed({"type": "message", "role": 7})],
)
def test_odd_dumps_are_told(tmp_path: Path, data: Any) -> None:
    found = read(tmp_path, {**data, "instructions": None})
    assert isinstance(found, ImportFileError)
