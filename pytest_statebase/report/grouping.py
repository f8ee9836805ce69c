"""What rows say taken together: groups, counts, causes, writes. The terminal and the page tell the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..compare.model import Facet, Group, Kind, Verdict
from ..compare.paths import render_key
from .notes import expired_text
from .raised import error_text, raised_text
from .requestwrites import request_writes
from .rows import Row
from .show import one_line, shorten, shorten_pair, visible

GROUPS = tuple(Group)

PLAN = ".session.yaml"
"""How the names of plans end."""
_GROUP_OF = {verdict.value: verdict.group for verdict in Verdict}


def group_of(verdict: str) -> Group:
    """The group of a verdict; one that this version does not know needs a look."""
    return _GROUP_OF.get(verdict, Group.REVIEW)


def group_of_turn(turn: Row) -> Group:
    """The group of a turn: that of its verdict, `review` where all that speaks against it is known."""
    return Group.REVIEW if turn.get("excused") else group_of(turn["verdict"])


def group_of_row(row: Row) -> Group:
    """The group of a replay: that of its worst turn, `could not run` where it has none."""
    found = {group_of_turn(turn) for turn in judged(row)}
    for group in GROUPS:
        if group in found:
            return Group.FAIL if group in (Group.REVIEW, Group.OK) and row["outcome"] == "failed" else group
    return Group.COULD_NOT_RUN if row["outcome"] == "error" or not row["turns"] else Group.FAIL


def judged(row: Row) -> list[Row]:
    """The turns that count: all but those beyond `until`."""
    return [turn for turn in row["turns"] if not turn.get("beyond_until")]


def name_of(row: Row) -> str:
    """What a replay is called where people read: its item's name, else cassette and fork."""
    return str(row.get("nodeid") or f"{row['cassette']}::{str(row['fork']).replace(' ', '-')}")


def short_name(row: Row) -> str:
    """The name without directories and the suffix of every plan, for lists in which many stand.

    The parameters of a test may look like paths, and stay.
    """
    path, between, rest = name_of(row).partition("::")
    return path.rsplit("/", 1)[-1].removesuffix(PLAN) + between + rest


def cassette_name(row: Row) -> str:
    """The name of the cassette without directories and suffix: what `pytest-statebase show` takes."""
    return str(row["cassette"]).rsplit("/", 1)[-1].removesuffix(PLAN)


def sessions_text(rows: Sequence[Row]) -> str:
    """`8 sessions`, or `16 replays of 8 sessions` where several agents, forks or tests replay the same ones."""
    sessions = {str(row["cassette"]) if str(row["cassette"]).endswith(PLAN) else name_of(row) for row in rows}
    told = plural(len(sessions), "session")
    return told if len(sessions) == len(rows) else f"{plural(len(rows), 'replay')} of {told}"


def root_cause(row: Row) -> tuple[Row, Row] | None:
    """The turn and the divergence from which the others of a replay follow; wording causes nothing, and a turn that
    is fixed was to differ."""
    return next(root_causes(row), None)


def root_causes(row: Row) -> Iterator[tuple[Row, Row]]:
    """Each turn with the divergence that begins in it: one a replay, or one a turn where turns are isolated.

    None where every turn passes: what differs there keeps the replay from nothing.
    """
    turns = judged(row)
    if all(group_of_turn(turn).passes for turn in turns):
        return
    for turn in turns:
        if group_of_turn(turn) is Group.OK or turn.get("excused"):
            continue
        for found in turn["divergences"]:
            if not found.get("note") and not found.get("follows") and found["kind"] != "text":
                yield turn, found
                break


DIFFERENCES = ("other actions", "other output", "only reworded", "no difference", "not judged", "not replayed")
"""In what a turn differs at most, whatever was expected of it; the first matter most."""


