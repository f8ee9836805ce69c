"""A trace of Langfuse with its observations → spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...values import ABSENT
from ..dialects import chat_messages, tool_definitions, without_output_tools
from ..logged import arguments, decoded, error_of, handed, messages, result, tool_message, utc
from ..spans import Kind, Span
from .rows import Row, Trace

_KINDS: dict[str, Kind] = {
    "GENERATION": "generation",
    "TOOL": "tool",
    "AGENT": "agent",
    "RETRIEVER": "retriever",
}
_TRUNCATED = "<truncated due to size exceeding limit>"
_SESSIONS = ("session.id", "gen_ai.conversation.id", "langsmith.metadata.session_id", "langsmith.trace.session_id")
_THREADS = ("thread_id", "conversation_id", "session_id")
_AGENTS = ("gen_ai.agent.name", "agent_name", "graph.node.id")
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider", "ls_provider")
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_CALL_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool_call_id")
_TOOL_INPUTS = ("gcp.vertex.agent.tool_call_args", "tool_arguments", "gen_ai.tool.call.arguments", "ai.toolCall.args")
_TOOL_OUTPUTS = ("gcp.vertex.agent.tool_response", "tool_response", "gen_ai.tool.call.result", "ai.toolCall.result")
_CONTENTS = re.compile(
    r"\A(?:input\.|output\.|llm\.(?:input|output)_messages|llm\.tools|gen_ai\.(?:prompt|completion|input|output|tool)"
    r"|gcp\.vertex\.agent\.(?:llm|tool)_|pydantic_ai\.|ai\.(?:prompt|response\.(?:text|object|toolCalls|msg)|toolCall)"
    r"|tool_(?:arguments|response)|logfire\.|final_result|llm\.invocation_parameters|model_request_parameters"
    r"|langfuse\.)"
)
_PARAMETERS = frozenset(
    {"temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "max_output_tokens", "seed", "stop"}
    | {
        "frequency_penalty",
        "presence_penalty",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "stop_sequences",
    }
    | {"reasoning_effort", "logprobs", "n", "candidate_count"}
)
_KEY_ALONE = {"content": "role"}
"""What LangSmith's wrapper of Claude's agents tells of every call but the first: a message's key for the message."""
_SPREAD = "attributes."
_SWITCHES = {"true": True, "false": False}
_NOTED = ("promptName", "promptVersion", "costDetails", "environment", "release", "version", "tags", "statusMessage")
_BRACKETED = re.compile(r"\Aagent_run \[(.+)\]\Z")
_PREFIXED = re.compile(r"\A(?:running tool: |execute_tool |tool\.(?=\w))")


def spans_of_trace(trace: Trace) -> list[Span]:
    """The spans of a trace: one for each observation and, where the trace itself says what came in or out, its root."""
    row = trace.row
    spans = [_span(observation, trace) for observation in trace.observations.values()]
    if row is None:
        return spans
    asked, answered = _handed(row.fields.get("input")), handed(_whole(row.fields.get("output")), "assistant")
    if asked is ABSENT and answered is ABSENT:
        return spans
    known = {span.id for span in spans}
    root = Span(
        id=f"trace:{trace.id}",
        trace=trace.id,
        parent=None,
        name=row.text("name") or "trace",
        kind="root",
        began=min(filter(None, [utc(row.fields.get("timestamp")), *(span.began for span in spans)]), default=None),
        attributes=dict(_noted(row)) | ({"scores": trace.scores} if trace.scores else {}),
        input=asked,
        output=answered,
        session=row.text("sessionId") or _first_of(_metadata(row), _THREADS),
        user=row.text("userId"),
        where=row.where,
        tracer="langfuse",
    )
    return [root, *(_under(span, root, known) for span in spans)]


def _under(span: Span, root: Span, known: set[str]) -> Span:
    return span if span.parent in known else replace(span, parent=root.id)


