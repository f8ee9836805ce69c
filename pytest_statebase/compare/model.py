"""What a comparison finds, turn by turn: divergences, verdicts and results."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..ledger import Ledger, Turn
from ..values import ABSENT
from ..wire.exchange import Exchange, Request
from .groups import Group as Group
from .groups import Verdict as Verdict

if TYPE_CHECKING:
    from ..cassette.plan import Known
    from .diff import Difference


class Facet(StrEnum):
    """The sides of a turn that are compared. In the order in which one may cause the next."""

    ERROR = "error"
    TOOLS = "tools"
    HTTP = "http"
    STATE = "state"
    MEMORY = "memory"
    OUTPUT = "output"


class Kind(StrEnum):
    """What sort of difference a divergence is."""

    VALUE = "value"
    """Another value of the same type."""
    TYPE = "type"
    """A value of another type."""
    ADDED = "added"
    """Only the replayed side has it."""
    REMOVED = "removed"
    """Only the recorded side has it."""
    TEXT = "text"
    """The wording of the output."""
    ARGUMENTS = "arguments"
    """The same tool called with another argument."""
    REPLACED = "replaced"
    """Another tool called in the place of the recorded one."""
    MISSING = "missing"
    """A recorded call that was not made."""
    EXTRA = "extra"
    """A call that the recording does not have in this turn."""
    MOVED = "moved"
    """A call answered from another turn, where it was not made."""
    REORDERED = "reordered"
    """A call made before or after another one that it followed or preceded."""
    RAISED = "raised"
    """The agent raised where it did not, or raised something else."""
    EXPECT = "expect"
    """A rule of the plan's `expect` does not hold."""
    REVERTED = "reverted"
    """As recorded again, where something else was accepted."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """One difference between the recorded and the replayed side of a turn."""

    facet: Facet
    kind: Kind
    path: str
    """Can be pasted into `ignore`: `state.cart[0].added_at`, `tools.lookup_order#2.arguments.id`."""
    recorded: Any = ABSENT
    replayed: Any = ABSENT
    follows: str | None = None
    """The fingerprint of the divergence that probably caused this one."""
    detail: str | None = None
    """One sentence more for a person, where kind and values do not say it all."""
    note: bool = False
    """Shown but not judged: a made-up id renamed one-to-one."""
    baseline: bool = False
    """`recorded` is the value of the accepted baseline, which the turn is judged against."""

    @property
    def fingerprint(self) -> str:
        """12 hexadecimal digits, equal for the same difference in any session, turn, run or Python version."""
        text = "\x00".join((self.facet, self.kind, self.path, stable_text(self.recorded), stable_text(self.replayed)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def stable_text(value: Any) -> str:
    """A text of a value that depends neither on key order nor on memory addresses."""
    try:
        return _stable(value)
    except Exception:  # recorded objects are strangers: their repr may do anything, and depth ends Python's recursion
        return type(value).__qualname__


def _stable(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{_stable(key)}:{_stable(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[" + ",".join(map(_stable, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return "set[" + ",".join(sorted(map(_stable, value))) + "]"
    try:
        text = repr(value)
    except Exception:  # as above; the values around it still count
        text = ""
    return type(value).__qualname__ if not text or " at 0x" in text else text


class Source(StrEnum):
    """Where the answer of a replayed call came from."""

    RECORD = "record"
    ACCEPTED = "accepted"
    """The accepted baseline of this turn."""
    AUTHORED = "authored"
    """The plan's `answers`."""
    SIBLING = "sibling"
    """A recording of another session, named in `stubs_from`."""
    SIMULATED = "simulated"
    """The user's own simulator."""
    LIVE = "live"
    """The tool itself, which ran (`statebase_unrecorded = call`)."""
    NONE = "none"
    """Nothing answered: unrecorded, or refused after a miss."""


@dataclass(slots=True, eq=False)
class ReplayedCall:
    """One call that the agent under test made, with where its answer came from."""

    tool: str
    arguments: Any
    turn: int
    source: Source = Source.NONE
    recorded_turn: int | None = None
    """For an answer from the record (or the accepted baseline): its turn and the position among its calls, from 0."""
    recorded_index: int | None = None
    repeated: bool = False
    """Answered by a recording that had answered before."""
    stale: bool = False
    """Answered by a recording made after other writes than this replay has made."""
    renamed: bool = False
    """Matched but for ids or times that the agent makes up on each run."""
    unrecorded: bool = False
    """The miss that ended the turn."""
    explanation: str | None = None
    """For a miss: the nearest recording, what differs, and the `answers` entry to paste."""
    result: Any = ABSENT
    error: Mapping[str, Any] | None = None
    step: int | None = None
    agent: str | None = None
    """Which of several agents made the call, where that is known."""
    origin: str | None = None
    """For an answer from the accepted baseline: what had given it (`simulated`, `sibling`, `authored` or `live`)."""
    sibling: str | None = None
    """For an answer of a sibling: the id of the session that it comes from."""


