"""What a span is, by its attributes in every dialect of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..dialects.text import from_json
from ..spans.model import ANYBODY, Kind
from .raw import RawSpan

_OPENINFERENCE: Mapping[str, Kind] = {"LLM": "generation", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retriever"}
_OPERATIONS: Mapping[str, Kind] = {
    "chat": "generation",
    "text_completion": "generation",
    "completion": "generation",
    "generate_content": "generation",
    "call_llm": "generation",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "retrieval": "retriever",
}
_TRACELOOP: Mapping[str, Kind] = {"tool": "tool", "agent": "agent", "workflow": "agent"}
_LANGFUSE: Mapping[str, Kind] = {
    "generation": "generation",
    "tool": "tool",
    "agent": "agent",
    "retriever": "retriever",
}
_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "gen_ai.session.id",
    "gen_ai.thread.id",
    "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.chat_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.conversation_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.conversationId",
    "sessionId",
)
_IN_METADATA = ("session_id", "thread_id", "conversation_id", "sessionId", "threadId")
_USERS = (
    "user.id",
    "enduser.id",
    "gen_ai.user.id",
    "langfuse.user.id",
    "traceloop.association.properties.user_id",
    "ai.telemetry.metadata.userId",
)
_AGENTS = ("gen_ai.agent.name", "agent.name", "agent_name")
_MODELS = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.request.model_name",
    "llm.model_name",
    "ai.model.id",
    "llm.request.model",
)
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider", "llm.vendor")
_PARAMETERS = "gen_ai.request."
_USAGES = ("gen_ai.usage.", "llm.token_count.", "llm.usage.", "ai.usage.")
_TOOL_NAMES = (
    "gen_ai.tool.name",
    "tool.name",
    "ai.toolCall.name",
    "traceloop.entity.name",
    "mcp.tool.name",
    "tool_call.function.name",
)
_TOOL_PREFIX = re.compile(r"(?:execute_tool|running tool:?|tools/call|ai\.toolCall)\s+", re.IGNORECASE)
_CALL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id", "tool_call_id")
_FAMILIES = ("gen_ai.", "openinference.", "llm.input_messages.", "traceloop.")

NOTHING: Final = object()
"""Stands for an attribute that is not there."""


def first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of some attributes that is there and not null; NOTHING where none is."""
    return next((attributes[key] for key in keys if attributes.get(key) is not None), NOTHING)