def difference_of(turn: Row) -> str:
    """One of `DIFFERENCES`: other calls, state or an exception; another output but for wording; wording alone; …"""
    if turn["replayed"] is None:
        return "not replayed"
    if turn["verdict"] in (Verdict.STALE, Verdict.INCONCLUSIVE):
        return "not judged"
    found = [one for one in turn["divergences"] if not one.get("note") and one["kind"] != Kind.EXPECT]
    if turn["verdict"] in (Verdict.UNRECORDED, Verdict.ERROR) or any(one["facet"] != "output" for one in found):
        return "other actions"
    if any(one["kind"] != Kind.TEXT for one in found):
        return "other output"
    return "only reworded" if found else "no difference"


_SENTENCES = {
    Kind.ARGUMENTS: "another argument",
    Kind.ADDED: "only in the replay",
    Kind.REMOVED: "only in the recording",
    Kind.TYPE: "another type",
    Kind.TEXT: "other words",
    Kind.REPLACED: "another tool in its place",
    Kind.MISSING: "recorded call not made",
    Kind.EXTRA: "call that the recording does not have",
    Kind.MOVED: "call made in another turn than recorded",
    Kind.REORDERED: "call made in another order",
    Kind.RAISED: "raised",
    Kind.EXPECT: "expect does not hold",
    Kind.REVERTED: "as recorded again, not as accepted",
}


_FROM_BASELINE = {
    Kind.REMOVED: "only in the accepted turn",
    Kind.MISSING: "accepted call not made",
    Kind.EXTRA: "call that was not accepted",
}


def sentence(found: Row) -> str:
    """What sort of difference it is, in words to stand beside its path; empty where the two values say it."""
    words = {**_SENTENCES, **_FROM_BASELINE} if found.get("baseline") else _SENTENCES
    return _beside_path(found) or words.get(found["kind"], "")


def _beside_path(found: Row) -> str:
    """What is said of a difference, which does not name again what its path names: a value or a tool."""
    told, path = str(found.get("detail") or ""), str(found.get("path") or "")
    tool = path.removeprefix("tools.").partition("#")[0]
    for name in (path, tool):
        if name and told.startswith(f"{name} "):
            return told[len(name) + 1 :]
    return told


def reads_on(found: Row) -> bool:
    """Whether path and words are one sentence: `tools.refund was called`."""
    return _beside_path(found) != str(found.get("detail") or "")


def words_beside_path(found: Row) -> str:
    """The same, with words also where the two values say it."""
    return sentence(found) or "another value"


def kind_of(cause: Cause) -> Row:
    """The sort of difference that a cause is, for `sentence`, without what is said of one of its places."""
    return {"kind": cause.kind, "baseline": cause.example.get("baseline")}


def side_name(found: Row, side: str) -> str:
    """How a side of a difference is called: the accepted baseline stands in the place of the record.

    A request is set beside the one that is most like it in either file, and that is called the recorded one.
    """
    is_baseline = found.get("baseline") and found["facet"] != Facet.HTTP
    return "accepted" if side == "recorded" and is_baseline else side


def in_one_line(row: Row, *, width: int = 60, now: str = "replayed") -> str:
    """Why a replay did not pass, on one line: the verdicts, what the agent raised, the cause with both values.

    now: what the replayed side is called.
    """
    expired = {visible(expired_text(one)): None for turn in judged(row) for one in turn.get("expired", ())}
    why = _why(row)
    root = root_cause(row)
    turn = root[0] if root else next((turn for turn in judged(row) if not group_of_turn(turn).passes), None)
    raised = raised_text(turn, root[1:] if root else ()) if turn else None
    crash = f"the agent raised {shorten(raised, 2 * width)}" if raised else ""
    if root is None:
        return shorten(": ".join(part for part in (*expired, why, crash) if part), 200)
    turn, found = root
    place = "" if why.startswith(f"turn {turn['turn']} ") else f"turn {turn['turn']} "
    words = "" if found["kind"] == Kind.ARGUMENTS else visible(sentence(found)) + _raised(found, width)
    where = place.rstrip() if found["kind"] == Kind.RAISED else place + visible(found["path"])
    between = " " if reads_on(found) else ", "
    told = between.join(part for part in (where, words) if part)
    return ": ".join(part for part in (*expired, why, crash, told, _both(found, width, now)) if part)


