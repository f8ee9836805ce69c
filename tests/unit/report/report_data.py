"""Results of every kind, built from ledgers by hand: what the report's tests draw."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_statebase.compare.model import (
    AlignedCall,
    Divergence,
    Facet,
    Kind,
    Observed,
    ReplayedCall,
    ReplayResult,
    Source,
    TurnResult,
    Verdict,
)
from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.report.results import Row, error_row, result_to_row
from pytest_statebase.values import ABSENT

RUN = {
    "started_at": "2026-03-16T08:00:00Z",
    "duration_s": 2.41,
    "python": "3.11.9",
    "pytest": "9.2.0",
    "pytest_statebase": "0.1.0",
    "agent": "sample.fixed:SupportAgent",
}

READS = frozenset({"lookup_order", "search_policy"})

MARKUP = '</script><img src=x onerror=alert(1)>"\'`{{7*7}}\u2028<a href="javascript:alert(1)">'
UNSEEN = "nul\x00 esc\x1b[31mred bell\x07 rtl\u202egnp.exe lone\ud83d cr\rback bom\ufeff c1\x9b31m"


class RaisingRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no repr today")


class Markup:
    """An object that says it is safe HTML."""

    def __html__(self) -> str:
        return "<img src=x onerror=alert(2)>"

    def __repr__(self) -> str:
        return "<img src=x onerror=alert(2)>"


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def turn_of(
    number: int,
    said: str,
    answer: Any,
    calls: Sequence[ToolCalled] = (),
    *,
    state: Any = ABSENT,
    reasoning: str | None = None,
) -> Turn:
    """One recorded turn of a session in which every earlier turn made one state version."""
    events: list[Any] = [SessionCreated("sess", "customer-support", state={"status": "new"})]
    for earlier in range(1, number):
        events += [TurnStarted(earlier, text("…")), StateUpdated(earlier, {"status": "open"}), TurnAdded(text("…"))]
    events += [TurnStarted(number, text(said), at=f"2026-03-15T10:2{number % 10}:01Z"), *calls]
    if state is not ABSENT:
        events.append(StateUpdated(number, state))
    events.append(
        TurnAdded(answer if answer is ABSENT or isinstance(answer, dict) else text(answer), reasoning=reasoning)
    )
    return Ledger(events).turns[-1]


def served(call: ToolCalled, turn: int, index: int, **options: Any) -> ReplayedCall:
    """A call of the agent, answered by that recorded one."""
    return ReplayedCall(call.tool, call.arguments, turn, Source.RECORD, turn, index, result=call.result, **options)


def unchanged(recorded: Turn, state: Any = ABSENT) -> TurnResult:
    calls = [served(call, recorded.number, index) for index, call in enumerate(recorded.calls)]
    observed = Observed(recorded.number, calls, recorded.output, state=state, duration_ms=1.4)
    aligned = [AlignedCall(index, index, call.tool) for index, call in enumerate(calls)]
    return TurnResult(recorded.number, Verdict.UNCHANGED, recorded, observed, [], aligned, state)


def result(name: str, turns: list[TurnResult], **options: Any) -> ReplayResult:
    known = {
        "agent": RUN["agent"],
        "fork": "version 0",
        "until": turns[-1].turn,
        "mode": "continuous",
        "duration_ms": 12.5,
    }
    return ReplayResult(
        cassette=f"fixtures/{name}.session.yaml", session=f"sess_{name}", turns=turns, **{**known, **options}
    )


def row(made: ReplayResult, **options: Any) -> Row:
    nodeid = f"{made.cassette}::{made.fork.replace(' ', '-')}"
    return result_to_row(made, nodeid=nodeid, reads=READS, **options)


LOOKUP = ToolCalled("lookup_order", {"order_id": "1047"}, {"status": "delivered", "total": 42.5}, step=1, id="call_1")
REFUND = ToolCalled("issue_refund", {"order_id": "1047", "amount": 42.5}, {"ok": True, "refund_id": "rf_88"}, step=2)
FIRST = turn_of(
    1, "Where is my order 1047?", "It was delivered on Tuesday.", [LOOKUP], state={"status": "open", "order": "1047"}
)


def still_failing() -> ReplayResult:
    """The failing turn again, with a second refund for another amount."""
    state = {"status": "refunded", "refund_issued": True, "amount": 42.5}
    recorded = turn_of(2, "Please refund it.", "I have issued a refund of 42.50.", [LOOKUP, REFUND], state=state)
    again = ReplayedCall(
        "issue_refund", {"order_id": "1047", "amount": 40.0}, 2, Source.RECORD, 2, 1, result=REFUND.result
    )
    more = ReplayedCall(
        "issue_refund", {"order_id": "1047", "amount": 2.5}, 2, Source.RECORD, 2, 1, repeated=True, result={"ok": True}
    )
    replayed = Observed(
        2,
        [served(LOOKUP, 2, 0), again, more],
        text("I have issued a refund of 40.00 and another one of 2.50."),
        state={**state, "amount": decimal.Decimal("42.50")},
        reasoning="The customer asked for a refund",
        duration_ms=3.2,
    )
    cause = Divergence(Facet.TOOLS, Kind.ARGUMENTS, "tools.issue_refund.arguments.amount", 42.5, 40.0)
    print_of = cause.fingerprint
    found = [
        cause,
        Divergence(
            Facet.STATE,
            Kind.EXPECT,
            "state.refund_issued",
            False,
            True,
            print_of,
            "state refund_issued should be false, is true",
        ),
        Divergence(
            Facet.TOOLS,
            Kind.EXTRA,
            "tools.issue_refund#2",
            replayed={"order_id": "1047", "amount": 2.5},
            follows=print_of,
        ),
        Divergence(Facet.STATE, Kind.TYPE, "state.amount", 42.5, decimal.Decimal("42.50"), print_of),
        Divergence(Facet.OUTPUT, Kind.TEXT, "output", "I have issued…", "I have issued… and another", print_of),
    ]
    aligned = [
        AlignedCall(0, 0, "lookup_order"),
        AlignedCall(1, 1, "issue_refund"),
        AlignedCall(None, 2, "issue_refund#2"),
    ]
    turns = [unchanged(FIRST), TurnResult(2, Verdict.STILL_FAILING, recorded, replayed, found, aligned, state)]
    title = "Refund promised on an order that was already delivered"
    return result("refund", turns, fork="turn 2", title=title, owner="payments-team", failing=frozenset({2}))


EXPLANATION = """\
issue_refund was recorded, never with these arguments.
nearest recording: turn 2
  amount    recorded 42.5    asked 40.0
