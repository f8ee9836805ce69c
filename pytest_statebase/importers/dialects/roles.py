"""Who speaks, in the words of each framework."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

_WORDS: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "bot": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "functionexecutionresult": "tool",
}
_ENDS = ("chunk", "message", "prompttemplate")


def role_of(word: Any) -> Role | None:
    """The role that a word stands for: `human`, `AIMessageChunk`, `MessageRole.USER`, `model`; None for no role."""
    if not isinstance(word, str) or len(word) > 60:
        return None
    plain = word.rpartition(".")[2].lower().replace("_", "-")
    for end in _ENDS:
        plain = plain.removesuffix(end) or plain
    return _WORDS.get(plain)
