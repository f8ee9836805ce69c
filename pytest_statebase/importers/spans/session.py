"""A conversation of spans → a session with its grade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...errors import ImportFileError
from ...ledger import Event, Ledger, ToolCalled, TurnAdded, TurnStarted
from ...values import ABSENT
from ..chat import ledger_from_parsed
from ..grades import with_reasons
from ..messages import Message, Request
from ..model import Facts, ImportedSession
from ..proposal import first_words, propose_plan
from .content import spoken, structure
from .generations import marked, placed_generations, without_marks
from .grading import grade_of
from .model import Conversation, Span, last_end, milliseconds
from .transcript import Call, Entry
from .turns import Reading, Told

_TRACE = "\0trace"
"""Key under which a message tells its trace until the ledger is made."""


def session_of_spans(
    conversation: Conversation, *, name: str | None = None, metadata: Mapping[str, Any] | None = None
) -> ImportedSession:
    """The session that a conversation's spans tell.

    name: what a person would call it; its id where there is none.
    metadata: what else is known of it.

    Results are those of the tools' spans, else those that the next call of the model was told. States there are none.
    Raises ImportFileError for what is no conversation.
    """
    try:
        return _session(conversation, name, metadata or {})
    except RecursionError:
        what = "is nested too deeply to be read"
        raise ImportFileError(what, where=conversation.where, remedy="Leave the session out.") from None


def _session(conversation: Conversation, name: str | None, metadata: Mapping[str, Any]) -> ImportedSession:
    from ..modelcalls import model_calls

    reading = Reading(conversation)
    calls = _Calls(reading)
    spans = conversation.spans
    facts = Facts(
        id=conversation.id,
        agent=next((span.agent for span in spans if span.agent is not None), None),
        user=next((span.user for span in spans if span.user is not None), None),
        at=next((span.began for span in spans if span.began is not None), None),
        metadata={**({"tracer": conversation.tracer} if conversation.tracer else {}), **metadata},
        end_at=last_end(spans),
    )
    messages = list(_messages(reading, calls))
    if not any(message is not None and message.role != "system" for message in messages):
        raise ImportFileError(
            "holds no message of a user or an agent and no call of a tool",
            where=conversation.where,
            remedy="Have the tracer keep the content of messages: see docs/import.md.",
        )
    told = ledger_from_parsed(messages, facts, conversation.where)
    made = model_calls(placed_generations(reading, list(told.events), calls.of_spans))
    ledger = Ledger(_finished(told, calls, reading))
    notes = (*conversation.notes, *_notes(reading), *made.notes)
    grade = with_reasons(grade_of(ledger, conversation, calls.blank), made.reasons)
    plan = propose_plan(ledger, first_words(ledger))
    return ImportedSession(name or conversation.id, ledger, plan, notes=notes, grade=grade, exchanges=made.exchanges)


class _Calls:
    """Numbers the calls, whose own ids may repeat or be missing."""

    def __init__(self, reading: Reading) -> None:
        self.all = [call for entry in reading.entries for call in entry.calls]
        self._numbers = {id(call): number for number, call in enumerate(self.all)}
        self._of_span = {call.span.id: number for number, call in enumerate(self.all) if call.span is not None}

    def key(self, call: Call) -> str:
        return str(self._numbers[id(call)])

    @property
    def of_spans(self) -> dict[str, str]:
        """The keys of the calls that have a span, by its id."""
        return {span: str(number) for span, number in self._of_span.items()}

    @property
    def blank(self) -> list[str]:
        """The tools of the calls of which the trace has nothing but the name."""
        return [
            call.request.tool
            for call in self.all
            if call.entry.made and call.span is not None and call.span.input is ABSENT and call.span.output is ABSENT
        ]

    def around(self, call: Call) -> str | None:
        """The key of the call inside which a call was made."""
        number = None if call.inside is None else self._of_span.get(call.inside.id)
        return None if number is None else str(number)


def _messages(reading: Reading, calls: _Calls) -> Iterator[Message | None]:
    """What a chat would hold, each call with its result just after it."""
    if reading.system:
        yield Message("system", "", [{"type": "text", "content": reading.system[0]}])
    last = {entry.turn: index for index, entry in enumerate(reading.entries)}
    by_trace: dict[int, list[Entry]] = {told.number: [] for told in reading.traces}
    for entry in reading.entries:
        by_trace[entry.turn].append(entry)
    index = -1
    for told in reading.traces:
        if not told.heard and not told.goes_on:
            yield None
        for entry in by_trace[told.number]:
            index += 1
            yield from _entry(entry, calls, is_last=last[told.number] == index)
        if told.heard and not told.answered and (told.top is not None or told.generations):
            yield Message("assistant", "", None, extra={_TRACE: told.number})


def _entry(entry: Entry, calls: _Calls, *, is_last: bool) -> Iterator[Message]:
    message = entry.message
    if message.role == "user":
        if not entry.aside:
            yield message
        return
    if entry.aside and not entry.calls:
        return
    model = {"model": entry.span.model} if entry.span is not None and entry.span.model and not entry.aside else {}
    requests = [Request(call.request.tool, _arguments(call), calls.key(call)) for call in entry.calls]
    parts = None if entry.aside else message.parts
    yield replace(
        message, parts=parts, requests=requests, name=None, extra={**model, **marked(entry.span), _TRACE: entry.turn}
    )
    for call in entry.calls:
        answer = _answer(call, calls.key(call), is_last=is_last)
        if answer is not None:
            yield answer


def _arguments(call: Call) -> Any:
    """Those that the model gave; where it is not known what it gave, those of the tool's span."""
    given = call.request.arguments
    if given in ({}, "") and call.span is not None and call.span.input is not ABSENT:
        return call.span.input
    return given


