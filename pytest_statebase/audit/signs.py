"""What in a session shows that something went wrong, or was about to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..compare import IgnoreRules, diff
from ..compare.paths import render
from ..ledger import (
    Event,
    Ledger,
    MemoryAdded,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from ..values import ABSENT, freeze
from .given import Given, is_telling, leaves
from .reasons import has_reasons, is_vague
from .words import brief, call_brief, error_brief, output_of

if TYPE_CHECKING:
    from ..cassette.plan import ToolRules

LOOP = 3
"""Equal calls in one turn, with no new one between them, from which on they are a loop."""
_SAME_TEXT = 20
"""Characters from which on an answer that is given twice is no mere `Yes`."""


class Kind(StrEnum):
    """What sort of sign it is."""

    ERROR = "error"
    """The turn ended with an error, or with none of its output."""
    ROLLBACK = "rollback"
    TOOL = "tool error"
    LOOP = "loop"
    AGAIN = "again"
    """A call that writes, made once more with the same arguments; an answer given once more."""
    MADE_UP = "made up"
    """A value in a call or in the state that no user, tool or memory gave."""
    STATE = "state"
    """An unexpected transition: something was taken out, changed its type, or was changed between turns."""
    REASON = "reasoning"
    """It is missing or vague where the session has others."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that shows that something went wrong."""

    turn: int | None
    """None between turns."""
    kind: Kind
    text: str
    """One sentence for a person, on one line."""


