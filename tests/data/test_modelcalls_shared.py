"""Traces, tapes and logs that others made: what is imported of them, and that its model calls answer in any API.

They are not part of the project: STATEBASE_DATA names the folder that holds them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_statebase import load_cassette, replay
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.pool import Exchanges, Found
from pytest_statebase.engine.web.talk import reply_of
from pytest_statebase.engine.web.talk.apis import Api
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.importers.modelcalls.bodies import BODIES, Ask, Said
from pytest_statebase.importers.store import Store
from pytest_statebase.testing import Reenact
from pytest_statebase.wire.exchange import Exchange, Request, Response

DATA = Path(os.environ.get("STATEBASE_DATA", "/nowhere"))
pytestmark = pytest.mark.skipif(
    not (DATA / "tapeagents").exists(), reason="STATEBASE_DATA names no folder with `tapeagents`, `inspect_ai`, …"
)
TRACES = ("langfuse/*.trace.json", "langsmith/*.json", "any-agent/*.json", "openinference/*.json")
URLS: dict[Api, str] = {
    "chat": "https://api.openai.com/v1/chat/completions",
    "responses": "https://api.openai.com/v1/responses",
    "messages": "https://api.anthropic.com/v1/messages",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
}


def sessions(*patterns: str) -> list[ImportedSession]:
    files = sorted(path for pattern in patterns for path in DATA.glob(pattern))
    found = [session for path in files for session in import_file(path)]
    assert found
    assert all(isinstance(session, ImportedSession) for session in found), found
    return [session for session in found if isinstance(session, ImportedSession)]


def test_traces_become_model_calls() -> None:
    derived = [one.derived or () for session in sessions(*TRACES) for one in session.exchanges]
    counts = {kind: sum(kind in one for one in derived) for kind in ("messages", "system", "tools", "provider")}
    print(f"{len(derived)} model calls; of them the trace does not tell: {counts}")
    assert len(derived) == 34


def chat_of(request: Request) -> list[dict[str, Any]]:
    """The messages of what was written as chat completions."""
    found: list[dict[str, Any]] = json.loads(request.body)["messages"]
    return found


def asked_in(api: Api, exchange: Exchange) -> Request:
    """What the client of another API would ask."""
    tools: dict[str, str] = {}
    messages: list[Said] = []
    for one in chat_of(exchange.request):
        calls = tuple(
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in one.get("tool_calls", ())
        )
        tools |= {id_: tool for id_, tool, _ in calls}
        answers = one.get("tool_call_id")
        messages.append(Said(one["role"], one["content"], calls, answers, tools.get(answers or "")))
    model = json.loads(exchange.request.body)["model"] or "m"
    url = URLS[api].replace("models/m:", f"models/{model}:")
    return Request("POST", url, (), json.dumps(BODIES[api](Ask(model, messages))).encode())


@pytest.mark.parametrize("api", get_args(Api))
def test_model_calls_answer_in_any_api(api: Api) -> None:
    answered = 0
    for session in sessions(*TRACES):
        for exchange in session.exchanges:
            if not exchange.request.url.endswith("/chat/completions"):
                continue
            asked = asked_in(api, exchange)
            without_tools = json.loads(exchange.request.body)
            without_tools.pop("tools", None)
            bare = Request("POST", exchange.request.url, (), json.dumps(without_tools).encode())
            known = Exchange(bare, exchange.answer, exchange.turn, derived=("parameters", "tools"))
            found = Exchanges([known], rules=IgnoreRules(), is_model=ModelHosts().is_model).answer(asked, 1)
            assert isinstance(found, Found), (session.name, asked.body, exchange.request.body)
            assert isinstance(found.answer, Response)
            assert isinstance(exchange.answer, Response)
            was, now = reply_of(exchange.answer, exchange.request), reply_of(found.answer, asked)
            assert was is not None
            assert now is not None
            assert (now.text or "", [call.name for call in now.calls]) == (
                was.text or "",
                [call.name for call in was.calls],
            )
            answered += 1
    assert answered == 30


def test_everything_replays_against_itself(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for session in sessions("tapeagents/*.json", "inspect_ai/*.json"):
        store.add(session)
    plans = sorted(tmp_path.glob("*.session.yaml"))
    assert len(plans) == 3
    for plan in plans:
        cassette = load_cassette(plan)
        result = replay(cassette, Reenact(cassette), until="end")
        assert set(result.verdicts) == {"unchanged"}, (plan.name, result.verdicts)


def test_tapes_and_caches() -> None:
    grades = {session.name: session.grade for session in sessions("tapeagents/*.json")}
    assert {name: grade and grade.level for name, grade in grades.items()} == {
        "l1_task002": "replayable",
        "tape": "replayable",
    }
    caches = sessions("tapeagents/*.jsonl")
    assert [len(session.ledger.turns[0].calls) for session in caches] == [5, 24]
    assert {call.tool for session in caches for call in session.ledger.turns[0].calls} == {
        "python_code_action",
        "search_action",
    }
    assert not any(session.has_plan for session in caches)


def test_a_log_with_failed_calls() -> None:
    (session,) = sessions("inspect_ai/*.json")
    (turn,) = session.ledger.turns
    assert len(turn.calls) == 11
    assert all(call.failed for call in turn.calls)
    assert [call.error["type"] for call in turn.calls if call.error] == [
        "TimeoutError",
        "PermissionError",
        "FileNotFoundError",
        "IsADirectoryError",
    ]
    assert session.grade is not None
    assert [reason.kind for reason in session.grade.reasons] == ["no-output", "no-arguments", "own-errors", "no-events"]
