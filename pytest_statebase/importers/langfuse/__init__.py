"""Exports of Langfuse → spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..spans import Span
from .nested import one_generation_each
from .rows import Rows, is_langfuse
from .spans import spans_of_trace

__all__ = ["is_langfuse", "langfuse_spans"]


def langfuse_spans(documents: Iterable[tuple[str, Any]]) -> list[Span]:
    """The spans of all traces that some documents hold, in no order.

    documents: where each stands in its file, and the JSON document: the download of a trace or a session, an answer of
        the API, rows of traces and observations (tables, blob storage), one or a list of them, in camel or snake case.
    """
    rows = Rows()
    for where, document in documents:
        rows.add(document, where)
    spans: list[Span] = []
    for trace in rows.traces():
        spans.extend(one_generation_each(spans_of_trace(trace)))
    return spans
