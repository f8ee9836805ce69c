"""The view model: what the page says, as dataclasses of ready texts. Templates put it in place and decide nothing.

Every text in it is visible text (see `show.visible`) that still needs escaping for the format it goes into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...compare.model import Group
from .words import Segment

SLUGS = {Group.FAIL: "fail", Group.COULD_NOT_RUN: "norun", Group.REVIEW: "review", Group.OK: "ok"}
"""How the groups are called in anchors and style sheets."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict or a group with the slug of its colour."""

    text: str
    slug: str


@dataclass(frozen=True, slots=True)
class Link:
    """A place on the page."""

    text: str
    anchor: str
    slug: str = ""
    note: str = ""
    is_told: bool = True
    """It is there without the page's script."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing on both sides; None where a side does not have it."""

    recorded: str | None
    replayed: str | None
    is_same: bool = False
    left: Sequence[Segment] = ()
    """The recorded text in parts, where the two are texts whose words were compared."""
    right: Sequence[Segment] = ()
    accepted: str | None = None
    """The accepted baseline's."""
    has_baseline: bool = False
    """There are three sides; `left` is then the accepted text in parts."""


@dataclass(frozen=True, slots=True)
class DivergenceView:
    facet: str
    """Empty where the path begins with it."""
    path: str
    words: str
    recorded: str | None
    replayed: str | None
    role: str
    """`cause`, `follows`, `note`, `expect` or empty."""
    fingerprint: str = ""
    """What `known` names."""
    side: str = "recorded"
    """What `recorded` is called: `accepted` where it is the baseline's."""


@dataclass(frozen=True, slots=True)
class CallSide:
    name: str
    arguments: str
    outcome: str | None
    """The result or the error; None where there is none."""
    is_error: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class CallView:
    label: str
    recorded: CallSide | None
    replayed: CallSide | None
    is_same: bool
    answer: str
    """Where the answer of the replayed call came from."""
    flags: Sequence[Mark]
    explanation: str | None
    reads: bool
    accepted: CallSide | None = None
    """The accepted call, where it is not the replayed one."""
    is_accepted: bool = False
    """The replayed call is the accepted one."""
    agent: str | None = None
    """The agent that makes this call and those below it; None where it is the one of the call above."""


@dataclass(frozen=True, slots=True)
class RequestView:
    """An HTTP request or a model call of the replayed side."""

    method: str
    address: str
    kind: str
    """`request` or `model call`."""
    answer: str
    flags: Sequence[Mark]
    explanation: str | None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn that needs a look."""

    anchor: str
    number: int
    mark: Mark
    at: str | None
    versions: str | None
    input: str | None
    authored: bool
    known: str
    """Until when and under which ticket what differs here is known; empty where it is not."""
    expired: str
    reason: str | None
    output: Pair | None
    error: Pair | None
    trace: str | None
    """Where the agent raised in the replay."""
    state: Pair | None
    state_differs: bool
    memory: Pair | None
    """What the turn added to memory."""
    memory_differs: bool
    reasoning: Pair | None
    calls: Sequence[CallView]
    divergences: Sequence[DivergenceView]
    followers: Sequence[DivergenceView]
    """Differences that follow from the cause, shown folded."""
    folded: str | None
    """What stands on the fold, where the turn is not what its session is opened for."""
    replayed: bool
    has_baseline: bool = False
    """What was accepted stands between the two sides."""
    requests: Sequence[RequestView] = ()


@dataclass(frozen=True, slots=True)
class SessionView:
    anchor: str
    name: str
    title: str | None
    mark: Mark
    why: str
    """One line, where no turn tells why it did not pass."""
    message: str | None
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    turns: Sequence[TurnView]
    """Those that need a look."""
    left: int
    """How many more of them there are."""
    marks: Sequence[Mark]
    gate: str | None


@dataclass(frozen=True, slots=True)
class GroupView:
    mark: Mark
    count: int
    share: float
    """Percent of all sessions."""
    verdicts: str
    sessions: Sequence[SessionView]
    """Of those that do not pass the first ones."""
    named: Sequence[tuple[str, str]] = ()
    """Further ones, with why on one line."""
    more: int = 0


@dataclass(frozen=True, slots=True)
class CauseView:
    path: str
    words: str
    count: int
    values: str
    recorded: str | None
    replayed: str | None
    links: Sequence[Link]
    more: int


@dataclass(frozen=True, slots=True)
class WriteRow:
    """A tool that has an effect, with how often its calls were made, changed, missing, …"""

    tool: str
    counts: Sequence[tuple[int, bool]]
    """In the order of `WritesView.states`, each with whether a turn that is not ok has some of them."""


@dataclass(frozen=True, slots=True)
class WriteItem:
    mark: Mark
    tool: str
    arguments: str
    link: Link


@dataclass(frozen=True, slots=True)
class WritesView:
    states: Sequence[str]
    rows: Sequence[WriteRow]
    troubled: Sequence[WriteItem]
    """Changed, missing, extra and unrecorded ones, those of failing turns first."""
    troubled_more: int
    others: Sequence[WriteItem]
    others_more: int
    others_words: str
    """What became of them, with numbers."""


@dataclass(frozen=True, slots=True)
class ReportView:
    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    stale: str | None
    """How many prompts moved, and the command that mends it."""
    verdict: str
    """The run in one sentence."""
    groups: Sequence[GroupView]
    reached: str
    stopped: Sequence[Link]
    stopped_more: int
    calls: Sequence[tuple[str, int]]
    turns: Sequence[tuple[str, int]]
    writes: WritesView
    causes: Sequence[CauseView]
    causes_more: int
    first_bad: str | None
