from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, SessionFile, detect, import_file

HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def written(path: Path, *documents: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return path


def names(file: SessionFile) -> list[str | None]:
    return [session.name if isinstance(session, ImportedSession) else None for session in file]


def first_error(path: Path) -> ImportFileError:
    try:
        (error,) = import_file(path)
    except ImportFileError as raised:
        error = raised
    assert isinstance(error, ImportFileError)
    return error


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (HELLO, "chat"),
        ({"messages": HELLO}, "chat"),
        ([{"messages": HELLO}], "chat"),
        ([HELLO, HELLO], "chat"),
        ([{"traj": HELLO}], "tau-bench"),
        ({"simulations": []}, "tau2-bench"),
        ([], None),
        ({}, None),
        ("text", None),
        (3, None),
    ],
)
def test_detect(data: Any, format: str | None) -> None:
    assert detect(data) == format


def test_one_list_of_messages(tmp_path: Path) -> None:
    file = import_file(written(tmp_path / "refund.json", HELLO))
    assert (file.format, file.total) == ("chat", 1)
    assert names(file) == ["refund"]


def test_mappings_with_messages(tmp_path: Path) -> None:
    first = {"session_id": "s1", "agent_id": "support", "user_id": "u", "created_at": "2026-01-01", "messages": HELLO}
    second = {"id": 7, "messages": HELLO, "metadata": {"team": "a"}, "model": "gpt", "tools": [1]}
    found = list(import_file(written(tmp_path / "all.json", [first, second, {"messages": HELLO}])))
    assert all(isinstance(session, ImportedSession) for session in found)
    one, two, three = (session for session in found if isinstance(session, ImportedSession))
    created = one.ledger.created
    assert (created.id, created.agent_id, created.user_id, created.at) == ("s1", "support", "u", "2026-01-01")
    assert created.metadata is None
    assert (two.ledger.id, two.ledger.created.metadata) == ("7", {"team": "a", "model": "gpt"})
    assert three.name == "all-3"
    assert (one.plan.session, one.plan.agent, one.plan.title) == ("s1", "support", "Hi")


def test_lists_of_lists(tmp_path: Path) -> None:
    assert names(import_file(written(tmp_path / "all.json", [HELLO, HELLO]))) == ["all-1", "all-2"]


@pytest.mark.parametrize("name", ["all.jsonl", "all.ndjson", "all.json", "all"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, {"id": "a", "messages": HELLO}, HELLO)
    assert names(import_file(path)) == ["a", "all-2"]


def test_json_lines_of_messages_are_one_session(tmp_path: Path) -> None:
    assert names(import_file(written(tmp_path / "chat.jsonl", *HELLO))) == ["chat"]


def test_a_bad_line_loses_only_itself(tmp_path: Path) -> None:
    path = written(tmp_path / "all.jsonl", {"id": "a", "messages": HELLO}, {"id": "b", "messages": HELLO})
    path.write_text(path.read_text(encoding="utf-8").replace("\n", "\n{broken\n\n"), encoding="utf-8")
    found = list(import_file(path))
    assert [type(session) for session in found] == [ImportedSession, ImportFileError, ImportedSession]
    assert isinstance(found[1], ImportFileError)
    assert found[1].where == f"{path}:2:2"


def test_a_bad_line_among_messages_is_a_bad_session(tmp_path: Path) -> None:
    path = written(tmp_path / "chat.jsonl", *HELLO)
    path.write_text(path.read_text(encoding="utf-8") + "\n{", encoding="utf-8")
    (found,) = import_file(path)
    assert isinstance(found, ImportFileError)


def test_a_bad_session_loses_only_itself(tmp_path: Path) -> None:
    path = written(tmp_path / "all.json", [HELLO, [{"role": "robot"}, *HELLO], {"no": 1}, {"messages": None}, HELLO])
    found = list(import_file(path))
    assert [session.where for session in found if isinstance(session, ImportFileError)] == [
        f"{path}: [1][0]",
        f"{path}: [2]",
        f"{path}: [3].messages",
    ]
    assert sum(isinstance(session, ImportedSession) for session in found) == 2


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(HELLO).encode()))
    assert names(import_file(path)) == ["chat"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (gzip.compress(b"[]" * 999, mtime=0)[:20], "unzipped"),
        (b"\x1f\x8bnonsense", "unzipped"),
        (b"hello", "not JSON"),
        (b'[{"role": "user"', "not JSON"),
        (b"[" * 200_000, "JSON"),
        (b"[" + b"1" * 5000 + b"]", "JSON"),
        (b"[]", "no session"),
        (b"3", "no session"),
        (b"{}", "no session"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    error = first_error(path)
    assert said in error.what
    assert str(path) in str(error.where)
    assert error.remedy


def test_a_missing_file_and_a_directory_without_journals(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "none.json", "cannot be read"), (tmp_path, "holds no journal")):
        with pytest.raises(ImportFileError, match=said):
            import_file(path)


def test_titles_are_one_printable_line(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "\x1b[31mHello\n\nthere " + "x" * 200}, HELLO[1]]
    (found,) = import_file(written(tmp_path / "t.json", talk))
    assert isinstance(found, ImportedSession)
    assert found.plan.title is not None
    assert found.plan.title.startswith("[31mHello there x")
    assert len(found.plan.title) == 72


ANTHROPIC = [
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "order", "input": {"id": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sent"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "On its way."}]},
]
LANGCHAIN = [
    {"type": "human", "content": "Where is it?"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "order", "args": {"id": 7}, "id": "c1", "type": "tool_call"}],
    },
    {"type": "tool", "content": "sent", "tool_call_id": "c1"},
    {"type": "ai", "content": "On its way."},
]


@pytest.mark.parametrize("documents", [[{"messages": ANTHROPIC}], [{"messages": LANGCHAIN}], [LANGCHAIN], LANGCHAIN])
def test_messages_of_other_providers_and_frameworks(documents: list[Any], tmp_path: Path) -> None:
    assert {detect(document) for document in documents} == {"chat"}
    (session,) = import_file(written(tmp_path / "chat.jsonl", *documents))
    assert isinstance(session, ImportedSession)
    (turn,) = session.ledger.turns
    assert turn.text == "Where is it?"
    assert [(call.tool, call.arguments, call.result) for call in turn.calls] == [("order", {"id": 7}, "sent")]
    assert turn.output == {"type": "text", "content": "On its way."}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "usr", "content": "Hi"}, *HELLO],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "tool", "content": "sent"}, *HELLO],
        [*ANTHROPIC[2:], *HELLO],
    ],
)
def test_what_is_wrong_in_any_dialect_is_told_as_it_stands(messages: list[Any], tmp_path: Path) -> None:
    assert "messages[0]" in str(first_error(written(tmp_path / "chat.json", {"messages": messages})))