@dataclass(slots=True, eq=False)
class ReplayedRequest:
    """One HTTP request that the agent under test made, with where its answer came from."""

    method: str
    address: str
    """`https://api.example.com/v1/x`: no query, no credentials."""
    turn: int
    source: Source = Source.NONE
    """RECORD, ACCEPTED, LIVE or NONE."""
    recorded_turn: int | None = None
    recorded_index: int | None = None
    """For an answer from the recording (or the accepted one): the position among its exchanges, from 0."""
    model: bool = False
    """It went to a model."""
    renamed: bool = False
    """Matched but for ids or times that the agent makes up on each run."""
    unrecorded: bool = False
    """The miss that ended the turn."""
    kept: bool = False
    """Answered by what an earlier run had brought live."""
    explanation: str | None = None
    hint: str | None = None
    """For a miss: what to do, a line each."""
    differences: Sequence[Difference] = ()
    """For a miss: from the recorded request that is most like it, at the same address."""
    asked: Request | None = None
    """What was sent, without its secrets; None where `exchange` has just that."""
    exchange: Exchange | None = None
    """What answered it; for a miss, the recorded one that is most like it."""


@dataclass(slots=True)
class Observed:
    """The replayed side of one turn, as the runner saw it."""

    number: int
    calls: list[ReplayedCall] = field(default_factory=list)
    output: Any = ABSENT
    """`{type, content}` or ABSENT."""
    error: Mapping[str, Any] | None = None
    """What the agent raised: `{type, message, …}`."""
    state: Any = ABSENT
    """The state at the turn's end; ABSENT where none is known."""
    memory: list[dict[str, Any]] = field(default_factory=list)
    """What was added to memory in the turn, in order (see `memories_of`)."""
    reasoning: str | None = None
    authored_input: bool = False
    requests: list[ReplayedRequest] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    """HTTP exchanges of the turn that the recording does not hold: accepted and live ones."""
    stale: str | None = None
    """Why no model recording answers: the prompt moved, or there is none."""
    inconclusive: str | None = None
    """Why the turn could not be judged: a provider failed, or a budget ended."""
    missed: bool = False
    """A call had no answer: what came after it is not compared."""
    duration_ms: float = 0.0
    renames: Mapping[str, str] = field(default_factory=dict)
    """Made-up ids, recorded to replayed, as the matching of calls found them."""


@dataclass(slots=True)
class AlignedCall:
    """One row of the two call lists set side by side."""

    recorded: int | None
    """Position among the recorded turn's calls, None for an extra call."""
    replayed: int | None
    """Position among the replayed calls, None for a missing one."""
    label: str
    """`lookup_order`, and `lookup_order#2` for the second of its name in the turn."""
    accepted: int | None = None
    """Position among the calls of the accepted baseline, where there is one."""


@dataclass(slots=True)
class TurnResult:
    """One turn of a replay, judged."""

    turn: int
    verdict: Verdict
    recorded: Turn
    replayed: Observed | None
    """None where the turn was not replayed."""
    divergences: list[Divergence] = field(default_factory=list)
    aligned: list[AlignedCall] = field(default_factory=list)
    recorded_state: Any = ABSENT
    """The recorded state at the turn's end."""
    beyond_until: bool = False
    """Not replayed because `until` says so, which fails nothing."""
    reason: str | None = None
    """Why it was not replayed, or what to do next (the `expect` to paste)."""
    known: tuple[Known, ...] = ()
    """The entries of the plan's `known` that excuse divergences of this turn, or the turn that ended the replay."""
    expired: tuple[Known, ...] = ()
    """Entries that would, if their day had not passed."""
    excused: bool = False
    """The turn fails nothing: all that speaks against it is known."""
    accepted: Turn | None = None
    """The accepted baseline of the turn, which `divergences` are from; None where it has none."""
    accepted_state: Any = ABSENT
    """The state at the turn's end that was accepted."""
    from_record: list[Divergence] = field(default_factory=list)
    """For a turn with a baseline: how it differs from the record."""

    @property
    def group(self) -> Group:
        """The group of the verdict; `review` where it is excused."""
        return Group.REVIEW if self.excused else self.verdict.group

    @property
    def calls(self) -> list[ReplayedCall]:
        """The calls that the agent made in this turn."""
        return self.replayed.calls if self.replayed else []


