"""Sessions for other programs: traces as CSV for spreadsheets, turns as JSON Lines for evaluation and training."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..engine.messages import chat_messages
from ..ledger import Ledger, ToolCalled, Trace, Turn
from ..report.jsonsafe import json_safe
from ..report.show import visible
from ..values import ABSENT

if TYPE_CHECKING:
    from ..cassette import Cassette

_NO_LIMIT = 50_000_000
COLUMNS = ("id", "action", "actor", "timestamp", "reasoning", "details")
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def details_json(trace: Trace) -> str:
    """The details of a trace as JSON, whole."""
    return json.dumps(json_safe(dict(trace.details), limit=_NO_LIMIT), ensure_ascii=False)


def trace_rows(traces: Iterable[Trace], *, session: str | None = None, head: bool = True) -> Iterator[str]:
    """The lines of a CSV file of traces; control characters are escaped, and no cell is a formula.

    session: an id for a first column. head: begin with the names of the columns.
    """
    first = () if session is None else (session,)
    if head:
        yield _line((*(() if session is None else ("session",)), *COLUMNS))
    for trace in traces:
        cells = (trace.id, trace.action, trace.actor, trace.timestamp, trace.reasoning, details_json(trace))
        yield _line([_cell(visible(cell or "")) for cell in (*first, *cells)])


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _cell(text: str) -> str:
    """Spreadsheets run what begins like a formula; an apostrophe in front makes it text to them."""
    return "'" + text if text.lstrip().startswith(("=", "+", "-", "@")) else text


def turn_lines(cassette: Cassette, *, with_failing: bool = True) -> Iterator[str]:
    """One line of JSON a turn: `messages` from the session's start to the turn's answer, `tools`, and what it is about.

    Turns without an answer are left out; without `with_failing` those that the plan marks as wrong are, and what came
    after the first of them, because it has the mistake in its messages.
    """
    ledger, plan = cassette.ledger, cassette.plan
    tools = tools_of(ledger)
    messages: list[dict[str, Any]] = []
    for turn in ledger.turns:
        if not with_failing and turn.number in plan.failing:
            return
        messages += chat_messages([turn])
        if _is_answered(turn):
            yield _json({**_about(cassette, turn), "messages": messages, "tools": tools})


def session_line(cassette: Cassette, *, with_failing: bool = True) -> str | None:
    """A whole session as one line of JSON; without `with_failing` up to the first turn that is marked as wrong.

    None where no turn with an answer is left.
    """
    ledger, plan = cassette.ledger, cassette.plan
    turns = [turn for turn in ledger.turns if with_failing or all(turn.number < other for other in plan.failing)]
    while turns and not _is_answered(turns[-1]):
        turns.pop()
    if not turns:
        return None
    failing = sorted(plan.failing & {turn.number for turn in turns})
    about = {"id": ledger.id, "agent": plan.agent or ledger.created.agent_id, "failing": failing}
    return _json({**about, "messages": chat_messages(turns), "tools": tools_of(ledger)})


def _is_answered(turn: Turn) -> bool:
    """An error that stands in the place of an answer is none to learn from, and none to judge."""
    output = turn.output
    return turn.error is None and isinstance(output, Mapping) and output.get("type") != "error"


def _about(cassette: Cassette, turn: Turn) -> dict[str, Any]:
    ledger, plan, added = cassette.ledger, cassette.plan, turn.added
    return {
        "id": f"{ledger.id}#{turn.number}",
        "session": ledger.id,
        "turn": turn.number,
        "agent": plan.agent or ledger.created.agent_id,
        "failing": turn.number in plan.failing,
        "reasoning": added.reasoning if added else None,
        "metadata": dict(added.metadata or {}) if added else {},
        "state_before": _state(ledger, turn.version_before),
        "state_after": _state(ledger, turn.version_after),
    }


def _state(ledger: Ledger, version: int | None) -> Any:
    return None if version is None else ledger.version_of(version).state


def tools_of(ledger: Ledger) -> list[dict[str, Any]]:
    """The tools that were called, as function definitions made of the arguments that were seen."""
    seen: dict[str, list[ToolCalled]] = {}
    for turn in ledger.turns:
        for call in turn.calls:
            if call.during is None:
                seen.setdefault(call.tool, []).append(call)
    return [
        {"type": "function", "function": {"name": tool, "parameters": _parameters(calls)}}
        for tool, calls in seen.items()
    ]


def _parameters(calls: list[ToolCalled]) -> dict[str, Any]:
    found: dict[str, dict[str, None]] = {}
    given = [call.arguments for call in calls if isinstance(call.arguments, Mapping)]
    for arguments in given:
        for name, value in arguments.items():
            types = found.setdefault(str(name), {})
            types[_TYPES.get(type(value), "null" if value is None or value is ABSENT else "string")] = None
    properties = {
        name: {"type": next(iter(types)) if len(types) == 1 else list(types)} for name, types in found.items()
    }
    required = [name for name in found if all(name in arguments for arguments in given)]
    return {"type": "object", "properties": properties, "required": required}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(json_safe(value, limit=_NO_LIMIT), ensure_ascii=True)
