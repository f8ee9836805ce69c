"""Where two sessions part: their steps set side by side as sequences, so that one more step is one difference."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from ..compare import IgnoreRules, diff
from ..compare.diff import Translate
from ..compare.ids import translator
from ..compare.paths import render
from ..compare.sequences import align_keys, likeness, with_gaps
from ..ledger import (
    Event,
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
    input_text,
)
from ..values import ABSENT, freeze, same
from .words import brief, call_brief, error_brief, output_of

Change: TypeAlias = tuple[str, Any, Any]
"""Path, the value in A, the value in B; ABSENT where there is none."""
_MOST = 8


class Sort(StrEnum):
    """What a step is."""

    USER = "user"
    CALL = "call"
    STATE = "state"
    ROLLBACK = "rollback"
    MEMORY = "memory"
    ANSWER = "answer"
    ERROR = "error"
    END = "end"


_WORDED = (Sort.USER, Sort.ANSWER, Sort.MEMORY)
"""Steps that are the same in other words."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened in a session."""

    turn: int | None
    sort: Sort
    told: str
    """For a person, on one line."""
    what: Any
    """What makes it the same step in another session: a call's arguments, how the state changed, a text."""
    result: Any = ABSENT
    """What came back."""
    why: str | None = None

    @property
    def name(self) -> str:
        """What steps of one sort have to have in common to stand beside each other: the tool of a call."""
        return self.what["tool"] if self.sort is Sort.CALL else ""

    @property
    def key(self) -> Hashable:
        return (self.sort, freeze(self.what))


class Relation(StrEnum):
    """How two steps that stand side by side are related."""

    SAME = "same"
    REWORDED = "reworded"
    ARGUMENTS = "other arguments"
    RESULT = "another result"
    CHANGED = "another change"
    ONLY_A = "only in A"
    ONLY_B = "only in B"

    @property
    def parts(self) -> bool:
        """Whether the sessions part there: words alone part nobody."""
        return self not in (Relation.SAME, Relation.REWORDED)


@dataclass(frozen=True, slots=True)
class Row:
    """A step of A and a step of B that belong together, or one that stands alone."""

    a: Step | None
    b: Step | None
    relation: Relation
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Parting:
    """Two sessions side by side."""

    rows: list[Row]
    first: int | None
    """Position in `rows` of the step in which they part; None where they do not."""

    @property
    def together(self) -> int:
        """Steps up to there."""
        return len(self.rows) if self.first is None else self.first

    @property
    def said_otherwise(self) -> list[Row]:
        """What the users said in other words up to there: it may be what makes them part."""
        rows = self.rows if self.first is None else self.rows[: self.first + 1]
        return [row for row in rows if row.relation is Relation.REWORDED and row.a and row.a.sort is Sort.USER]


def part(a: Ledger, b: Ledger) -> Parting:
    """Set two sessions side by side and find where they part.

    They part where one calls another tool, or the same one with other arguments or another result, changes the state
    otherwise, rolls back, raises, or ends otherwise. Other words of the user or of an answer are told, but part
    nobody; what is equal is found again behind what was put in.
    """
    ours, theirs = list(_steps(a)), list(_steps(b))
    pairs = align_keys([step.key for step in ours], [step.key for step in theirs])

    def alike(i: int, j: int) -> float:
        return _alike(ours[i], theirs[j])

    rows: list[Row] = []
    for i, j in with_gaps(pairs, len(ours), len(theirs), alike):
        left, right = None if i is None else ours[i], None if j is None else theirs[j]
        if left is not None and right is not None and not _alike(left, right):
            rows += [_row(left, None), _row(None, right)]
        else:
            rows.append(_row(left, right))
    first = next((at for at, row in enumerate(rows) if row.relation.parts), None)
    return Parting(rows, first)


def _alike(left: Step, right: Step) -> float:
    if left.sort is not right.sort or left.name != right.name:
        return 0.0
    return 0.5 + likeness(left.what, right.what, same)


