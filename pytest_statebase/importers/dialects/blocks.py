"""The parts of a message's content → texts, calls, results and reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...values import ABSENT

_TEXTS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
_REASONING = frozenset({"thinking", "reasoning", "reasoning_content", "redacted_thinking", "reasoningContent"})
_CALLS = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"}
    | {"function", "toolUse", "functionCall", "builtin-tool-call", "mcp_call"}
)
_RESULTS = frozenset(
    {"tool_result", "tool-result", "tool_call_response", "function_call_output", "custom_tool_call_output"}
    | {"mcp_tool_result", "web_search_tool_result", "tool-return", "toolResult", "functionResponse"}
    | {"function_response", "retry-prompt", "builtin-tool-return", "tool_return", "local_shell_call_output"}
)
_NAMES = ("name", "tool_name", "toolName", "tool.name", "function_name")
_IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "tool.args", "tool_args")
_OUTPUTS = ("output", "result", "response", "content", "value", "outcome_content", "return_value")
_WRAPPED = {
    "toolUse": "tool_use",
    "tool_use": "tool_use",
    "functionCall": "function_call",
    "function_call": "function_call",
    "toolResult": "tool_result",
    "tool_result": "tool_result",
    "functionResponse": "function_response",
    "function_response": "function_response",
    "tool_call": "tool_call",
    "message_content": "",
    "reasoningContent": "reasoning",
}
"""Parts that are one key over a mapping: Bedrock's, Gemini's and OpenInference's."""


@dataclass(slots=True)
class Pieces:
    """What one message holds."""

    parts: list[Any] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)

    def take(self, block: Any) -> bool:
        """Sort one part of a content in; False where it is no part of any known form."""
        if isinstance(block, str):
            self.parts.append({"type": "text", "text": block})
            return True
        if not isinstance(block, Mapping) or not block:
            return False
        block, kind = _unwrapped(block)
        if kind in _REASONING or block.get("thought") is True:
            self.reasoning.extend(_thoughts(block))
        elif kind in _RESULTS:
            self.results.append(result_of(block, failed=kind == "retry-prompt" and bool(_first(block, _NAMES))))
        elif kind in _CALLS or (kind is None and _is_bare_call(block)):
            call = call_of(block)
            if call is None:
                return False
            self.calls.append(call)
        else:
            return self._take_shown(block, kind)
        return True

    def _take_shown(self, block: Mapping[str, Any], kind: str | None) -> bool:
        text = _text(block)
        if text is not None and (kind is None or kind in _TEXTS):
            self.parts.append({"type": "text", "text": text})
        elif kind in _TEXTS:
            # Its words were not kept.
            return not _has_content(block)
        elif kind is not None:
            self.parts.append({**block, "type": kind})
        else:
            known = next(
                (key for key in ("inlineData", "inline_data", "fileData", "file_data", "image") if key in block), None
            )
            if known is None and not _is_code(block):
                return False
            self.parts.append({"type": "file" if known else "code", **block})
        return True


def call_of(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call in OpenAI's form; None where its tool has no name."""
    inner = next(
        (block[key] for key in ("function", "custom", "tool_call") if isinstance(block.get(key), Mapping)), block
    )
    name = _first(inner, _NAMES)
    if not isinstance(name, str) or not name:
        return None
    arguments: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), {})
    if isinstance(arguments, Mapping) and arguments.keys() == {"args_json"}:
        arguments = arguments["args_json"]
    elif isinstance(arguments, Mapping) and arguments.keys() == {"args_dict"}:
        arguments = arguments["args_dict"]
    return {"id": _id(block) or _id(inner), "type": "function", "function": {"name": name, "arguments": arguments}}


def result_of(block: Mapping[str, Any], *, failed: bool = False) -> dict[str, Any]:
    """A result as a message of the role `tool`."""
    content = next((block[key] for key in _OUTPUTS if key in block), ABSENT)
    inner = content if isinstance(content, Mapping) and "type" in content else {}
    if inner.keys() == {"type", "value"}:
        content, failed = inner["value"], failed or str(inner["type"]).startswith("error")
    message: dict[str, Any] = {"role": "tool"} | ({} if content is ABSENT else {"content": plain_result(content)})
    if (name := _first(block, _NAMES)) is not None:
        message["name"] = str(name)
    if (call := _id(block)) is not None:
        message["tool_call_id"] = call
    status = block.get("status")
    if failed or block.get("is_error") is True or block.get("isError") is True or status == "error":
        message["is_error"] = True
    return message


