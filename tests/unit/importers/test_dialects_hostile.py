"""Whatever is logged as messages, reading it neither fails nor makes what the rest of the import cannot take."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.importers.dialects import chat_messages, tool_definitions
from pytest_statebase.importers.messages import parse_message

WORDS = [
    *("role", "content", "parts", "type", "text", "messages", "contents", "choices", "candidates", "generations"),
    *(
        "message",
        "delta",
        "output",
        "input",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "args",
        "id",
        "kwargs",
        "lc",
    ),
    *("toolCallId", "toolName", "functionCall", "function_response", "toolResult", "tool_call", "part_kind", "kind"),
    *("system", "instructions", "config", "tools", "thinking", "summary", "data", "source", "additional_kwargs"),
    *("prompts", "new_message", "chat_history", "object", "result", "response", "value", "status", "block_type"),
]
TEXTS = [
    *("user", "assistant", "tool", "system", "human", "ai", "model", "text", "tool_use", "tool_result", "tool_call"),
    *(
        "function_call",
        "function_call_output",
        "thinking",
        "constructor",
        "AIMessage",
        "request",
        "response",
        "",
        "null",
    ),
    *("role='user' content='x", "role='tool' content=[1, ('a'", "user: a\nassistant: b", '{"role": "user"', "[{", '"'),
    *('[{"function": {"name": "x"}}]', '[{"function": 1}]', "[1]", "error-text", "tool-return", "retry-prompt"),
]
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(TEXTS) | st.text(max_size=4)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
        | inner.map(lambda value: json.dumps(value, default=str))
    ),
    max_leaves=25,
)


@given(TREES, st.sampled_from(["user", "assistant", "tool", "nobody"]))
def test_any_value_gives_messages_that_can_be_read_or_none(value: Any, role: str) -> None:
    for message in chat_messages(value, role=role) or ():
        parse_message(message, "x")
    for tool in tool_definitions(value):
        assert isinstance(tool["name"], str)


def nested(wrap: str, depth: int) -> str:
    opening, closing = wrap.split("…")
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize(
    "wrap",
    ["[…]", '{"messages": […]}', '{"content": …}', '{"message": …}', '{"output": {"message": …}}', '{"parts": […]}'],
)
@pytest.mark.parametrize("depth", [10, 400, 100_000])
def test_depth_is_no_danger(wrap: str, depth: int) -> None:
    text = nested(wrap, depth)
    for role in ("user", "assistant"):
        for message in chat_messages(text, role=role) or ():
            parse_message(message, "x")


class Counted(dict[str, Any]):
    """Counts how often it is looked into."""

    looks = 0

    def get(self, key: Any, default: Any = None) -> Any:
        Counted.looks += 1
        return super().get(key, default)


@pytest.mark.parametrize("key", ["message", "output", "input", "messages", "result", "content"])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_holds_no_messages_is_looked_into_once_a_level(key: str, role: str) -> None:
    value = Counted(x=1)
    for _ in range(10):
        value = Counted({key: value})
    Counted.looks = 0
    assert chat_messages(value, role=role) is None
    assert Counted.looks < 10 * 150


def test_a_deep_value_is_no_danger() -> None:
    deep: Any = "x"
    for _ in range(sys.getrecursionlimit() * 2):
        deep = {"content": {"parts": [deep]}, "messages": [deep], "tools": [deep]}
    chat_messages(deep, role="user")
    tool_definitions(deep)


@pytest.mark.parametrize("layers", [1, 5, 14])
def test_json_in_json_loses_nothing(layers: int) -> None:
    text = "Hello"
    for _ in range(layers):
        text = json.dumps(text)
    (message,) = chat_messages(text, role="user") or ()
    assert "Hello" in message["content"]


@pytest.mark.parametrize(
    "text",
    [
        "role='user' content='" + "\\'" * 200_000,
        "role='user' content=" + "(" * 200_000,
        "role='user' content=" + "x=" * 100_000,
        "user: " * 100_000,
        "user: \n" * 100_000,
        '"' * 200_000,
    ],
    ids=["quotes", "brackets", "fields", "roles", "turns", "marks"],
)
def test_long_texts_are_read_in_one_go(text: str) -> None:
    for message in chat_messages(text, role="user") or ():
        parse_message(message, "x")
