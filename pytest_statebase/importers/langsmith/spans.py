"""A run of LangSmith → a span."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...values import ABSENT
from ..dialects import tool_definitions
from ..dialects.streams import joined
from ..logged import arguments, error_of, handed, messages, result, tool_message, utc
from ..spans import Kind, Span
from .runs import Example, Run

_KINDS: dict[str, Kind] = {
    "llm": "generation",
    "chat_model": "generation",
    "tool": "tool",
    "retriever": "retriever",
    "agent": "agent",
}
_SESSIONS = ("session_id", "thread_id", "conversation_id")
_PARAMETERS = frozenset(
    {"temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "max_output_tokens", "seed", "stop"}
    | {"frequency_penalty", "presence_penalty", "tool_choice", "parallel_tool_calls", "response_format"}
    | {"reasoning_effort", "n", "stream"}
)
_TOLD = {"ls_temperature": "temperature", "ls_max_tokens": "max_tokens", "ls_stop": "stop"}
_NOTED = ("tags", "feedback_stats", "total_cost", "status")


def span_of_run(run: Run) -> Span:
    """The span of a run."""
    fields = run.fields
    extra = _mapping(fields.get("extra"))
    metadata = _metadata(fields, extra)
    kind = _kind(fields, run.parent)
    inputs, outputs = fields.get("inputs"), fields.get("outputs")
    told = _contents(kind, inputs, outputs, fields.get("events"))
    name = _text(fields, ("name",)) or str(fields.get("run_type"))
    return Span(
        id=run.id,
        trace=run.trace,
        parent=run.parent,
        name=told.get("name") or name if kind == "tool" else name,
        kind=kind,
        began=utc(fields.get("start_time")),
        ended=utc(fields.get("end_time")),
        attributes={key: fields[key] for key in _NOTED if fields.get(key)} | dict(_kept(metadata)),
        input=told["input"],
        output=told["output"],
        error=_error(fields),
        is_error=bool(told.get("is_error")),
        model=_text(metadata, ("ls_model_name",)) or _text(_invocation(extra, inputs), ("model", "model_name")),
        provider=_text(metadata, ("ls_provider",)),
        parameters=dict(_parameters(metadata, _invocation(extra, inputs))) if kind == "generation" else {},
        tools=list(tool_definitions(extra, inputs, _mapping(extra.get("invocation_params")))) or None,
        usage=_usage(fields, _mapping(outputs)),
        call_id=told.get("call_id"),
        session=_text(metadata, _SESSIONS) or _text(fields, ("thread_id",)),
        user=_text(metadata, ("user_id",)),
        agent=_text(metadata, ("lc_agent_name", "agent_name", "agent_id")),
        where=run.where,
        tracer="langsmith",
    )


def span_of_example(example: Example) -> Span:
    """An example as a trace of one step."""
    fields = example.fields
    own = _text(fields, ("id", "source_run_id")) or example.where
    inputs = fields["inputs"]
    return Span(
        id=own,
        trace=own,
        parent=None,
        name=_text(fields, ("name", "dataset_name")) or "example",
        kind="root",
        began=utc(fields.get("created_at")),
        attributes=dict(_kept(_mapping(fields.get("metadata")))),
        input=handed(inputs, "user"),
        output=ABSENT if fields["outputs"] is None else handed(fields["outputs"], "assistant"),
        session=_text(_mapping(fields.get("metadata")), _SESSIONS),
        where=example.where,
        tracer="langsmith",
    )


def _metadata(fields: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    given = (fields.get("custom_metadata"), fields.get("metadata"), extra.get("metadata"))
    return {key: value for one in given for key, value in _mapping(one).items()}


def _kind(fields: Mapping[str, Any], parent: str | None) -> Kind:
    kind = _KINDS.get(str(fields.get("run_type")).lower(), "other")
    return "root" if kind == "other" and parent is None else kind


def _contents(kind: Kind, inputs: Any, outputs: Any, events: Any) -> dict[str, Any]:
    """Input and output as a span of that kind has them, and what a tool's message or call tells beside."""
    if kind == "generation":
        given = outputs if outputs else _streamed(events)
        return {"input": messages(inputs or None, role="user"), "output": messages(given, role="assistant")}
    if kind != "tool":
        return {
            "input": handed(inputs, "user") if inputs else ABSENT,
            "output": handed(_only(outputs, "output"), "assistant") if outputs else ABSENT,
        }
    told = _called(inputs)
    given = _only(outputs, "output")
    message = tool_message(given)
    if message is None:
        return told | {"output": ABSENT if outputs in (None, {}) else result(given)}
    told["call_id"] = message.get("tool_call_id", told.get("call_id"))
    told |= {"output": message["content"], "name": message.get("name"), "is_error": message.get("is_error", False)}
    return told


def _called(inputs: Any) -> dict[str, Any]:
    """The arguments of a tool's run: bare, in `input`, as Python prints them, or the whole call that asked for it."""
    if inputs is None:
        return {"input": ABSENT}
    found = arguments(_only(inputs, "input"))
    if isinstance(found, Mapping) and {"name", "args", "id"} <= found.keys():
        return {"input": found["args"], "call_id": None if found["id"] is None else str(found["id"])}
    return {"input": found if isinstance(found, Mapping) else inputs}


def _only(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, Mapping) and value.keys() == {key} else value


def _streamed(events: Any) -> Any:
    """What a stream told of before it broke off: the run has no outputs then."""
    if not isinstance(events, list):
        return None
    kwargs = [_mapping(event.get("kwargs")) for event in events if _is_token(event)]
    tokens = [one.get("token") for one in kwargs]
    if tokens and all(isinstance(token, Mapping) for token in tokens):
        return joined(tokens)
    text = "".join(token for token in tokens if isinstance(token, str))
    return {"role": "assistant", "content": text} if text else None


def _is_token(event: Any) -> bool:
    return isinstance(event, Mapping) and event.get("name") == "new_token"


def _error(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    found = error_of(fields.get("error"))
    return found or (error_of("unknown error") if fields.get("status") == "error" else None)


def _invocation(extra: Mapping[str, Any], inputs: Any) -> dict[str, Any]:
    """What the model's client was called with: LangChain notes it beside the run, the wrappers of clients in inputs."""
    return {**_mapping(inputs), **_mapping(extra.get("invocation_params"))}


def _parameters(metadata: Mapping[str, Any], invocation: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, name in _TOLD.items():
        if metadata.get(key) is not None:
            yield name, metadata[key]
    for key, value in invocation.items():
        if key in _PARAMETERS and value not in (None, "", [], {}):
            yield key, value


def _usage(fields: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    of_model = _mapping(outputs.get("llm_output"))
    candidates = (outputs.get("usage_metadata"), outputs.get("usage"), of_model.get("token_usage"), fields)
    names = {"input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens"}
    for candidate in candidates:
        numbers = {key: value for key, value in _mapping(candidate).items() if key in names and type(value) is int}
        if any(numbers.values()):
            return numbers
    return {}


def _kept(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in metadata.items():
        if not str(key).startswith(("ls_", "LANGSMITH_", "LANGCHAIN_", "__")) and value is not None:
            yield str(key), value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    values = (fields.get(key) for key in keys)
    return next((str(value) for value in values if isinstance(value, (str, int)) and value != ""), None)
