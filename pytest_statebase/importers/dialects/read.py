"""Whatever a model call or an agent was given or gave → chat messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from .blocks import Pieces, calls_in, is_block, is_call_or_result
from .message import build, messages_of
from .roles import Role, role_of
from .streams import joined
from .text import NOT_JSON, from_json, printed, transcript

Messages: TypeAlias = list[dict[str, Any]]

_DEPTH = 12
_SYSTEMS = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_HISTORIES = ("chat_history", "history")
_ASKED = ("input", "question", "query", "prompt", "user_input", "user_message", "message", "text", "task", "inputs")
_ANSWERED = ("output", "answer", "response", "result", "text", "completion", "final_output", "generation", "outputs")
_STRONG = frozenset(
    {"role", "messages", "choices", "candidates", "generations", "finish_reason", "finishReason", "lc", "parts"}
    | {"toolCalls", "tool_calls"}
)
_CONTENT = ("content", "parts", "blocks", "contents", "tool_calls", "toolCalls", "function_call", "refusal")


def chat_messages(value: Any, *, role: str) -> list[dict[str, Any]] | None:
    """The messages of a model call, in the form that `parse_message` takes.

    value: the input or output as it was logged: OpenAI's chat and Responses forms, Anthropic's, Gemini's and
        Bedrock's, messages of LangChain, pydantic-ai, Vercel's AI SDK, autogen, agno, koog, ADK, whole requests and
        responses, streamed chunks, JSON in text, a transcript, a plain text.
    role: of messages that name none, `user` for an input, `assistant` for an output.

    Returns mappings with role (`system`, `user`, `assistant`, `tool`), content (text, list of parts or None) and,
    where there are some, tool_calls in OpenAI's form, tool_call_id, name, reasoning_content, is_error. None for a
    value that holds no messages. Never raises, whatever the value.
    """
    return _read(value, role_of(role) or "user", _DEPTH)


def is_other_dialect(messages: Any) -> bool:
    """Whether a list of messages is plainly in another form than OpenAI's chat, its speakers all known."""
    if not isinstance(messages, list):
        return False
    roles = [item["role"] for item in messages if isinstance(item, Mapping) and "role" in item]
    return all(role_of(role) is not None for role in roles) and any(map(_is_foreign, messages))


def _is_foreign(item: Any) -> bool:
    if not isinstance(item, Mapping) or "role" not in item:
        return True
    content = item.get("content")
    return "parts" in item or (isinstance(content, list) and any(map(is_call_or_result, content)))


def _read(value: Any, role: Role, depth: int) -> Messages | None:
    if depth <= 0:
        return None
    if isinstance(value, str):
        return _read_text(value, role, depth - 1)
    if isinstance(value, (list, tuple)):
        return _read_list(list(value), role, depth - 1)
    return _read_mapping(value, role, depth - 1) if isinstance(value, Mapping) else None


def _read_text(text: str, role: Role, depth: int) -> Messages:
    decoded = from_json(text)
    if isinstance(decoded, str):
        return _read(decoded, role, depth) or [{"role": role, "content": text}]
    if decoded is not NOT_JSON and (role != "assistant" or not _is_loose(decoded)):
        found = _read(decoded, role, depth)
        if found:
            return found
    fields = printed(text)
    if fields is not None:
        return _read_mapping(fields, role, depth) or []
    lines = transcript(text) if role != "assistant" else None
    if lines is None:
        return [{"role": role, "content": text}]
    return [one for line in lines for one in (messages_of(line, "assistant") if "tool_calls" in line else [line])]


def _is_loose(value: Any) -> bool:
    """Whether JSON in an answer may be the answer itself, with fields that only happen to look like a message's."""
    if not isinstance(value, Mapping):
        return False
    if value.keys() & _STRONG or is_block(value) or typed_role(value) is not None:
        return False
    return not any(isinstance(value.get(key), (list, Mapping)) for key in ("content", "message", "output"))


def _read_list(items: list[Any], role: Role, depth: int) -> Messages | None:
    if _is_pair(items):
        return messages_of({"content": items[1]}, role_of(items[0]) or role)
    calls = calls_in(items)
    if calls is not None:
        return build("assistant", Pieces(calls=calls))
    stream = joined(items)
    if stream is not None:
        return messages_of(stream, "assistant")
    if len(items) == 1 and isinstance(items[0], list) and not _is_pair(items[0]):
        return _read(items[0], role, depth)
    return _read_items(items, role, depth)