def _span(row: Row, trace: Trace) -> Span:
    metadata = _metadata(row)
    attributes = _attributes(metadata)
    kind = _kind(row, attributes)
    name = row.text("name") or row.text("type") or "observation"
    failed = row.fields.get("level") == "ERROR"
    values = row.fields.get("input"), row.fields.get("output")
    told = _contents(kind, *values, attributes)
    return Span(
        id=row.text("id") or row.where,
        trace=trace.id,
        parent=row.text("parentObservationId"),
        name=_tool_name(name, attributes, told.get("name")) if kind == "tool" else name,
        kind=kind,
        began=utc(row.fields.get("startTime")),
        ended=utc(row.fields.get("endTime")),
        attributes=dict(_noted(row)) | _kept(metadata, attributes),
        input=told["input"],
        output=told["output"],
        error=error_of(row.fields.get("statusMessage") or "unknown error") if failed else None,
        is_error=bool(told.get("is_error")),
        model=row.text("model", "providedModelName"),
        provider=_first_of(attributes, _PROVIDERS) or _first_of(metadata, _PROVIDERS),
        parameters=_parameters(row.fields.get("modelParameters")),
        tools=_tools(row, metadata, attributes) if kind == "generation" else None,
        usage=_usage(row),
        call_id=_first_of(attributes, _CALL_IDS) or told.get("call_id"),
        session=_session(row, trace, metadata, attributes),
        user=row.text("userId") or (trace.row.text("userId") if trace.row else None),
        agent=_agent(row, name, attributes),
        where=row.where,
        tracer="langfuse",
        flaws=("truncated",) if _TRUNCATED in values else (),
    )


def _kind(row: Row, attributes: Mapping[str, Any]) -> Kind:
    kind = _KINDS.get(str(row.fields.get("type")).upper(), "other")
    if kind != "other":
        return kind
    operation = attributes.get("gen_ai.operation.name", attributes.get("ai.operationId"))
    if attributes.get("openinference.span.kind") == "TOOL" or operation in ("execute_tool", "ai.toolCall"):
        return "tool"
    if "gen_ai.tool.name" in attributes or tool_message(row.fields.get("output")) is not None:
        return "tool"
    return "other"


