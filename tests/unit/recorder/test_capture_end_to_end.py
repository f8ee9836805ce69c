"""From production to a replay: captured, written, imported as cassettes, replayed with no tool running."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import captured_shop as shop
import pytest
from captured_shop import LIVE, TOOLS

from pytest_statebase import Cassette, capture, load_cassette, replay
from pytest_statebase.cli import main
from pytest_statebase.journal import read_sessions


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    LIVE.clear()


def captured(directory: Path, said: dict[str, list[str]]) -> None:
    with capture(directory, tools=TOOLS):
        for session, inputs in said.items():
            state: dict[str, Any] = {}
            for text in inputs:
                try:
                    reply = shop.answer(session, text, state)
                except shop.SoldOutError:
                    continue
                state = getattr(reply, "state", state)


def imported(directory: Path, out: Path) -> dict[str, Cassette]:
    with pytest.raises(SystemExit) as done:
        main(["import", str(directory), "--out", str(out)])
    assert done.value.code == 0
    found = [load_cassette(path) for path in sorted(out.glob("*.session.yaml"))]
    return {one.ledger.id: one for one in found}


def test_a_captured_session_is_replayed_unchanged_and_nothing_runs(tmp_path: Path) -> None:
    said = {
        "types": ["look 1047", "look 1047"],
        "shopping": ["buy lamp kite chair", "buy kite", "read 3"],
        "broken": ["look 1", "fail", "buy lamp"],
    }
    captured(tmp_path / "captured", said)
    assert set(LIVE) == {"look_up", "price_of", "buy", "pages"}
    LIVE.clear()
    cassettes = imported(tmp_path / "captured", tmp_path / "fixtures")
    assert sorted(cassettes) == ["broken", "shopping", "types"]
    for name, cassette in cassettes.items():
        result = replay(cassette, shop.answer, tools=TOOLS)
        assert result.verdicts == {"unchanged": len(said[name])}, name
    assert LIVE == []
    assert cassettes["types"].ledger.created.agent_id == "shop"
    assert [version.state["turns"] for version in cassettes["types"].ledger.versions[1:]] == [1, 2]
    broken = cassettes["broken"].ledger.turns[1].error
    assert broken is not None
    assert broken["message"] == "everything is sold out"


def test_types_come_back_as_they_were(tmp_path: Path) -> None:
    captured(tmp_path / "captured", {"types": ["look 1047"]})
    (session,) = read_sessions([tmp_path / "captured"])
    live = shop.look_up("1047")
    cassette = Cassette.from_ledger(session.ledger)
    seen: list[Any] = []

    def agent(session_id: str, user_input: str) -> str:
        seen.append(shop.look_up("1047"))
        return "looked"

    replay(cassette, agent, tools=TOOLS)
    assert seen == [live]
    assert list(seen[0]) == list(live)
    assert [type(one) for one in seen[0].values()] == [type(one) for one in live.values()]


def test_what_cannot_be_stored_is_told_at_recording_by_tool_and_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), capture(tmp_path, tools=TOOLS) as recording:
        for _ in range(3):
            with recording.session("s").turn("x"):
                assert shop.connection("db")["handles"][0]["lock"].acquire(blocking=False)
                assert len(shop.other("db")["inside"]) == 1
    told = [one.getMessage() for one in caplog.records if one.name == "pytest_statebase.capture"]
    assert len(told) == 2
    assert "connection: result.handles[0].lock is a _thread:lock" in told[0]
    assert "other: result.inside[*] is a _thread:lock" in told[1]


def test_six_secrets_and_the_session_still_replays(tmp_path: Path) -> None:
    captured(tmp_path / "captured", {"s": ["sign maria"]})
    secrets = list(shop.sign_in("maria").values())[1:]
    secrets[-1] = secrets[-1].split()[0]
    secrets[1] = secrets[1].split()[1]
    cassettes = imported(tmp_path / "captured", tmp_path / "fixtures")
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".key"]
    assert len(written) >= 3
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert [secret for secret in secrets if secret in text] == [], path.name
    LIVE.clear()
    assert replay(cassettes["s"], shop.answer, tools=TOOLS).verdicts == {"unchanged": 1}
    assert LIVE == []


def test_a_stream_is_replayed_by_what_it_said(tmp_path: Path) -> None:
    import asyncio

    async def read(session_id: str, user_input: str) -> str:
        return "".join([chunk async for chunk in shop.stream(session_id, user_input)])

    with capture(tmp_path / "captured", tools=TOOLS):
        assert asyncio.run(read("s", "lamp")) == "It costs 8.50 EUR. page 0 page 1"
    (session,) = read_sessions([tmp_path / "captured"])
    assert replay(Cassette.from_ledger(session.ledger), read, tools=TOOLS).verdicts == {"unchanged": 1}


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    captured(tmp_path / "captured", {"s": ["look 1"]})
    assert (tmp_path / "captured").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "captured").iterdir()} == {0o600}


def test_what_was_reported_as_kept_is_there(tmp_path: Path) -> None:
    with capture(tmp_path, tools=TOOLS) as recording:
        with recording.session("s").turn("x") as turn:
            turn.reply("y")
        recording.flush()
        assert turn.kept is True
        (session,) = read_sessions([tmp_path])
    assert session.ledger.turns[0].output == {"type": "text", "content": "y"}


UNWANTED = (
    "pytest",
    "deepdiff",
    "jinja2",
    "vcr",
    "httpx",
    "httpcore",
    "requests",
    "aiohttp",
    "urllib3",
    "yaml",
    "click",
)


def test_capturing_loads_nothing_of_tests_or_clients(tmp_path: Path) -> None:
    code = f"""
import sys
from pytest_statebase import capture
def tool(): return 1
with capture({str(tmp_path)!r}, tools=["__main__:tool"]) as recording:
    with recording.session("s").turn("x") as turn:
        tool()
        turn.reply("y")
assert turn.kept, recording
print(*sorted({{name.partition(".")[0] for name in sys.modules}} & set({UNWANTED!r})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_sessions_over_processes_are_one(tmp_path: Path) -> None:
    for text in ("look 1", "look 2"):
        code = f"""
import captured_shop as shop
from pytest_statebase import capture
with capture({str(tmp_path / "captured")!r}, tools=shop.TOOLS):
    shop.answer("s", {text!r}, {{"turns": {len(text)}}})
"""
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
    (session,) = read_sessions([tmp_path / "captured"])
    assert [turn.number for turn in session.ledger.turns] == [1, 2]
    assert [turn.text for turn in session.ledger.turns] == ["look 1", "look 2"]


def test_only_what_is_worth_it_becomes_a_cassette(tmp_path: Path) -> None:
    with capture(tmp_path / "captured", tools=TOOLS, sample=0.0, keep=["errors"]):
        for session, text in (("fine", "look 1"), ("broken", "buy kite")):
            shop.answer(session, text, {})
    assert list(imported(tmp_path / "captured", tmp_path / "out")) == ["broken"]
