from __future__ import annotations

from typing import Any

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers.chat import ledger_from_messages, ledger_from_parsed
from pytest_statebase.importers.messages import parse_message
from pytest_statebase.importers.model import Facts
from pytest_statebase.importers.proposal import first_words, propose_plan
from pytest_statebase.ledger import Ledger, Said, ToolCalled
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT


def ledger(*messages: Any) -> Ledger:
    return ledger_from_messages(list(messages), Facts("sess_1"), "chat.json: messages")


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def agent(content: Any = None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **more}


def call(name: str, arguments: Any = "{}", id: str | None = None) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id, **more}


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def test_plain_turns() -> None:
    found = ledger(user("Hi"), agent("Hello"), user("Bye"), agent("Goodbye"))
    assert [(turn.number, turn.input, turn.output) for turn in found.turns] == [
        (1, text("Hi"), text("Hello")),
        (2, text("Bye"), text("Goodbye")),
    ]
    assert found.ended is not None
    assert found.ended.input is None
    assert not found.versions


def test_the_agent_speaks_first() -> None:
    found = ledger(agent("Welcome!"), user("Hi"), agent("Hello"))
    assert [(turn.input, turn.output) for turn in found.turns] == [
        (None, text("Welcome!")),
        (text("Hi"), text("Hello")),
    ]


def test_calls_without_any_user() -> None:
    found = ledger(agent(None, call("a", id="1")), result("ok", "1"), agent("Done"))
    assert [(turn.input, len(turn.calls), turn.output) for turn in found.turns] == [(None, 1, text("Done"))]


def test_text_and_calls_in_one_message() -> None:
    found = ledger(user("Hi"), agent("Let me look.", call("look", id="1")), result("", "1"), agent("Here."))
    (turn,) = found.turns
    said, called = turn.events
    assert said == Said("Let me look.")
    assert isinstance(called, ToolCalled)
    assert called.result == ""
    assert turn.output == text("Here.")


def test_empty_text_beside_calls_says_nothing() -> None:
    (turn,) = ledger(user("Hi"), agent("", call("look", id="1")), result("x", "1"), agent("Here.")).turns
    assert [type(event) for event in turn.events] == [ToolCalled]


def test_an_answer_split_over_messages() -> None:
    (turn,) = ledger(user("Hi"), agent("One"), agent("Two"), agent("")).turns
    assert turn.events == [Said("One")]
    assert turn.output == text("Two")


def test_text_before_calls_is_said_even_in_a_message_of_its_own() -> None:
    (turn,) = ledger(user("Hi"), agent("One"), agent(None, call("a", id="1")), result("x", "1")).turns
    assert [type(event) for event in turn.events] == [Said, ToolCalled]
    assert turn.output is ABSENT
    assert turn.added is not None
    assert not turn.added.interrupted


def test_an_empty_answer_is_an_answer() -> None:
    assert ledger(user("Hi"), agent("")).turns[0].output == text("")


def test_a_null_answer_is_a_turn_without_output() -> None:
    found = ledger(user("Hi"), agent(None), user("Hello?"), agent("Yes"))
    assert [turn.output for turn in found.turns] == [ABSENT, text("Yes")]


def test_refusals_and_spoken_answers_are_texts() -> None:
    found = ledger(user("Hi"), agent(refusal="No."), user("Hm"), agent(audio={"id": "a", "transcript": "Well"}))
    assert [turn.output for turn in found.turns] == [text("No."), text("Well")]


def test_ids_that_repeat_are_paired_among_the_pending() -> None:
    found = ledger(
        user("Hi"),
        agent(None, call("a", id="same")),
        result("first", "same"),
        agent(None, call("b", id="same")),
        result("second", "same"),
        agent("Done"),
    )
    assert [(one.tool, one.result) for one in found.turns[0].calls] == [("a", "first"), ("b", "second")]


def test_equal_ids_in_one_message_are_paired_in_order() -> None:
    found = ledger(user("Hi"), agent(None, call("a", id="x"), call("b", id="x")), result(1, "x"), result(2, "x"))
    assert [one.result for one in found.turns[0].calls] == [1, 2]


def test_results_out_of_order_are_paired_by_id_then_by_name_then_in_order() -> None:
    calls = [call("a", id="1"), call("b", id="2"), call("c", id="3"), call("d", id="4")]
    results = [result("B", "2"), result("D", "?", name="d"), result("A"), {"role": "tool", "id": "3", "content": "C"}]
    found = ledger(user("Hi"), agent(None, *calls), *results)
    assert [one.result for one in found.turns[0].calls] == ["A", "B", "C", "D"]


