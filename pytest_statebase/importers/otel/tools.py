"""What a tool was handed and gave back, in every dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...values import ABSENT
from ..dialects.blocks import plain_result
from ..logged import arguments, decoded, result
from .attributes import NOTHING, first
from .raw import RawSpan
from .said import is_cut

_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.args",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "tool_call.function.arguments",
    "mcp.request.argument",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "input",
)
_RESULTS = (
    "gen_ai.tool.call.result",
    "gen_ai.tool.output",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "mcp.response.value",
    "langfuse.observation.output",
    "gen_ai.output",
    "output.value",
    "traceloop.entity.output",
    "output",
)
_MIME = {"input.value": "input.mime_type", "output.value": "output.mime_type"}


def arguments_of(span: RawSpan) -> tuple[Any, bool]:
    """The arguments by name (a text where they are no mapping), and whether they were cut off; ABSENT for none."""
    value, cut = _find(span, _ARGUMENTS)
    if value is NOTHING:
        value = _told(span, "gen_ai.tool.message")
    if value is NOTHING:
        return ABSENT, cut
    return _arguments(value), cut


def result_of(span: RawSpan) -> tuple[Any, bool]:
    """What came back, and whether it was cut off; ABSENT for what was not kept."""
    attributes = span.attributes
    value, cut = _find(span, _RESULTS)
    if value is NOTHING:
        value = _told(span, "gen_ai.choice")
        return (ABSENT if value is NOTHING else plain_result(decoded(value))), cut
    if "gen_ai.output" in attributes and "gen_ai.tool.args" in attributes and value == "{}":
        # any-agent writes this for a tool that returned None.
        return None, cut
    is_json = attributes.get("gen_ai.output.type", attributes.get("output.mime_type")) in ("json", "application/json")
    return _unwrapped(_result(value, is_json=is_json)), cut


def _find(span: RawSpan, keys: tuple[str, ...]) -> tuple[Any, bool]:
    cut = False
    for key in keys:
        value = span.attributes.get(key, NOTHING)
        if value is NOTHING or value is None:
            continue
        if is_cut(value) and isinstance(arguments(value), str) and _is_json(span, key):
            cut = True
            continue
        return value, cut
    return NOTHING, cut


def _is_json(span: RawSpan, key: str) -> bool:
    """Whether a value must be JSON: a result that only begins with a bracket is text."""
    mime = span.attributes.get(_MIME.get(key, ""))
    return key in _ARGUMENTS or mime == "application/json" or key.startswith("traceloop.")


def _told(span: RawSpan, name: str) -> Any:
    """What an event of the tool's span says."""
    for event in span.events:
        if event.name == name:
            body = event.body if isinstance(event.body, Mapping) else {}
            return first({**body, **event.attributes}, ("message", "content", "gen_ai.event.content"))
    return NOTHING


def _arguments(value: Any) -> Any:
    value = arguments(value)
    if isinstance(value, Mapping):
        return dict(_bare(value))
    return {} if value == "" else value


def _bare(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments without what a tracer puts around them: Traceloop's decorators, its LangChain, and Strands' blocks."""
    if value.keys() == {"args", "kwargs"} and isinstance(value["kwargs"], Mapping):
        return value if value["args"] else value["kwargs"]
    if "input_str" in value and isinstance(value.get("inputs"), Mapping):
        inputs: Mapping[str, Any] = value["inputs"]
        return inputs
    if value.keys() <= {"name", "arguments", "id", "type"} and isinstance(value.get("arguments"), (Mapping, str)):
        inner = decoded(value["arguments"])
        return inner if isinstance(inner, Mapping) else value
    return value


def _result(value: Any, *, is_json: bool) -> Any:
    """As `logged.result`; where the tracer says that it is JSON, a number or null, too."""
    if not is_json or not isinstance(value, str) or "\n" in value.strip():
        return result(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _unwrapped(value: Any) -> Any:
    """The result alone: without the message of LangChain that holds it, or Traceloop's mapping around."""
    for _ in range(3):
        if not isinstance(value, Mapping):
            return value
        if isinstance(value.get("kwargs"), Mapping) and "lc" in value:
            value = value["kwargs"]
        elif "output" in value and value.keys() <= {"output", "kwargs"}:
            value = value["output"]
        elif "content" in value and "tool_call_id" in value:
            return value["content"]
        else:
            return value
    return value
