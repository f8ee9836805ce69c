"""Generations inside generations: one call of a model that two tracers saw, or a loop around several calls."""

from __future__ import annotations

from dataclasses import replace

from ..spans import Span


def one_generation_each(spans: list[Span]) -> list[Span]:
    """The spans, so that each call of a model is one generation.

    A generation around tools or several generations becomes an agent; of two that are one inside the other, the one
    that tells more stays and the other becomes any step.
    """
    by_id = {span.id: span for span in spans}
    around: dict[str, str | None] = {}
    inside: dict[str, list[Span]] = {}
    for span in spans:
        holder = _generation_around(span, by_id, around)
        seen: set[str] = set()
        while holder is not None and holder not in seen:
            seen.add(holder)
            inside.setdefault(holder, []).append(span)
            holder = _generation_around(by_id[holder], by_id, around)
    kinds: dict[str, str] = {}
    for outer, members in inside.items():
        models = [span for span in members if span.kind == "generation"]
        if len(models) > 1 or (models and any(span.kind == "tool" for span in members)):
            kinds[outer] = "agent"
        elif models:
            kinds[outer if _told(models) >= _told([by_id[outer]]) else models[0].id] = "other"
    return [replace(span, kind=kinds[span.id]) if span.id in kinds else span for span in spans]  # type: ignore[arg-type]


def _generation_around(span: Span, by_id: dict[str, Span], known: dict[str, str | None]) -> str | None:
    """The id of the nearest generation above a span. `known` keeps what was found for all spans on the way."""
    path: dict[str, None] = {}
    found: str | None = None
    at: Span | None = span
    while at is not None and at.id not in path:
        if at.id in known:
            found = known[at.id]
            break
        path[at.id] = None
        at = by_id.get(at.parent) if at.parent is not None else None
        if at is not None and at.kind == "generation" and at.id not in path:
            found = at.id
            break
    known.update(dict.fromkeys(path, found))
    return found


def _told(spans: list[Span]) -> int:
    """How much a generation tells: calls most, then structured messages."""
    total = 0
    for span in spans:
        for messages in (span.input, span.output):
            for message in messages if isinstance(messages, list) else ():
                total += 1 + 10 * len(message.get("tool_calls", ())) + ("tool_call_id" in message)
    return total