@dataclass(slots=True)
class Watch:
    """Goes through a session event by event and tells its signs."""

    ledger: Ledger
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    given: Given = field(default_factory=Given)
    _turn: int | None = None
    _state: Any = ABSENT
    _heard: bool = False
    """The user said something: where all input is in a prompt that was not recorded, nobody knows what was given."""
    _calls: Counter[Any] = field(default_factory=Counter)
    """In this turn."""
    _repeats: int = 0
    """Calls since the last that was new in this turn."""
    _writes: dict[Any, int] = field(default_factory=dict)
    """Calls that worked, with the turn in which they were made."""
    _outputs: dict[str, int] = field(default_factory=dict)
    _reasons: bool = field(init=False)

    def __post_init__(self) -> None:
        self._reasons = has_reasons(self.ledger)

    def see(self, event: Event) -> Iterator[Sign]:
        """The signs of the next event."""
        match event:
            case SessionCreated():
                self._state = event.state
                self.given.add([event.id, event.user_id, event.agent_id, event.metadata or {}], "the session")
                if event.state is not ABSENT:
                    self.given.add(event.state, "state 0")
            case TurnStarted():
                self._turn, self._calls, self._repeats = event.number, Counter(), 0
                self._heard = self._heard or event.input is not None
                self.given.add(event.input, f"the user, turn {event.number}")
            case ToolCalled():
                yield from self._call(event)
            case StateUpdated() | StateRolledBack():
                yield from self._changed(event)
            case MemoryAdded():
                self.given.add(event.content, f"a memory, {self._here}")
            case MemoryUpdated():
                self.given.add(event.changes, f"a memory, {self._here}")
            case MemorySearched():
                self.given.add(event.results, f"a memory found in {self._here}")
            case TurnAdded():
                yield from self._ended(event)
                self._turn = None
            case SessionEnded():
                yield from self._over(event)

    @property
    def _here(self) -> str:
        return "between turns" if self._turn is None else f"turn {self._turn}"

    def _sign(self, kind: Kind, text: str) -> Sign:
        return Sign(self._turn, kind, text)

    def _call(self, call: ToolCalled) -> Iterator[Sign]:
        key = (call.tool, freeze(call.arguments))
        yield from self._made_up(call.arguments, f"{call.tool} was called with")
        if call.failed:
            told = error_brief(call.error) if call.error is not None else brief(call.result)
            yield self._sign(Kind.TOOL, f"{call_brief(call, 60)} failed: {told}")
        self._calls[key] += 1
        self._repeats = self._repeats + 1 if self._calls[key] > 1 else 0
        if self._calls[key] == LOOP and self._repeats >= LOOP - 1:
            yield self._sign(Kind.LOOP, f"{call_brief(call, 60)} was called {LOOP} times or more, nothing new between")
        elif key in self._writes and self._writes[key] != self._turn and self._is_write(call.tool):
            yield self._sign(Kind.AGAIN, f"{call_brief(call, 60)} was made in turn {self._writes[key]} already")
        if not call.failed and self._turn is not None:
            self._writes.setdefault(key, self._turn)
        if call.error is not None:
            self.given.add(dict(call.error), f"the error of {call.tool}, {self._here}")
        elif call.result is not ABSENT:
            self.given.add(call.result, f"{call.tool}, {self._here}")

    def _is_write(self, tool: str) -> bool:
        """Where the plan marks no tool as a read, nobody knows which are."""
        rules = self.tools.get(tool)
        return any(one.reads for one in self.tools.values()) and not (rules is not None and rules.reads)

    def _made_up(self, value: Any, said: str) -> Iterator[Sign]:
        for leaf in leaves(value) if self._heard else ():
            if is_telling(leaf) and self.given.place(leaf) is None:
                yield self._sign(Kind.MADE_UP, f"{said} {brief(leaf)}, which no user, tool or memory gave")

    def _changed(self, event: StateUpdated | StateRolledBack) -> Iterator[Sign]:
        if isinstance(event, StateRolledBack):
            why = f": {brief(event.reason)}" if event.reason else ", without a reason"
            yield self._sign(Kind.ROLLBACK, f"the state went back to version {event.to_version}{why}")
        else:
            yield from self._transition(event)
            if event.during is None:
                yield from self._reasoning(f"state {event.version}", event.reasoning)
        self._state = event.value
        self.given.add(event.value, f"state {event.version}")

    def changes(self, event: StateUpdated) -> list[tuple[str, Any, Any]]:
        """What the next event changes in the state: path, value before and after; ABSENT where there is none."""
        if self._state is ABSENT:
            return [("state", ABSENT, event.value)]
        found = diff(self._state, event.value, prefix=("state",), ignore=IgnoreRules())
        return [(render(one.path), one.recorded, one.replayed) for one in found]

    def _transition(self, event: StateUpdated) -> Iterator[Sign]:
        if self._turn is None:
            by = f" by {event.actor}" if event.actor else ""
            yield self._sign(Kind.STATE, f"state {event.version} was made{by} between turns")
        for path, before, after in self.changes(event):
            if after is ABSENT:
                yield self._sign(Kind.STATE, f"{path} was taken out; it was {brief(before)}")
                continue
            if not _fits(before, after):
                yield self._sign(Kind.STATE, f"{path} changed its type: {brief(before, 30)} → {brief(after, 30)}")
            if self._turn is not None and event.during is None:
                yield from self._made_up(after, f"{path} became")

    def _ended(self, event: TurnAdded) -> Iterator[Sign]:
        output = output_of(event.output)
        kind = event.output.get("type") if isinstance(event.output, Mapping) else None
        if event.error is not None:
            yield self._sign(Kind.ERROR, f"the agent raised {error_brief(event.error)}")
        elif kind == "error":
            yield self._sign(Kind.ERROR, f"the output is an error: {brief(output)}")
        if event.interrupted:
            yield self._sign(Kind.ERROR, "the turn was interrupted")
        if isinstance(output, str) and len(output) >= _SAME_TEXT:
            before = self._outputs.get(output)
            if before is not None:
                yield self._sign(Kind.AGAIN, f"the answer is the same as in turn {before}: {brief(output)}")
            elif self._turn is not None:
                self._outputs[output] = self._turn
        if event.error is None:
            yield from self._reasoning("the turn", event.reasoning)

    def _reasoning(self, what: str, reasoning: str | None) -> Iterator[Sign]:
        if not (reasoning or "").strip():
            if self._reasons:
                yield self._sign(Kind.REASON, f"{what} has no reasoning")
        elif is_vague(reasoning or ""):
            yield self._sign(Kind.REASON, f"the reasoning of {what} says nothing: {brief(reasoning)}")

    def _over(self, event: SessionEnded) -> Iterator[Sign]:
        unfinished = [turn.number for turn in self.ledger.turns if turn.added is None]
        if unfinished:
            yield Sign(unfinished[-1], Kind.ERROR, "the turn was never finished")


def _fits(before: Any, after: Any) -> bool:
    """Whether one value may follow the other: null is nothing yet, whole and broken numbers are numbers."""
    if before is ABSENT or before is None or after is None or type(before) is type(after):
        return True
    numbers = (int, float)
    return type(before) in numbers and type(after) in numbers


def signs_of(ledger: Ledger, tools: Mapping[str, ToolRules] | None = None) -> list[Sign]:
    """The signs of a session, in order.

    tools: what the plan says of them; only where some are marked `reads: true` is a repeated write a sign.
    """
    watch = Watch(ledger, tools or {})
    return [sign for event in ledger.events for sign in watch.see(event)]
