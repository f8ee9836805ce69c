from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def read(path: Path, answer: Any) -> list[ImportedSession | ImportFileError]:
    found = import_file(path, hook=lambda path, data: answer)
    sessions = list(found)
    assert (found.format, found.total) == ("project", len(sessions))
    return sessions


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (gzip.compress(b"[1]", mtime=0), [1]),
        (b"a,b\n1,2\n", "a,b\n1,2\n"),
        (b'{"a": 1}\n{"a":', '{"a": 1}\n{"a":'),
        (b"\xff\x00", b"\xff\x00"),
        (b"", ""),
    ],
)
def test_what_a_hook_is_given(tmp_path: Path, content: bytes, data: Any) -> None:
    path = tmp_path / "x.own"
    path.write_bytes(content)
    given: list[Any] = []

    def hook(path: Path, data: Any) -> Any:
        given.extend((path, data))
        return [TALK]

    assert len(list(import_file(path, hook=hook))) == 1
    assert given == [path, data]


def test_what_a_hook_may_return(tmp_path: Path) -> None:
    path = tmp_path / "x.own"
    path.write_text("anything", encoding="utf-8")
    ledger = Ledger([SessionCreated("own"), TurnStarted(1, {"type": "text", "content": "Hi"}), TurnAdded()])

    def made() -> Iterator[Any]:
        yield TALK
        yield {"id": "named", "agent_id": "support", "messages": TALK}
        yield ledger

    plain, named, own = read(path, made())
    assert isinstance(plain, ImportedSession)
    assert isinstance(named, ImportedSession)
    assert isinstance(own, ImportedSession)
    assert (plain.name, named.name, own.name) == ("x.own-1", "named", "own")
    assert named.plan.agent == "support"
    assert own.ledger is ledger
    assert own.plan.title == "Hi"
    assert read(path, [own]) == [own]
    assert read(path, own) == [own]


def test_a_bad_session_is_told_between_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.own"
    path.write_text("anything", encoding="utf-8")
    bad, good = read(path, [{"neither": 1}, TALK])
    assert isinstance(bad, ImportFileError)
    assert bad.where == f"{path}: [0]"
    assert isinstance(good, ImportedSession)


@pytest.mark.parametrize("answer", ["text", 7, {"messages": TALK}, b"bytes"])
def test_an_answer_that_is_no_list(tmp_path: Path, answer: Any) -> None:
    path = tmp_path / "x.own"
    path.write_text("anything", encoding="utf-8")
    with pytest.raises(ImportFileError, match=r"returned \w+, no list of sessions"):
        read(path, answer)


def test_a_hook_that_fails_or_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.own"
    path.write_text("anything", encoding="utf-8")

    def broken(path: Path, data: Any) -> Any:
        yield TALK
        raise KeyError("turns")

    with pytest.raises(ImportFileError, match="raised KeyError: 'turns'"):
        import_file(path, hook=broken)
    with pytest.raises(ImportFileError, match="found no session"):
        read(path, [])


def test_files_of_others_stay_with_them(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(TALK), encoding="utf-8")
    assert import_file(path, hook=lambda path, data: None).format == "chat"
