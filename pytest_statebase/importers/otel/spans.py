"""A span of OpenTelemetry, in any dialect → the one form of spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...values import ABSENT
from ..spans.model import Kind, Span
from .attributes import (
    agent_of,
    call_id_of,
    kind_of,
    model_of,
    parameters_of,
    provider_of,
    session_of,
    tool_name_of,
    tracer_of,
    usage_of,
    user_of,
)
from .raw import RawEvent, RawSpan
from .said import gave, given, offered
from .tools import arguments_of, result_of


def span_from(raw: RawSpan) -> Span:
    """What a raw span says, whoever wrote it."""
    attributes = raw.attributes
    kind = kind_of(raw)
    taken, returned, is_cut = _content(raw, kind)
    error = _error(raw, returned)
    is_model = kind == "generation"
    return Span(
        raw.id,
        raw.trace,
        raw.parent,
        tool_name_of(raw) if kind == "tool" else raw.name,
        kind,
        raw.began,
        raw.ended,
        attributes,
        taken,
        returned,
        error,
        is_error=raw.failed and error is None,
        model=model_of(attributes),
        provider=provider_of(attributes) if is_model else None,
        parameters=parameters_of(attributes) if is_model else {},
        tools=offered(raw) if is_model else None,
        usage=usage_of(attributes),
        call_id=call_id_of(attributes) if kind == "tool" else None,
        session=session_of(attributes),
        user=user_of(attributes),
        agent=agent_of(attributes),
        where=raw.where,
        tracer=tracer_of(raw),
        flaws=(*(("truncated",) if is_cut else ()), *(("dropped",) if raw.dropped else ())),
    )


def _content(raw: RawSpan, kind: Kind) -> tuple[Any, Any, bool]:
    if kind == "tool":
        taken, cut_before = arguments_of(raw)
        returned, cut_after = result_of(raw)
    else:
        taken, cut_before = given(raw, raw=kind != "generation")
        returned, cut_after = gave(raw, raw=kind != "generation")
    return taken, returned, cut_before or cut_after


def _error(raw: RawSpan, returned: Any) -> Mapping[str, Any] | None:
    """What was raised: an exception that was recorded, or a failure that left nothing else."""
    if not raw.failed:
        return None
    raised = next((event for event in reversed(raw.events) if event.name == "exception"), None)
    if raised is None and returned is not ABSENT:
        return None
    event = raised or RawEvent("exception", {})
    kind = event.attributes.get("exception.type") or raw.attributes.get("error.type") or "Exception"
    message = event.attributes.get("exception.message") or raw.status or ""
    return {"type": str(kind), "message": str(message)}
