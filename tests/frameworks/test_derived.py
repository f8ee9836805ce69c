"""Sessions imported from traces: model calls made from them answer the real clients, in any API, streamed or not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_statebase import Cassette, load_cassette
from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.spans import Span, conversations_of, session_of_spans
from pytest_statebase.importers.store import Store

from . import shop
from .harness import Bench, changed, framework, told

framework("openai", "anthropic")

from openai import AsyncOpenAI

from . import with_anthropic, with_openai


class AsyncStreamed(with_openai.Chat):
    """The async client, streamed."""

    async def __call__(self, messages: list[dict[str, Any]]) -> str:  # type: ignore[override]
        talk: list[Any] = [{"role": "system", "content": self.system}, *messages]
        async with AsyncOpenAI() as client:
            while True:
                async with client.chat.completions.stream(
                    model="gpt-test", messages=talk, tools=with_openai.CHAT_TOOLS
                ) as stream:
                    answer = (await stream.get_final_completion()).choices[0].message
                if not answer.tool_calls:
                    return answer.content or ""
                talk.append(answer.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
                for call in answer.tool_calls:
                    result = shop.TOOLS[call.function.name](**json.loads(call.function.arguments))
                    talk.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


AGENTS = [
    with_openai.Chat,
    with_openai.Streamed,
    AsyncStreamed,
    with_openai.Responses,
    with_openai.StreamedResponses,
    with_anthropic.Messages,
    with_anthropic.Streamed,
    with_anthropic.Async,
]


FORGETFUL = AGENTS[3:]
"""They hand the model what was said in earlier turns, and not what was called."""


def remembered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What such an agent hands on."""
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    before = [one for one in messages[:last] if one["role"] != "tool" and not one.get("tool_calls")]
    return [*before, *messages[last:]]


def second(number: int) -> str:
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}Z"


def spans_of(bench: Bench, *, forgetful: bool = False, **known: Any) -> list[Span]:
    """What a tracer would tell of a session of the shop's agent.

    known: what it tells of each model call besides the messages.
    """
    recorded = bench.record(with_openai.Chat)
    calls = iter([call for turn in recorded.ledger.turns for call in turn.calls])
    assert recorded.http is not None
    spans: list[Span] = []
    for exchange in recorded.http.exchanges:
        at = len(spans)
        answer = json.loads(exchange.answer.body)["choices"][0]["message"]  # type: ignore[union-attr]
        asked = json.loads(exchange.request.body)
        head = (f"span{at}", f"trace{exchange.turn}", None)
        common: dict[str, Any] = {"began": second(at), "ended": second(at), "session": "sess_shop", "where": "x.json"}
        heard = remembered(asked["messages"]) if forgetful else asked["messages"]
        told = {"provider": "openai", "model": None, "tools": asked["tools"], **known}
        spans.append(Span(*head, "chat", "generation", input=heard, output=[answer], **told, **common))
        for number, asked_for in enumerate(answer.get("tool_calls") or ()):
            call = next(calls)
            arguments = json.loads(asked_for["function"]["arguments"])
            name = (f"{head[0]}-{number}", head[1], None, call.tool, "tool")
            spans.append(Span(*name, input=arguments, output=call.result, call_id=asked_for["id"], **common))
    for suffix in ("record.yaml", "http.yaml", "session.yaml"):
        (bench.path / f"shop.{suffix}").unlink()
    return spans


def imported(spans: list[Span]) -> ImportedSession:
    (conversation,) = conversations_of(spans, "x.json")
    return session_of_spans(conversation)


def stored(bench: Bench, session: ImportedSession) -> Cassette:
    store = Store(bench.path / "imported")
    store.add(session)
    return load_cassette(bench.path / "imported" / "sess_shop.session.yaml")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: f"{agent.__module__.rpartition('_')[2]}-{agent.__name__}")
def test_a_trace_answers_every_client(bench: Bench, agent: Any) -> None:
    session = imported(spans_of(bench, forgetful=agent in FORGETFUL))
    assert session.grade is not None
    assert session.grade.level == "replayable", session.grade
    bench.unchanged(stored(bench, session), agent)


@pytest.mark.parametrize("agent", AGENTS[:1] + AGENTS[3:6:2], ids=lambda agent: agent.__name__)
def test_another_prompt_is_stale(bench: Bench, agent: Any) -> None:
    cassette = stored(bench, imported(spans_of(bench)))
    bench.stale(cassette, changed(agent))


