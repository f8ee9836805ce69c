"""Runs of LangSmith → spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..spans import Span
from .runs import Runs, is_langsmith
from .spans import span_of_example, span_of_run

__all__ = ["is_langsmith", "langsmith_spans"]


def langsmith_spans(documents: Iterable[tuple[str, Any]]) -> list[Span]:
    """The spans of all runs that some documents hold, in no order.

    documents: where each stands in its file, and the JSON document: runs, one, a list, with `child_runs` or flat, the
        batches `{post, patch}` that the SDK sends, answers of the API (`runs`, `data`), examples of a dataset.
    """
    runs = Runs()
    for where, document in documents:
        runs.add(document, where)
    return [*map(span_of_run, runs.runs()), *map(span_of_example, runs.examples)]
