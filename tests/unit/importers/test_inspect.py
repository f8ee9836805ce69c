from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import load_cassette, replay
from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.inspect import archive
from pytest_statebase.importers.store import Store
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT

EVAL = {"task": "shop", "created": "2025-02-07T00:00:00+00:00", "model": "openai/gpt-4o"}
HASH = "0123456789abcdef0123456789abcdef"
SYSTEM = {"role": "system", "content": "Help."}
USER = {"role": "user", "content": f"attachment://{HASH}", "source": "input"}
CALL = {"id": "c1", "function": "lookup", "arguments": {"id": "017"}, "type": "function"}
ASKS = {
    "role": "assistant",
    "content": [{"type": "reasoning", "reasoning": "I look"}, {"type": "text", "text": ""}],
    "tool_calls": [CALL],
    "model": "gpt-4o",
}
RESULT = {"role": "tool", "content": '{"total": 1}', "tool_call_id": "c1", "function": "lookup"}
SAYS = {"role": "assistant", "content": "One."}
TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object", "properties": {}}}


def model_event(heard: list[Any], said: dict[str, Any], **more: Any) -> dict[str, Any]:
    output = {"model": "gpt-4o", "choices": [{"message": said, "stop_reason": "stop"}]}
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    config = {"temperature": 0.5, "max_tokens": None, "stop_seqs": ["END"]}
    return {
        "event": "model",
        "timestamp": "2025-02-07T00:00:01+00:00",
        "completed": "2025-02-07T00:00:02+00:00",
        "model": "openai/gpt-4o",
        "input": heard,
        "tools": [TOOL],
        "config": config,
        "output": {**output, "usage": usage},
        **more,
    }


EVENTS = [
    {"event": "sample_init"},
    model_event([SYSTEM, USER], ASKS),
    {"event": "tool", "id": "c1", "function": "lookup"},
    model_event([SYSTEM, USER, ASKS, RESULT], SAYS),
]


def sample(**more: Any) -> dict[str, Any]:
    return {
        "id": "s1",
        "epoch": 1,
        "input": "How many?",
        "target": "1",
        "messages": [SYSTEM, USER, ASKS, RESULT, SAYS],
        "scores": {"match": {"value": "C", "answer": "One.", "explanation": "x"}},
        "attachments": {HASH: "How many?"},
        "events": EVENTS,
        **more,
    }


def log(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": EVAL, "plan": {}, "samples": list(samples)}


def read(tmp_path: Path, data: Any) -> list[ImportedSession | ImportFileError]:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return list(import_file(path))


def one(tmp_path: Path, **more: Any) -> ImportedSession:
    (session,) = read(tmp_path, log(sample(**more)))
    assert isinstance(session, ImportedSession), session
    return session


def kinds(session: ImportedSession) -> list[str]:
    assert session.grade is not None
    return [reason.kind for reason in session.grade.reasons]


def test_a_sample_is_a_session(tmp_path: Path) -> None:
    assert detect(log(sample())) == "inspect_ai"
    session = one(tmp_path)
    assert session.name == "shop-s1"
    assert session.plan.title == "shop-s1 (match C): How many?"
    assert session.ledger.created.metadata == {
        "benchmark": "inspect_ai",
        "task": "shop",
        "model": "openai/gpt-4o",
        "sample_id": "s1",
        "epoch": 1,
        "target": "1",
        "scores": {"match": "C"},
        "system": "Help.",
    }
    (turn,) = session.ledger.turns
    assert turn.text == "How many?"
    assert turn.added is not None
    assert turn.added.reasoning == "I look"
    assert turn.output == {"type": "text", "content": "One."}
    (call,) = turn.calls
    assert (call.tool, call.arguments, call.result, call.id) == ("lookup", {"id": "017"}, '{"total": 1}', "c1")
    assert call.extra == {}
    assert kinds(session) == []


def test_model_events_are_model_calls(tmp_path: Path) -> None:
    first, second = one(tmp_path).exchanges
    body = json.loads(first.request.body)
    assert first.request.url == "https://api.openai.com/v1/chat/completions"
    assert body["model"] == "gpt-4o"
    assert body["messages"] == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "How many?"},
    ]
    assert (body["temperature"], body["stop"]) == (0.5, ["END"])
    assert "max_tokens" not in body
    assert body["tools"][0]["function"]["name"] == "lookup"
    assert (first.turn, first.at, first.latency_ms) == (1, "2025-02-07T00:00:01+00:00", 1000)
    assert first.derived == ("parameters",)
    answer = json.loads(second.answer.body)  # type: ignore[union-attr]
    assert answer["choices"][0]["message"]["content"] == "One."
    assert answer["usage"]["prompt_tokens"] == 7


