"""One row as the page shows it: the session, its turns, their calls and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...compare.model import Group, Kind
from ..grouping import (
    calls_line,
    difference_of,
    group_of,
    group_of_row,
    group_of_turn,
    judged,
    name_of,
    plural,
    root_cause,
    side_name,
    tally,
    told_sides,
    words_beside_path,
)
from ..notes import expired_text, known_text
from ..raised import beside_text, error_text, trace_of, without_trace
from ..rows import Row
from ..show import one_line, pretty, shorten, shorten_pair, size_text, structure, visible
from .requestview import requests_view
from .viewmodel import SLUGS, CallSide, CallView, DivergenceView, Mark, Pair, SessionView, TurnView
from .words import Segment, word_diff

_TURNS = 20
"""Turns of a session that are told."""


def told_turns(row: Row) -> list[Row]:
    """The turns that need a look, of a session that does not pass."""
    return _bad_turns(row)[:_TURNS]


def _bad_turns(row: Row) -> list[Row]:
    return [turn for turn in judged(row) if group_of_turn(turn) is not Group.OK]


def session_view(row: Row, anchor: str, limit: int) -> SessionView:
    """A session that does not pass. limit: characters of a value."""
    group = group_of_row(row)
    root = root_cause(row)
    turns = [_turn(turn, anchor, root[0] if root else None, limit) for turn in told_turns(row)]
    return SessionView(
        anchor=anchor,
        name=visible(name_of(row)),
        title=visible(row["title"]) if row.get("title") else None,
        mark=Mark(group.value, SLUGS[group]),
        why="" if any(turn.mark.slug in ("fail", "norun") for turn in turns) else visible(row.get("failure") or ""),
        message=visible(row["message"], lines=True) if row.get("message") else None,
        facts=_facts(row),
        warnings=[visible(str(warning)) for warning in row.get("warnings", ())],
        turns=turns,
        left=len(_bad_turns(row)) - len(turns),
        marks=_marks(row.get("verdicts") or {}),
        gate="reported, does not fail the run" if row.get("gate") == "warn" else None,
    )


def _marks(verdicts: Mapping[str, int]) -> list[Mark]:
    """`1 still-failing` in the colour of its group."""
    return [Mark(f"{number:,} {visible(name)}", SLUGS[group_of(name)]) for name, number in tally(verdicts)]


def _facts(row: Row) -> list[tuple[str, str]]:
    until = None if row.get("until") is None else f"turn {row['until']}"
    told = {"session": row.get("session"), "agent": row.get("agent"), "fork": row.get("fork"), "until": until}
    told |= {"mode": row.get("mode"), "owner": row.get("owner"), "pinned": ", ".join(row.get("pinned", ()))}
    facts = [(name, visible(str(value))) for name, value in told.items() if value]
    calls = Counter({key: value for key, value in (row.get("calls") or {}).items() if value})
    return facts + ([("calls", calls_line(calls))] if calls else [])


def _turn(turn: Row, anchor: str, cause_turn: Row | None, limit: int) -> TurnView:
    number = turn["turn"]
    name = f"{anchor}-{number}"
    recorded, replayed, accepted = turn["recorded"], turn["replayed"], turn.get("accepted")
    if replayed and "error" in replayed:
        replayed = {**replayed, "error": without_trace(replayed["error"])}
    divergences = [_divergence(found, turn is cause_turn, limit) for found in _told(turn)]

    def pair(key: str) -> Pair | None:
        found = _pair(recorded, replayed, key, limit)
        return found if accepted is None else _three(found, accepted, recorded, replayed, key, limit)

    return TurnView(
        anchor=name,
        number=number,
        mark=Mark(visible(turn["verdict"]), SLUGS[group_of_turn(turn)]),
        at=visible(turn["at"]) if turn.get("at") else None,
        versions=_versions(turn),
        input=clip(visible(turn["input"], lines=True), limit) if turn.get("input") else None,
        authored=bool(turn.get("authored")),
        known=", ".join(visible(known_text(one)) for one in turn.get("known", ())),
        expired=", ".join(visible(expired_text(one)) for one in turn.get("expired", ())),
        reason=visible(turn["reason"], lines=True).strip("\n") if turn.get("reason") else None,
        output=pair("output"),
        error=pair("error"),
        trace=clip(visible(trace, lines=True), limit) if (trace := trace_of(turn)) else None,
        state=pair("state"),
        state_differs=_differs(turn, "state"),
        memory=pair("memory"),
        memory_differs=_differs(turn, "memory"),
        reasoning=pair("reasoning"),
        calls=_by_agent(turn["calls"], limit),
        divergences=[found for found in divergences if found.role != "follows"],
        followers=[found for found in divergences if found.role == "follows"],
        folded=_fold(turn),
        replayed=replayed is not None,
        has_baseline=accepted is not None,
        requests=requests_view(turn.get("requests", ())),
    )


def _differs(turn: Row, facet: str) -> bool:
    return any(found["facet"] == facet and not found.get("note") for found in turn["divergences"])


def _fold(turn: Row) -> str | None:
    if turn["replayed"] is None:
        return "What was recorded"
    if group_of_turn(turn) is not Group.REVIEW:
        return None
    words = difference_of(turn)
    return words if words in ("only reworded", "no difference") else plural(len(turn["divergences"]), "difference")


def _told(turn: Row) -> list[Row]:
    """The differences to list: not the words of an output, which stand side by side below."""
    both = "output" in turn["recorded"] and "output" in (turn["replayed"] or {})
    return [found for found in turn["divergences"] if not (both and found["kind"] == Kind.TEXT)]


def _versions(turn: Row) -> str | None:
    before, after = turn.get("version_before"), turn.get("version_after")
    if before is None and after is None:
        return None
    return f"state version {after}" if before == after else f"state version {before} → {after}"


def clip(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with the size of what there was."""
    return text if len(text) <= limit else f"{text[:limit]}… ({size_text(len(text))} in all)"