def _row(left: Step | None, right: Step | None) -> Row:
    if left is None or right is None:
        return Row(left, right, Relation.ONLY_B if left is None else Relation.ONLY_A)
    changes: list[Change] = []
    relation = Relation.SAME
    if left.key != right.key:
        relation = Relation.REWORDED if left.sort in _WORDED else Relation.CHANGED
        relation = Relation.ARGUMENTS if left.sort is Sort.CALL else relation
        changes = _changes(left.what, right.what)
    elif not same(left.result, right.result):
        relation, changes = Relation.RESULT, _changes(left.result, right.result)
    return Row(left, right, relation, tuple(changes[:_MOST]))


def _changes(left: Any, right: Any) -> list[Change]:
    found = diff(left, right, prefix=(), ignore=IgnoreRules())
    return [(render(one.path), one.recorded, one.replayed) for one in found]


# --- The steps of one session


def _steps(ledger: Ledger) -> Iterator[Step]:
    # The session's own id is that of any session.
    neutral = translator({ledger.id: "(this session)"})
    turn: int | None = None
    state: Any = ABSENT
    for event in ledger.events:
        if isinstance(event, TurnStarted):
            turn = event.number
        yield from _steps_of(event, turn, state, neutral)
        if isinstance(event, SessionCreated):
            state = event.state
        elif isinstance(event, (StateUpdated, StateRolledBack)):
            state = event.value
        elif isinstance(event, TurnAdded):
            turn = None


def _steps_of(event: Event, turn: int | None, state: Any, neutral: Translate) -> Iterator[Step]:
    match event:
        case SessionCreated() if event.state is not ABSENT:
            yield Step(None, Sort.STATE, f"begins with {brief(event.state, 100)}", neutral(event.state))
        case TurnStarted() if event.input is not None:
            text = input_text(event.input)
            yield Step(turn, Sort.USER, brief(text, 200), text)
        case ToolCalled():
            what = {"tool": event.tool, "arguments": neutral(event.arguments)}
            yield Step(turn, Sort.CALL, call_brief(event), what, neutral(_result(event)))
        case StateUpdated():
            changed = {path: after for path, _, after in _changes(state, event.value)} if state is not ABSENT else {}
            told = f"state {event.version}: " + ", ".join(f"{path} {brief(item, 40)}" for path, item in changed.items())
            what = neutral(changed if changed else event.value)
            yield Step(turn, Sort.STATE, _cut(told), what, why=event.reasoning)
        case StateRolledBack():
            told = f"state {event.version}: back to version {event.to_version}"
            yield Step(turn, Sort.ROLLBACK, told, event.to_version, why=event.reason)
        case MemoryAdded():
            yield Step(turn, Sort.MEMORY, f"remembers {brief(event.content, 100)}", event.content)
        case MemoryUpdated():
            told = f"changes what it remembers of {brief(event.was, 100)}: {brief(event.changes, 100)}"
            yield Step(turn, Sort.MEMORY, told, [event.was, event.changes])
        case MemoryDeleted():
            yield Step(turn, Sort.MEMORY, f"forgets {brief(event.was, 100)}", [event.was])
        case TurnAdded():
            yield from _endings(event, turn)
        case SessionEnded():
            yield Step(None, Sort.END, f"ends: {event.reason or 'no reason recorded'}", event.reason)


def _endings(event: TurnAdded, turn: int | None) -> Iterator[Step]:
    kind = event.output.get("type") if isinstance(event.output, Mapping) else None
    if event.error is not None:
        yield Step(turn, Sort.ERROR, f"raises {error_brief(event.error)}", dict(event.error), why=event.reasoning)
    elif kind == "error":
        content = output_of(event.output)
        yield Step(turn, Sort.ERROR, f"ends with an error: {brief(content, 100)}", content, why=event.reasoning)
    elif event.output is not ABSENT:
        content = output_of(event.output)
        yield Step(turn, Sort.ANSWER, brief(content, 200), content, why=event.reasoning)


def _result(call: ToolCalled) -> Any:
    if call.error is not None:
        return {"error": dict(call.error)}
    return call.result


def _cut(text: str, width: int = 160) -> str:
    """A line of told values, cut where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"
