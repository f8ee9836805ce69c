"""What a pulled session is good for, and which of its turns look wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...ledger import (
    Ledger,
    MemoryAdded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
    input_text,
)
from ...values import ABSENT
from ..proposal import shorten
from .raw import Pulled, number_of

_LONGEST_ENTRY = 1_000
_MOST_ENTRIES = 10
Grade = Literal["fully", "partly", "not"]


@dataclass(frozen=True, slots=True)
class Replayable:
    """How far a session can be replayed, and why not further."""

    grade: Grade
    reasons: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """Lines for the plan that make the calls raise whose results tell of a failure."""


def grade(pulled: Pulled, ledger: Ledger, aligned: Mapping[str, int]) -> Replayable:
    """How much of a session a replay can rely on."""
    if not any(turn.input is not None or turn.calls for turn in ledger.turns):
        return Replayable("not", ("no turn with an input was recorded",))
    reasons = [*pulled.missing, *_of_turns(pulled, ledger), *_of_calls(ledger), *_of_states(ledger, aligned)]
    previews = sum(isinstance(event, MemoryAdded) and "preview" in event.extra for event in ledger.events)
    if previews:
        reasons.append(f"{_counted(previews, 'memory', 'memories')} known by a preview only")
    changed = sum(trace.get("action") in ("memory.updated", "memory.deleted") for trace in pulled.traces)
    if changed:
        reasons.append(f"{_counted(changed, 'change')} of memories: they are kept as they stood when they were pulled")
    told = [call for turn in ledger.turns for call in turn.calls if _is_told_failure(call)]
    if told:
        reasons.append(
            f"{_counted(len(told), 'tool call')} of which the result tells a failure: a replay returns that result. "
            "If the tool raised instead, say so in the plan, with the type that it raised"
        )
    return Replayable("partly" if reasons else "fully", tuple(reasons), _answers(told))


def _is_told_failure(call: ToolCalled) -> bool:
    """Whether a call failed as its result says, so that nothing tells whether the tool raised or returned that."""
    return not call.is_error and call.said_failed


def _answers(calls: list[ToolCalled]) -> tuple[str, ...]:
    """The `answers` of a plan that raise instead, one for each call that is short enough."""
    found: dict[str, None] = {}
    for call in calls:
        entry = {"tool": call.tool, "arguments": call.arguments, "error": _raised(call.result)}
        line = json.dumps(entry, ensure_ascii=False, default=str)
        line = line if line.isprintable() else json.dumps(entry, default=str)
        if len(line) <= _LONGEST_ENTRY:
            found[f"  - {line}"] = None
    return ("answers:", *list(found)[:_MOST_ENTRIES]) if found else ()


def _raised(result: Any) -> dict[str, str]:
    told = json.loads(result) if isinstance(result, str) else result
    message = next((told[key] for key in ("error", "message") if told.get(key)), "failed")
    return {"type": "Exception", "message": message if isinstance(message, str) else json.dumps(message, default=str)}


def _of_turns(pulled: Pulled, ledger: Ledger) -> list[str]:
    reasons = []
    numbers = {number for turn in pulled.turns if (number := number_of(turn.get("turn_number"))) is not None}
    told = number_of(pulled.session.get("turn_count")) or 0
    # A count that is out of date is no hole, and a hole may be enormous: what is counted is what is there.
    holes = max(max(numbers, default=0) - len(numbers), told - len(pulled.turns), 0)
    if holes:
        reasons.append(f"{_counted(holes, 'turn')} missing from the list of turns")
    silent = sum(turn.added is not None and turn.output is ABSENT for turn in ledger.turns)
    if silent:
        reasons.append(f"{_counted(silent, 'turn')} without an output")
    if any(turn.added is None for turn in ledger.turns):
        reasons.append("the last turn was not finished")
    return reasons


def _of_calls(ledger: Ledger) -> list[str]:
    calls = [call for turn in ledger.turns for call in turn.calls]
    unasked = sum("arguments" in call.extra for call in calls)
    unanswered = sum(call.result is ABSENT and call.error is None for call in calls)
    unknown = sum(call.tool == "unknown" for call in calls)
    found = ((unasked, "without arguments"), (unanswered, "without a result"), (unknown, "without a tool's name"))
    return [f"{_counted(count, 'tool call')} {what}" for count, what in found if count]


def _of_states(ledger: Ledger, aligned: Mapping[str, int]) -> list[str]:
    if not ledger.versions:
        return ["no state was recorded"]
    reasons = []
    if ledger.versions[0].version != 0:
        reasons.append("the initial state is unknown")
    vague = aligned.get("times", 0) + aligned.get("order", 0)
    if vague:
        how = "by their times alone" if not aligned.get("order") else "without a trace, a turn's state or a time"
        reasons.append(f"{_counted(vague, 'state version')} placed {how}")
    after = _after_the_last_turn(ledger)
    if after:
        what = "an agent that writes its state after it adds a turn has all that it writes in the turn after"
        reasons.append(f"{_counted(after, 'state version')} made after the last turn: {what}")
    return reasons


def _after_the_last_turn(ledger: Ledger) -> int:
    """How many updates no turn follows, where there are turns."""
    found = 0
    for event in reversed(ledger.events):
        if isinstance(event, (TurnAdded, TurnStarted)):
            return found
        found += isinstance(event, StateUpdated)
    return 0


def _counted(number: int, word: str, many: str | None = None) -> str:
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def reasons_to_fail(ledger: Ledger) -> dict[int, list[str]]:
    """Turns that look wrong, with the reasons: an error as output, a rollback after them, failed calls, repetition."""
    found: dict[int, list[str]] = {}
    before: Turn | None = None
    for turn in ledger.turns:
        reasons = [*_of_output(turn, before), *_failed_calls(turn)]
        if reasons:
            found[turn.number] = reasons
        before = turn
    for number, reason in _rolled_back(ledger):
        found.setdefault(number, []).append("the state was rolled back after it" + (f" ({reason})" if reason else ""))
    return found


def _of_output(turn: Turn, before: Turn | None) -> list[str]:
    output = turn.output
    if not isinstance(output, Mapping):
        return []
    if output.get("type") == "error":
        said = next((text for key in ("message", "content") if isinstance(text := output.get(key), str)), "")
        return ["the output is an error" + (f" ({shorten(said)})" if said else "")]
    text = _text(output)
    if before is not None and text and text == _text(before.output) and input_text(turn.input) != before.text:
        return [f"says the same as turn {before.number}"]
    return []


def _text(output: Any) -> str:
    content = output.get("content") if isinstance(output, Mapping) else None
    return " ".join(content.split()) if isinstance(content, str) else ""


def _failed_calls(turn: Turn) -> list[str]:
    return [f"{shorten(call.tool)} failed" + _why(call) for call in turn.calls if call.failed]


def _why(call: ToolCalled) -> str:
    message = (call.error or {}).get("message")
    return f" ({shorten(message)})" if isinstance(message, str) and message else ""


def _rolled_back(ledger: Ledger) -> list[tuple[int, str]]:
    """The turns after which the state was rolled back before the next one began."""
    found = []
    ended: int | None = None
    number = 0
    for event in ledger.events:
        if isinstance(event, TurnStarted):
            number, ended = event.number, None
        elif isinstance(event, TurnAdded):
            ended = number
        elif isinstance(event, StateRolledBack) and ended is not None:
            found.append((ended, shorten(event.reason or "")))
            ended = None
    return found