def _answer(call: Call, key: str, *, is_last: bool) -> Message | None:
    """The result as a message; None for a call that was not carried out when the trace ended."""
    span, told = call.span, call.answer
    failed = told is not None and told.is_error
    if span is not None and (span.output is not ABSENT or span.error is not None):
        result = ABSENT if span.error is not None else span.output
        return Message("tool", span.where, None, id=key, result=result, is_error=span.is_error or failed)
    if told is not None:
        return replace(told, id=key, name=None, is_error=failed or (span is not None and span.is_error), extra={})
    if span is None and is_last:
        return None
    return Message("tool", "", None, id=key, is_error=span is not None and span.is_error)


def _finished(ledger: Ledger, calls: _Calls, reading: Reading) -> Iterator[Event]:
    """The events with what only the spans know: agents, times, errors, which call is inside which."""
    several = len({entry.agent for entry in reading.entries if entry.agent is not None}) > 1
    ends = {event.metadata[_TRACE]: event for event in ledger.events if isinstance(event, TurnAdded) and event.metadata}
    told = {id(event): reading.traces[number] for number, event in ends.items()}
    positions: dict[str, int] = {}
    for event in ledger.events:
        if isinstance(event, TurnStarted):
            positions = {}
        elif isinstance(event, ToolCalled) and event.id is not None:
            call = calls.all[int(event.id)]
            around = calls.around(call)
            positions[event.id] = len(positions)
            event = _call(event, call, during=positions.get(around or ""), agent=call.entry.agent if several else None)
        elif isinstance(event, TurnAdded):
            event = _ending(event, told.get(id(event)))
        yield event


def _call(event: ToolCalled, call: Call, *, during: int | None, agent: str | None) -> ToolCalled:
    span = call.span
    if span is None:
        return replace(event, id=call.request.id, during=during, agent=agent)
    return replace(
        event,
        id=call.request.id or span.call_id,
        during=during,
        agent=agent,
        at=span.began or event.at,
        latency_ms=milliseconds(span),
        error=dict(span.error) if span.error is not None else None,
    )


def _ending(event: TurnAdded, told: Told | None) -> TurnAdded:
    """The end of a turn; where it is the last of its trace, as the span of the whole tells it."""
    metadata = without_marks({key: value for key, value in (event.metadata or {}).items() if key != _TRACE})
    event = replace(event, metadata=metadata or None)
    if told is None:
        return event
    top, event = told.top, replace(event, at=last_end(told.spans))
    if top is not None and top.error is not None and top.output is ABSENT:
        return replace(event, output=ABSENT, error=dict(top.error))
    if top is not None:
        event = replace(event, output=_output(event.output, top))
    if told.failed is not None and event.output is ABSENT:
        return replace(event, error=dict(told.failed))
    return event


def _output(said: Any, top: Span) -> Any:
    """What the agent gave back, where its span tells it; else what the model said last."""
    if isinstance(top.output, str) and _is_text(said, top.output):
        return said
    value = structure(top.output) if isinstance(top.output, str) else top.output
    is_said = said is not ABSENT and isinstance(said["content"], str) and structure(said["content"]) == value
    if isinstance(value, Mapping) and is_said:
        return {"type": "data", "content": dict(value)}
    text = spoken(top.output, "assistant")
    if text is not None:
        return said if _is_text(said, text) else {"type": "text", "content": text}
    return {"type": "data", "content": dict(value)} if isinstance(value, Mapping) and said is ABSENT else said


def _is_text(said: Any, text: str) -> bool:
    return said is not ABSENT and said["type"] == "text" and said["content"] == text


def _notes(reading: Reading) -> Iterator[str]:
    if count := reading.main.dropped:
        yield f"{_counted(count, 'message')} read otherwise where they were repeated; what was said first counts."
    if count := reading.injected:
        yield f"{_counted(count, 'message')} in the user's name came from the agent's own code and are left out."
    if count := reading.unplaced:
        yield f"In {_counted(count, 'trace')} the history before the user's message is another one; it was left out."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