To answer it, add to the plan:
  answers:
    - {tool: issue_refund, arguments: {order_id: "1047", amount: 40.0}, result: …}"""


def unrecorded() -> ReplayResult:
    """A miss in turn 2; turn 3 is not replayed."""
    recorded = turn_of(2, "Refund 40 please", "Done.", [LOOKUP, REFUND], state={"status": "refunded"})
    miss = ReplayedCall(
        "issue_refund", {"order_id": "1047", "amount": 40.0}, 2, unrecorded=True, explanation=EXPLANATION
    )
    found = [Divergence(Facet.TOOLS, Kind.ARGUMENTS, "tools.issue_refund.arguments.amount", 42.5, 40.0)]
    aligned = [AlignedCall(0, 0, "lookup_order"), AlignedCall(1, 1, "issue_refund")]
    observed = Observed(2, [served(LOOKUP, 2, 0, stale=True), miss], missed=True, duration_ms=2.0)
    last = turn_of(3, "Thanks, and my address?", "Changed.", [ToolCalled("change_address", {"zip": "02134"}, True)])
    turns = [
        unchanged(FIRST),
        TurnResult(2, Verdict.UNRECORDED, recorded, observed, found, aligned, {"status": "refunded"}),
        TurnResult(3, Verdict.NOT_REPLAYED, last, None, reason="a call of turn 2 had no answer"),
    ]
    return result("partial-refund", turns, unused=1)


def changed() -> ReplayResult:
    """A good turn with another tool; the next one is off-script; an answer from another turn."""
    recorded = turn_of(
        2, "What is your policy?", "30 days.", [ToolCalled("search_policy", {"query": "returns"}, ["30 days"])]
    )
    handed = ReplayedCall(
        "hand_over", {"reason": "policy"}, 2, Source.AUTHORED, result={"queue": "people"}, explanation=None
    )
    cause = Divergence(Facet.TOOLS, Kind.REPLACED, "tools.search_policy", {"query": "returns"}, "hand_over")
    moved = Divergence(
        Facet.TOOLS, Kind.MOVED, "tools.lookup_order", follows=cause.fingerprint, detail="recorded in turn 1"
    )
    lookup = ReplayedCall("lookup_order", LOOKUP.arguments, 2, Source.RECORD, 1, 0, result=LOOKUP.result)
    last = turn_of(3, "ok", "Bye.")
    said = Divergence(Facet.OUTPUT, Kind.TEXT, "output", "Bye.", "A person will be with you.", cause.fingerprint)
    turns = [
        TurnResult(
            2,
            Verdict.CHANGED,
            recorded,
            Observed(2, [handed, lookup], text("30 days.")),
            [cause, moved],
            [AlignedCall(0, 0, "search_policy"), AlignedCall(None, 1, "lookup_order")],
        ),
        TurnResult(3, Verdict.OFF_SCRIPT, last, Observed(3, [], text("A person will be with you.")), [said]),
        TurnResult(4, Verdict.NOT_REPLAYED, turn_of(4, "more", "…"), None, beyond_until=True),
    ]
    warnings = ["ignore rule `**.reqest_id` matched nothing"]
    return result("policy", turns, fork="turn 2", until=3, warnings=warnings, unused=1)


UNPROVEN = """\
changed, but nothing says that the change is right. Add to the plan:
  expect:
    2:
      output: {contains: "already delivered"}
      tools: {not_called: [issue_refund]}"""


def unproven() -> ReplayResult:
    recorded = turn_of(
        2, "Please refund it.", "I have issued a refund.", [LOOKUP, REFUND], state={"refund_issued": True}
    )
    cause = Divergence(Facet.TOOLS, Kind.MISSING, "tools.issue_refund", REFUND.arguments)
    found = [
        cause,
        Divergence(Facet.STATE, Kind.VALUE, "state.refund_issued", True, False, cause.fingerprint),
        Divergence(Facet.OUTPUT, Kind.TEXT, "output", "I have…", "It was…", cause.fingerprint),
    ]
    observed = Observed(2, [served(LOOKUP, 2, 0)], text("It was already delivered."), state={"refund_issued": False})
    aligned = [AlignedCall(0, 0, "lookup_order"), AlignedCall(1, None, "issue_refund")]
    turn = TurnResult(2, Verdict.UNPROVEN, recorded, observed, found, aligned, {"refund_issued": True}, reason=UNPROVEN)
    return result("draft", [turn], fork="turn 2", failing=frozenset({2}), unused=1)


def raised() -> ReplayResult:
    recorded = turn_of(1, "Hello", "Hello, how can I help?")
    error = {"type": "builtins:KeyError", "message": "'order_id'"}
    found = [
        Divergence(Facet.ERROR, Kind.RAISED, "error", replayed=error, detail="the agent raised KeyError: 'order_id'")
    ]
    turn = TurnResult(1, Verdict.ERROR, recorded, Observed(1, error=error), found)
    return result("greeting", [turn], gate="warn")


TRACE = """\
  File "shop/agent.py", line 12, in move
    changed = tools.change_address(order)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "shop/tools.py", line 7, in change_address"""


def crashed(name: str = "locked") -> ReplayResult:
    """As it was recorded the agent crashes, and a person was to be called."""
    error = {"type": "shop.tools:AddressLockedError", "message": "order 1052 left", "attributes": {"carrier": "North"}}
    recorded = turn_of(2, "Send it to Berlin instead.", ABSENT, state={"ticket": None})
    recorded = replace(recorded, added=TurnAdded(ABSENT, error))
    cause = Divergence(Facet.TOOLS, Kind.EXPECT, "tools.hand_over", detail="hand_over was not called")
    words = "output does not contain 'A colleague will'"
    found = [cause, Divergence(Facet.OUTPUT, Kind.EXPECT, "output", detail=words, follows=cause.fingerprint)]
    observed = Observed(2, error={**error, "trace": TRACE}, state={"ticket": None})
    turn = TurnResult(2, Verdict.STILL_FAILING, recorded, observed, found)
    return result(name, [turn], fork="turn 2", failing=frozenset({2}))


def reworded() -> ReplayResult:
    recorded = turn_of(2, "Is it insured?", "Yes, every parcel is insured up to 500 euros.", [LOOKUP])
    said = "Yes, all parcels are insured, up to 500 euros."
    found = [Divergence(Facet.OUTPUT, Kind.TEXT, "output", recorded.output["content"], said)]
    turn = TurnResult(
        2,
        Verdict.REWORDED,
        recorded,
        Observed(2, [served(LOOKUP, 2, 0)], text(said)),
        found,
        [AlignedCall(0, 0, "lookup_order")],
    )
    return result("insured", [unchanged(FIRST), turn])


def fixed() -> ReplayResult:
    made = unproven()
    turn = made.turns[0]
    turn.verdict, turn.reason = Verdict.FIXED, None
    return result("refund-fixed", [turn], fork="turn 2", failing=frozenset({2}))


def clean(name: str = "clean") -> ReplayResult:
    calls = [LOOKUP, ToolCalled("change_address", {"order_id": "1047", "zip": "02134"}, {"ok": True})]
    second = turn_of(
        2, "Send it to 02134 instead", "I have changed the address.", calls, state={"status": "open", "zip": "02134"}
    )
    return result(name, [unchanged(FIRST), unchanged(second), unchanged(turn_of(3, "Thank you", "You are welcome."))])


def broken_plan() -> Row:
    message = (
        "fixtures/typo.session.yaml:4:1: unknown key `expcet` (did you mean `expect`?)\n"
        "  Known keys: agent, answers, cassette, compare, expect, failing"
    )
    return error_row("fixtures/typo.session.yaml", "version 0", message, nodeid="fixtures/typo.session.yaml::version-0")


def all_rows() -> list[Row]:
    """One replay of each kind."""
    made = [still_failing(), unrecorded(), changed(), unproven(), raised(), reworded(), fixed(), clean()]
    return [*map(row, made), broken_plan()]


ODD_STATE = {
    "when": datetime.datetime(2026, 3, 15, 10, 0, tzinfo=datetime.UTC),
    "raw": b"\x00\xff",
    "nan": math.nan,
    1: "int key",
    "1": "str key",
    "lone": "\ud83d",
    "unseen": UNSEEN,
    "object": RaisingRepr(),
    "markup": Markup(),
    MARKUP: MARKUP,
}


def hostile(evil: str = MARKUP + UNSEEN) -> Row:
    """Markup, escapes and objects that raise, in every place that a recording or a plan can fill."""
    call = ToolCalled(evil, {evil: evil}, {"odd": ODD_STATE}, agent=evil)
    recorded = turn_of(1, evil, evil, [call], state=ODD_STATE, reasoning=evil)
    replayed = ReplayedCall(
        evil, {evil: MARKUP}, 1, unrecorded=True, explanation=evil, error={"type": evil, "message": evil}
    )
    state = {**ODD_STATE, "nan": 1.0}
    observed = Observed(
        1, [replayed], {"type": evil, "content": ODD_STATE}, {"type": evil, "message": evil}, state, evil
    )
    found = [
        Divergence(Facet.STATE, Kind.VALUE, f"state.{evil}", ODD_STATE, RaisingRepr(), detail=evil),
        Divergence(Facet.OUTPUT, Kind.EXPECT, evil, evil, evil, detail=evil),
    ]
    turn = TurnResult(
        1, Verdict.UNRECORDED, recorded, observed, found, [AlignedCall(0, 0, evil)], ODD_STATE, reason=evil
    )
    made = ReplayResult(evil, evil, evil, evil, 1, "continuous", [turn], [evil], title=evil, owner=evil)
    return result_to_row(made, nodeid=evil)


def recording(why: str = "The customer wants the money back", key: str = "note") -> Ledger:
    """Four turns with a version in each of the first two, one between turns that goes back, and a memory."""
    start = {"status": "new", "order": None, "refunds": []}
    known = {"status": "open", "order": "1047", "refunds": []}
    paid = {"status": "refunded", "order": "1047", "refunds": [{"id": "rf_88", "amount": 42.5}], key: why}
    events: list[Any] = [SessionCreated("sess_told", "customer-support", state=start, at="2026-03-15T10:20:00Z")]
    events += [TurnStarted(1, text("Where is my order 1047?"), at="2026-03-15T10:21:01Z"), LOOKUP]
    events += [StateUpdated(1, known, reasoning="The order is known"), TurnAdded(text("It was delivered."))]
    events += [TurnStarted(2, text("Please refund it."), at="2026-03-15T10:22:01Z"), LOOKUP, REFUND]
    events += [StateUpdated(2, paid, reasoning=why), TurnAdded(text("I have issued a refund of 42.50."))]
    events += [StateRolledBack(3, 1, known, reason="Paid twice", actor="ops", at="2026-03-15T10:22:30Z")]
    events += [TurnStarted(3, text("Remember my address.")), MemoryAdded("lives in 02134"), TurnAdded(text("Noted."))]
    events += [TurnStarted(4, text("Thanks")), TurnAdded(text("You are welcome."))]
    return Ledger(events)


def told(ledger: Ledger | None = None, **options: Any) -> ReplayResult:
    """The recording, forked at turn 2 and replayed until turn 3; turn 2 refunds another amount."""
    made = ledger or recording()
    second, third, last = made.turns[1:]
    again = ReplayedCall(
        "issue_refund", {"order_id": "1047", "amount": 40.0}, 2, Source.RECORD, 2, 1, result=REFUND.result
    )
    cause = Divergence(Facet.TOOLS, Kind.ARGUMENTS, "tools.issue_refund.arguments.amount", 42.5, 40.0)
    state = {"status": "refunded", "order": "1047", "refunds": [{"id": "rf_88", "amount": 40.0}]}
    observed = Observed(2, [served(LOOKUP, 2, 0), again], text("I have issued a refund of 40.00."), state=state)
    aligned = [AlignedCall(0, 0, "lookup_order"), AlignedCall(1, 1, "issue_refund")]
    turns = [
        TurnResult(2, Verdict.CHANGED, second, observed, [cause], aligned, made.version_of(2).state),
        unchanged(third),
        TurnResult(4, Verdict.NOT_REPLAYED, last, None, beyond_until=True),
    ]
    return result("told", turns, **{"fork": "turn 2", "until": 3, "recording": made, **options})
