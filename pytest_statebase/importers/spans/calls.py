"""Joins the calls that models asked for to the spans of the tools."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...values import ABSENT, freeze
from ..messages import Message, Request
from .model import Span, moment
from .transcript import Call, Entry

if TYPE_CHECKING:
    from .turns import Told


class Joiner:
    """Knows the calls that have no span yet."""

    def __init__(self) -> None:
        self._open: dict[Hashable, deque[Call]] = {}
        self._joined: set[int] = set()

    def open(self, entries: Iterable[Entry]) -> None:
        """Calls that may have spans."""
        for entry in entries:
            for call in entry.calls:
                for key in _keys_of_call(call):
                    self._open.setdefault(key, deque()).append(call)

    def join(self, told: Told) -> list[Entry]:
        """Give each span of a tool to the call that it carried out: by id, else by name and arguments, else by order.

        Returns entries for the spans that no call asked for; those at once in one.
        """
        made: list[Entry] = []
        kept: dict[str, Call] = {}
        for span in told.spans:
            if span.kind != "tool":
                continue
            around = told.tool_around(span)
            outer = kept.get(around.id) if around is not None else None
            if outer is not None and _is_same(outer, span):
                outer.span = _completed(outer.span, span)
                kept[span.id] = outer
                continue
            call = self._find(span, around) or _make(made, span, around, told)
            call.span = span
            kept[span.id] = call
        return made

    def _find(self, span: Span, around: Span | None) -> Call | None:
        for key in _keys_of_span(span, around):
            calls = self._open.get(key, deque())
            while calls:
                call = calls.popleft()
                if id(call) not in self._joined:
                    self._joined.add(id(call))
                    return call
        return None


def _keys_of_call(call: Call) -> Iterator[Hashable]:
    """Under what a span may ask for a call: one that has an id is not that of a span with another."""
    request, inside = call.request, None if call.inside is None else call.inside.id
    frozen = _frozen(request.arguments)
    if request.id is not None:
        yield "id", request.id
    for is_bare in (True, False) if request.id is None else (False,):
        yield "same", inside, request.tool, is_bare, frozen
        yield "tool", inside, request.tool, is_bare


def _keys_of_span(span: Span, around: Span | None) -> Iterator[Hashable]:
    inside = None if around is None else around.id
    is_bare = span.call_id is not None
    if span.call_id is not None:
        yield "id", span.call_id
    if span.input is not ABSENT:
        yield "same", inside, span.name, is_bare, _frozen(span.input)
    yield "tool", inside, span.name, is_bare


def _is_same(outer: Call, span: Span) -> bool:
    """One call seen twice: by the framework, and by the client that carried it out."""
    above = outer.span
    if above is None or above.name != span.name:
        return False
    return ABSENT in (above.input, span.input) or _frozen(above.input) == _frozen(span.input)


def _completed(outer: Span | None, inner: Span) -> Span:
    if outer is None:
        return inner
    result = inner.output if outer.output is ABSENT else outer.output
    return replace(
        outer,
        input=inner.input if outer.input is ABSENT else outer.input,
        output=result,
        call_id=outer.call_id or inner.call_id,
        error=outer.error or (inner.error if result is ABSENT else None),
    )


def _make(made: list[Entry], span: Span, around: Span | None, told: Told) -> Call:
    """A call of the agent's code; one that began before any other of its step ended is of that step."""
    request = Request(span.name, {} if span.input is ABSENT else span.input, span.call_id)
    entry = made[-1] if made else None
    if entry is None or not _at_once(entry, span, around):
        message = Message("assistant", span.where, None, at=span.began)
        entry = Entry(message, told.number, span.time, told.agent_of(span), made=True)
        made.append(entry)
    end = moment(span.ended)
    entry.until = min(end, entry.until) if end is not None and entry.calls and entry.until is not None else end
    call = Call(request, entry, inside=around)
    entry.calls.append(call)
    return call


def _at_once(entry: Entry, span: Span, around: Span | None) -> bool:
    time = span.time
    return entry.calls[-1].inside is around and time is not None and entry.until is not None and time < entry.until


def _frozen(value: Any) -> Hashable:
    try:
        return freeze(value)
    except (TypeError, RecursionError):
        return object()