def _pair(recorded: Row, replayed: Row | None, key: str, limit: int) -> Pair | None:
    other = replayed or {}
    if key not in recorded and key not in other:
        return None
    if other.get("same"):
        return Pair(_shown(recorded[key], key, limit), None, is_same=True)
    left = _shown(recorded[key], key, limit) if key in recorded else None
    right = _shown(other[key], key, limit) if key in other else None
    if left is None or right is None:
        return Pair(left, right)
    if recorded[key] == other[key] and left == right:
        return Pair(left, right, is_same=True)
    old, new = word_diff(left, right)
    return Pair(left, right, False, old, new) if _is_alike(old, new) else Pair(left, right)


def _three(pair: Pair | None, accepted: Row, recorded: Row, replayed: Row | None, key: str, limit: int) -> Pair | None:
    """A pair with the accepted baseline between its sides; the words of that are set beside those of the replay."""
    if key not in accepted or key == "reasoning":
        return pair if pair is None or pair.is_same or key == "reasoning" else replace(pair, has_baseline=True)
    if pair is not None and pair.is_same and accepted[key] == recorded.get(key):
        return pair
    beside = _pair(accepted, replayed, key, limit) or Pair(None, None)
    left = None if pair is None else pair.recorded
    right = beside.recorded if beside.is_same else beside.replayed
    return Pair(left, right, False, beside.left, beside.right, beside.recorded, True)


def _is_alike(old: Sequence[Segment], new: Sequence[Segment]) -> bool:
    """Whether marks help: where two texts have little in common, everything would be marked."""
    common = sum(len(part.text) for part in old if not part.differs)
    return 3 * common >= max(sum(len(part.text) for part in side) for side in (old, new))


def _shown(value: Any, key: str, limit: int) -> str:
    if key in ("output", "reasoning") and isinstance(value, str) and structure(value) is None:
        return clip(visible(value, lines=True), limit)
    if key == "error":
        rest = beside_text(value)
        return clip(error_text(value) + (f"\n{pretty(rest)}" if rest else ""), limit)
    return clip(_pretty(value), limit)


def _pretty(value: Any, *, width: int = 72) -> str:
    """The value over several lines; of a text that is JSON, what it holds."""
    inner = structure(value) if isinstance(value, str) else None
    return pretty(value if inner is None else inner, width=width)


