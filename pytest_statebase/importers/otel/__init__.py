"""Traces of OpenTelemetry → spans: OTLP/JSON, the SDK's own JSON, any-agent's, and bare sets of attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files import inside, stem_of
from ..spans.model import Span
from .attributes import is_known
from .raw import RawLog, RawSpan, attributes_of, is_span, spans_in
from .spans import span_from

__all__ = ["is_otel", "otel_spans"]

_LINE = re.compile(r":[0-9]+\Z")
_HOLDERS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")


def is_otel(document: Any) -> bool:
    """Whether a JSON document is a trace of OpenTelemetry, or a part of one."""
    if isinstance(document, list):
        return any(is_otel(item) for item in document[:20] if isinstance(item, Mapping))
    if not isinstance(document, Mapping):
        return False
    if any(isinstance(document.get(key), list) for key in _HOLDERS) or is_span(document):
        return True
    spans = document.get("spans")
    return (isinstance(spans, list) and any(map(is_span, spans[:20]))) or is_known(document)


def otel_spans(documents: Iterable[tuple[str, Any]]) -> list[Span]:
    """The spans of the documents of one file, events among its logs with the spans that they belong to.

    documents: each with its place: OTLP/JSON (traces and logs), spans as the SDK prints them, traces of any-agent, or
        sets of attributes without a span around them, which are taken for the spans of one trace.
    """
    raws: list[RawSpan] = []
    logs: dict[tuple[str, str], list[RawLog]] = {}
    outputs: dict[int, Any] = {}
    for where, document in documents:
        start = len(raws)
        for found in _in(document, where):
            if isinstance(found, RawLog):
                logs.setdefault((found.trace, found.span), []).append(found)
            else:
                raws.append(found)
        if isinstance(document, Mapping) and document.get("final_output") is not None:
            outputs |= dict.fromkeys(_root(raws, start), document["final_output"])
    spans = [span_from(_with_logs(raw, logs)) for raw in raws]
    for index, output in outputs.items():
        spans[index] = replace(spans[index], output=output)
    return spans


def _in(document: Any, where: str) -> Iterator[RawSpan | RawLog]:
    items = enumerate(document) if isinstance(document, list) else [(None, document)]
    for index, item in items:
        place = where if index is None else inside(where, index)
        if isinstance(item, Mapping) and is_known(item) and not is_span(item):
            yield RawSpan(place, _file(where), None, "", place, attributes=attributes_of(item))
        else:
            yield from spans_in(item, place)


def _file(where: str) -> str:
    """The name of the file, without its directory, of a place in it."""
    return stem_of(Path(_LINE.sub("", where.partition(": ")[0])))


def _root(raws: list[RawSpan], start: int) -> list[int]:
    """Where the outermost span stands whose output the document tells beside its spans."""
    return [index for index in range(start, len(raws)) if raws[index].parent is None][:1]


def _with_logs(raw: RawSpan, logs: Mapping[tuple[str, str], list[RawLog]]) -> RawSpan:
    found = logs.get((raw.trace, raw.id))
    return raw if found is None else replace(raw, events=(*raw.events, *(log.event for log in found)))
