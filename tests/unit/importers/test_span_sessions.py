"""Conversations of spans: how they are grouped, what is repeated in them, which results belong to which calls."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.spans import Span, conversations_of, session_of_spans
from pytest_statebase.importers.spans.content import spoken
from pytest_statebase.ledger import Said, ToolCalled
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT
from tests.tracing import graded, told


def clock(second: float) -> str:
    return f"2026-01-01T00:{int(second) // 60:02d}:{second % 60:09.6f}+00:00"


def model(name: str, given: Any, answer: Any, at: float, *, parent: str | None = "run", **more: Any) -> Span:
    """A call of a model at some second."""
    more = {"trace": "t1", **more}
    span = Span(name, more["trace"], parent, "chat", "generation", clock(at), clock(at + 0.5), where="f.json")
    return replace(span, input=given, output=answer, **more)


def tool(name: str, at: float, *, parent: str | None = "run", id: str | None = None, **more: Any) -> Span:
    more = {"trace": "t1", "began": clock(at), "ended": clock(at + 0.5), **more}
    return Span(id or f"{name}-{at}", parent=parent, name=name, kind="tool", where="f.json", **more)


def agent(name: str = "run", at: float = 0, **more: Any) -> Span:
    more = {"trace": "t1", "parent": None, "began": clock(at), "ended": clock(at + 60), **more}
    return Span(id=name, name=name, where="f.json", **{"kind": "agent", **more})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def asks(*calls: tuple[str, Any] | tuple[str, Any, str | None]) -> dict[str, Any]:
    listed = [
        {"id": call[2] if len(call) > 2 else None, "function": {"name": call[0], "arguments": call[1]}}
        for call in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def gives(content: Any, id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id}


def one(*spans: Span) -> ImportedSession:
    (conversation,) = conversations_of(spans, "f.json")
    return session_of_spans(conversation)


def test_history_that_is_repeated_counts_once_over_traces() -> None:
    first = [user("one"), asks(("look", {}, "c1")), gives("A", "c1"), says("first")]
    second = [*first, user("two"), asks(("look", {}, "c2")), gives("B", "c2"), says("second")]
    spans = [
        agent("r1", trace="t1", session="s"),
        model("g1", first[:1], first[1:2], 1, parent="r1"),
        model("g2", first[:3], first[3:], 2, parent="r1"),
        agent("r2", 10, trace="t2", session="s"),
        model("g3", second[:5], second[5:6], 11, parent="r2", trace="t2"),
        model("g4", second[:7], second[7:], 12, parent="r2", trace="t2"),
    ]
    for seed in range(5):
        random.Random(seed).shuffle(spans)
        assert told(one(*spans)) == [
            ("one", [("look", {}, "A")], "first"),
            ("two", [("look", {}, "B")], "second"),
        ]


def test_history_that_is_repeated_counts_once_in_one_trace() -> None:
    chat = [user("one"), says("first"), user("two"), says("second"), user("one"), says("third")]
    spans = [model(f"g{end}", chat[:end], chat[end : end + 1], end, parent=None) for end in (1, 3, 5)]
    assert told(one(*spans)) == [("one", [], "first"), ("two", [], "second"), ("one", [], "third")]


def test_equal_words_in_another_trace_are_a_turn_of_their_own() -> None:
    chat = [user("again"), says("yes"), user("again"), says("yes")]
    spans = [
        model("g1", chat[:1], chat[1:2], 1, parent=None, trace="t1", session="s"),
        model("g2", chat[:3], chat[3:], 2, parent=None, trace="t2", session="s"),
        model("g3", [user("again")], [says("no")], 3, parent=None, trace="t3", session="s"),
    ]
    assert told(one(*spans)) == [("again", [], "yes"), ("again", [], "yes"), ("again", [], "no")]


def test_a_window_of_the_history_is_no_new_history() -> None:
    chat = [user("one"), says("1"), user("two"), says("2"), user("three"), says("3")]
    spans = [
        model("g1", chat[:1], chat[1:2], 1, parent=None, trace="t1", session="s"),
        model("g2", chat[:3], chat[3:4], 2, parent=None, trace="t2", session="s"),
        model("g3", chat[2:5], chat[5:], 3, parent=None, trace="t3", session="s"),
    ]
    assert told(one(*spans)) == [("one", [], "1"), ("two", [], "2"), ("three", [], "3")]


def test_turns_before_the_first_span_come_from_its_history() -> None:
    given = [user("one"), asks(("look", {"x": 1}, "c1")), gives("A", "c1"), says("first"), user("two")]
    found = one(model("g1", given, [says("second")], 1, parent=None))
    assert told(found) == [("one", [("look", {"x": 1}, "A")], "first"), ("two", [], "second")]


def test_an_answer_that_is_repeated_in_other_words_is_no_second_answer() -> None:
    spans = [
        model("g1", [user("one")], [says("Hello  there")], 1, parent=None, trace="t1", session="s"),
        model("g2", [user("one"), says("Hi"), user("two")], [says("2")], 2, parent=None, trace="t2", session="s"),
    ]
    found = one(*spans)
    assert told(found) == [("one", [], "Hello  there"), ("two", [], "2")]
    assert "read otherwise" in "".join(found.notes)


def test_results_are_those_of_the_tools_spans_by_id_whatever_the_order() -> None:
    calls = asks(("look", {"x": 1}, "c1"), ("look", {"x": 2}, "c2"))
    spans = [
        agent(),
        model("g1", [user("hi")], [calls], 1),
        tool("look", 2, call_id="c2", input={"x": 2}, output="B"),
        tool("look", 3, call_id="c1", input={"x": 1}, output="A"),
        model("g2", [user("hi"), calls, gives("told A", "c1"), gives("told B", "c2")], [says("ok")], 4),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [("look", {"x": 1}, "A"), ("look", {"x": 2}, "B")], "ok")]
    calls_made = found.ledger.turns[0].calls
    assert [call.step for call in calls_made] == [1, 1]
    assert [call.latency_ms for call in calls_made] == [500.0, 500.0]


def test_without_ids_calls_are_joined_by_arguments_then_by_order() -> None:
    spans = [
        agent(),
        model("g1", [user("hi")], [asks(("look", {"x": 1}), ("look", {"x": 2}), ("put", {}))], 1),
        tool("look", 2, input={"x": 2}, output="B"),
        tool("look", 3, input={"x": "?"}, output="A"),
        tool("put", 4, output="C"),
        model("g2", ABSENT, [says("ok")], 5),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [("look", {"x": 1}, "A"), ("look", {"x": 2}, "B"), ("put", {}, "C")], "ok")]


def test_results_without_a_tools_span_come_from_the_next_call_of_the_model() -> None:
    calls = asks(("look", {"x": 1}), ("look", {"x": 2}))
    spans = [
        model("g1", [user("hi")], [calls], 1),
        model("g2", [user("hi"), calls, gives("A"), gives("B")], [says("ok")], 2),
    ]
    found = one(agent(), *spans)
    assert told(found) == [("hi", [("look", {"x": 1}, "A"), ("look", {"x": 2}, "B")], "ok")]
    assert graded(found) == ("replayable", {})


def test_ids_that_repeat_belong_to_the_nearest_call() -> None:
    chat = [user("hi"), asks(("look", {"x": 1}, "c")), gives("A", "c"), asks(("look", {"x": 2}, "c")), gives("B", "c")]
    spans = [
        agent(),
        model("g1", chat[:1], chat[1:2], 1),
        model("g2", chat[:3], chat[3:4], 2),
        model("g3", chat, [says("ok")], 3),
    ]
    assert told(one(*spans)) == [("hi", [("look", {"x": 1}, "A"), ("look", {"x": 2}, "B")], "ok")]


def test_a_result_that_is_not_there_is_absent_and_the_session_partial() -> None:
    spans = [
        agent(),
        model("g1", [user("hi")], [asks(("look", {}, "c1"))], 1),
        model("g2", ABSENT, [says("ok")], 2),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [("look", {}, ABSENT)], "ok")]
    assert found.grade is not None
    assert found.grade.reasons[0].text == "the results of calls were not kept (1 of look)"
    assert (graded(found)[0], set(graded(found)[1])) == ("partial", {"no-results"})
    added = found.ledger.turns[0].added
    assert added is not None
    assert not added.interrupted


def test_calls_that_no_model_asked_for_are_calls_in_their_place() -> None:
    spans = [
        agent(input="hi", output="ok"),
        tool("load", 1, input={"id": 7}, output={"name": "kim"}),
        model("g1", [user("hi")], [asks(("look", {}, "c1"))], 2),
        tool("look", 3, call_id="c1", output="A"),
        tool("log", 4, input={"line": 1}, output=None),
        tool("note", 4.2, input={"line": 2}, output=None),
        model("g2", ABSENT, [says("ok")], 6),
    ]
    found = one(*spans)
    assert told(found) == [
        (
            "hi",
            [
                ("load", {"id": 7}, {"name": "kim"}),
                ("look", {}, "A"),
                ("log", {"line": 1}, None),
                ("note", {"line": 2}, None),
            ],
            "ok",
        )
    ]
    assert [call.step for call in found.ledger.turns[0].calls] == [1, 2, 3, 3]


def test_one_call_seen_by_framework_and_client_is_one_call() -> None:
    spans = [
        agent(input="hi", output="ok"),
        tool("look", 1, id="outer", input={"x": 1}),
        tool("look", 1.1, id="inner", parent="outer", input={"x": 1}, output="A"),
    ]
    assert told(one(*spans)) == [("hi", [("look", {"x": 1}, "A")], "ok")]


def test_what_an_agent_does_inside_a_tool_is_inside_that_call() -> None:
    spans = [
        agent(agent="boss"),
        model("g1", [user("hi")], [asks(("ask_expert", {"q": "x"}, "c1"))], 1),
        tool("ask_expert", 2, id="expert", call_id="c1", input={"q": "x"}, output="it is 7"),
        agent("inner", 2, parent="expert", agent="expert"),
        model("g2", [user("x")], [asks(("look", {"x": 1}, "c2"))], 3, parent="inner"),
        tool("look", 4, parent="inner", call_id="c2", input={"x": 1}, output="7"),
        model(
            "g3", [user("x"), asks(("look", {"x": 1}, "c2")), gives("7", "c2")], [says("it is 7")], 5, parent="inner"
        ),
        model("g4", [user("hi"), asks(("ask_expert", {"q": "x"}, "c1")), gives("it is 7", "c1")], [says("7!")], 6),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [("ask_expert", {"q": "x"}, "it is 7"), ("look", {"x": 1}, "7")], "7!")]
    calls = found.ledger.turns[0].calls
    assert [(call.agent, call.during) for call in calls] == [("boss", None), ("expert", 0)]
    assert not [event for event in found.ledger.turns[0].events if isinstance(event, Said)]


def test_a_hand_over_shares_the_history_and_names_both_agents() -> None:
    chat = [user("hi"), asks(("to_sales", {}, "c1")), gives("ok", "c1"), asks(("sell", {}, "c2")), gives("sold", "c2")]
    spans = [
        agent("run", at=0),
        agent("a", 0, parent="run", agent="triage"),
        model("g1", chat[:1], chat[1:2], 1, parent="a"),
        tool("to_sales", 2, parent="a", call_id="c1", output="ok"),
        agent("b", 3, parent="run", agent="sales"),
        model("g2", [{"role": "system", "content": "Sell."}, *chat[:3]], chat[3:4], 4, parent="b"),
        tool("sell", 5, parent="b", call_id="c2", output="sold"),
        model("g3", [{"role": "system", "content": "Sell."}, *chat], [says("Done")], 6, parent="b"),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [("to_sales", {}, "ok"), ("sell", {}, "sold")], "Done")]
    assert [call.agent for call in found.ledger.turns[0].calls] == ["triage", "sales"]


def test_another_conversation_of_the_agents_keeps_its_calls_alone() -> None:
    spans = [
        agent(input="hi", output="All is well."),
        model("g1", [user("Plan this: hi")], [asks(("plan", {}, "p1"))], 1),
        tool("plan", 2, call_id="p1", output="P"),
        model("g2", [user("Plan this: hi"), asks(("plan", {}, "p1")), gives("P", "p1")], [says("All is well.")], 3),
        model("g3", [user("Give a title to this talk")], [says("A greeting")], 4),
    ]
    assert told(one(*spans)) == [("hi", [("plan", {}, "P")], "All is well.")]


def test_messages_that_code_puts_into_the_users_mouth_are_not_the_users() -> None:
    spans = [
        agent(),
        model("g1", [user("hi")], [says("{")], 1),
        model("g2", [user("hi"), says("{"), user("That is no JSON.")], [says("{}")], 2),
    ]
    found = one(*spans)
    assert told(found) == [("hi", [], "{}")]
    assert "in the user's name" in "".join(found.notes)


def test_without_models_the_spans_of_the_whole_tell_turns() -> None:
    spans = [
        agent("r1", trace="t1", session="s", input={"question": "one"}, output={"answer": "first"}),
        tool("look", 1, parent="r1", input={}, output="A"),
        agent(
            "r2", 70, trace="t2", session="s", input='{"messages": [{"role": "user", "content": "two"}]}', output="2"
        ),
    ]
    found = one(*spans)
    assert told(found) == [("one", [("look", {}, "A")], "first"), ("two", [], "2")]
    assert graded(found) == ("replayable", {})


def test_an_agent_that_raised_ends_its_turn_with_the_error() -> None:
    failed = {"type": "TimeoutError", "message": "too slow"}
    spans = [
        agent("r1", trace="t1", session="s", input="one", error=failed),
        agent("r2", 70, trace="t2", session="s", input="two", output="2"),
    ]
    found = one(*spans)
    assert [turn.error for turn in found.ledger.turns] == [failed, None]
    assert told(found) == [("one", [], ABSENT), ("two", [], "2")]


def test_a_call_of_a_model_that_failed_last_ends_its_turn_with_the_error() -> None:
    failed = {"type": "RateLimitError", "message": "later"}
    tried = [
        model("g1", [user("hi")], ABSENT, 1, parent=None, trace="t1", session="s", error=failed),
        model("g2", [user("hi")], [says("ok")], 2, parent=None, trace="t1", session="s"),
        model(
            "g3", [user("hi"), says("ok"), user("more")], ABSENT, 3, parent=None, trace="t2", session="s", error=failed
        ),
    ]
    found = one(*tried)
    assert told(found) == [("hi", [], "ok"), ("more", [], ABSENT)]
    assert [turn.error for turn in found.ledger.turns] == [None, failed]
    assert graded(found) == ("replayable", {})


def test_a_tool_that_raised_and_one_that_says_so() -> None:
    spans = [
        agent(input="hi", output="ok"),
        tool("look", 1, input={}, error={"type": "KeyError", "message": "7"}),
        tool("put", 2, input={}, output="Error: full", is_error=True),
    ]
    found = one(*spans)
    calls = found.ledger.turns[0].calls
    assert [(call.error, call.result, call.is_error) for call in calls] == [
        ({"type": "KeyError", "message": "7"}, ABSENT, False),
        (None, "Error: full", True),
    ]
    cassette = Cassette.from_ledger(found.ledger)
    assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": 1}


def test_a_result_that_is_null_was_recorded() -> None:
    found = one(agent(input="hi", output="ok"), tool("put", 1, input={}, output=None))
    assert graded(found) == ("replayable", {})
    assert told(found) == [("hi", [("put", {}, None)], "ok")]


def test_one_trace_may_hold_several_conversations() -> None:
    spans = [
        agent("batch", kind_of_nothing := 0),
        agent("r1", 1, parent="batch", session="a", input="one", output="1"),
        agent("r2", 2, parent="batch", session="b", input="two", output="2"),
    ]
    assert kind_of_nothing == 0
    found = [session_of_spans(conversation) for conversation in conversations_of(spans, "f.json") if conversation.named]
    assert [(session.name, told(session)) for session in found] == [
        ("a", [("one", [], "1")]),
        ("b", [("two", [], "2")]),
    ]


def test_a_session_id_below_the_top_is_that_of_the_whole_trace() -> None:
    spans = [agent(input="hi", output="ok"), model("g1", [user("hi")], [says("ok")], 1, session="s")]
    (conversation,) = conversations_of(spans, "f.json")
    assert (conversation.id, conversation.named, len(conversation.spans)) == ("s", True, 2)


@pytest.mark.parametrize(
    ("spans", "note"),
    [
        ([agent(parent="gone", input="hi", output="ok")], "1 span is inside a span that is not in the file."),
        (
            [agent(parent="run", input="hi", output="ok")],
            "1 span is inside itself; the span around was passed over.",
        ),
        (
            [agent("a", parent="b", input="hi", output="ok"), agent("b", parent="a")],
            "1 span is inside itself; the span around was passed over.",
        ),
        (
            [agent(input="hi", output="ok"), agent(input="hi", output="ok")],
            "1 span is in the file twice; the last complete one counts.",
        ),
        (
            [agent(at=5, input="hi", output="ok"), tool("look", 1, input={}, output=1)],
            "1 span began before the span around: the clocks of two machines differ.",
        ),
    ],
)
def test_odd_spans_are_told_in_notes(spans: list[Span], note: str) -> None:
    found = one(*spans)
    assert note in found.notes
    assert [(turn.text, turn.output["content"]) for turn in found.ledger.turns] == [("hi", "ok")]


def test_of_an_export_that_was_tried_again_the_complete_span_counts() -> None:
    begun = agent(ended=None, input="hi")
    assert told(one(agent(input="hi", output="ok"), begun)) == [("hi", [], "ok")]


def test_spans_without_times_keep_their_order() -> None:
    spans = [
        model("g1", [user("hi")], [asks(("look", {}, "c"))], 1),
        tool("look", 2, call_id="c", output="A"),
        model("g2", [user("hi"), asks(("look", {}, "c")), gives("A", "c")], [says("ok")], 3),
    ]
    found = one(*(replace(span, began=None, ended=None) for span in spans))
    assert told(found) == [("hi", [("look", {}, "A")], "ok")]
    call = next(event for event in found.ledger.events if isinstance(event, ToolCalled))
    assert (call.at, call.latency_ms) == (None, None)


def test_clocks_that_differ_do_not_part_calls_from_results() -> None:
    spans = [
        agent(at=100),
        model("g1", [user("hi")], [asks(("look", {}, "c"))], 101),
        tool("look", 1, call_id="c", output="A"),
        model("g2", [user("hi"), asks(("look", {}, "c")), gives("A", "c")], [says("ok")], 103),
    ]
    assert told(one(*spans)) == [("hi", [("look", {}, "A")], "ok")]


def test_a_trace_of_nothing_but_requests_is_no_conversation() -> None:
    assert conversations_of([Span("a", "t", None, "GET /", "other")], "f.json") == []


def test_one_trace_of_a_whole_conversation_whose_agent_was_handed_all_of_it() -> None:
    chat = [user("one"), says("1"), user("two"), says("2")]
    spans = [
        agent(kind="other", input=chat[:3], output="2"),
        model("g1", chat[:1], chat[1:2], 1),
        model("g2", chat[:3], chat[3:], 2),
    ]
    assert told(one(*spans)) == [("one", [], "1"), ("two", [], "2")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hi", "hi"),
        ("[hi]", "[hi]"),
        ("", None),
        ('{"question": "hi"}', "hi"),
        ({"input": "hi"}, "hi"),
        ({"input": "hi", "query": "other"}, None),
        ({"input": {"messages": [user("a"), says("b"), user("hi")]}}, "hi"),
        ({"messages": '[{"role": "user", "content": [{"type": "text", "text": "hi"}]}]'}, None),
        ([user("a"), says("b"), user("hi"), says("c")], "hi"),
        ([says("b")], None),
        (user("hi"), "hi"),
        ({"args": ["hi"], "kwargs": {}}, "hi"),
        ({"args": [], "kwargs": {"user_input": "hi", "session_id": "s"}}, "hi"),
        ({"args": ["a", "b"], "kwargs": {}}, None),
        ({"args": 7, "kwargs": None}, None),
        ({"order": 7}, None),
        ([7], None),
        (7, None),
        (None, None),
        (ABSENT, None),
        ({"role": "user", "content": 7}, None),
    ],
)
def test_what_an_agent_was_handed_in_whatever_wrapping(value: Any, text: str | None) -> None:
    assert spoken(value, "user") == text


def test_wrapping_without_end_holds_nothing() -> None:
    value: Any = "hi"
    for _ in range(200):
        value = {"args": [value], "kwargs": {}}
    assert spoken(value, "user") is None


def test_turns_and_session_end_when_their_last_span_did() -> None:
    spans = [
        agent("r1", trace="t1", session="s", input="one", output="1", ended="2026-01-01T00:01:00+02:00"),
        tool("look", 5, parent="r1", input={}, output=1, ended="2026-01-01T00:00:06Z"),
        agent("r2", 70, trace="t2", session="s", input="two", output="2", ended="2026-01-01T00:02:00Z"),
        tool("look", 71, parent="r2", trace="t2", input={}, output=1, ended="2026-01-01T01:02:30+01:00"),
    ]
    found = one(*spans).ledger
    assert [turn.added and turn.added.at for turn in found.turns] == [
        "2026-01-01T00:00:06Z",
        "2026-01-01T01:02:30+01:00",
    ]
    assert found.ended is not None
    assert found.ended.at == "2026-01-01T01:02:30+01:00"
