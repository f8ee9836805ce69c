"""How two requests to a model differ, told for a person; which recording is the nearest."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.modeldiff import ModelDifference, difference, nearest, snippets
from pytest_statebase.values import ABSENT
from pytest_statebase.wire.exchange import Request

Body = dict[str, Any]
URL = "https://api.openai.com/v1/chat/completions"
SYSTEM = {"role": "system", "content": "You help the customers of a shop."}
USER = {"role": "user", "content": "Where is order 1047?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "function": {"name": "lookup", "arguments": '{"order":"1047"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "delivered"}
LOOKUP = {"type": "function", "function": {"name": "lookup", "description": "Look an order up.", "parameters": {}}}
BODY: Body = {"model": "gpt-5", "messages": [SYSTEM, USER], "tools": [LOOKUP], "temperature": 0}


def post(body: Any, url: str = URL) -> Request:
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


def told(recorded: Body, requested: Body, **options: Any) -> ModelDifference:
    return difference(post(recorded), post(requested), **options)


def talk(*messages: Body, **others: Any) -> Body:
    return {**BODY, "messages": list(messages), **others}


def test_equal_requests() -> None:
    found = told(BODY, dict(reversed(BODY.items())))
    assert not found
    assert not found.only_prompt
    assert found.text() == "nothing that can be told"


def test_system_text() -> None:
    pirate = {"role": "system", "content": "You help the customers of a shop, as a pirate."}
    found = told(BODY, talk(pirate, USER))
    assert found.only_prompt
    assert found.text() == (
        "messages[0].content (system text): "
        'recorded "You help the customers of a shop.", now "You help the customers of a shop, as a pirate."'
    )


def test_system_text_that_moved_to_another_message_of_its_kind() -> None:
    two = [{"role": "system", "content": "Never promise."}, {"role": "developer", "content": SYSTEM["content"]}]
    found = told(BODY, talk(*two, USER))
    assert found.only_prompt
    assert found.text() == 'messages[0].content (system text) was not recorded: "Never promise."'


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"temperature": 0.7}, "temperature: recorded 0, now 0.7"),
        ({"temperature": 0.0}, "temperature: recorded 0, now 0.0"),
        ({"model": "gpt-6"}, 'model: recorded "gpt-5", now "gpt-6"'),
        ({"top_p": None}, "top_p was not recorded: null"),
        ({"tools": []}, 'tools.lookup is gone: {"type": "function", "name": "lookup"'),
        ({"response_format": {"type": "json_object"}}, 'response_format was not recorded: {"type": "json_object"}'),
    ],
)
def test_parameters(change: Body, line: str) -> None:
    found = told(BODY, {**BODY, **change})
    assert found.only_prompt
    assert found.text().startswith(line)


def test_a_parameter_inside_of_another() -> None:
    old = {**BODY, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": True}}}
    new = {**BODY, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": False}}}
    assert told(old, new).text() == "response_format.json_schema.strict: recorded true, now false"


def test_tools_are_compared_by_name() -> None:
    other = {"type": "function", "function": {"name": "refund", "description": "Refund.", "parameters": {}}}
    better = json.loads(json.dumps(LOOKUP).replace("an order", "one order"))
    found = told(BODY, {**BODY, "tools": [other, better]})
    assert found.only_prompt
    assert [change.path for change in found.tools] == ["tools.lookup.description", "tools.refund"]
    assert found.lines()[0] == 'tools.lookup.description: recorded "Look an order up.", now "Look one order up."'


def test_a_conversation_that_went_another_way() -> None:
    found = told(talk(SYSTEM, USER, CALL, RESULT), talk(SYSTEM, USER, CALL, {**RESULT, "content": "lost"}))
    assert not found.only_prompt
    assert found.messages == [("messages[3].content", "delivered", "lost", "tool")]
    assert found.text() == 'messages[3].content (tool): recorded "delivered", now "lost"'


def test_an_inserted_message_is_one_difference() -> None:
    hint = {"role": "user", "content": "Be quick."}
    found = told(talk(SYSTEM, USER, CALL, RESULT), talk(SYSTEM, hint, USER, CALL, RESULT))
    assert found.messages == [("messages[1]", ABSENT, hint, "user")]
    assert found.text() == 'messages[1] (user) was not recorded: "Be quick."'


def test_a_message_in_the_place_of_another_ones() -> None:
    found = told(talk(SYSTEM, USER, CALL), talk(SYSTEM, USER, {"role": "assistant", "content": "It was delivered."}))
    assert 'messages[2].content (assistant): recorded null, now "It was delivered."' in found.lines()
    other = told(talk(SYSTEM, USER, RESULT), talk(SYSTEM, USER, USER))
    assert other.lines() == [
        'messages[2] (tool) is gone: "delivered"',
        'messages[2] (user) was not recorded: "Where is order 1047?"',
    ]


def test_calls_are_told_as_such() -> None:
    found = told(talk(SYSTEM, USER), talk(SYSTEM, USER, CALL, RESULT))
    assert found.lines() == [
        'messages[2] (assistant) was not recorded: "lookup({"order":"1047"})"',
        'messages[3] (tool) was not recorded: "delivered"',
    ]


def test_conversations_that_the_provider_keeps() -> None:
    url = "https://api.openai.com/v1/responses"
    old, new = (
        {"input": "Hello", "previous_response_id": "resp_1"},
        {"input": "Hello", "previous_response_id": "resp_2"},
    )
    found = difference(post(old, url), post(new, url))
    assert not found.only_prompt
    assert found.text() == 'previous_response_id: recorded "resp_1", now "resp_2"'


def test_marks_of_what_to_cache_are_no_conversation() -> None:
    block = {"type": "text", "text": "Hello"}
    old = {"messages": [{"role": "user", "content": [block]}]}
    new = {"messages": [{"role": "user", "content": [{**block, "cache_control": {"type": "ephemeral"}}]}]}
    found = difference(*(post(body, "https://api.anthropic.com/v1/messages") for body in (old, new)))
    assert found.only_prompt
    assert found.text() == 'cache was not recorded: [{"type": "ephemeral"}]'


def test_another_endpoint_or_a_model_in_the_address() -> None:
    base = "https://generativelanguage.googleapis.com/v1beta/models/"
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    found = difference(post(body, f"{base}gemini-2:generateContent"), post(body, f"{base}gemini-3:generateContent"))
    assert found.only_prompt
    assert found.text() == 'model: recorded "gemini-2", now "gemini-3"'
    moved = difference(post(BODY), post(BODY, "http://127.0.0.1:8000/v1/chat/completions"))
    assert [change.path for change in moved.parameters] == ["endpoint"]


def test_what_lies_in_no_part_is_told_all_the_same() -> None:
    found = told(BODY, talk(SYSTEM, {"role": "system", "content": ""}, USER))
    assert found.only_prompt
    assert found.parameters


def test_what_is_ignored_and_what_is_made_up() -> None:
    old, new = talk(SYSTEM, {**USER, "id": "m1"}, user="a"), talk(SYSTEM, {**USER, "id": "m2"}, user="b", top_p=1)
    assert not told(old, new).only_prompt
    found = told(
        old, new, rules=IgnoreRules.parse(["http.body.user"]), alike=lambda was, now: {was, now} == {"m1", "m2"}
    )
    assert found.only_prompt
    assert found.text() == "top_p was not recorded: 1"


def test_many_differences_are_counted() -> None:
    found = told(BODY, {**BODY, **{f"x{number}": number for number in range(7)}})
    assert len(found.lines()) == 5
    assert found.lines()[-1] == "and 3 more"


def test_long_texts_are_shown_around_the_first_word_that_differs() -> None:
    words = [f"word{number}" for number in range(400)]
    changed = [*words[:200], "never", *words[201:]]
    old, new = snippets(" ".join(words), " ".join(changed))
    assert old == '"…word197 word198 word199 word200 word201 word202 word203 word204…"'
    assert new == '"…word197 word198 word199 never word201 word202 word203 word204…"'
    assert max(map(len, snippets("x" * 100_000 + "a", "x" * 100_000 + "b"))) < 90


def test_what_a_terminal_would_obey_is_written_out() -> None:
    odd = "a\x1b[31m\r\n\u202eb\udc80"
    found = told(BODY, talk({"role": "system", "content": odd}, USER, **{"p\x1b\n": 1}))
    assert "\x1b" not in found.text()
    assert "\\x1b[31m\\r\\n\\u202eb\\udc80" in found.text()
    assert all(line.isprintable() for line in found.lines())


def test_a_body_that_is_no_json() -> None:
    url = "https://api.openai.com/v1/audio/transcriptions"
    found = difference(Request("POST", url, (), b"\xff\x00one"), Request("POST", url, (), b"\xff\x00two"))
    assert not found.only_prompt
    assert found.messages


# --- The nearest recording


def test_the_nearest_shares_the_beginning_of_the_conversation() -> None:
    asked = talk({"role": "system", "content": "Anew."}, USER, CALL, RESULT)
    known = [
        post(talk(SYSTEM, USER)),
        post(talk(SYSTEM, USER, CALL, RESULT)),
        post(talk(SYSTEM, USER, CALL, RESULT, USER)),
    ]
    assert nearest(known, post(asked)) is known[1]
    assert difference(known[1], post(asked)).only_prompt


def test_of_two_agents_the_one_with_the_same_tools_then_the_most_alike_prompt() -> None:
    refunds = [json.loads(json.dumps(LOOKUP).replace("lookup", "refund"))]
    triage, billing = (
        post(talk(SYSTEM, USER)),
        post(talk({"role": "system", "content": "Refund."}, USER, tools=refunds)),
    )
    assert (
        nearest([triage, billing], post(talk({"role": "system", "content": "You r."}, USER, tools=refunds))) is billing
    )
    old = [
        post(talk({"role": "system", "content": text}, USER))
        for text in ("You route.", "Refunds: be kind.", "You sum up.")
    ]
    assert nearest(old, post(talk({"role": "system", "content": "Refunds: be strict."}, USER))) is old[1]
    assert nearest(old[:1] * 3, old[0]) is old[0]


def test_the_nearest_speaks_the_same_api() -> None:
    other = post(BODY, "https://api.anthropic.com/v1/messages")
    assert nearest([other], post(BODY)) is None
    assert nearest([], post(BODY)) is None
    far = post({"model": "x", "messages": []}, "http://127.0.0.1:1/v1/chat/completions")
    assert nearest([other, far], post(BODY)) is far


def test_a_later_message_that_is_the_same_counts() -> None:
    known = [post(talk(SYSTEM, {"role": "user", "content": text}, RESULT)) for text in ("One", "Two")]
    known.append(post(talk(SYSTEM, {"role": "user", "content": "Three"}, {**RESULT, "content": "lost"})))
    assert nearest(known[::-1], post(talk(SYSTEM, {"role": "user", "content": "Four"}, RESULT))) is known[1]


def test_the_nearest_of_many_is_found_in_no_time() -> None:
    filler = "word " * 4_000
    known = [post(talk({"role": "system", "content": filler}, {"role": "user", "content": f"{n}"})) for n in range(500)]
    asked = post(talk({"role": "system", "content": filler + "!"}, {"role": "user", "content": "499"}))
    nearest(known, asked)
    began = time.thread_time()
    assert nearest(known, asked) is known[499]
    assert time.thread_time() - began < 10


def test_what_is_shown_is_written_out_as_everywhere() -> None:
    family = "👨\u200d👩\u200d👧"
    old, new = snippets(f"{family} one\u202e\x1b", "two\n")
    assert (old, new) == (f'"{family} one\\u202e\\x1b"', '"two\\n"')