def name_in(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of some attributes that is a text or a number."""
    values = (attributes.get(key) for key in keys)
    return next((str(value) for value in values if _is_name(value)), None)


def kind_of(span: RawSpan) -> Kind:
    """Which kind of step a span is."""
    attributes = span.attributes
    kinds = (
        _OPENINFERENCE.get(_word(attributes, "openinference.span.kind").upper()),
        _OPERATIONS.get(_word(attributes, "gen_ai.operation.name").lower()),
        _TRACELOOP.get(_word(attributes, "traceloop.span.kind").lower()),
        _OPERATIONS.get(_word(attributes, "llm.request.type").lower()),
        _vercel_kind(_word(attributes, "ai.operationId")),
        _LANGFUSE.get(_word(attributes, "langfuse.observation.type").lower()),
        _told_kind(span),
    )
    return next((kind for kind in kinds if kind is not None), "other")


def _vercel_kind(operation: str) -> Kind | None:
    if operation == "ai.toolCall":
        return "tool"
    if operation.endswith((".doGenerate", ".doStream")):
        return "generation"
    return "agent" if operation.startswith("ai.") and "embed" not in operation else None


def _told_kind(span: RawSpan) -> Kind | None:
    """By attributes that only one kind of step has."""
    attributes = span.attributes
    if any(key in attributes for key in ("openinference.span.kind", "gen_ai.operation.name")):
        return None
    if (
        "gen_ai.tool.name" in attributes
        or "tool.name" in attributes
        or attributes.get("mcp.method.name") == "tools/call"
    ):
        return "tool"
    if "agent_name" in attributes or "pydantic_ai.all_messages" in attributes:
        return "agent"
    said = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "request_data")
    return "generation" if any(key in attributes for key in said) else None


def tracer_of(span: RawSpan) -> str:
    """Whose settings would mend the trace."""
    attributes, scope = span.attributes, span.scope
    if "openinference.span.kind" in attributes or scope.startswith("openinference"):
        return "openinference"
    if "any_agent.version" in attributes or "gen_ai.tool.args" in attributes or scope == "any_agent":
        return "any-agent"
    if "ai.operationId" in attributes or scope == "ai":
        return "vercel"
    if scope in ("pydantic-ai", "logfire") or any(key.startswith("logfire.") for key in attributes):
        return "logfire"
    is_traceloop = any(key.startswith(("traceloop.", "gen_ai.prompt.", "llm.request.type")) for key in attributes)
    return "traceloop" if is_traceloop else ANYBODY


def is_known(attributes: Mapping[str, Any]) -> bool:
    """Whether a mapping is a set of such attributes, without a span around."""
    return any(isinstance(key, str) and key.startswith(_FAMILIES) for key in attributes)


def session_of(attributes: Mapping[str, Any]) -> str | None:
    """What the tracer says that the conversation is."""
    named = name_in(attributes, _SESSIONS)
    if named is not None:
        return named
    metadata = attributes.get("metadata")
    metadata = from_json(metadata) if isinstance(metadata, str) else metadata
    return name_in(metadata, _IN_METADATA) if isinstance(metadata, Mapping) else None


def user_of(attributes: Mapping[str, Any]) -> str | None:
    """Who spoke with the agent."""
    return name_in(attributes, _USERS)


def agent_of(attributes: Mapping[str, Any]) -> str | None:
    """The agent's name."""
    named = name_in(attributes, _AGENTS)
    is_agent = named is None and attributes.get("traceloop.span.kind") == "agent"
    return name_in(attributes, ("traceloop.entity.name",)) if is_agent else named


def tool_name_of(span: RawSpan) -> str:
    """The name of the tool that a span carried out."""
    return name_in(span.attributes, _TOOL_NAMES) or _TOOL_PREFIX.sub("", span.name, count=1) or "tool"


def call_id_of(attributes: Mapping[str, Any]) -> str | None:
    """The id of the call that a span carried out."""
    return name_in(attributes, _CALL_IDS)


def model_of(attributes: Mapping[str, Any]) -> str | None:
    """The model that was asked."""
    return name_in(attributes, _MODELS)


def provider_of(attributes: Mapping[str, Any]) -> str | None:
    """Who serves the model."""
    return name_in(attributes, _PROVIDERS)


def parameters_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What the model was asked with: temperature and the like."""
    given = attributes.get("llm.invocation_parameters")
    given = from_json(given) if isinstance(given, str) else given
    found = dict(given) if isinstance(given, Mapping) else {}
    for key, value in attributes.items():
        name = key.removeprefix(_PARAMETERS)
        if key.startswith(_PARAMETERS) and "." not in name and name != "model":
            found.setdefault(name, value)
    return found


def usage_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens and costs, by the names that the dialect gives to them."""
    return {
        key.removeprefix(prefix): value
        for prefix in _USAGES
        for key, value in attributes.items()
        if key.startswith(prefix)
    }


def nested(attributes: Mapping[str, Any], prefix: str) -> Any:
    """The structure that is spread over `PREFIX.0.role`, `PREFIX.0.content` …; NOTHING where there is none.

    Keys that are numbers make a list, whatever the numbers.
    """
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix + "."):
            continue
        path = key[len(prefix) + 1 :].split(".", 24)
        at = tree
        for part in path[:-1]:
            inner = at.setdefault(part, {})
            if not isinstance(inner, _Branch):
                inner = at[part] = _Branch()
            at = inner
        at[path[-1]] = value
    return _lists(tree) if tree else NOTHING


class _Branch(dict[str, Any]):
    """A level of the structure, as opposed to a value that is a mapping."""


def _lists(tree: dict[str, Any]) -> Any:
    items = {key: _lists(item) if isinstance(item, _Branch) else item for key, item in tree.items()}
    if items and all(key.isascii() and key.isdigit() and len(key) < 10 for key in items):
        return [items[key] for key in sorted(items, key=int)]
    return items


def _word(attributes: Mapping[str, Any], key: str) -> str:
    value = attributes.get(key)
    return value if isinstance(value, str) else ""


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))
