"""Traces that others exported from Langfuse and LangSmith: the chat that they hold comes out, and replays.

They are not part of the project: STATEBASE_DATA names the folder that holds `langfuse` and `langsmith`. Beside each
export of Langfuse stands, for each observation, the chat that Langfuse itself makes of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_statebase import load_cassette, replay
from pytest_statebase.cli import main
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.importers.dialects import chat_messages
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT

DATA = Path(os.environ.get("STATEBASE_DATA", "/nowhere"))
pytestmark = pytest.mark.skipif(
    not (DATA / "langfuse").exists(), reason="STATEBASE_DATA names no folder with `langfuse` and `langsmith`"
)

_PRINTED = "the messages are what Python printed of them: Langfuse finds tools in them and no text, here they are read"
_ROWS = "what a tool gave: Langfuse keeps its fields beside the message, here it is no message but a value"
_BLOCKS = "Langfuse leaves the call among the parts of the content, here it is a call"
_TEXTS = "calls that the framework wrote into a text are calls here, and texts to Langfuse"
_ROLE = "Langfuse knows no role for the text of a tool's result"
_USER = "a function's response is the user's text to Langfuse, here it is the result of its call"
_PARSED = "Langfuse reads the JSON in the text of a result, here the text stays as it was"
_STEP = "a structure that is no message: Langfuse keeps its fields, here a step's output stays what it is"

DIFFERENCES = {
    ("agno-2025-06-11", "b38a82eaa62b551e", "input"): _PRINTED,
    ("agno-2025-06-11", "ca136de468e156c9", "input"): _PRINTED,
    ("agno-2025-06-11", "6581e147aec6793a", "output"): _ROWS,
    ("claude-agent-2025-12-22", "2cc13e77781787fd", "output"): _BLOCKS,
    ("claude-agent-2025-12-22", "f8e8f040dc94e67e", "output"): _BLOCKS,
    ("claude-agent-2025-12-22", "edbd987c5f361fdf", "output"): _ROLE,
    ("claude-agent-2025-12-22", "f411dab686a064b1", "output"): _ROLE,
    ("google-adk-2025-08-28", "bded677884f031ce", "input"): _USER,
    ("google-adk-2025-08-28", "04290e4d82aba1bc", "output"): _ROWS,
    ("koog-2025-08-26", "042f9350c3729147", "output"): _TEXTS,
    ("koog-2025-08-26", "e44e72cf2d221781", "input"): _TEXTS,
    ("langgraph-python-2025-08-22", "21441266a9f21251", "output"): _PARSED,
    ("pydantic-ai-tools-2025-12-04", "00d3f40ee8e3b716", "output"): _STEP,
    ("pydantic-ai-tools-2025-12-04", "02d7769b76595f0b", "output"): _ROLE,
    ("pydantic-ai-tools-2025-12-04", "199eff9980ea8b99", "output"): _ROLE,
    ("pydantic-ai-tools-2025-12-04", "99ec63d0b5ecdbf5", "output"): _ROLE,
    ("vercel-aisdk-2025-11-17", "e9bb8c191e1e4706", "output"): _ROWS,
}
SAME = 42
"""Sides of observations of which Langfuse and the import make the same chat."""


def exports() -> list[Path]:
    return sorted((DATA / "langfuse").glob("*.trace.json"))


def stem(path: Path) -> str:
    return path.name.removesuffix(".trace.json")


def test_every_export_yields_the_chat_that_langfuse_makes_of_it() -> None:
    compared: dict[tuple[str, str, str], bool] = {}
    for path in exports():
        wanted = json.loads(path.with_name(f"{stem(path)}.chatml.json").read_text(encoding="utf-8"))
        for row in json.loads(path.read_text(encoding="utf-8"))["observations"]:
            for side, role in (("input", "user"), ("output", "assistant")):
                answer = wanted.get(row["id"], {}).get(side)
                if answer is not None and answer["success"]:
                    found = chat_messages(row[side], role=role)
                    same = [_own(one) for one in found or ()] == [_theirs(one) for one in answer["data"]]
                    compared[stem(path), row["id"], side] = same
    assert {key for key, same in compared.items() if not same} == set(DIFFERENCES)
    assert sum(compared.values()) == SAME


def _own(message: dict[str, Any]) -> dict[str, Any]:
    calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
    return _form(message["role"], message["content"], calls, message.get("tool_call_id"))


def _theirs(message: dict[str, Any]) -> dict[str, Any]:
    role = {"model": "assistant", "developer": "system"}.get(message.get("role", ""), message.get("role"))
    return _form(role, message.get("content"), message.get("tool_calls", []), message.get("tool_call_id"))


def _form(role: Any, content: Any, calls: list[dict[str, Any]], answers: Any) -> dict[str, Any]:
    """What both know of a message: arguments by value, an empty id as none, the texts of parts as one text."""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(part["text"] for part in content)
    asked = [(call["name"], call["id"] or None, _value(call["arguments"])) for call in calls]
    return {"role": role, "content": content or None, "calls": asked, "answers": answers}


def _value(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


WEATHER = {"content": [{"type": "text", "text": "Weather in Berlin: Cloudy, 59°F"}]}
SUNNY = {"content": [{"type": "text", "text": "Weather in New York: Sunny, 75°F"}]}
SEARCHED = '[{"url": "https://example.com", "title": "Example Result", "q": "example"}]'
TOPIC = {"topic": "programming"}
SESSIONS: dict[str, tuple[str, list[tuple[str, Any, Any]], str | None]] = {
    "agno-2025-06-11": (
        "What is currently trending on Twitter?",
        [("duckduckgo_search", {"query": "currently trending on Twitter"}, '[\n  {\n    "title": "Twitter.')],
        "To find out what's currently trending",
    ),
    "autogen-2025-06-06": ("Say 'Hello World!'", [], "Hello World!"),
    "claude-agent-2025-12-22": (
        "What's the weather like in Berlin and New York?",
        [
            ("mcp__weather__get_weather", {"city": "Berlin"}, WEATHER),
            ("mcp__weather__get_weather", {"city": "New York"}, SUNNY),
        ],
        "Great! Here's the current weather for both cities",
    ),
    "google-adk-2025-08-28": ("hi", [("say_hello", {}, {"greeting": "Hello Langfuse 👋"})], "Hello Langfuse 👋!\n"),
    "koog-2025-08-26": (
        "Greet and say goodbye to the user in the same message.",
        [("HelloTool", {"name": "Bob"}, "Hello my darling Bob!"), ("ByeTool", {"name": "Bob"}, "Bye my dear Bob!")],
        "Hello my darling Bob! And, bye my dear Bob!",
    ),
    "langgraph-python-2025-08-22": (
        "Search the web for 'example' and summarize.",
        [("Web-Search", {"query": "example"}, SEARCHED)],
        'The search for "example" primarily leads to the website',
    ),
    "openai-agents-2025-09-30": (
        "What's the weather in Tokyo?",
        [("get_weather", {"city": "Tokyo"}, "The weather in Tokyo is sunny.")],
        "The weather in Tokyo is currently sunny.",
    ),
    "pydantic-ai-tools-2025-12-04": (
        "programming",
        [
            ("get_pun_suggestion", TOPIC, "Pun idea:"),
            ("get_dad_joke_suggestion", TOPIC, "Dad joke idea:"),
            ("get_one_liner_suggestion", TOPIC, "One-liner idea:"),
        ],
        "Why do programmers hate nature?",
    ),
    "vercel-aisdk-2025-11-17": (
        "What is the weather like today in San Francisco?",
        [("getWeather", {"location": "San Francisco"}, {"location": "San Francisco", "temperature": 64})],
        None,
    ),
}
"""Of each export its one turn: the beginning of what was asked, the calls, the beginning of the answer."""


LACKING = {"claude-agent-2025-12-22": ["no-messages"]}
"""Kinds of reasons: of that agent's model calls all but the first were logged without their messages."""


