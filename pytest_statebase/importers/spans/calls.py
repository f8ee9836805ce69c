"""Joins the calls that models asked for to the spans of the tools."""

from __future__ import annotations

from collections.abc import Iterable
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
        self._by_tool: dict[str, list[Call]] = {}
        self._by_id: dict[str, list[Call]] = {}

    def open(self, entries: Iterable[Entry]) -> None:
        """Calls that may have spans."""
        for entry in entries:
            for call in entry.calls:
                self._by_tool.setdefault(call.request.tool, []).append(call)
                if call.request.id is not None:
                    self._by_id.setdefault(call.request.id, []).append(call)

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
            call = self._find(span, around)
            if call is None:
                call = _make(made, span, around, told)
            else:
                self._take(call)
            call.span = span
            kept[span.id] = call
        return made

    def _find(self, span: Span, around: Span | None) -> Call | None:
        if span.call_id is not None:
            for call in self._by_id.get(span.call_id, ()):
                return call
        calls = [call for call in self._by_tool.get(span.name, ()) if _fits(call, span, around)]
        wanted = _frozen(span.input)
        same = (call for call in calls if span.input is not ABSENT and _frozen(call.request.arguments) == wanted)
        return next(same, calls[0] if calls else None)

    def _take(self, call: Call) -> None:
        self._by_tool[call.request.tool].remove(call)
        if call.request.id is not None:
            self._by_id[call.request.id].remove(call)


def _fits(call: Call, span: Span, around: Span | None) -> bool:
    """Whether a call may be a span's: not one with another id, nor one made inside another tool."""
    if span.call_id is not None and call.request.id is not None:
        return False
    return call.inside is around or (call.inside is not None and around is not None and call.inside.id == around.id)


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
    """A call of the agent's code; one that began while the one before it ran is of the same step."""
    request = Request(span.name, {} if span.input is ABSENT else span.input, span.call_id)
    last = made[-1] if made else None
    if last is not None and _at_once(last, span, around):
        call = Call(request, last)
        last.calls.append(call)
    else:
        message = Message("assistant", span.where, None, at=span.began)
        last = Entry(message, told.number, span.time, told.agent_of(span), made=True)
        call = Call(request, last)
        last.calls.append(call)
        made.append(last)
    call.inside = around
    return call


def _at_once(entry: Entry, span: Span, around: Span | None) -> bool:
    if any(call.inside is not around for call in entry.calls) or span.time is None:
        return False
    ends = [moment(call.span.ended) for call in entry.calls if call.span is not None]
    return bool(ends) and all(end is not None and span.time < end for end in ends)


def _frozen(value: Any) -> Any:
    try:
        return freeze(value)
    except (TypeError, RecursionError):
        return object()