def _raised(found: Row, width: int) -> str:
    """` ValueError: no such order`, for what was raised."""
    error = found.get("replayed")
    if found["kind"] != Kind.RAISED or found.get("detail") or not isinstance(error, dict) or "type" not in error:
        return ""
    return " " + shorten(error_text(error), width)


def _why(row: Row) -> str:
    """`turn 3 changed, turn 4 unrecorded, 7 turns not replayed`."""
    bad = [turn for turn in judged(row) if group_of_turn(turn) is Group.FAIL]
    left = sum(turn["verdict"] == Verdict.NOT_REPLAYED for turn in judged(row))
    if not bad:
        return shorten(visible(row["failure"] or ""), 200)
    parts = [f"turn {turn['turn']} {visible(turn['verdict'])}" for turn in bad[:3]]
    parts += [f"{len(bad) - 3} more"] if len(bad) > 3 else []
    return ", ".join(parts + ([f"{plural(left, 'turn')} not replayed"] if left else []))


def told_sides(found: Row) -> list[str]:
    """The sides whose values say more than the words do."""
    if found["kind"] in (Kind.MOVED, Kind.REORDERED) and found.get("detail"):
        return []
    return [side for side in ("recorded", "replayed") if side in found]


def _both(found: Row, width: int, now: str) -> str:
    if len(told_sides(found)) < 2:
        return ""
    left, right = shorten_pair(one_line(found["recorded"]), one_line(found["replayed"]), width)
    return f"{side_name(found, 'recorded')} {left}, {now} {right}"


@dataclass(slots=True)
class Cause:
    """One difference with the replays, or isolated turns, that begin to diverge with it."""

    kind: str
    path: str
    facet: str
    rows: list[tuple[Row, Row]] = field(default_factory=list)
    """Replay and turn, in order."""
    example: Row = field(default_factory=dict)
    """The first divergence of this kind."""
    prints: set[str] = field(default_factory=set)

    @property
    def sessions(self) -> int:
        """In how many replays it is."""
        return len({id(row) for row, _ in self.rows})

    @property
    def fingerprints(self) -> int:
        """How many different pairs of values it has."""
        return len(self.prints)