def _read_items(items: list[Any], role: Role, depth: int) -> Messages | None:
    """Messages and, between them, loose parts: items of the Responses API, or one content alone."""
    messages: Messages = []
    loose = Pieces()
    for item in items:
        if (is_block(item) or isinstance(item, str)) and printed(item if isinstance(item, str) else "") is None:
            apart = Pieces()
            if not apart.take(item):
                return None
            if bool(apart.results) != bool(loose.results):
                messages.extend(build(role, loose) if _has_any(loose) else [])
                loose = Pieces()
            _join(loose, apart)
            continue
        found = _read(item, role, depth)
        if found is None:
            return None
        messages.extend(build(role, loose) if _has_any(loose) else [])
        loose = Pieces()
        messages.extend(found)
    return [*messages, *(build(role, loose) if _has_any(loose) else [])]


def _has_any(pieces: Pieces) -> bool:
    return bool(pieces.parts or pieces.calls or pieces.results or pieces.reasoning)


def _join(pieces: Pieces, more: Pieces) -> None:
    pieces.parts += more.parts
    pieces.calls += more.calls
    pieces.results += more.results
    pieces.reasoning += more.reasoning


def _is_pair(items: Any) -> bool:
    """LangChain's `("human", "text")`."""
    if not isinstance(items, (list, tuple)) or len(items) != 2 or role_of(items[0]) is None:
        return False
    return isinstance(items[1], (str, list))


def _read_mapping(raw: Mapping[str, Any], role: Role, depth: int) -> Messages | None:
    raw = _constructed(raw)
    found = _read_request(raw, role, depth)
    if found is None:
        found = _read_response(raw, depth)
    if found is not None:
        return found
    known = role_of(raw.get("role"))
    if known is not None or (isinstance(raw.get("role"), str) and any(key in raw for key in _CONTENT)):
        named = raw if known is not None else {"name": raw["role"], **raw}
        return messages_of(named, known or role)
    typed = typed_role(raw)
    if typed is not None:
        return messages_of(raw, typed)
    if raw.get("kind") in ("request", "response") and isinstance(raw.get("parts"), list):
        return _read_pydantic(raw["parts"])
    if is_block(raw):
        pieces = Pieces()
        return build(role, pieces) if pieces.take(raw) else None
    if any(key in raw for key in _CONTENT):
        return _read_bare(raw, role)
    return _read_named(raw, role, depth)