def test_calls_of_one_message_share_a_step() -> None:
    found = ledger(
        user("Hi"),
        agent(None, call("a", id="1"), call("b", id="2")),
        result("A", "1"),
        result("B", "2"),
        agent(None, call("c", id="3")),
        result("C", "3"),
    )
    assert [one.step for one in found.turns[0].calls] == [1, 1, 2]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"n": 1}', {"n": 1}),
        ({"n": 1}, {"n": 1}),
        ("", {}),
        (None, {}),
        ("{broken", "{broken"),
        ("[1, 2]", "[1, 2]"),
        ('"1"', '"1"'),
    ],
)
def test_arguments(given: Any, kept: Any) -> None:
    assert ledger(user("Hi"), agent(None, call("a", given))).turns[0].calls[0].arguments == kept


def test_forms_of_a_call() -> None:
    flat = {"id": "1", "name": "flat", "arguments": {"n": 1}, "type": "tool_call"}
    custom = {"id": "2", "type": "custom", "custom": {"name": "free", "input": "text"}}
    found = ledger(user("Hi"), agent(None, flat, custom))
    assert [(one.tool, one.arguments, one.id) for one in found.turns[0].calls] == [
        ("flat", {"n": 1}, "1"),
        ("free", "text", "2"),
    ]


def test_legacy_function_calls() -> None:
    asked = agent(None, function_call={"name": "look", "arguments": '{"n": 1}'})
    found = ledger(user("Hi"), asked, {"role": "function", "name": "look", "content": "ok"}, agent("Done"))
    (one,) = found.turns[0].calls
    assert (one.tool, one.arguments, one.result) == ("look", {"n": 1}, "ok")


@pytest.mark.parametrize(
    "content",
    ["", "5.0", "[not json", '{"a": 1}', None, 0, False, {"a": 1}, [], ["a"], [{"type": "image_url", "image_url": ""}]],
)
def test_results_stay_exactly(content: Any) -> None:
    (one,) = ledger(user("Hi"), agent(None, call("a", id="1")), result(content, "1")).turns[0].calls
    assert one.result == content
    assert type(one.result) is type(content)


def test_text_parts_of_a_result_are_one_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert ledger(user("Hi"), agent(None, call("a", id="1")), result(parts, "1")).turns[0].calls[0].result == "ab"


def test_a_result_without_content_was_not_recorded() -> None:
    found = ledger(user("Hi"), agent(None, call("a", id="1")), {"role": "tool", "tool_call_id": "1"})
    assert found.turns[0].calls[0].result is ABSENT


def test_marked_errors() -> None:
    calls = [call("a", id=str(number)) for number in range(4)]
    results = [
        result("x", "0", error=True),
        result("x", "1", is_error=True),
        result("x", "2", status="error"),
        result("Error: only a text", "3", error=False),
    ]
    found = ledger(user("Hi"), agent(None, *calls), *results)
    assert [one.is_error for one in found.turns[0].calls] == [True, True, True, False]


def test_an_unanswered_last_message_belongs_to_the_end() -> None:
    found = ledger(user("Hi"), agent("Hello"), user("Thanks"), user("###STOP###"))
    assert len(found.turns) == 1
    assert found.ended is not None
    assert found.ended.input == [text("Thanks"), text("###STOP###")]


def test_two_messages_in_a_row_are_one_turn() -> None:
    (turn,) = ledger(user("Hi"), user("Are you there?"), agent("Yes")).turns
    assert turn.input == [text("Hi"), text("Are you there?")]


def test_an_input_while_calls_are_pending_interrupts_the_turn() -> None:
    found = ledger(user("Hi"), agent(None, call("slow", id="1")), user("Stop!"), agent("Stopped"))
    first, second = found.turns
    assert first.added is not None
    assert first.added.interrupted
    assert first.calls[0].result is ABSENT
    assert second.input == text("Stop!")


def test_a_session_that_breaks_off_inside_a_call() -> None:
    (turn,) = ledger(user("Hi"), agent("Wait", call("slow", id="1"))).turns
    assert turn.added is not None
    assert turn.added.interrupted
    assert turn.output is ABSENT


