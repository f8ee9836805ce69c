"""A session turn by turn, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cassette import Cassette
from ..ledger import (
    Event,
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
    input_text,
    state_of,
)
from ..report.times import parse_time
from ..values import ABSENT
from .expects import recording_meets, rules_of
from .output import BLUE, BOLD, CYAN, DIM, GREEN, RED, YELLOW, Style, labelled, wrapped
from .values_text import answer_lines, call_text, change_lines, error_text, value_lines, value_text

if TYPE_CHECKING:
    from ..cassette.accepted import Accepted, AcceptedCall
    from ..report.terminal import Line

_INDENT = 11
_TEXT_LINES = 6


@dataclass(slots=True)
class Teller:
    """Tells one session; `full` cuts nothing."""

    cassette: Cassette
    width: int
    full: bool = False
    accepted: Accepted | None = None
    _state: Any = ABSENT
    _between: bool = False

    @property
    def ledger(self) -> Ledger:
        return self.cassette.ledger

    def lines(self, only: int | None = None) -> Iterator[Line]:
        """Every event of the session, or of one turn with the state as it began."""
        turn: Turn | None = None
        if only is not None:
            self.ledger.turn(only)
        for event in self.ledger.events:
            if isinstance(event, TurnStarted):
                turn = self.ledger.turn(event.number)
            told = list(self._event(event, turn))
            if only is None or (turn is not None and turn.number == only):
                yield from self._state_line(turn) if isinstance(event, TurnStarted) and only is not None else ()
                yield from told
            if isinstance(event, TurnAdded):
                turn = None
        yield from self._answers() if only is None else ()

    def _event(self, event: Event, turn: Turn | None) -> Iterator[Line]:
        if turn is None and not self._between and not isinstance(event, (SessionCreated, SessionEnded)):
            self._between = True
            yield from ([], [("between turns", BOLD)])
        match event:
            case SessionCreated():
                yield from self._created(event)
            case TurnStarted() if turn is not None:
                yield from self._started(turn)
            case Said():
                yield from self._text("said", event.text)
            case ToolCalled():
                yield from self._call(event, turn)
            case StateUpdated() | StateRolledBack():
                yield from self._changed(event)
            case MemoryAdded():
                tags = f" [{', '.join(event.tags)}]" if event.tags else ""
                yield from self._text("memory", f"{event.type}: {event.content}{tags}", CYAN)
            case MemoryUpdated():
                told = ", ".join(f"{name} {value}" for name, value in event.changes.items())
                yield from self._text("memory", f"changed: {event.was} → {told}", CYAN)
            case MemoryDeleted():
                yield from self._text("memory", f"deleted: {event.was}", CYAN)
            case MemorySearched():
                yield from self._searched(event)
            case TurnAdded() if turn is not None:
                yield from self._ended(turn, event)
            case SessionEnded():
                yield from self._over(event)

    def _text(self, label: str, text: str, style: Style | None = None) -> Iterator[Line]:
        lines = wrapped(text, self.width - _INDENT, most=None if self.full else _TEXT_LINES)
        yield from labelled(label, lines, style)

    def _created(self, event: SessionCreated) -> Iterator[Line]:
        if event.state is not ABSENT:
            self._state = event.state
            yield []
            yield from labelled("state 0", value_lines(event.state, self.width - _INDENT, full=self.full), CYAN)
        if self.full and event.metadata:
            yield from labelled("metadata", value_lines(event.metadata, self.width - _INDENT, full=True), DIM)

    def _state_line(self, turn: Turn | None) -> Iterator[Line]:
        """The state as a turn began, for one that is shown alone."""
        if turn is None or turn.version_before is None:
            return
        state = self.ledger.version_of(turn.version_before).state
        lines = value_lines(state, self.width - _INDENT, full=self.full)
        yield []
        yield from labelled(f"state {turn.version_before}", lines, CYAN)

    def _started(self, turn: Turn) -> Iterator[Line]:
        self._between = False
        plan = self.cassette.plan
        marks: Line = [("  failing", {**RED, **BOLD})] if turn.number in plan.failing else []
        if self.accepted is not None and turn.number in self.accepted.turns:
            marks.append(("  accepted", {**YELLOW, **BOLD}))
        moment = parse_time(turn.started.at)
        when = f"  {moment:%Y-%m-%d %H:%M:%S}" if moment else ""
        yield []
        yield [(f"turn {turn.number}", BOLD), *marks, (when, DIM)]
        if turn.is_opening:
            yield from labelled("user", ["(nothing: the agent speaks first)"], DIM)
        else:
            yield from self._text("user", turn.text, BLUE)
        if turn.number in plan.inputs:
            yield from self._text("instead", f"{plan.inputs[turn.number]}  (the plan's `inputs`)", YELLOW)

    def _call(self, call: ToolCalled, turn: Turn | None) -> Iterator[Line]:
        width = self.width - _INDENT
        most = None if self.full else 3
        yield from labelled(
            "call", wrapped(call_text(call.tool, call.arguments) + _aside(call, turn), width, most=most)
        )
        for line in answer_lines(call, width - 2, full=self.full):
            yield [(" " * (_INDENT + 2), {}), (line, RED if call.failed else GREEN)]

    def _changed(self, event: StateUpdated | StateRolledBack) -> Iterator[Line]:
        width = self.width - _INDENT
        lines = list(change_lines(self._state, event.value, width, full=self.full))
        if isinstance(event, StateRolledBack):
            lines.insert(0, f"rolled back to version {event.to_version}")
        self._state = state_of(event)
        yield from labelled(f"state {event.version}", lines, CYAN)
        why = event.reason if isinstance(event, StateRolledBack) else event.reasoning
        by = f"by {event.actor}" if event.actor else ""
        told = "  ".join(part for part in (f"why: {why}" if why else "", by) if part)
        for line in wrapped(told, width, most=None if self.full else 3) if told else []:
            yield [(" " * _INDENT + line, DIM)]

    def _searched(self, event: MemorySearched) -> Iterator[Line]:
        yield from self._text("search", event.query, CYAN)
        for result in event.results if self.full else event.results[:3]:
            for line in wrapped(value_text(result), self.width - _INDENT - 2, most=None if self.full else 2):
                yield [(" " * (_INDENT + 2) + line, {})]

    def _ended(self, turn: Turn, event: TurnAdded) -> Iterator[Line]:
        width = self.width - _INDENT
        if event.error is not None:
            yield from self._text("raised", error_text(event.error), RED)
        if event.output is not ABSENT:
            yield from self._output(event.output)
        elif event.error is None:
            yield from labelled("agent", ["(no output recorded)"], DIM)
        if event.interrupted:
            yield from labelled("", ["(interrupted)"], YELLOW)
        if event.reasoning:
            yield from self._text("why", event.reasoning, DIM)
        if self.full and event.metadata:
            yield from labelled("metadata", value_lines(event.metadata, width, full=True), DIM)
        yield from self._baseline(turn)
        yield from self._expect(turn)

    def _baseline(self, turn: Turn) -> Iterator[Line]:
        """What was accepted instead of the recorded turn."""
        accepted = self.accepted.turns.get(turn.number) if self.accepted else None
        if accepted is None:
            return
        most = None if self.full else 3
        lines = [line for call in accepted.calls for line in self._accepted_call(call)]
        if accepted.error is not None:
            lines += wrapped(f"raised {error_text(accepted.error)}", self.width - _INDENT, most=most)
        if accepted.output is not ABSENT:
            content = accepted.output.get("content") if isinstance(accepted.output, dict) else accepted.output
            lines += wrapped(
                content if isinstance(content, str) else value_text(content), self.width - _INDENT, most=most
            )
        if accepted.state is not ABSENT:
            lines += wrapped(f"state {value_text(accepted.state)}", self.width - _INDENT, most=most)
        yield from labelled("accepted", lines or ["(no calls and no output)"], YELLOW)

    def _accepted_call(self, call: AcceptedCall) -> list[str]:
        source = f"  ({call.source})" if call.source else ""
        return wrapped(
            call_text(call.tool, call.arguments) + source, self.width - _INDENT, most=None if self.full else 3
        )

    def _output(self, output: Any) -> Iterator[Line]:
        content = output.get("content") if isinstance(output, dict) and "content" in output else output
        if isinstance(content, str):
            yield from self._text("agent", content or '""', BOLD)
        else:
            yield from labelled("agent", value_lines(content, self.width - _INDENT, full=self.full), BOLD)

    def _expect(self, turn: Turn) -> Iterator[Line]:
        """What the plan expects of the turn, and whether the recording is so."""
        plan = self.cassette.plan
        expect = plan.expect.get(turn.number)
        if expect is None:
            if turn.number in plan.failing:
                yield from labelled(
                    "expect",
                    [f"nothing yet: `pytest-statebase expect {self.cassette.name} {turn.number}` drafts it"],
                    YELLOW,
                )
            return
        for number, rule in enumerate(rules_of(expect)):
            meets = recording_meets(rule.alone, self.ledger, turn.number)
            told = wrapped(f"{rule.text}  ({'so' if meets else 'not so'} in the recording)", self.width - _INDENT)
            yield from labelled("" if number else "expect", told, YELLOW)

    def _over(self, event: SessionEnded) -> Iterator[Line]:
        unfinished = [turn.number for turn in self.ledger.turns if turn.added is None]
        yield []
        told = "ended" + (f": {event.reason}" if event.reason else "")
        told += f"  (turn {unfinished[-1]} was not finished)" if unfinished else ""
        yield [(told, DIM)]
        if event.input is not None:
            yield from self._text("user", f"{input_text(event.input)}  (never answered)", BLUE)

    def _answers(self) -> Iterator[Line]:
        """The answers that the plan gives, in whatever turn they are asked for."""
        for number, answer in enumerate(self.cassette.plan.answers):
            if not number:
                yield from ([], [("answers of the plan, in any turn", BOLD)])
            call = ToolCalled(answer.tool, answer.arguments, answer.result, answer.error)
            yield from self._call(call, None)


def _aside(call: ToolCalled, turn: Turn | None) -> str:
    """What else is known of a call: `  (118 ms, at once with others, by researcher)`."""
    parts = [f"{call.latency_ms:,.0f} ms"] if call.latency_ms else []
    others = turn.calls if turn else []
    if call.step is not None and sum(other.step == call.step for other in others) > 1:
        parts.append(f"step {call.step}, at once with others")
    if call.during is not None:
        parts.append(f"inside {others[call.during].tool}" if call.during < len(others) else "inside another call")
    if call.agent:
        parts.append(f"by {call.agent}")
    return f"  ({', '.join(parts)})" if parts else ""
