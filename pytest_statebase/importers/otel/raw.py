"""A span or event as any exporter of OpenTelemetry writes it → one plain form."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..files import inside

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_DIGITS = re.compile(r"-?[0-9]{1,39}")
_DEPTH = 100
_HIDDEN = "__REDACTED__"
"""What OpenInference writes for what it was told to hide."""
_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "kvlistValue", "bytesValue")
_SNAKE = {"string_value": "stringValue", "int_value": "intValue", "double_value": "doubleValue"}
_SNAKE |= {"bool_value": "boolValue", "array_value": "arrayValue", "kvlist_value": "kvlistValue"}
_SNAKE |= {"bytes_value": "bytesValue"}


@dataclass(frozen=True, slots=True)
class RawEvent:
    """An event of a span, or a log record that belongs to one."""

    name: str
    attributes: Mapping[str, Any]
    body: Any = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class RawSpan:
    """A span before anybody asks what its attributes mean."""

    id: str
    trace: str
    parent: str | None
    name: str
    where: str
    began: str | None = None
    ended: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[RawEvent, ...] = ()
    failed: bool = False
    status: str | None = None
    """The words of its status."""
    scope: str = ""
    """The name of the instrumentation."""
    resource: Mapping[str, Any] = field(default_factory=dict)
    dropped: int = 0
    """Attributes and events that its limits left out."""


@dataclass(frozen=True, slots=True)
class RawLog:
    """A log record that is an event."""

    trace: str
    span: str
    event: RawEvent


def is_span(raw: Any) -> bool:
    """Whether a mapping is a span of OpenTelemetry, in any exporter's words."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
        return False
    context = _context(raw)
    return any(key in context for key in ("spanId", "span_id")) and any(
        key in context for key in ("traceId", "trace_id")
    )


