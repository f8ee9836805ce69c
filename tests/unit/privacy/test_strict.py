"""`privacy: strict`: what is not listed is withheld, and the rest replays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import capture, load_cassette, replay
from pytest_statebase.errors import OptionError
from pytest_statebase.importers import import_file
from pytest_statebase.importers.model import ImportedSession
from pytest_statebase.importers.store import Store
from pytest_statebase.ledger import Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.privacy import RedactionOptions, redacted_session
from pytest_statebase.privacy.strict import Kept, size_class
from pytest_statebase.wire.exchange import Exchange, Request, Response

SECRET = "Marlowe"
"""A name, which nothing tells from other words."""


def session() -> Ledger:
    result = {
        "order_id": "1047",
        "status": "open",
        "name": SECRET,
        "total": 42.5,
        "vip": True,
        "lines": [{"sku": "S-1"}],
    }
    return Ledger([
        SessionCreated("s", user_id=f"u-{SECRET}", state={"order": {"status": "new", "note": SECRET}, "status": "x"}),
        TurnStarted(1, {"type": "text", "content": f"I am {SECRET}, mail me at m@corp.com"}, "2026-03-15T10:00:00Z"),
        ToolCalled("look_up", {"order_id": "1047", "name": SECRET}, json.dumps(result), id="call_1"),
        StateUpdated(1, {"order": {"status": "open", "note": SECRET}, "status": SECRET}, reasoning=f"{SECRET} asked"),
        TurnAdded({"type": "text", "content": f"Hello {SECRET}"}, metadata={"latency_ms": 5, "model": "m"}),
    ])  # fmt: skip


def strict(*keep: str, **options: Any) -> Ledger:
    exchange = Exchange(Request("POST", f"https://api.test/{SECRET}"), Response(200, body=SECRET.encode()), 1)
    told = RedactionOptions(strict=True, keep=frozenset(keep), **options)
    clean = redacted_session(session(), [exchange], options=told)
    assert clean.exchanges == ()
    assert clean.places["withheld"]
    return clean.ledger


def test_nothing_stays_but_what_is_listed() -> None:
    clean = strict("order_id", "state.order.status")
    assert SECRET not in repr(clean.events)
    created, started, call, updated, added = clean.events
    assert isinstance(created, SessionCreated)
    assert created.state["order"]["status"] == "new"
    assert created.state["status"].startswith("withheld-word-20-")
    assert created.extra == {"privacy": {"strict": True, "keep": ["order_id", "state.order.status"]}}
    assert isinstance(started, TurnStarted)
    assert started.input == {"type": "text", "content": "withheld-text-100-3"}
    assert isinstance(call, ToolCalled)
    assert (call.tool, call.id, call.arguments["order_id"]) == ("look_up", "call_1", "1047")
    found = json.loads(call.result)
    assert list(found) == ["order_id", "status", "name", "total", "vip", "lines"]
    assert found["order_id"] == "1047"
    assert found["vip"] is False
    assert found["name"] == call.arguments["name"] == created.state["order"]["note"], "one value is one placeholder"
    assert re.fullmatch(r"withheld-word-20-\d", found["lines"][0]["sku"])
    assert isinstance(added, TurnAdded)
    assert added.metadata is not None
    assert (added.metadata["latency_ms"], added.metadata["model"]) == (5, "m")
    assert isinstance(updated, StateUpdated)
    assert updated.value["order"]["status"] == "open"


def test_what_is_listed_is_still_redacted() -> None:
    (_, started, *_) = strict("input").events
    assert isinstance(started, TurnStarted)
    assert isinstance(started.input, dict)
    assert "corp.com" not in started.input["content"]
    assert SECRET in started.input["content"]


def test_free_texts_pass_a_detector_of_names() -> None:
    def names(text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(SECRET, text)]

    clean = strict(names=names)
    assert SECRET not in repr(clean.events)
    (_, started, call, *_) = clean.events
    assert isinstance(started, TurnStarted)
    assert isinstance(started.input, dict)
    assert re.fullmatch(r"I am Person 1, mail me at email-1@\w{8}\.example\.com", started.input["content"])
    assert isinstance(call, ToolCalled)
    assert call.arguments["order_id"].startswith("withheld-word-20-"), "a single word is no free text"


@pytest.mark.parametrize(
    ("text", "told"), [("a", "word-20"), ("a b", "text-20"), ("x" * 21, "word-100"), ("a b" * 1000, "text-long")]
)
def test_size_classes(text: str, told: str) -> None:
    assert size_class(text) == told


def test_fields_by_name_and_by_path() -> None:
    kept = Kept(["a", "b.c"])
    assert [kept.holds(path) for path in [("a",), ("x", "a"), ("b", "c"), ("x", "b", "c"), ("c",), ("b",), ()]] == [
        *[True] * 4,
        False,
        False,
        False,
    ]


def look_up(order_id: str, name: str) -> dict[str, Any]:
    return {"order_id": order_id, "status": "open", "name": SECRET}


def agent(user_input: str, order: str = "1047") -> str:
    found = look_up(order, "fixed by the agent")
    return f"Order {found['order_id']} of {found['name']}"


def cassette_of(tmp_path: Path, **options: Any) -> Any:
    with (
        capture(tmp_path / "captured", tools=[f"{__name__}:look_up"], **options) as recording,
        recording.session("s") as one,
        one.turn(f"I am {SECRET}") as turn,
    ):
        turn.reply(agent("x"))
    store = Store(tmp_path / "out")
    for session in import_file(tmp_path / "captured"):
        assert isinstance(session, ImportedSession)
        store.add(session)
    for file in tmp_path.rglob("*.*"):
        assert SECRET not in (file.read_text("utf-8", "replace") if file.is_file() else ""), file
    return load_cassette(tmp_path / "out" / "s.session.yaml")


def test_a_strict_capture_replays_and_says_what_it_proves(tmp_path: Path) -> None:
    cassette = cassette_of(tmp_path, privacy="strict", keep_fields=["order_id"])
    result = replay(cassette, agent, tools=[f"{__name__}:look_up"])
    assert dict(result.verdicts) == {"unchanged": 1}
    assert cassette.ledger.ended is not None
    assert cassette.ledger.ended.reason == "completed", "a word of the capture itself"
    (told,) = [line for line in result.warnings if "privacy: strict" in line]
    assert "order_id" in told
    wrong = replay(cassette, lambda user_input: agent(user_input, "1048"), tools=[f"{__name__}:look_up"])
    assert dict(wrong.verdicts) != {"unchanged": 1}


def test_a_directory_that_is_strict(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "statebase.yaml").write_text("privacy: strict\nkeep: [order_id]\n")
    cassette = cassette_of_import(tmp_path)
    assert cassette.ledger.turns[0].calls[0].arguments["order_id"] == "1047"
    assert cassette.plan.privacy == "strict"
    assert cassette.plan.keep == ("order_id",)


def cassette_of_import(tmp_path: Path) -> Any:
    calls = [
        {
            "id": "c",
            "type": "function",
            "function": {"name": "t", "arguments": json.dumps({"order_id": "1047", "n": SECRET})},
        }
    ]
    messages = [
        {"role": "user", "content": f"I am {SECRET}"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": f"found {SECRET}"},
        {"role": "assistant", "content": f"Hello {SECRET}"},
    ]
    (tmp_path / "chat.json").write_text(json.dumps({"id": "chat_1", "messages": messages}))
    store = Store(tmp_path / "out")
    for session in import_file(tmp_path / "chat.json"):
        assert isinstance(session, ImportedSession)
        store.add(session)
    for file in (tmp_path / "out").iterdir():
        assert SECRET not in file.read_text("utf-8"), file
    return load_cassette(tmp_path / "out" / "chat_1.session.yaml")


def test_options_of_a_capture_that_mean_nothing(tmp_path: Path) -> None:
    for options in ({"privacy": "loose"}, {"keep_fields": ["a"]}, {"privacy": "strict", "redact": lambda frame: frame}):
        with pytest.raises(OptionError):
            capture(tmp_path, **options)  # type: ignore[arg-type]
