"""The whole corpus through every way to the disk: nothing of it is in any file, also after decoding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import capture, load_cassette, record_session, replay
from pytest_statebase.cassette import write_record
from pytest_statebase.cassette.plan import Plan
from pytest_statebase.cassette.redaction import set_secret_names
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.frames import SessionClosed, SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.importers import import_file
from pytest_statebase.importers.model import ImportedSession
from pytest_statebase.importers.store import Store
from pytest_statebase.journal import Writer
from pytest_statebase.ledger import Event, Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.recorder.cleaning import Cleaning
from pytest_statebase.wire.exchange import Exchange, Request, Response
from tests.corpus.secrets.case import Case
from tests.corpus.secrets.personal import card
from tests.corpus.secrets.scores import OWN_NAMES, decoded, secrets

SIX = {
    "api_key_of_openai": "sk-proj-" + "abcdEFGH" * 4 + "12",
    "header": "Bearer " + "9f8a7b6c5d4e3f2a1b0c",
    "contact": "jane.doe@corp.com",
    "paid_with": card("4539", 16, " "),
    "cloud": "AKIA" + "QWERTZUIOPASDFG7",
    "password": "correct-horse-battery",
}


@pytest.fixture(autouse=True)
def own_names() -> Iterator[None]:
    set_secret_names(OWN_NAMES)
    yield
    set_secret_names(())


def session_of(case: Case, number: int) -> tuple[Ledger, tuple[Exchange, ...]]:
    """A session that has a value wherever one may stand."""
    carrier, name = case.carrier, f"s{number}"
    text = carrier if isinstance(carrier, str) else repr(carrier) if "bytes" in repr(type(carrier)) else str(carrier)
    body = carrier.encode() if isinstance(carrier, str) else json.dumps(carrier, default=str).encode()
    exchange = Exchange(
        Request("POST", "https://api.test/x", (("content-type", "application/json"),), body),
        Response(200, body=body),
        1,
    )
    events: list[Event] = [
        SessionCreated(name, state={"case": carrier}),
        TurnStarted(1, {"type": "text", "content": text if isinstance(carrier, str) else "go"}, "2026-03-15T10:00:00Z"),
        ToolCalled("t", {"x": carrier}, carrier),
        StateUpdated(1, {"now": [carrier]}, reasoning=text if isinstance(carrier, str) else None),
        TurnAdded({"type": "text", "content": text if isinstance(carrier, str) else "done"}),
    ]
    return Ledger(events), (exchange,)


def leaks(files: Iterator[Path], cases: list[Case]) -> list[str]:
    """Which values stand in files; of short numbers, which may stand anywhere, only where they stand by themselves."""
    whole = "\n".join({text for file in files for text in decoded(file.read_bytes(), 4)})
    return [case.name for case in cases if case.value in whole and _stands_alone(case.value, whole)]


def _stands_alone(value: str, text: str) -> bool:
    if len(value) < 4:
        return False  # three digits stand everywhere
    return len(value) > 8 or re.search(rf"(?<![\w.:+-]){re.escape(value)}(?![\w:-])", text) is not None


def test_of_journals_and_the_cassettes_made_of_them(tmp_path: Path) -> None:
    cases = secrets()
    cleaning = Cleaning(tmp_path / "captured", None)
    writer = Writer(tmp_path / "captured", redact=cleaning)
    for number, case in enumerate(cases):
        ledger, exchanges = session_of(case, number)
        created, started, *rest = ledger.events
        assert isinstance(created, SessionCreated)
        assert isinstance(started, TurnStarted)
        for frame in (
            SessionOpened(created),
            TurnOpened(created.id, started.input, started.at),
            TurnClosed(created.id, (started, *rest), exchanges),
            SessionClosed(created.id, "completed"),
        ):
            assert writer.put(frame, None)
    assert writer.stop(60)
    assert cleaning.counts["secret"] > 100
    store = Store(tmp_path / "out")
    names = set()
    for session in import_file(tmp_path / "captured"):
        assert isinstance(session, ImportedSession)
        names.add(session.ledger.id)
        store.add(session)
    assert len(names) == len(cases)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".journal" for path in files)
    assert leaks(iter(files), cases) == []


def test_of_imports(tmp_path: Path) -> None:
    cases = secrets()
    store = Store(tmp_path)
    for number, case in enumerate(cases):
        ledger, exchanges = session_of(case, number)
        made_of = {"session": {"id": f"s{number}"}, "x": case.carrier}
        raw = None if number % 5 else json.dumps(made_of, default=str).encode()
        store.add(ImportedSession(f"s{number}", ledger, Plan(session=f"s{number}"), exchanges=exchanges, raw=raw))
    assert store.tally.redacted["secret"] > 100
    assert leaks(tmp_path.rglob("*.*"), cases) == []


def six(order: str) -> dict[str, Any]:
    """A tool that tells too much."""
    return {"order": order, **SIX}


def agent(user_input: str, tools: ToolCaller | None = None) -> str:
    found = six(user_input.rpartition(" ")[2])
    return f"Found order {found['order']} of {found['contact']}, paid with {found['paid_with']}"


def test_six_of_a_tools_result_by_default_when_recorded(tmp_path: Path) -> None:
    exchanges: list[Exchange] = []
    session = record_session(agent, ["look at 1047"], session_id="s", tools=[f"{__name__}:six"], http=exchanges)
    write_record(tmp_path / "s.record.yaml", session)
    assert_none_of_the_six(tmp_path)
    result = replay(load_cassette(tmp_path / "s.record.yaml"), agent, tools=[f"{__name__}:six"])
    assert dict(result.verdicts) == {"unchanged": 1}


def test_six_of_a_tools_result_by_default_when_captured(tmp_path: Path) -> None:
    recording = capture(tmp_path / "captured", tools=[f"{__name__}:six"])
    with recording, recording.session("s") as session, session.turn("look at 1047") as turn:
        turn.reply(agent("look at 1047"))
    store = Store(tmp_path / "out")
    for one in import_file(tmp_path / "captured"):
        assert isinstance(one, ImportedSession)
        store.add(one)
    assert_none_of_the_six(tmp_path)
    (plan,) = (tmp_path / "out").glob("*.session.yaml")
    cassette = load_cassette(plan)
    assert len(list(cassette.ledger.turns[0].calls)) == 1
    assert dict(replay(cassette, agent, tools=[f"{__name__}:six"]).verdicts) == {"unchanged": 1}


def assert_none_of_the_six(path: Path) -> None:
    for file in [one for one in path.rglob("*") if one.is_file()]:
        text = file.read_text("utf-8", "replace")
        for name, value in SIX.items():
            assert value.removeprefix("Bearer ") not in text, (file.name, name)