@dataclass(frozen=True, slots=True)
class Unbound:
    """A tool of which recorded calls do not fit the function as it is today."""

    tool: str
    calls: int
    lacks: tuple[str, ...] = ()
    """Arguments that the function needs and these calls do not have."""
    unknown: tuple[str, ...] = ()
    """Arguments that these calls have and the function does not take."""


@dataclass(frozen=True, slots=True)
class KnownUse:
    """An entry of `known` in one replay."""

    entry: Known
    matched: bool
    """A divergence of the replay has its fingerprint."""
    expired: bool


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Which rules and baselines a replay was run with, and which it needed: over a whole run, those of no use show."""

    own: Mapping[str, bool] = field(default_factory=dict)
    """The plan's own `ignore` rules: whether each hid anything. Where a replay had to stop, those alone that did."""
    inherited: Mapping[str, bool] = field(default_factory=dict)
    """The same of rules that come from `statebase.yaml`."""
    accepted: tuple[int, ...] = ()
    """Turns with an accepted baseline."""
    reached: tuple[int, ...] = ()
    """Those of them that were to be replayed."""
    problems: tuple[str, ...] = ()
    """What is wrong with the accepted file as a whole."""
    partial: bool = False
    """The replay had to stop: what it did not use may matter all the same."""


@dataclass(slots=True)
class ReplayResult:
    """One replay of one cassette, judged."""

    cassette: str
    """The plan's path as given, or the record's id where there is no file."""
    session: str
    agent: str | None
    fork: str
    """The effective fork point."""
    until: int | None
    """The last turn that was to be replayed."""
    mode: str
    turns: list[TurnResult] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unused: int = 0
    """Recorded calls of the replayed turns that answered nothing."""
    title: str | None = None
    duration_ms: float = 0.0
    gate: str = "block"
    owner: str | None = None
    fork_id: str = ""
    failing: frozenset[int] = frozenset()
    upkeep: Upkeep = field(default_factory=Upkeep)
    unbound: tuple[Unbound, ...] = ()
    """Tools whose recorded calls do not fit the function any more."""
    known: tuple[KnownUse, ...] = ()
    """The plan's entries of `known`, and which of them were needed."""
    pinned: tuple[str, ...] = ()
    """What was the same as on every run: `clock`, `random`, `uuid`."""
    recording: Ledger | None = field(default=None, repr=False)
    """The whole recording; None where the result was made by hand."""

    @property
    def verdicts(self) -> Counter[str]:
        """How many turns have each verdict (`unchanged`, `fixed`, …), turns beyond `until` left out."""
        return Counter(str(turn.verdict) for turn in self.turns if not turn.beyond_until)

    @property
    def passed(self) -> bool:
        """No turn fails or could not run, at least one ran, and every failing turn of the plan did."""
        return self.failure is None

    @property
    def failure(self) -> str | None:
        """Why the replay does not pass, in one line; None where it does."""
        judged = [turn for turn in self.turns if not turn.beyond_until]
        if not any(turn.replayed for turn in judged):
            return "no turn was replayed"
        left = sorted(self.failing - {turn.turn for turn in judged if turn.replayed})
        bad = [turn for turn in judged if not turn.group.passes]
        if bad:
            return ", ".join(f"turn {turn.turn} {turn.verdict}" for turn in bad[:4]) + (", …" if len(bad) > 4 else "")
        if left:
            return f"failing turn {left[0]} was not replayed"
        return None

    def turn(self, number: int) -> TurnResult:
        """The result of turn `number`.

        Raises KeyError where this replay has no such turn.
        """
        for turn in self.turns:
            if turn.turn == number:
                return turn
        raise KeyError(f"this replay has no turn {number}: {[turn.turn for turn in self.turns]}")

    def counts(self) -> dict[str, int]:
        """Calls by how they were answered.

        answered repeated moved stale accepted authored sibling simulated live unrecorded unused.
        """
        calls = [call for turn in self.turns for call in turn.calls]
        return {
            "answered": sum(call.source is Source.RECORD for call in calls),
            "repeated": sum(call.repeated for call in calls),
            "moved": sum(d.kind is Kind.MOVED for turn in self.turns for d in turn.divergences),
            "stale": sum(call.stale for call in calls),
            "accepted": sum(call.source is Source.ACCEPTED for call in calls),
            "authored": sum(call.source is Source.AUTHORED for call in calls),
            "sibling": sum(call.source is Source.SIBLING for call in calls),
            "simulated": sum(call.source is Source.SIMULATED for call in calls),
            "live": sum(call.source is Source.LIVE for call in calls),
            "unrecorded": sum(call.unrecorded for call in calls),
            "unused": self.unused,
        }
