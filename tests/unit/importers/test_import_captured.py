"""Journals of a capture as cassettes."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Verdict, replay
from pytest_statebase.cassette import load_cassette, verify
from pytest_statebase.errors import ImportFileError
from pytest_statebase.events import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.journal import Writer
from pytest_statebase.privacy import FrameRedactor
from pytest_statebase.testing import Reenact
from pytest_statebase.wire.exchange import Exchange, Request, Response


def turn(session: str, number: int, *, result: Any = "ok", **more: Any) -> TurnClosed:
    at = f"2026-03-15T10:00:{number:02}.000000Z"
    arguments = {"number": number, **more}
    said = {"type": "text", "content": f"Where is order {number}?"}
    reply = TurnAdded({"type": "text", "content": f"{number}: on its way"}, at=at)
    return TurnClosed(session, (TurnStarted(number, said, at), ToolCalled("look_up", arguments, result, step=1), reply))


def journal(directory: Path, *frames: Frame, redact: Any = lambda frame: frame) -> Path:
    writer = Writer(directory, redact=redact)
    assert all(list(map(writer.put, frames)))
    assert writer.stop(20)
    return next(directory.glob("*.journal"))


def sessions(path: Path) -> list[ImportedSession]:
    found = list(import_file(path))
    assert not [one for one in found if isinstance(one, ImportFileError)]
    return [one for one in found if isinstance(one, ImportedSession)]


def stored(path: Path, out: Path) -> list[Path]:
    store = Store(out)
    for session in sessions(path):
        store.add(session)
    store.finish()
    return sorted(out.glob("*.session.yaml"))


def test_a_directory_of_journals_becomes_cassettes_that_replay_unchanged(tmp_path: Path) -> None:
    exchange = Exchange(Request("GET", "https://shop.example/1"), Response(200, "OK", (), b"{}"), 1, 0)
    first = replace(turn("a", 1), exchanges=(exchange,))
    path = journal(
        tmp_path / "captured", SessionOpened(SessionCreated("a", "support")), first, turn("b", 1), turn("a", 2)
    )
    assert import_file(tmp_path / "captured").format == import_file(path).format == "journal"
    plans = stored(tmp_path / "captured", tmp_path / "fixtures")
    assert [plan.name for plan in plans] == ["a.session.yaml", "b.session.yaml"]
    for plan in plans:
        cassette = load_cassette(plan)
        assert verify(cassette.record_path).ok
        assert {one.verdict for one in replay(cassette, Reenact(cassette)).turns} == {Verdict.UNCHANGED}
    cassette = load_cassette(plans[0])
    assert cassette.plan.agent == "support"
    assert cassette.plan.title == "Where is order 1?"
    assert cassette.http is not None
    assert cassette.http.exchanges == (exchange,)
    assert load_cassette(plans[1]).http is None


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    path = journal(tmp_path / "captured", turn("a", 1))
    (plan,) = stored(path, tmp_path / "fixtures")
    before = {file.name: file.read_bytes() for file in plan.parent.iterdir()}
    stored(tmp_path / "captured", tmp_path / "fixtures")
    assert {file.name: file.read_bytes() for file in plan.parent.iterdir()} == before


def test_placeholders_are_numbered_in_the_cassette(tmp_path: Path) -> None:
    mail = "anna.meier@kunde-post.de"
    path = journal(tmp_path / "captured", turn("a", 1, result={"mail": mail}, to=mail), redact=FrameRedactor().frame)
    assert mail.encode() not in path.read_bytes()
    (session,) = sessions(path)
    call = session.ledger.turns[0].calls[0]
    assert call.arguments["to"] == call.result["mail"]
    assert "1" in call.result["mail"]
    assert (session.grade and session.grade.level) == "replayable"


def test_a_session_with_a_gap_is_partly_replayable(tmp_path: Path) -> None:
    path = journal(tmp_path / "captured", turn("a", 1), SessionCut("a", "queue full", "2026-03-15T10:00:02.000000Z"))
    (session,) = sessions(path)
    assert session.grade is not None
    assert (session.grade.level, [one.kind for one in session.grade.reasons]) == ("partial", ["gap"])


def test_the_parts_around_a_gap_are_cassettes_of_their_own(tmp_path: Path) -> None:
    cut = SessionCut("a", "queue full", "2026-03-15T10:00:02.000000Z")
    path = journal(tmp_path / "captured", turn("a", 1), cut, turn("a", 3))
    for _ in range(2):  # the second time nothing is new
        plans = stored(path, tmp_path / "fixtures")
        assert [plan.name for plan in plans] == ["a-after-gap-1.session.yaml", "a.session.yaml"]
    assert {load_cassette(plan).ledger.id for plan in plans} == {"a"}
    assert [load_cassette(plan).ledger.turns[0].text for plan in plans] == ["Where is order 3?", "Where is order 1?"]


def test_arguments_that_could_not_be_stored_are_left_out_of_account(tmp_path: Path) -> None:
    path = journal(tmp_path / "captured", turn("a", 1, connection=threading.Lock()), turn("a", 2))
    (session,) = sessions(path)
    assert session.plan.tools["look_up"].ignore == ("connection",)
    assert session.grade is not None
    assert [one.kind for one in session.grade.reasons] == ["unstored"]
    (plan,) = stored(path, tmp_path / "fixtures")
    text = plan.read_text()
    assert "connection" in text

    def agent(user_input: str, tools: Any) -> str:
        number = int(user_input.removesuffix("?").rsplit(" ", 1)[-1])
        tools.call("look_up", {"number": number, **({"connection": threading.Lock()} if number == 1 else {})})
        return f"{number}: on its way"

    assert {one.verdict for one in replay(load_cassette(plan), agent).turns} == {Verdict.UNCHANGED}


def test_a_result_that_could_not_be_stored_is_one_that_was_not_recorded(tmp_path: Path) -> None:
    (session,) = sessions(journal(tmp_path / "captured", turn("a", 1, result=threading.Lock())))
    assert session.grade is not None
    (reason,) = session.grade.reasons
    assert "look_up" in str(reason)
    assert "turn 1" in str(reason)


def test_sessions_that_no_rule_keeps_are_left_out(tmp_path: Path) -> None:
    path = journal(
        tmp_path / "captured",
        turn("a", 1), SessionClosed("a", "completed", ()),
        turn("b", 1), SessionClosed("b", "completed", ("errors",)),
        turn("c", 1), SessionClosed("c", "completed", None),
        turn("d", 1),
    )  # fmt: skip
    found = import_file(path)
    assert [one.name for one in found if isinstance(one, ImportedSession)] == ["b", "c", "d"]
    assert [" 1 of " in line for line in found.warnings] == [True]


def test_a_line_that_was_never_finished_is_a_warning_and_a_damaged_one_an_error(tmp_path: Path) -> None:
    path = journal(tmp_path / "captured", turn("a", 1), turn("b", 1), turn("c", 1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    found = import_file(path)
    assert [one.name for one in found if isinstance(one, ImportedSession)] == ["a", "b"]
    assert [f"{path}:4" in line for line in found.warnings] == [True]
    path.write_bytes(whole.replace(b"order 1", b"order 7", 1))
    kinds = [type(one) for one in import_file(path)]
    assert kinds == [ImportedSession, ImportedSession, ImportFileError]


def test_a_directory_without_journals_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match="holds no journal"):
        import_file(tmp_path)