def test_what_a_scorer_asked_is_not_the_agents(tmp_path: Path) -> None:
    judged = model_event([{"role": "user", "content": "Is it right?"}], SAYS)
    events = [
        *EVENTS,
        {"event": "step", "action": "begin", "type": "scorer", "name": "match"},
        judged,
        {"event": "step", "action": "end", "type": "scorer", "name": "match"},
        {"event": "span_begin", "id": "a", "type": "scorers"},
        {"event": "span_begin", "id": "b", "parent_id": "a", "type": "other"},
        {**judged, "span_id": "b"},
        {**judged, "pending": True},
    ]
    assert len(one(tmp_path, events=events).exchanges) == 2


def test_messages_that_a_log_keeps_once(tmp_path: Path) -> None:
    events = [
        model_event([], ASKS, input_refs=[[0, 2]]),
        model_event([], SAYS, input_refs=[[0, 2], [2, 4], [9, "x"], 3]),
    ]
    pool = [SYSTEM, USER, ASKS, RESULT]
    session = one(tmp_path, events=events, events_data={"messages": pool})
    assert [len(json.loads(exchange.request.body)["messages"]) for exchange in session.exchanges] == [2, 4]


def test_turns_of_model_calls(tmp_path: Path) -> None:
    more = {"role": "user", "content": "And now?"}
    talk = [SYSTEM, USER, SAYS, more, SAYS]
    events = [model_event(talk[:2], SAYS), model_event(talk[:4], SAYS), model_event([*talk, more, SAYS, more], SAYS)]
    assert [exchange.turn for exchange in one(tmp_path, messages=talk, events=events).exchanges] == [1, 2, 2]


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("timeout", "TimeoutError"),
        ("permission", "PermissionError"),
        ("file_not_found", "FileNotFoundError"),
        ("is_a_directory", "IsADirectoryError"),
    ],
)
def test_errors_of_python_are_raised(tmp_path: Path, kind: str, raised: str) -> None:
    failed = {**RESULT, "content": "partly", "error": {"type": kind, "message": "It failed"}}
    session = one(tmp_path, messages=[USER, ASKS, failed, SAYS])
    (call,) = session.ledger.turns[0].calls
    assert call.error == {"type": raised, "message": "It failed"}
    assert call.result is ABSENT
    assert call.extra == {"content": "partly"}
    assert kinds(session) == []


@pytest.mark.parametrize("kind", ["parsing", "unknown", "output_limit", "limit", "approval", "unicode_decode", None, 7])
def test_other_errors_are_what_the_model_was_told(tmp_path: Path, kind: Any) -> None:
    failed = {**RESULT, "content": "", "error": {"type": kind, "message": "It failed"}}
    session = one(tmp_path, messages=[USER, ASKS, failed, SAYS])
    (call,) = session.ledger.turns[0].calls
    assert (call.error, call.result, call.is_error) == (None, "It failed", True)
    assert call.extra == {"error_type": kind}
    assert kinds(session) == ["own-errors"]


def test_results_without_their_calls(tmp_path: Path) -> None:
    session = one(tmp_path, messages=[RESULT, {**RESULT, "tool_call_id": "c2", "content": "two"}, SAYS], events=[])
    (turn,) = session.ledger.turns
    assert turn.text == "How many?"
    assert [(call.tool, call.id, call.result) for call in turn.calls] == [
        ("lookup", "c1", '{"total": 1}'),
        ("lookup", "c2", "two"),
    ]
    assert kinds(session) == ["no-arguments", "no-events"]


def test_samples_that_came_to_no_end(tmp_path: Path) -> None:
    session = one(tmp_path, messages=[USER, ASKS], error={"message": "boom", "traceback": "…"})
    assert session.ledger.ended is not None
    assert session.ledger.ended.reason == "error: boom"
    assert kinds(session) == ["no-results", "no-output"]
    limited = one(tmp_path, limit={"type": "token", "limit": 10})
    assert limited.ledger.ended is not None
    assert limited.ledger.ended.reason == "limit: token"


def test_a_sample_in_which_nothing_happened_is_unusable(tmp_path: Path) -> None:
    session = one(tmp_path, messages=[USER], events=[])
    assert session.grade is not None
    assert session.grade.level == "unusable"
    assert kinds(session) == ["no-turns", "no-events"]