def _contents(kind: Kind, input: Any, output: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Input and output as a span of that kind has them, and what a tool's message tells beside."""
    if kind == "generation":
        names = _output_tools(attributes)
        given = ABSENT if decoded(input) == _KEY_ALONE else _whole(input)
        heard, said = messages(given, role="user"), messages(_whole(output), role="assistant")
        heard = [*_instructions(heard, output), *heard] if isinstance(heard, list) else heard
        return {"input": without_output_tools(heard, names), "output": without_output_tools(said, names)}
    if kind != "tool":
        return {"input": _handed(input), "output": handed(_whole(output), "assistant")}
    told: dict[str, Any] = {"input": _arguments(input, attributes)}
    given = next((attributes[key] for key in _TOOL_OUTPUTS if attributes.get(key) is not None), None)
    message = tool_message(output)
    if message is not None:
        told |= {"output": message["content"], "call_id": message.get("tool_call_id"), "name": message.get("name")}
        told["is_error"] = message.get("is_error", False)
    elif output is None or (given is not None and decoded(output) in ({}, [], "")):
        told["output"] = ABSENT if given is None else result(given)
    else:
        told["output"] = ABSENT if output == _TRUNCATED else result(output)
    return told


def _instructions(heard: list[Any], output: Any) -> list[dict[str, Any]]:
    """The system's words where only the answer of the Responses API repeats them."""
    told = _mapping(output).get("instructions")
    if not isinstance(told, str) or not told or any(message["role"] == "system" for message in heard):
        return []
    return [{"role": "system", "content": told}]


def _output_tools(attributes: Mapping[str, Any]) -> set[str]:
    """The tools of pydantic-ai that are no tools: a model answers through them, nothing runs."""
    offered = _mapping(attributes.get("model_request_parameters")).get("output_tools")
    return {tool["name"] for tool in tool_definitions({"tools": offered})}


def _arguments(input: Any, attributes: Mapping[str, Any]) -> Any:
    given = next((attributes[key] for key in _TOOL_INPUTS if attributes.get(key) is not None), None)
    found = arguments(input)
    if given is not None and found in ({}, "", None):
        found = arguments(given)
    if isinstance(found, Mapping) and found.keys() == {"input"} and "langsmith.span.kind" in attributes:
        found = arguments(found["input"])
    if isinstance(found, Mapping) and found.keys() == {"args", "kwargs"} and not found["args"]:
        found = found["kwargs"]
    return found


def _handed(value: Any) -> Any:
    """What a step was handed; of a function that the SDK observed (`{args, kwargs}`) its one text, or its messages."""
    found = handed(_whole(value), "user")
    if not isinstance(found, Mapping) or found.keys() != {"args", "kwargs"} or not isinstance(found["args"], list):
        return found
    named = found["kwargs"] if isinstance(found["kwargs"], Mapping) else {}
    values = [*found["args"], *named.values()]
    if len(values) == 1:
        return handed(values[0], "user")
    told = chat_messages(named, role="user") if not found["args"] else None
    return told or found


def _whole(value: Any) -> Any:
    return ABSENT if value is None or value == _TRUNCATED else value


def _tool_name(name: str, attributes: Mapping[str, Any], told: Any) -> str:
    found = _first_of(attributes, _TOOL_NAMES)
    return found or (told if isinstance(told, str) and told else _PREFIXED.sub("", name))


def _agent(row: Row, name: str, attributes: Mapping[str, Any]) -> str | None:
    found = _first_of(attributes, _AGENTS)
    if found is not None or str(row.fields.get("type")).upper() != "AGENT":
        return found
    bracketed = _BRACKETED.match(name)
    if bracketed is not None:
        return bracketed[1]
    return name if not attributes else None


def _session(row: Row, trace: Trace, metadata: Mapping[str, Any], attributes: Mapping[str, Any]) -> str | None:
    of_trace = trace.row.text("sessionId") if trace.row else None
    told = of_trace or row.text("sessionId") or _first_of(attributes, _SESSIONS)
    return told or _first_of(metadata, _THREADS)


def _metadata(row: Row) -> Mapping[str, Any]:
    return _mapping(row.fields.get("metadata"))


def _attributes(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenTelemetry told: a mapping of its own, or spread over the metadata with a prefix."""
    spread = {key.removeprefix(_SPREAD): value for key, value in metadata.items() if str(key).startswith(_SPREAD)}
    return {**spread, **_mapping(metadata.get("attributes"))}


def _mapping(value: Any) -> Mapping[str, Any]:
    found = decoded(value)
    return found if isinstance(found, Mapping) else {}


def _kept(metadata: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata but for what repeats the input, the output and the tools."""
    own = {
        key: value
        for key, value in metadata.items()
        if str(key).partition(".")[0] not in ("attributes", "resourceAttributes", "scope", "tools")
    }
    return own | {key: value for key, value in attributes.items() if not _CONTENTS.match(str(key))}


def _noted(row: Row) -> Iterator[tuple[str, Any]]:
    for key in _NOTED:
        value = row.fields.get(key)
        if value not in (None, "", [], {}, "default"):
            yield key, value


def _parameters(value: Any) -> dict[str, Any]:
    given = _mapping(value)
    known = {key: _SWITCHES.get(str(value), value) for key, value in given.items() if key in _PARAMETERS}
    return {key: value for key, value in known.items() if not _is_unset(key, value)}


def _is_unset(key: str, value: Any) -> bool:
    return value in (None, "", [], {}) or (key == "max_tokens" and value == -1) or "arrayValue" in str(value)


def _usage(row: Row) -> dict[str, Any]:
    for key in ("usageDetails", "usage"):
        found = _mapping(row.fields.get(key))
        numbers = {key: value for key, value in found.items() if type(value) in (int, float)}
        if numbers:
            return numbers
    return {}


def _tools(row: Row, metadata: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[Any] | None:
    """The definitions: of their own column, of the request, of what was logged beside it."""
    column = _mapping(row.fields.get("toolDefinitions"))
    named = [{"name": name, **_mapping(definition)} for name, definition in column.items()]
    schemas = [
        value for key, value in attributes.items() if re.match(r"llm\.tools\.\d+\.tool\.json_schema\Z", str(key))
    ]
    given = [decoded(row.fields.get("input")), metadata, decoded(row.fields.get("output"))]
    request = [decoded(attributes.get(key)) for key in ("model_request_parameters", "ai.prompt.tools")]
    found = tool_definitions({"tools": named}, *given, *request, {"tools": schemas})
    return list(found) or None


def _first_of(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    values = (fields.get(key) for key in keys)
    return next((str(value) for value in values if isinstance(value, (str, int)) and value != ""), None)