def imported(path: Path) -> ImportedSession:
    (session,) = import_file(path)
    assert isinstance(session, ImportedSession), str(session)
    return session


@pytest.mark.parametrize("name", SESSIONS)
def test_the_session_of_an_export(name: str) -> None:
    session = imported(DATA / "langfuse" / f"{name}.trace.json")
    asked, calls, answer = SESSIONS[name]
    (turn,) = session.ledger.turns
    assert isinstance(turn.input, dict)
    assert turn.input["content"].startswith(asked)
    assert len(turn.calls) == len(calls)
    for call, (tool, given, result) in zip(turn.calls, calls, strict=True):
        assert (call.tool, call.arguments) == (tool, given)
        assert call.result == result or call.result.startswith(result)
    if answer is None:
        assert turn.output is ABSENT
    else:
        assert turn.output["content"].startswith(answer)
    assert session.grade is not None
    assert [reason.kind for reason in session.grade.reasons] == LACKING.get(name, [])


def test_no_export_is_left_out() -> None:
    assert [stem(path) for path in exports()] == sorted(SESSIONS)


@pytest.mark.parametrize("name", ["langsmith_py_wrap_openai_", "langsmith_py_wrap_openai_stream"])
def test_runs_of_langsmith(name: str) -> None:
    session = imported(DATA / "langsmith" / f"{name}.json")
    (turn,) = session.ledger.turns
    assert (turn.input, turn.output) == (_text("howdy"), _text("Howdy! How can I assist you today?"))
    assert session.ledger.id != "default"


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def test_all_of_them_replay_unchanged_against_themselves(tmp_path: Path) -> None:
    paths = [*exports(), *sorted((DATA / "langsmith").glob("*.json"))]
    for path in paths:
        done = CliRunner().invoke(main, ["import", str(path), "--out", str(tmp_path)])
        assert done.exit_code == 0, done.output
    plans = sorted(tmp_path.glob("*.session.yaml"))
    assert len(plans) == len(paths)
    for plan in plans:
        cassette = load_cassette(plan)
        result = replay(cassette, Reenact(cassette))
        assert (set(result.verdicts), result.unused, result.passed) == ({"unchanged"}, 0, True), plan.name
