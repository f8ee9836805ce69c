"""Generations → exchanges, each of them marked as made from a trace, with what the trace did not tell."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...engine.web.talk import KNOWN_PARAMETERS, Reply, ToolUse, answer_of
from ...engine.web.talk.answers import Finish
from ...values import ABSENT
from ...wire.exchange import Exchange, Request
from ..grades import Reason
from ..spans.model import PUT_TOGETHER, Span, milliseconds, moment
from ..spans.reasons import reason
from .bodies import BODIES, Ask, Said, text_in
from .providers import Place, place_of

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
}
_READ = ("input_tokens", "prompt_tokens", "input", "promptTokens", "inputTokens", "prompt", "promptTokenCount")
_WRITTEN = ("output_tokens", "completion_tokens", "output", "completionTokens", "outputTokens", "completion")
REASONS = {
    "no-messages": ("no messages were recorded", "no-content"),
    "no-answer": ("no answer was recorded", "no-content"),
    "cut-messages": ("the messages were cut off", "truncated"),
    "model-failed": ("the model failed", None),
    "other-api": ("the provider's API is not written (OpenAI's, Anthropic's and Gemini's are)", None),
}
"""By kind: what is so, and the reason of a trace whose setting would mend it, too."""
_NOTE = "The model calls (NAME.http.yaml) are derived from the trace: they answer whatever request says the same."


@dataclass(frozen=True, slots=True)
class Made:
    """The model calls of a session."""

    exchanges: tuple[Exchange, ...] = ()
    reasons: tuple[Reason, ...] = ()
    """Why some are missing."""
    notes: tuple[str, ...] = ()
    """Lines for the top of the plan."""


def model_calls(generations: Iterable[tuple[Span, int, int | None]]) -> Made:
    """The exchanges of a session's generations, in order.

    generations: each with the number of its turn, and the position, from 0, of the tool call of the turn inside of
        which it was made; None for one of the agent.
    """
    exchanges: list[Exchange] = []
    missing: Counter[tuple[str, str]] = Counter()
    count = 0
    for span, turn, during in generations:
        count += 1
        made = exchange_of(span, turn=turn, during=during)
        if isinstance(made, Exchange):
            exchanges.append(made)
        else:
            missing[made, span.tracer] += 1
    reasons = [_reason(kind, tracer, f"{number} of {count}") for (kind, tracer), number in missing.items()]
    guessed = sum("messages" in (one.derived or ()) for one in exchanges)
    blind = sum("system" in (one.derived or ()) for one in exchanges)
    notes = [_NOTE] if exchanges else []
    if guessed:
        notes.append(f"Of {guessed} of them the trace tells no messages: they are put together from what came before.")
    if blind:
        notes.append(f"{blind} of {len(exchanges)} of them tell no system text: another one goes unnoticed.")
    return Made(tuple(exchanges), tuple(reasons), tuple(notes))


def _reason(kind: str, tracer: str, share: str) -> Reason:
    text, like = REASONS[kind]
    remedy = "" if like is None else reason(like, tracer).remedy
    return Reason(kind, f"{share} model calls cannot be replayed: {text}", remedy)


def exchange_of(span: Span, *, turn: int, during: int | None = None) -> Exchange | str:
    """The exchange that a generation was, or the kind of the reason why there is none.

    What is written is what the provider's client would have sent, as far as the trace tells; `derived` names what it
    does not tell. In a replay such a recording answers whatever request says the same.
    """
    if span.error is not None or span.is_error:
        return "model-failed"
    if {"truncated", "dropped"} & set(span.flaws):
        return "cut-messages"
    messages = _said(span.input)
    if not any(one.role not in ("system", "developer") for one in messages):
        return "no-messages"
    place = place_of(span.provider, span.model, span.attributes, span.name)
    if place is None:
        return "other-api"
    reply = _reply(span, messages)
    if reply is None:
        return "no-answer"
    request = _request(span, messages, place)
    answer = answer_of(reply, request)
    if answer is None:
        return "other-api"
    unknown = ["messages", "parameters"] if PUT_TOGETHER in span.flaws else ["parameters"]
    if not place.is_known:
        unknown.append("provider")
    if not any(one.role in ("system", "developer") and text_in(one.content) for one in messages):
        unknown.append("system")
    if span.tools is None:
        unknown.append("tools")
    latency = milliseconds(span)
    took = None if latency is None else round(latency)
    return Exchange(request, answer, turn, during, span.began, took, derived=tuple(unknown))


def _request(span: Span, messages: list[Said], place: Place) -> Request:
    parameters = {
        name: value
        for name, raw in span.parameters.items()
        if name in KNOWN_PARAMETERS and (value := _number(raw)) is not None
    }
    tools = None if span.tools is None else [_tool(tool) for tool in span.tools if isinstance(tool, Mapping)]
    model = (span.model or "").rpartition("/")[2]
    body = BODIES[place.api](Ask(model, messages, tools, parameters))
    text = json.dumps(body, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    return Request("POST", place.url, (("content-type", "application/json"),), text)


def _number(value: Any) -> Any:
    """Tracers write numbers as texts, and limits that are none as infinite."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value if value.lower() not in ("infinity", "none", "null", "") else None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    inner = tool.get("function")
    inner = inner if isinstance(inner, Mapping) else tool
    schema = next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if inner.get(key)), None)
    if isinstance(schema, str):
        schema = _json(schema)
    told = {"name": inner.get("name"), "description": inner.get("description"), "parameters": schema}
    return {key: value for key, value in told.items() if value is not None}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- Messages