def plain_result(content: Any) -> Any:
    """Text blocks as one text, Bedrock's one JSON block as its value, anything else as it stands."""
    if not isinstance(content, list) or not content:
        return content
    if all(isinstance(block, Mapping) and isinstance(block.get("text"), str) for block in content):
        texts = all(block.get("type", "text") in _TEXTS and len(block) <= 4 for block in content)
        return "".join(block["text"] for block in content) if texts else content
    only = content[0] if len(content) == 1 else None
    return only["json"] if isinstance(only, Mapping) and only.keys() == {"json"} else content


def calls_in(value: Any) -> list[dict[str, Any]] | None:
    """The calls of a list that holds nothing else (`tool_calls`, Vercel's `toolCalls`); None for any other value."""
    if not isinstance(value, list) or not value:
        return None
    calls = []
    for item in value:
        if not isinstance(item, Mapping):
            return None
        block, kind = _unwrapped(item)
        call = call_of(block) if kind in _CALLS or _is_bare_call(block) or "function" in block else None
        if call is None or is_definition(block):
            return None
        calls.append(call)
    return calls


def is_block(value: Any) -> bool:
    """Whether a mapping is a part of a content and no message."""
    if not isinstance(value, Mapping) or "role" in value:
        return False
    kind = value.get("type", value.get("part_kind"))
    if isinstance(kind, str):
        known = kind in _TEXTS or kind in _REASONING or kind in _CALLS or kind in _RESULTS
        return known and not is_definition(value)
    return any(key in value and isinstance(value[key], Mapping) for key in _WRAPPED) or _is_bare_call(value)


def is_call_or_result(value: Any) -> bool:
    """Whether a part of a content is a call or a result, which OpenAI's chat has apart from the content."""
    if not isinstance(value, Mapping):
        return False
    _, kind = _unwrapped(value)
    return kind in _CALLS or kind in _RESULTS


def _unwrapped(block: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """The part without a key around it, and its kind."""
    kind = block.get("type", block.get("part_kind", block.get("block_type")))
    if not isinstance(kind, str):
        for key, inner_kind in _WRAPPED.items():
            inner = block.get(key)
            if isinstance(inner, Mapping):
                own = inner.get("type")
                return inner, inner_kind or (own if isinstance(own, str) else None)
        return block, None
    return block, kind


def is_definition(block: Mapping[str, Any]) -> bool:
    """A tool as it is offered to a model, which looks much like a call."""
    inner = block.get("function")
    inner = inner if isinstance(inner, Mapping) else block
    return ("description" in inner or "parameters" in inner) and not any(key in inner for key in ("arguments", "args"))


def _is_bare_call(block: Mapping[str, Any]) -> bool:
    """A call without a type: Vercel's, LangChain's, autogen's, any-agent's."""
    if "toolCallId" in block or "tool.name" in block:
        return _first(block, _NAMES) is not None and "result" not in block and "output" not in block
    return "name" in block and ("args" in block or "arguments" in block)


def _thoughts(block: Mapping[str, Any]) -> list[str]:
    for key in ("thinking", "text", "content", "reasoning", "reasoning_text", "reasoningText", "summary"):
        value = block.get(key)
        if isinstance(value, Mapping):
            value = value.get("text")
        if isinstance(value, list):
            value = "\n\n".join(text for text in map(_text, value) if text)
        if isinstance(value, str) and value:
            return [value]
    return []


def _text(block: Any) -> str | None:
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else None
    for key in ("text", "content", "refusal"):
        value = block.get(key)
        if isinstance(value, Mapping):
            value = value.get("value")
        if isinstance(value, str):
            return value
    return None


def _has_content(block: Mapping[str, Any]) -> bool:
    return any(block.get(key) is not None for key in ("text", "content", "refusal"))


def _is_code(block: Mapping[str, Any]) -> bool:
    return any(
        key.startswith(("executableCode", "executable_code", "codeExecution", "code_execution")) for key in block
    )


def _first(block: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((block[key] for key in keys if block.get(key) is not None), None)


def _id(block: Mapping[str, Any]) -> str | None:
    found = _first(block, _IDS)
    return str(found) if isinstance(found, (str, int)) and found != "" else None