def test_system_messages_are_metadata_and_a_changed_one_is_kept() -> None:
    def system(content: str, role: str = "system") -> dict[str, str]:
        return {"role": role, "content": content}

    found = ledger(
        system("Be kind", "developer"),
        user("Hi"),
        system("Be kind"),
        agent("Hello"),
        system("Be brief"),
        user("Bye"),
        agent("Bye"),
        system("Be gone"),
    )
    assert found.created.metadata == {"system": "Be kind"}
    assert [turn.added.extra for turn in found.turns if turn.added] == [{}, {"system": "Be brief"}]
    assert found.ended is not None
    assert found.ended.extra == {"system": "Be gone"}


def test_parts_of_a_message() -> None:
    parts = ["Look:", {"type": "image_url", "image_url": {"url": "data:x"}}]
    (turn,) = ledger(user(parts), agent([{"type": "output_text", "text": "I "}, {"type": "text", "text": "see"}])).turns
    assert turn.input == [text("Look:"), {"type": "image", "content": {"url": "data:x"}}]
    assert turn.output == text("I see")


def test_times_names_reasons_and_the_rest_are_kept() -> None:
    (turn,) = ledger(
        user("Hi", timestamp="2025-08-01T16:16:38"),
        agent(None, call("a", id="1"), name="triage", created_at=0),
        result("x", "1", cached=True),
        agent("Done", reasoning="Because", model="gpt"),
    ).turns
    (one,) = turn.calls
    assert turn.started.at == "2025-08-01T16:16:38"
    assert (one.agent, one.at, one.extra) == ("triage", "1970-01-01T00:00:00+00:00", {"cached": True})
    assert turn.added is not None
    assert (turn.added.reasoning, turn.added.metadata) == ("Because", {"model": "gpt"})


@pytest.mark.parametrize(
    ("messages", "place", "said"),
    [
        ("text", "messages", "no list"),
        ([], "messages", "no message"),
        ([{"role": "system", "content": "x"}], "messages", "no message"),
        ([3], "messages[0]", "a number"),
        ([user("x"), {"content": "x"}], "messages[1]", "no `role`"),
        ([user("x"), {"role": "robot", "content": "x"}], "messages[1]", "'robot'"),
        ([user(None)], "messages[0]", "without content"),
        ([user(3)], "messages[0]", "a number"),
        ([user([3])], "messages[0].content[0]", "no part"),
        ([user([{"type": "text"}])], "messages[0].content[0]", "without text"),
        ([user([{"type": "tool_result", "content": "x"}])], "messages[0].content[0]", "tool_result"),
        ([user("x"), agent(None, {"id": "1"})], "messages[1].tool_calls[0]", "without the name"),
        ([user("x"), {"role": "assistant", "tool_calls": "x"}], "messages[1]", "`tool_calls`"),
        ([user("x"), result("x", "call_7")], "messages[1]", "call_7"),
        ([user("x"), agent(None, call("a", id="1")), result(1, "1"), result(2, "1")], "messages[3]", "no call waits"),
    ],
)
def test_what_cannot_be_understood(messages: Any, place: str, said: str) -> None:
    with pytest.raises(ImportFileError) as caught:
        ledger_from_messages(messages, Facts("s"), "chat.json: messages")
    assert caught.value.where == f"chat.json: {place}"
    assert said in caught.value.what
    assert caught.value.remedy


def test_a_first_message_of_nothing_printable_is_no_title() -> None:
    ledger = ledger_from_messages([{"role": "user", "content": "\x07\ud800"}], Facts("s"), "x")
    assert propose_plan(ledger, first_words(ledger)).title is None


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": "data:x"}}],
        [{"type": "video", "uri": "https://x.test/a"}],
        ["Look:", {"type": "image_url", "image_url": {"url": "data:x"}}],
    ],
)
def test_an_answer_that_is_no_text_is_what_an_agent_replies_that_returns_it(content: Any) -> None:
    cassette = Cassette.from_ledger(ledger(user("Show me"), agent(content)))
    assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": 1}


def test_a_turn_is_ended_without_words() -> None:
    where = "chat.json: messages"
    said = [parse_message(one, where) for one in (user("One"), agent("1"), agent("2"), agent("3"))]
    turns = ledger_from_parsed([None, *said[:2], None, None, *said[2:]], Facts("s"), where).turns
    assert [(turn.text, turn.is_opening, turn.output) for turn in turns] == [
        ("One", False, text("1")),
        ("", True, text("3")),
    ]