def _said(messages: Any) -> list[Said]:
    """The messages of a request; calls without an id are numbered through, results go to them in order."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    found: list[Said] = []
    waiting: list[tuple[str, str]] = []
    count = 0
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, Mapping):
            continue
        role = message.get("role")
        if role in ("tool", "function"):
            id_, tool = _answered(message, waiting)
            found.append(Said("tool", message.get("content"), answers=id_, tool=tool))
            continue
        calls = _calls(message, count)
        count += len(calls)
        waiting += [(id_, tool) for id_, tool, _ in calls]
        role = role if role in ("system", "developer", "assistant") else "user"
        content = message.get("content")
        if content is None and not calls:
            content = message.get("refusal")
        found.append(Said(role, content, calls))
    return found


def _calls(message: Mapping[str, Any], before: int) -> tuple[tuple[str, str, str], ...]:
    given = message.get("tool_calls")
    given = [*(given if isinstance(given, list) else []), *filter(None, [message.get("function_call")])]
    found: list[tuple[str, str, str]] = []
    for call in given:
        if not isinstance(call, Mapping):
            continue
        inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), Mapping)), call)
        arguments: Any = next((inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        found.append((str(call.get("id") or f"call_{before + len(found) + 1}"), str(inner.get("name")), text or "{}"))
    return tuple(found)


def _answered(message: Mapping[str, Any], waiting: list[tuple[str, str]]) -> tuple[str, str | None]:
    """The call that a result is of: by id, else by name, else the next."""
    id_, name = message.get("tool_call_id") or message.get("id"), message.get("name")
    one = next((one for one in waiting if one[0] == id_), None)
    one = one or next((one for one in waiting if id_ is None and one[1] == name), None)
    if one is None and id_ is None and waiting:
        one = waiting[0]
    if one is None:
        return str(id_ or "call_0"), None if name is None else str(name)
    waiting.remove(one)
    return one


# --- The answer


def _reply(span: Span, messages: list[Said]) -> Reply | None:
    """What the model answered; None where the trace does not tell."""
    outputs = [span.output] if isinstance(span.output, Mapping | str) else span.output
    if span.output is ABSENT or not isinstance(outputs, list) or not outputs:
        return None
    texts: list[str] = []
    calls: list[tuple[str, str, str]] = []
    before = sum(len(one.calls) for one in messages)
    said = False
    for output in outputs:
        message = {"content": output} if isinstance(output, str) else output
        if not isinstance(message, Mapping) or message.get("role", "assistant") not in ("assistant", "model", "ai"):
            continue
        content = message.get("content")
        text = text_in(content) or message.get("refusal")
        texts += [text] if isinstance(text, str) and text else []
        calls += _calls(message, before + len(calls))
        said = said or content is not None
    if not texts and not calls and not said:
        return None
    text = "\n".join(texts) if texts or not calls else None
    return Reply(
        _id(span),
        str(span.attributes.get("gen_ai.response.model") or span.model or "unknown").rpartition("/")[2],
        text,
        tuple(ToolUse(*call) for call in calls),
        _finish(span, outputs) or ("tool_calls" if calls else "stop"),
        _usage(span.usage),
        int(moment(span.began) or 0),
    )


def _id(span: Span) -> str:
    told = span.attributes.get("gen_ai.response.id")
    if isinstance(told, str) and told:
        return told
    return f"derived_{hashlib.sha256(f'{span.trace}/{span.id}'.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _finish(span: Span, outputs: list[Any]) -> Finish | None:
    told = span.attributes.get("gen_ai.response.finish_reasons")
    said = [*(told if isinstance(told, list) else [told])]
    said += [output.get("finish_reason") for output in outputs if isinstance(output, Mapping)]
    known = (_FINISHES.get(one.lower()) for one in said if isinstance(one, str))
    return next((one for one in known if one is not None), None)


def _usage(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    read, written = (_count(usage, names) for names in (_READ, _WRITTEN))
    return None if read is None and written is None else (read or 0, written or 0)


def _count(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int | float) and math.isfinite(value):
            return int(value)
    return None