def test_attachments_that_are_not_there(tmp_path: Path) -> None:
    session = one(tmp_path, attachments={})
    assert session.ledger.turns[0].text == f"attachment://{HASH}"
    assert "no-attachments" in kinds(session)


def test_epochs_and_samples(tmp_path: Path) -> None:
    names = [
        session.name if isinstance(session, ImportedSession) else session.what
        for session in read(tmp_path, log(sample(), sample(epoch=2), sample(id="s2", uuid="u"), 7))
    ]
    assert names == ["shop-s1-epoch-1", "shop-s1-epoch-2", "shop-s2-epoch-1", "is no sample"]


@pytest.mark.parametrize("samples", [None, [], "x"])
def test_logs_without_samples(tmp_path: Path, samples: Any) -> None:
    (error,) = read(tmp_path, {**log(), "samples": samples})
    assert isinstance(error, ImportFileError)
    assert "is a log without samples" in error.what


@pytest.mark.parametrize(
    "more",
    [
        {"messages": None},
        {"messages": [{"role": "robot"}]},
        {"messages": [], "input": 7},
        {"messages": [{"role": "assistant", "content": 7}]},
    ],
)
def test_samples_that_cannot_be_read(tmp_path: Path, more: dict[str, Any]) -> None:
    (error,) = read(tmp_path, log(sample(**more)))
    assert isinstance(error, ImportFileError)


@pytest.mark.parametrize(
    "more",
    [
        {"events": [7, {"event": "model"}, {"event": "model", "input": 7, "output": 7, "config": 7, "tools": 7}]},
        {"events": [{"event": "model", "input": [7], "output": {"choices": [7]}, "output_refs": 1}]},
        {"events": {"a": 1}, "scores": 7, "score": {"value": {"a": 1}}, "attachments": 7, "limit": 7},
        {"events": [{"event": "step", "action": "end"}, {"event": "tool", "events": [7, {"event": "model"}]}]},
    ],
)
def test_odd_samples_do_not_break_it(tmp_path: Path, more: dict[str, Any]) -> None:
    assert one(tmp_path, **more).exchanges == ()


def test_deep_nesting_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    deep = '{"type": "data", "x": ' + "[" * 5000 + "]" * 5000 + "}"
    text = json.dumps(log(sample(messages=[{"role": "assistant", "content": ["DEEP"]}])))
    path.write_text(text.replace('"DEEP"', deep), encoding="utf-8")
    try:
        (found,) = import_file(path)
    except ImportFileError as error:
        found = error
    assert isinstance(found, ImportFileError)


def zipped(path: Path, members: dict[str, str], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return path


def test_archives(tmp_path: Path) -> None:
    head = {key: value for key, value in log().items() if key != "samples"}
    members = {
        "header.json": json.dumps(head),
        "samples/s1_epoch_1.json": json.dumps(sample()),
        "samples/s2_epoch_1.json": json.dumps(sample(id="s2")),
        "samples/s3_epoch_1.json": "{",
        "summaries.json": "[]",
    }
    first, second, third = import_file(zipped(tmp_path / "log.eval", members))
    assert isinstance(first, ImportedSession)
    assert isinstance(second, ImportedSession)
    assert (first.name, second.name) == ("shop-s1", "shop-s2")
    assert isinstance(third, ImportFileError)
    assert third.where == f"{tmp_path / 'log.eval'}: samples/s3_epoch_1.json"


@pytest.mark.parametrize("members", [{"x": "y"}, {"header.json": "{"}, {"header.json": "[]"}])
def test_archives_that_are_no_logs(tmp_path: Path, members: dict[str, str]) -> None:
    path = zipped(tmp_path / "log.eval", members)
    try:
        (found,) = import_file(path)
    except ImportFileError as error:
        found = error
    assert isinstance(found, ImportFileError)


def test_archives_that_are_damaged_or_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "log.eval", {"header.json": json.dumps(log()), "samples/a.json": " " * 100_000})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImportFileError, match="the archive cannot be read"):
        import_file(path)
    path.write_bytes(whole)
    monkeypatch.setattr(archive, "_MOST_BYTES", 10_000)
    with pytest.raises(ImportFileError, match="holds more than"):
        import_file(path)


def test_it_replays_against_itself(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    store.add(one(tmp_path))
    cassette = load_cassette(tmp_path / "out" / "shop-s1.session.yaml")
    assert cassette.http is not None
    assert len(cassette.http.exchanges) == 2
    assert replay(cassette, Reenact(cassette), until="end").verdicts == {"unchanged": 1}
