"""Results of replays as rows: one JSON-safe mapping a replay."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

from ..compare.model import AlignedCall, Divergence, Kind, ReplayedCall, ReplayResult, Source, TurnResult, Verdict
from ..events import memories_of
from ..ledger import ToolCalled, Turn
from ..values import ABSENT, same
from .cutting import within_budget
from .jsonsafe import json_safe, short_text
from .measures import production_row
from .notes import evolution_row, known_row
from .requestrows import is_write, requests_row, turn_requests
from .timeline import REASON, timeline_row
from .upkeep import upkeep_row
from .withoutsecrets import without_secrets

Row: TypeAlias = dict[str, Any]
"""One replay; see `result_to_row`."""

SNIPPET = 160
"""Characters of a text of an unchanged turn that a row keeps, its reasoning apart."""

_SAME: dict[str, Any] = {"same": True}


def result_to_row(result: ReplayResult, *, nodeid: str | None = None, reads: Collection[str] = ()) -> Row:
    """One replay as a JSON-safe mapping.

    nodeid: the name of pytest's item, where there is one.
    reads: the tools that have no effect (`reads: true`); every other call is listed as a write.

    A turn that is `unchanged` keeps short texts only, its replayed side is `{"same": true}`. Absent values
    have no key, secrets are masked. Values longer than `jsonsafe.VALUE_LIMIT` are cut and say
    their size; where all of them together are longer than `cutting.ROW_LIMIT`, the longest are cut shorter.
    """
    failure = result.failure
    row: Row = {
        "cassette": result.cassette,
        "session": result.session,
        "title": result.title,
        "agent": result.agent,
        "fork": result.fork,
        "until": result.until,
        "mode": result.mode,
        "owner": result.owner,
        "gate": result.gate,
        "outcome": "passed" if failure is None else "failed",
        "failure": failure,
        "message": None,
        "verdicts": dict(result.verdicts),
        "warnings": list(result.warnings),
        "duration_ms": round(result.duration_ms, 1),
        "turns": [_turn(turn, reads) for turn in result.turns],
        "calls": result.counts(),
    }
    upkeep = upkeep_row(result.upkeep)
    if upkeep:
        row["upkeep"] = upkeep
    if result.failing:
        row["failing"] = sorted(result.failing)
    if result.pinned:
        row["pinned"] = list(result.pinned)
    row |= evolution_row(result)
    requests = requests_row(result)
    if requests:
        row["requests"] = requests
    if result.recording is not None:
        row |= timeline_row(result.recording, {turn.turn for turn in result.turns})
        row["production"] = production_row(result.recording)
    clean = within_budget(without_secrets(row))
    return clean if nodeid is None else {**clean, "nodeid": nodeid}


def error_row(
    cassette: str,
    fork: str,
    message: str,
    *,
    nodeid: str | None = None,
    session: str = "",
    agent: str | None = None,
    owner: str | None = None,
    title: str | None = None,
) -> Row:
    """The row of a replay that could not begin: an unreadable file, a fork point that is not there.

    message: the whole error text, several lines where it has them. Secrets in it are masked.
    It blocks whatever the plan's gate is: that a session cannot be replayed is no difference to be lenient with.
    """
    row: Row = {
        "cassette": cassette,
        "session": session,
        "title": title,
        "agent": agent,
        "fork": fork,
        "until": None,
        "mode": None,
        "owner": owner,
        "gate": "block",
        "outcome": "error",
        "failure": message.split("\n", 1)[0],
        "message": message,
        "verdicts": {},
        "warnings": [],
        "duration_ms": 0.0,
        "turns": [],
        "calls": {},
    }
    clean: Row = without_secrets(row)
    return clean if nodeid is None else {**clean, "nodeid": nodeid}


def _turn(turn: TurnResult, reads: Collection[str]) -> Row:
    recorded, replayed = turn.recorded, turn.replayed
    unchanged = turn.verdict is Verdict.UNCHANGED
    row: Row = {
        "turn": turn.turn,
        "verdict": turn.verdict.value,
        "input": short_text(recorded.text, SNIPPET) if unchanged else json_safe(recorded.text),
        "authored": replayed is not None and replayed.authored_input,
        "at": recorded.started.at,
        "version_before": recorded.version_before,
        "version_after": recorded.version_after,
        "recorded": _recorded(turn, unchanged),
        "replayed": None if replayed is None else _SAME if unchanged else _replayed(turn),
        "calls": _calls(turn, unchanged, reads),
        "divergences": [_divergence(found) for found in turn.divergences],
    }
    if recorded.added is not None and recorded.added.actor is not None:
        row["actor"] = recorded.added.actor
    if turn.accepted is not None:
        row["accepted"] = _accepted(turn, turn.accepted)
    if replayed is not None:
        row["duration_ms"] = round(replayed.duration_ms, 1)
    if turn.beyond_until:
        row["beyond_until"] = True
    if turn.known or turn.expired:
        row |= known_row(turn)
    requests = [] if replayed is None else turn_requests(replayed, short=unchanged)
    if unchanged:  # of which nobody needs more than the page counts
        requests = [request for request in requests if is_write(request)]
    if requests:
        row["requests"] = requests
    if turn.reason is not None:
        row["reason"] = turn.reason
    return row


def _calls(turn: TurnResult, unchanged: bool, reads: Collection[str]) -> list[Row]:
    if turn.accepted is not None and turn.replayed is not None:
        return [_call_beside(turn, turn.accepted.calls, pair, reads) for pair in turn.aligned]
    one = _short_call if unchanged else _call
    return [one(turn, *pair, reads) for pair in _pairs(turn)]


def _accepted(turn: TurnResult, side: Turn) -> Row:
    """The baseline between the two sides. Its calls stand beside the others, under `accepted`."""
    return _side(side.output, side.error, None, turn.accepted_state, memories_of(side.events))


def _recorded(turn: TurnResult, unchanged: bool) -> Row:
    recorded = turn.recorded
    output, error = recorded.output, recorded.error
    reasoning = None if recorded.added is None else recorded.added.reasoning
    if unchanged:
        row: Row = {} if output is ABSENT else {"output": short_text(_bare(output), SNIPPET)}
        if error is not None:
            row["error"] = short_text(error, SNIPPET)
        if reasoning is not None:
            row["reasoning"] = json_safe(reasoning, limit=REASON)
        return row
    return _side(output, error, reasoning, turn.recorded_state, memories_of(recorded.events))


def _replayed(turn: TurnResult) -> Row:
    side = turn.replayed
    assert side is not None
    return _side(side.output, side.error, side.reasoning, side.state, side.memory)


def _side(output: Any, error: Any, reasoning: str | None, state: Any, memory: list[dict[str, Any]]) -> Row:
    row: Row = {}
    if output is not ABSENT:
        row["output"] = json_safe(_bare(output))
    if error is not None:
        row["error"] = json_safe(error)
    if reasoning is not None:
        row["reasoning"] = json_safe(reasoning)
    if state is not ABSENT:
        row["state"] = json_safe(state)
    if memory:
        row["memory"] = json_safe(memory)
    return row


def _bare(output: Any) -> Any:
    """The text of a text output, any other one whole."""
    if type(output) is dict and len(output) == 2:
        content = output.get("content")
        if type(content) is str and str(output.get("type", "")).startswith("text"):
            return content
    return output


def _pairs(turn: TurnResult) -> list[tuple[str, ToolCalled | None, ReplayedCall | None]]:
    """The calls side by side; recorded ones that were not reached stand alone."""
    calls, replayed = turn.recorded.calls, turn.calls
    if turn.replayed is None:
        return [(call.tool, call, None) for call in calls]
    return [
        (
            pair.label,
            None if pair.recorded is None else calls[pair.recorded],
            None if pair.replayed is None else replayed[pair.replayed],
        )
        for pair in turn.aligned
    ]


def _short_call(
    turn: TurnResult, label: str, recorded: ToolCalled | None, replayed: ReplayedCall | None, reads: Collection[str]
) -> Row:
    if recorded is None:
        return _call(turn, label, recorded, replayed, reads)
    row: Row = {
        "label": label,
        "tool": recorded.tool,
        "recorded": {"arguments": short_text(recorded.arguments, SNIPPET)},
        "replayed": None if replayed is None else _SAME,
    }
    if recorded.agent is not None:
        row["recorded"]["agent"] = recorded.agent
    if replayed is not None:
        row["source"] = replayed.source.value
        if replayed.stale or replayed.repeated or replayed.renamed or replayed.recorded_turn != turn.turn:
            _flag(row, turn, replayed)
    if recorded.tool in reads:
        row["reads"] = True
    return row


def _call(
    turn: TurnResult, label: str, recorded: ToolCalled | None, replayed: ReplayedCall | None, reads: Collection[str]
) -> Row:
    made = recorded or replayed
    assert made is not None
    row: Row = {"label": label, "tool": replayed.tool if replayed else made.tool}
    row["recorded"] = None if recorded is None else _one_call(recorded)
    if replayed is None:
        row["replayed"] = None
    else:
        row["replayed"] = _SAME if _is_same(recorded, replayed) else _one_call(replayed)
        row["source"] = replayed.source.value
        _flag(row, turn, replayed)
    if recorded is not None and replayed is not None and recorded.tool != replayed.tool:
        row["recorded"]["tool"] = recorded.tool
    if row["tool"] in reads:
        row["reads"] = True
    return row


def _call_beside(turn: TurnResult, accepted: list[ToolCalled], pair: AlignedCall, reads: Collection[str]) -> Row:
    """A call in three columns. An accepted one that was made again says so instead of repeating itself."""
    recorded = None if pair.recorded is None else turn.recorded.calls[pair.recorded]
    replayed = None if pair.replayed is None else turn.calls[pair.replayed]
    kept = None if pair.accepted is None else accepted[pair.accepted]
    if recorded is None and replayed is None:
        assert kept is not None
        row: Row = {"label": pair.label, "tool": kept.tool, "recorded": None, "replayed": None}
    else:
        row = _call(turn, pair.label, recorded, replayed, reads)
    row["places"] = [pair.recorded, pair.accepted, pair.replayed]
    is_again = kept is not None and replayed is not None and kept.tool == replayed.tool
    if kept is not None and is_again and replayed is not None and _equal(kept.arguments, replayed.arguments):
        row["accepted"] = _SAME
    else:
        row["accepted"] = None if kept is None else {"tool": kept.tool, **_one_call(kept)}
    return row


def _equal(left: Any, right: Any) -> bool:
    try:
        return same(left, right)
    except Exception:  # values of strangers: shown twice where they cannot be compared
        return False


def _one_call(call: ToolCalled | ReplayedCall) -> Row:
    row: Row = {"arguments": json_safe(call.arguments)}
    if call.error is not None:
        row["error"] = json_safe(call.error)
    elif call.result is not ABSENT:
        row["result"] = json_safe(call.result)
    if call.agent is not None:
        row["agent"] = call.agent
    return row


def _is_same(recorded: ToolCalled | None, replayed: ReplayedCall) -> bool:
    if recorded is None or recorded.tool != replayed.tool or replayed.source is not Source.RECORD:
        return False
    return (
        _equal(recorded.arguments, replayed.arguments)
        and _equal(recorded.result, replayed.result)
        and _equal(recorded.error, replayed.error)
        and replayed.agent in (None, recorded.agent)
    )


def _flag(row: Row, turn: TurnResult, call: ReplayedCall) -> None:
    elsewhere = call.recorded_turn is not None and call.recorded_turn != turn.turn
    moved = elsewhere and not call.repeated and any(found.kind is Kind.MOVED for found in turn.divergences)
    flags = [
        name
        for name, is_set in (
            ("repeated", call.repeated),
            ("stale", call.stale),
            ("moved", moved),
            ("renamed", call.renamed),
            ("sibling", call.sibling is not None),
            ("unrecorded", call.unrecorded),
        )
        if is_set
    ]
    if flags:
        row["flags"] = flags
    if elsewhere:
        row["from_turn"] = call.recorded_turn
    if call.sibling is not None:
        row["sibling"] = call.sibling
    if call.explanation:
        row["explanation"] = call.explanation


def _divergence(found: Divergence) -> Row:
    row: Row = {"facet": found.facet.value, "kind": found.kind.value, "path": found.path}
    if found.recorded is not ABSENT:
        row["recorded"] = json_safe(found.recorded)
    if found.replayed is not ABSENT:
        row["replayed"] = json_safe(found.replayed)
    row["fingerprint"] = found.fingerprint
    if found.follows is not None:
        row["follows"] = found.follows
    if found.detail is not None:
        row["detail"] = found.detail
    if found.note:
        row["note"] = True
    if found.baseline:
        row["baseline"] = True
    return row
