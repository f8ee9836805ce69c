"""Real recordings of model calls: each is known as one, or there is a reason why not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.cassette.http import read_http
from pytest_statebase.engine.web.modeldiff import difference, nearest
from pytest_statebase.engine.web.models import ModelHosts, model_request
from pytest_statebase.engine.web.usage import usage
from pytest_statebase.errors import HttpError
from pytest_statebase.wire.exchange import Exchange, Request, Response

DATA = Path(os.environ.get("STATEBASE_DATA", "")) / "vcr"
FILES = sorted(DATA.rglob("*.yaml")) if os.environ.get("STATEBASE_DATA") else []
pytestmark = pytest.mark.skipif(not FILES, reason="STATEBASE_DATA names no folder with recordings of model calls")

NO_MODEL = {
    "https://mcp.deepwiki.com/mcp": "a server of tools",
    "https://api-staging.traceloop.com/v2/datasets/test-qa": "a service of data",
    "https://api.anthropic.com/v1/files": "files are stored there",
    "https://api.openai.com/v1/conversations": "conversations are stored there",
    "https://api.cerebras.ai/v1/models": "a list of models",
    "https://us.inference.heroku.com/available-models": "a list of models",
    "http://127.0.0.1:11434/api/generate": "a server of one's own, which statebase_model_hosts names",
}
UNREAD = {"test_text_tool_round_parity[google-current].yaml", "test_tool_call_round.yaml"} | {
    "test_xai_builtin_code_execution_tool_stream.xai.yaml"
}
"""No cassettes of vcrpy."""


def exchanges(file: Path) -> tuple[Exchange, ...]:
    try:
        return read_http(file).exchanges
    except HttpError:
        assert file.name in UNREAD
        return ()


def calls() -> Iterator[Exchange]:
    hosts = ModelHosts.parse(["127.0.0.1:11434"])
    yield from (one for file in FILES for one in exchanges(file) if hosts.is_model(one.request))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_request_is_a_model_call_or_has_a_reason(file: Path) -> None:
    for one in exchanges(file):
        if not ModelHosts().is_model(one.request):
            assert any(one.request.address.startswith(known) for known in NO_MODEL), one.request.address


def test_their_parts() -> None:
    found = [model_request(one.request) for one in calls()]
    assert len(found) == 29
    assert {one.dialect for one in found} == {"chat", "responses", "messages", "gemini", "bedrock", "other"}
    assert all(one.model and one.messages for one in found)
    assert sum(bool(one.tools) for one in found) >= 20
    assert sum(bool(one.system) for one in found) >= 10


def test_every_answer_but_an_error_tells_its_tokens() -> None:
    silent = [one for one in calls() if usage(one.answer) is None]
    assert [one.answer.status for one in silent if isinstance(one.answer, Response)] == [400]


def with_system(request: Request) -> Request:
    """The request with another prompt, where its API keeps it."""
    body: dict[str, Any] = json.loads(request.body)
    dialect = model_request(request).dialect
    if dialect == "chat":
        body["messages"] = [{"role": "system", "content": "Be a pirate."}, *body["messages"]]
    elif dialect == "gemini":
        body["systemInstruction"] = {"parts": [{"text": "Be a pirate."}]}
    elif dialect == "bedrock":
        body["system"] = [{"text": "Be a pirate."}]
    else:
        body["instructions" if dialect == "responses" else "system"] = "Be a pirate."
    return Request(request.method, request.url, request.headers, json.dumps(body).encode())


def test_a_changed_prompt_is_nothing_but_that_and_finds_its_recording() -> None:
    known = [one.request for one in calls()]
    for recorded in known:
        asked = with_system(recorded)
        found = difference(recorded, asked)
        assert found.only_prompt
        assert "Be a pirate." in found.text()
        closest = nearest(known, asked)
        assert closest is not None
        assert [piece.value for piece in model_request(closest).messages] == [
            piece.value for piece in model_request(recorded).messages
        ]


def test_the_next_request_of_a_conversation_is_no_changed_prompt() -> None:
    known = [one.request for one in calls()]
    for recorded, following in pairwise(known):
        if model_request(recorded).dialect == model_request(following).dialect:
            found = difference(recorded, following)
            assert not found.only_prompt, found.text()