def span_of(
    raw: Mapping[str, Any], where: str, *, scope: str = "", resource: Mapping[str, Any] | None = None
) -> RawSpan | None:
    """A span in its plain form; None where it has no id.

    raw: of OTLP/JSON, of the SDK's own JSON, or of any-agent. scope, resource: of what it stood in.
    """
    context = _context(raw)
    span_id, trace = id_of(_first(context, "spanId", "span_id")), id_of(_first(context, "traceId", "trace_id"))
    if span_id is None or trace is None:
        return None
    status = raw.get("status")
    status = status if isinstance(status, Mapping) else {"code": status}
    own = raw.get("resource")
    code = str(_first(status, "code", "status_code", "statusCode") or "").upper().rpartition(".")[2]
    return RawSpan(
        span_id,
        trace,
        _parent(raw),
        str(raw["name"]),
        where,
        time_of(_first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")),
        time_of(_first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        attributes_of(raw.get("attributes")),
        tuple(events_of(raw.get("events"))),
        code in ("2", "STATUS_CODE_ERROR", "ERROR"),
        text_of(_first(status, "message", "description", "status_message")),
        scope or _scope_of(raw),
        resource if resource is not None else attributes_of(own.get("attributes")) if isinstance(own, Mapping) else {},
        sum(_count(raw.get(key)) for key in ("droppedAttributesCount", "droppedEventsCount", "dropped_attributes")),
    )


def events_of(raw: Any) -> Iterator[RawEvent]:
    """The events of a span."""
    for event in raw if isinstance(raw, list) else ():
        if isinstance(event, Mapping) and isinstance(event.get("name"), str):
            time = time_of(_first(event, "timeUnixNano", "time_unix_nano", "timestamp", "time"))
            yield RawEvent(event["name"], attributes_of(event.get("attributes")), None, time)


def log_of(raw: Any) -> RawLog | None:
    """A log record that is an event of a span; None for any other."""
    if not isinstance(raw, Mapping):
        return None
    attributes = attributes_of(raw.get("attributes"))
    name = _first(raw, "eventName", "event_name") or attributes.get("event.name")
    trace = id_of(_first(raw, "traceId", "trace_id"))
    span = id_of(_first(raw, "spanId", "span_id"))
    if not isinstance(name, str) or trace is None or span is None:
        return None
    at = time_of(_first(raw, "timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano"))
    return RawLog(trace, span, RawEvent(name, attributes, value_of(raw.get("body")), at))


def attributes_of(raw: Any) -> dict[str, Any]:
    """Attributes by key, whether they stand as a mapping or as a list of key and value; hidden ones left out."""
    if isinstance(raw, Mapping):
        found = {str(key): value_of(value) for key, value in raw.items()}
    else:
        items = [item for item in raw if isinstance(item, Mapping)] if isinstance(raw, list) else []
        found = {item["key"]: value_of(item.get("value")) for item in items if isinstance(item.get("key"), str)}
    return {key: value for key, value in found.items() if value != _HIDDEN}


def value_of(raw: Any, depth: int = _DEPTH) -> Any:
    """A value without OTLP's wrapping; one that is nested too deeply, or has no JSON form, as text."""
    if depth <= 0:
        return "…"
    if isinstance(raw, Mapping):
        keys = [_SNAKE.get(str(key), key) for key in raw]
        if len(keys) == 1 and keys[0] in _KINDS:
            return _any_value(str(keys[0]), next(iter(raw.values())), depth)
        return {str(key): value_of(item, depth - 1) for key, item in raw.items()}
    if isinstance(raw, list):
        return [value_of(item, depth - 1) for item in raw]
    return raw


def _any_value(kind: str, raw: Any, depth: int) -> Any:
    if kind == "intValue":
        return int(raw) if isinstance(raw, str) and _DIGITS.fullmatch(raw) else raw
    if kind == "doubleValue":
        return _double(raw)
    if kind in ("arrayValue", "kvlistValue"):
        values = raw.get("values") if isinstance(raw, Mapping) else raw
        values = values if isinstance(values, list) else []
        if kind == "arrayValue":
            return [value_of(item, depth - 1) for item in values]
        pairs = [item for item in values if isinstance(item, Mapping) and isinstance(item.get("key"), str)]
        return {pair["key"]: value_of(pair.get("value"), depth - 1) for pair in pairs}
    return raw


def _double(raw: Any) -> Any:
    """Protobuf's JSON writes what is not finite as text."""
    if isinstance(raw, str):
        try:
            return float({"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}.get(raw, raw))
        except ValueError:
            return raw
    return raw


def id_of(raw: Any) -> str | None:
    """An id as text: hex in lower case, from hex, base64 or a number; None for none, or for the id of zeros."""
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, int):
        return f"{raw:x}" if 0 < raw < 1 << 128 else None
    if isinstance(raw, float):
        return f"{int(raw):x}" if math.isfinite(raw) and 0 < raw < 2.0**128 else None
    if not isinstance(raw, str) or not raw or len(raw) > 200:
        return None
    found = _HEX.fullmatch(raw)
    if found is not None:
        return found[1].lower() if found[1].strip("0") else None
    return _from_base64(raw) or raw


def _from_base64(raw: str) -> str | None:
    if len(raw) not in (12, 24):
        return None
    try:
        data = base64.b64decode(raw, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data.hex() if len(data) in (8, 16) else None


def time_of(raw: Any) -> str | None:
    """A time as ISO text in UTC: of nanoseconds (also as text), or a text that is one already."""
    if isinstance(raw, str) and _DIGITS.fullmatch(raw):
        raw = int(raw)
    if isinstance(raw, list) and len(raw) == 2 and all(isinstance(part, int) for part in raw):
        raw = raw[0] * 1_000_000_000 + raw[1]
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return raw if isinstance(raw, str) and _is_iso(raw) else None
    return _iso(raw)


def _iso(raw: float) -> str | None:
    if isinstance(raw, float) and not math.isfinite(raw):
        return None
    size = abs(raw)
    unit = next((unit for limit, unit in ((1e11, 1), (1e14, 10**3), (1e17, 10**6)) if size < limit), 10**9)
    try:
        seconds, rest = divmod(int(raw), unit)
        return (
            datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 10**6 // unit).isoformat() if raw else None
        )
    except (OverflowError, OSError, ValueError):
        return None


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def text_of(raw: Any) -> str | None:
    """A text that is not empty; None for anything else."""
    return raw if isinstance(raw, str) and raw else None


def _context(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    context = _first(raw, "context", "spanContext", "_spanContext")
    return context if isinstance(context, Mapping) else raw


def _parent(raw: Mapping[str, Any]) -> str | None:
    parent = _first(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId", "parent", "parentSpanContext")
    if isinstance(parent, Mapping):
        parent = _first(parent, "spanId", "span_id")
    return id_of(parent)


def _scope_of(raw: Mapping[str, Any]) -> str:
    scope = _first(raw, "scope", "instrumentationScope", "instrumentation_scope", "instrumentationLibrary")
    return str(scope.get("name") or "") if isinstance(scope, Mapping) else ""


def _count(raw: Any) -> int:
    return raw if isinstance(raw, int) and raw > 0 else 0


def _first(holder: Mapping[str, Any], *keys: str) -> Any:
    return next((holder[key] for key in keys if holder.get(key) is not None), None)


def spans_in(document: Any, where: str) -> Iterator[RawSpan | RawLog]:
    """Every span, and every event among the logs, of a document in any exporter's layout."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            yield from spans_in_item(item, inside(where, index))
    else:
        yield from spans_in_item(document, where)


def spans_in_item(item: Any, where: str) -> Iterator[RawSpan | RawLog]:
    """As `spans_in`, of what is no list."""
    if not isinstance(item, Mapping):
        return
    for holder, key in _resources(item):
        for index, one in enumerate(holder):
            yield from _of_resource(one, inside(inside(where, key), index))
    if isinstance(item.get("spans"), list):
        for index, raw in enumerate(item["spans"]):
            span = span_of(raw, inside(inside(where, "spans"), index)) if is_span(raw) else None
            if span is not None:
                yield span
    if is_span(item):
        span = span_of(item, where)
        if span is not None:
            yield span


def _resources(item: Mapping[str, Any]) -> Iterator[tuple[list[Any], str]]:
    for key in ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs"):
        if isinstance(item.get(key), list):
            yield item[key], key


def _of_resource(one: Any, where: str) -> Iterator[RawSpan | RawLog]:
    if not isinstance(one, Mapping):
        return
    resource = one.get("resource")
    attributes = attributes_of(resource.get("attributes")) if isinstance(resource, Mapping) else {}
    for key in ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs"):
        scopes = one.get(key)
        for index, scope in enumerate(scopes if isinstance(scopes, list) else ()):
            if isinstance(scope, Mapping):
                yield from _of_scope(scope, inside(inside(where, key), index), attributes)


def _of_scope(scope: Mapping[str, Any], where: str, resource: Mapping[str, Any]) -> Iterator[RawSpan | RawLog]:
    name = _scope_of(scope)
    spans = scope.get("spans")
    for index, raw in enumerate(spans if isinstance(spans, list) else ()):
        if is_span(raw):
            span = span_of(raw, inside(inside(where, "spans"), index), scope=name, resource=resource)
            if span is not None:
                yield span
    for key in ("logRecords", "log_records"):
        records = scope.get(key)
        for raw in records if isinstance(records, list) else ():
            log = log_of(raw)
            if log is not None:
                yield log