def _by_agent(calls: Sequence[Row], limit: int) -> list[CallView]:
    """The calls in order, the first of each agent's with its name; where no agent is named, none is told."""
    agents = [_agent(call) for call in calls]
    views = [_call(call, limit) for call in calls]
    if not any(agents):
        return views
    firsts = [position for position, agent in enumerate(agents) if position == 0 or agent != agents[position - 1]]
    return [replace(view, agent=agents[at]) if at in firsts else view for at, view in enumerate(views)]


def _agent(call: Row) -> str:
    """Who made the call; who had made it, where it was not made."""
    sides = [side for side in (call["replayed"], call["recorded"]) if side and side.get("agent")]
    return visible(sides[0]["agent"]) if sides else ""


def _call(call: Row, limit: int) -> CallView:
    recorded, replayed = call["recorded"], call["replayed"]
    same = bool(replayed and replayed.get("same"))
    accepted = call.get("accepted")
    is_accepted = bool(accepted and accepted.get("same"))
    flags = [Mark(visible(name), "fail" if name == "unrecorded" else "review") for name in call.get("flags", ())]
    return CallView(
        label=visible(call["label"]),
        recorded=_call_side(recorded, call, limit, recorded.get("tool")) if recorded else None,
        replayed=None if same or not replayed else _call_side(replayed, call, limit, None),
        is_same=same,
        answer=_answer(call),
        flags=flags,
        explanation=visible(call["explanation"], lines=True).strip("\n") if call.get("explanation") else None,
        reads=bool(call.get("reads")),
        accepted=_call_side(accepted, call, limit, accepted.get("tool")) if accepted and not is_accepted else None,
        is_accepted=is_accepted,
    )


_COLUMN = 54
"""Characters that stand side by side in the table of calls."""


def _call_side(side: Row, call: Row, limit: int, name: str | None) -> CallSide:
    arguments = side.get("arguments")
    has_error = "error" in side
    outcome = side["error"] if has_error else side.get("result")
    is_known = has_error or "result" in side
    return CallSide(
        name=visible(name or call["tool"]),
        arguments=clip(visible(arguments) if isinstance(arguments, str) else pretty(arguments, width=_COLUMN), limit),
        outcome=clip(_pretty(outcome, width=_COLUMN), limit) if is_known else None,
        is_error=has_error,
        agent=visible(side["agent"]) if side.get("agent") else None,
    )


_SOURCES = {
    "record": "the recording",
    "accepted": "the accepted baseline",
    "authored": "the plan’s answers",
    "sibling": "another session",
    "simulated": "the simulator",
    "live": "the tool itself",
    "none": "nothing",
}


def _answer(call: Row) -> str:
    if call["replayed"] is None:
        return "not made"
    source = _SOURCES.get(call.get("source", "none"), visible(str(call.get("source"))))
    return f"{source}, turn {call['from_turn']}" if call.get("from_turn") is not None else source


def _divergence(found: Row, is_cause_turn: bool, limit: int) -> DivergenceView:
    sides = {side: one_line(found[side]) for side in told_sides(found)}
    width = min(limit, 1_500)
    if len(sides) == 2:
        sides = dict(zip(sides, shorten_pair(sides["recorded"], sides["replayed"], width), strict=True))
    return DivergenceView(
        facet="" if found["path"].startswith(found["facet"]) else visible(found["facet"]),
        path=clip(visible(found["path"]), 500),
        words=clip(visible(words_beside_path(found)), 1_000),
        recorded=shorten(sides["recorded"], width + 40) if "recorded" in sides else None,
        replayed=shorten(sides["replayed"], width + 40) if "replayed" in sides else None,
        role=_role(found, is_cause_turn),
        fingerprint=found.get("fingerprint", ""),
        side=side_name(found, "recorded"),
    )


def _role(found: Row, is_cause_turn: bool) -> str:
    if found.get("note"):
        return "note"
    if found["kind"] == Kind.EXPECT:
        return "expect"
    if found.get("follows"):
        return "follows"
    return "cause" if is_cause_turn and found["kind"] != Kind.TEXT else ""