def _constructed(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """LangChain's serialised objects, and its older `{type, data}`, as plain mappings."""
    kwargs, path, data = raw.get("kwargs"), raw.get("id"), raw.get("data")
    if "lc" in raw and isinstance(kwargs, Mapping):
        name = path[-1] if isinstance(path, list) and path else None
        typed = {"type": name} if role_of(name) is not None and role_of(kwargs.get("type")) is None else {}
        return {**kwargs, **typed}
    if role_of(raw.get("type")) is not None and isinstance(data, Mapping) and "content" in data:
        return {**data, "type": raw["type"]}
    return raw


def typed_role(raw: Mapping[str, Any]) -> Role | None:
    """The role of a message that tells it by its type (LangChain, autogen) or by its source (autogen)."""
    kind = raw.get("type")
    if "content" not in raw or not isinstance(kind, str):
        return None
    if kind == "ChatMessage" or kind == "chat":
        return role_of(raw.get("role"))
    if kind.startswith("ToolCallExecution"):
        return "tool"
    if "source" in raw and not kind.startswith(("User", "System", "Assistant", "FunctionExecution")):
        return "user" if raw["source"] == "user" else "assistant"
    return role_of(kind)


def _read_request(raw: Mapping[str, Any], role: Role, depth: int) -> Messages | None:
    """What was sent to a model: messages, with the system's words before them."""
    if isinstance(raw.get("messages"), (list, str)):
        said = _read(raw["messages"], role, depth)
    elif isinstance(raw.get("contents"), (list, str, Mapping)) and "role" not in raw:
        said = _read(raw["contents"], "user", depth)
    elif isinstance(raw.get("input"), (list, str)) and ("instructions" in raw or "model" in raw):
        said = _read(raw["input"], "user", depth)
    elif isinstance(raw.get("prompts"), list) and len(raw["prompts"]) == 1 and isinstance(raw["prompts"][0], str):
        said = _read_text(raw["prompts"][0], role, depth)
    elif isinstance(raw.get("new_message"), Mapping):
        said = _read(raw["new_message"], "user", depth)
    else:
        return None
    return None if said is None else [*_system(raw), *said]


def _system(raw: Mapping[str, Any]) -> Messages:
    config = raw.get("config")
    holders = [raw, config] if isinstance(config, Mapping) else [raw]
    words = next((holder[key] for holder in holders for key in _SYSTEMS if holder.get(key)), None)
    if isinstance(words, Mapping) and "content" not in words and "parts" not in words:
        words = [words]
    if not isinstance(words, (str, list, Mapping)):
        return []
    return messages_of(words if isinstance(words, Mapping) else {"content": words}, "system")


def _read_response(raw: Mapping[str, Any], depth: int) -> Messages | None:
    """What a model answered with: the first of its choices, candidates or generations."""
    for key in ("choices", "candidates", "generations"):
        if isinstance(raw.get(key), list) and raw[key]:
            return _read_choice(raw[key][0], depth)
    output = raw.get("output")
    if isinstance(output, list) and ("object" in raw or "usage" in raw or "status" in raw):
        return _read(output, "assistant", depth)
    if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
        return _read(output["message"], "assistant", depth)
    if isinstance(raw.get("message"), Mapping) and "role" not in raw:
        return _read(raw["message"], "assistant", depth)
    return None


def _read_choice(choice: Any, depth: int) -> Messages | None:
    if isinstance(choice, list) and choice:
        choice = choice[0]
    if not isinstance(choice, Mapping):
        return None
    inner = next((choice[key] for key in ("message", "delta", "content", "text") if choice.get(key) is not None), None)
    return _read(inner, "assistant", depth) if isinstance(inner, Mapping) else _read_plain(inner)


def _read_plain(text: Any) -> Messages | None:
    return [{"role": "assistant", "content": text}] if isinstance(text, str) else None


def _read_pydantic(parts: list[Any]) -> Messages | None:
    """A `ModelRequest` or `ModelResponse` of pydantic-ai: each part says by its kind who speaks."""
    messages: Messages = []
    said = Pieces()
    for part in parts:
        kind = part.get("part_kind") if isinstance(part, Mapping) else None
        if kind in ("system-prompt", "user-prompt"):
            messages.extend(messages_of(part, "system" if kind == "system-prompt" else "user"))
        elif kind == "retry-prompt" and not part.get("tool_name"):
            messages.extend(messages_of(part, "user"))
        elif not said.take(part):
            return None
    return [*messages, *(build("assistant", said) if _has_any(said) else [])]


def _read_bare(raw: Mapping[str, Any], role: Role) -> Messages | None:
    """Content without a role: an event, an answer with its calls."""
    content = next((raw[key] for key in _CONTENT if raw.get(key) is not None), None)
    if isinstance(content, Mapping):
        known = role_of(content.get("role"))
        if known is None and "parts" not in content and not is_block(content):
            return None
        return messages_of(
            content if "parts" in content or "content" in content else {"content": [content]}, known or role
        )
    if "text" in raw and "content" not in raw and isinstance(raw["text"], str):
        raw = {**raw, "content": raw["text"]}
    return messages_of(raw, role) if isinstance(content, (str, list)) else None


def _read_named(raw: Mapping[str, Any], role: Role, depth: int) -> Messages | None:
    """A text, or messages, under one of the names that chains and agents give to them."""
    words = _ANSWERED if role == "assistant" else _ASKED
    for key in words:
        value = raw.get(key)
        if isinstance(value, str) and value:
            said: Messages | None = [{"role": role, "content": value}]
        elif isinstance(value, (list, Mapping)) and value and key != "message":
            said = _read(value, role, depth)
        else:
            continue
        if said:
            before: Any = next((raw[name] for name in _HISTORIES if isinstance(raw.get(name), list)), [])
            return [*_system(raw), *(_read(before, role, depth) or []), *said]
    return None