def test_another_prompt_goes_unnoticed_only_where_the_trace_has_none(bench: Bench) -> None:
    spans = [
        replace(span, input=[one for one in span.input if one["role"] != "system"])
        if span.kind == "generation"
        else span
        for span in spans_of(bench)
    ]
    session = imported(spans)
    assert session.notes[-1] == "5 of 5 of them tell no system text: another one goes unnoticed."
    bench.unchanged(stored(bench, session), changed(with_openai.Chat))


class OtherTools(with_openai.Chat):
    """Describes a tool in other words."""

    def ask(self, talk: list[Any]) -> dict[str, Any]:
        first, *others = with_openai.CHAT_TOOLS
        tools: Any = [{**first, "function": {**first["function"], "description": "Find an order."}}, *others]
        done = self.client.chat.completions.create(model="gpt-test", messages=talk, tools=tools)
        return done.choices[0].message.model_dump(exclude_none=True)


class Warm(with_openai.Chat):
    """Names parameters of which the trace may know nothing."""

    def ask(self, talk: list[Any]) -> dict[str, Any]:
        done = self.client.chat.completions.create(
            model="gpt-test", messages=talk, tools=with_openai.CHAT_TOOLS, temperature=0.9, user="me", seed=7
        )
        return done.choices[0].message.model_dump(exclude_none=True)


def test_other_tools_are_stale_where_they_are_known(bench: Bench) -> None:
    cassette = stored(bench, imported(spans_of(bench)))
    first = bench.offline(cassette, OtherTools).turns[0]
    assert first.verdict == "stale", first
    assert "tools.lookup_order.description" in (first.reason or "")


def test_tools_that_are_not_known_do_not_count(bench: Bench) -> None:
    bench.unchanged(stored(bench, imported(spans_of(bench, tools=None))), OtherTools)


def test_parameters_count_where_both_sides_name_them(bench: Bench) -> None:
    cassette = stored(bench, imported(spans_of(bench, parameters={"temperature": "0.2", "top_p": 1})))
    first = bench.offline(cassette, Warm).turns[0]
    assert first.verdict == "stale", first
    assert "temperature: recorded 0.2, now 0.9" in (first.reason or "")


def test_parameters_that_are_not_known_do_not_count(bench: Bench) -> None:
    bench.unchanged(stored(bench, imported(spans_of(bench, parameters={"top_p": 1}))), Warm)


def test_another_model_is_stale(bench: Bench) -> None:
    cassette = stored(bench, imported(spans_of(bench, model="openai/gpt-other")))
    first = bench.offline(cassette, with_openai.Chat).turns[0]
    assert first.verdict == "stale", first
    assert 'model: recorded "gpt-other", now "gpt-test"' in (first.reason or "")


def test_another_conversation_is_unrecorded(bench: Bench) -> None:
    class Careless(with_openai.Chat):
        def arguments(self, text: str) -> dict[str, Any]:
            found: dict[str, Any] = json.loads(text)
            return {**found, "order_id": f"0{found['order_id']}"}

    bench.careless(stored(bench, imported(spans_of(bench))), Careless)


def test_ids_and_layout_of_the_trace_do_not_count(bench: Bench) -> None:
    """Tracers drop ids of calls, and keep results as structures."""

    def bare(message: dict[str, Any]) -> dict[str, Any]:
        if message["role"] == "tool":
            return {"role": "tool", "content": json.loads(message["content"])}
        calls = [{"function": call["function"]} for call in message.get("tool_calls") or ()]
        return {**message, **({"tool_calls": calls} if calls else {})}

    spans = [
        replace(span, input=list(map(bare, span.input)), output=list(map(bare, span.output)))
        if span.kind == "generation"
        else replace(span, call_id=None)
        for span in spans_of(bench, forgetful=True)
    ]
    cassette = stored(bench, imported(spans))
    bench.unchanged(cassette, with_anthropic.Streamed)


def test_every_call_is_answered_from_the_recording(bench: Bench) -> None:
    cassette = stored(bench, imported(spans_of(bench)))
    result = bench.offline(cassette, with_openai.Streamed)
    assert [turn.replayed is not None for turn in result.turns] == [True, True]
    asked = [request for turn in result.turns if turn.replayed for request in turn.replayed.requests]
    assert [request.recorded_index for request in asked] == list(range(len(asked)))
    assert not result.warnings, told(result)
    assert shop.LIVE == []