def tally(verdicts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Verdicts with their counts, those that fail first, unchanged last."""
    known = [verdict.value for group in GROUPS for verdict in reversed(Verdict) if verdict.group is group]
    others = [name for name in verdicts if name not in known]
    return [(name, verdicts[name]) for name in [*others, *known] if verdicts.get(name)]


def tally_text(verdicts: Mapping[str, int]) -> str:
    """`1 still-failing, 3 unchanged`."""
    return ", ".join(f"{number:,} {visible(name)}" for name, number in tally(verdicts))


def causes(rows: Iterable[Row]) -> list[Cause]:
    """The causes of all replays, the same kind at the same path as one, the most frequent first."""
    found: dict[tuple[str, str], Cause] = {}
    for row in rows:
        for turn, divergence in root_causes(row):
            key = (divergence["kind"], divergence["path"])
            cause = found.setdefault(
                key, Cause(divergence["kind"], divergence["path"], divergence["facet"], example=divergence)
            )
            cause.rows.append((row, turn))
            cause.prints.add(divergence.get("fingerprint", ""))
    return sorted(found.values(), key=lambda cause: -len(cause.rows))


@dataclass(slots=True)
class Write:
    """One call of a tool, or one request, that has an effect, as it was made, missing, extra or unrecorded."""

    row: Row
    turn: Row
    call: Row
    state: str
    """`made`, `changed`, `missing`, `extra`, `unrecorded`, `moved` (answered from another turn), `elsewhere` (what it
    answered there) or `not reached` (the turn ended before it)."""


def writes(rows: Iterable[Row]) -> Iterator[Write]:
    """Every write of the turns that were replayed, by tools and by requests that ask no model, and the recorded ones
    that were not made."""
    for row in rows:
        for turn in judged(row):
            if turn["replayed"] is None:
                continue
            for call in turn["calls"]:
                is_there = call["recorded"] is not None or call["replayed"] is not None
                if is_there and not call.get("reads"):
                    yield Write(row, turn, call, _state_of(call, turn))
            for name, state, said in request_writes(turn):
                side = {"arguments": said}
                yield Write(row, turn, {"tool": name, "recorded": side, "replayed": None}, state)


def _state_of(call: Row, turn: Row) -> str:
    if "unrecorded" in call.get("flags", ()):
        return "unrecorded"
    if call["replayed"] is None:
        return _not_made(call, turn)
    if call["recorded"] is None:
        return "moved" if "moved" in call.get("flags", ()) else "extra"
    if call["replayed"].get("same") or not _is_named(call, turn):
        return "made"
    return "changed"


def _not_made(call: Row, turn: Row) -> str:
    if _is_named(call, turn, "missing", "replaced"):
        return "missing"
    return "not reached" if turn["verdict"] in _BROKE_OFF else "elsewhere"


_BROKE_OFF = frozenset({Verdict.UNRECORDED, Verdict.ERROR, Verdict.STALE, Verdict.INCONCLUSIVE})
"""Verdicts of turns that came to no end of their own."""


def not_reached(turn: Row) -> list[Row]:
    """The recorded calls that a turn would have made, had it not ended early."""
    return [
        call
        for call in turn["calls"]
        if turn["replayed"] is not None
        and call["recorded"] is not None
        and call["replayed"] is None
        and _not_made(call, turn) == "not reached"
    ]


def _is_named(call: Row, turn: Row, *kinds: str) -> bool:
    """Whether a divergence (of these kinds) speaks of this call; an ignored argument or a renamed id is no change."""
    name = call["recorded"].get("tool") or call["tool"]
    path = f"tools.{render_key(name)}{call['label'][len(name) :]}"
    return any(
        (found["path"] == path or found["path"].startswith(path + "."))
        and not found.get("note")
        and (not kinds or found["kind"] in kinds)
        for found in turn["divergences"]
    )


@dataclass(slots=True)
class Totals:
    """What a summary counts."""

    replays: Counter[Group]
    turns: Counter[str]
    """Judged turns by verdict."""
    calls: Counter[str]
    requests: Counter[str]
    """HTTP requests by how they were answered; model calls are named `model_…`."""
    differences: Counter[str]
    """Judged turns by `difference_of`."""
    to_the_end: int
    """Replays that reached the last turn that was asked for."""


def totals(rows: Iterable[Row]) -> Totals:
    """Count once what all summaries tell."""
    found = Totals(Counter(), Counter(), Counter(), Counter(), Counter(), 0)
    for row in rows:
        found.replays[group_of_row(row)] += 1
        found.calls.update(row.get("calls") or {})
        found.requests.update(row.get("requests") or {})
        turns = judged(row)
        found.to_the_end += bool(turns) and turns[-1]["replayed"] is not None
        for turn in turns:
            found.turns[turn["verdict"]] += 1
            found.differences[difference_of(turn)] += 1
    return found


_OTHERS = ("accepted", "authored", "sibling", "simulated", "live", "unrecorded", "unused")


def calls_line(calls: Counter[str]) -> str:
    """`104 answered (2 stale, 3 repeated), 5 authored, 1 unrecorded, 4 unused`."""
    flagged = ", ".join(f"{calls[name]:,} {name}" for name in ("stale", "repeated", "moved") if calls[name])
    parts = [f"{calls['answered']:,} answered" + (f" ({flagged})" if flagged else "")]
    parts += [f"{calls[name]:,} {name}" for name in _OTHERS if calls[name]]
    return ", ".join(parts)


def plural(number: int, word: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
