"""Generations inside generations: one call of a model that two tracers saw, or a loop around several calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..spans import Span


def one_generation_each(spans: list[Span]) -> list[Span]:
    """The spans, so that each call of a model is one generation.

    A generation around tools or several generations becomes an agent; of two that are one inside the other, the one
    that tells more stays and the other becomes any step.
    """
    by_id = {span.id: span for span in spans}
    inside: dict[str, list[Span]] = {}
    for span in spans:
        for holder in _holders(span, by_id):
            if holder.kind == "generation":
                inside.setdefault(holder.id, []).append(span)
    kinds: dict[str, str] = {}
    for around, members in inside.items():
        models = [span for span in members if span.kind == "generation"]
        if len(models) > 1 or (models and any(span.kind == "tool" for span in members)):
            kinds[around] = "agent"
        elif models:
            kinds[around if _told(models) >= _told([by_id[around]]) else models[0].id] = "other"
    return [replace(span, kind=kinds[span.id]) if span.id in kinds else span for span in spans]  # type: ignore[arg-type]


def _holders(span: Span, by_id: dict[str, Span]) -> Iterable[Span]:
    seen = {span.id}
    parent = span.parent
    while parent is not None and parent in by_id and parent not in seen:
        seen.add(parent)
        yield by_id[parent]
        parent = by_id[parent].parent


def _told(spans: list[Span]) -> int:
    """How much a generation tells: calls most, then structured messages."""
    total = 0
    for span in spans:
        for messages in (span.input, span.output):
            for message in messages if isinstance(messages, list) else ():
                total += 1 + 10 * len(message.get("tool_calls", ())) + ("tool_call_id" in message)
    return total
