"""Traces of OpenTelemetry that others made.

They are not part of the project: STATEBASE_DATA names the folder that holds `any-agent` and `openinference`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.importers import ImportedSession
from pytest_statebase.testing import Reenact
from tests.tracing import graded, session, told

DATA = Path(os.environ.get("STATEBASE_DATA", ""))
pytestmark = pytest.mark.skipif(
    not (os.environ.get("STATEBASE_DATA") and (DATA / "any-agent").exists()),
    reason="STATEBASE_DATA names no folder with traces of any-agent",
)

FRAMEWORKS = ("GOOGLE", "LANGCHAIN", "OPENAI", "SMOLAGENTS")
TASK = (
    "Find what year it is in the America/New_York timezone and write the value (single number) to a file. "
    "Finally, return a list of the steps you have taken."
)
WEATHER = [
    (
        "Weather in Paris?",
        [("get_weather", {"location": "Paris"}, "rainy, 57°F")],
        "The weather in Paris is currently rainy with a temperature of 57°F.",
    )
]


def of(framework: str) -> ImportedSession:
    return session(DATA / "any-agent" / f"{framework}_trace.json")


def without_clock(result: Any) -> Any:
    known = json.loads(result) if isinstance(result, str) else result
    return {key: value for key, value in known.items() if key != "datetime"} if isinstance(known, dict) else known


def test_the_four_frameworks_agree_on_tools_and_results() -> None:
    sessions = {framework: told(of(framework)) for framework in FRAMEWORKS}
    for framework, turns in sessions.items():
        ((asked, calls, answered),) = turns
        assert asked.removeprefix("New task:\n") == TASK
        # The last call of two of them is the framework's own way to answer.
        assert [(tool, arguments, without_clock(result)) for tool, arguments, result in calls[:2]] == [
            ("get_current_time", {"timezone": "America/New_York"}, {"timezone": "America/New_York", "is_dst": True}),
            ("write_file", {"text": "2025"}, None),
        ]
        assert [tool for tool, _, _ in calls[2:]] == {"GOOGLE": ["final_output"], "SMOLAGENTS": ["final_answer"]}.get(
            framework, []
        )
        assert len(answered["steps"]) == 2


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_trace_of_any_agent_replays_unchanged(framework: str) -> None:
    found = of(framework)
    assert graded(found) == ("replayable", {})
    cassette = Cassette.from_ledger(found.ledger)
    assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": 1}


@pytest.mark.parametrize(
    "name",
    [
        "openinference_client_span_tool_calls",
        "otel_genai_client_span_tool_calls",
        "otel_genai_deprecated_client_span_tool_calls",
    ],
)
def test_the_dialects_of_a_call_of_a_model_agree_and_replay_unchanged(name: str) -> None:
    found = session(DATA / "openinference" / f"{name}.json")
    assert told(found) == WEATHER
    assert graded(found) == ("replayable", {})
    cassette = Cassette.from_ledger(found.ledger)
    assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": 1}


def test_a_tools_span_alone_is_unusable() -> None:
    found = session(DATA / "openinference" / "otel_genai_tool_execution_span.json")
    ((asked, ((tool, arguments, result),), _),) = told(found)
    assert (asked, tool, arguments, result["status"]) == ("", "get_weather", {"city": "New York"}, "success")
    assert (graded(found)[0], set(graded(found)[1])) == ("unusable", {"no-content"})
