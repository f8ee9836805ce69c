"""A turn beside its accepted baseline: what it is compared with instead of the record, and how one is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..cassette.accepted import SOURCES, AcceptedCall, AcceptedTurn
from ..events import memory_event
from ..ledger import ForkPoint, Ledger, ToolCalled, Turn, TurnAdded
from ..values import ABSENT, copy_value, same
from .ids import Ids
from .model import AlignedCall, Divergence, Facet, Kind, Observed, ReplayedCall, ReplayResult, Source, TurnResult
from .paths import numbered


def turn_of_baseline(accepted: AcceptedTurn, recorded: Turn) -> Turn:
    """The accepted turn in the form of a recorded one."""
    calls = [
        ToolCalled(call.tool, call.arguments, result=call.result, error=call.error, step=call.step, agent=call.agent)
        for call in accepted.calls
    ]
    added = [] if accepted.memory is ABSENT else accepted.memory
    memories = [memory_event(item) for item in added if isinstance(item, dict)]
    end = TurnAdded(accepted.output, accepted.error)
    return Turn(recorded.number, recorded.started, [*calls, *memories], end)


def settled(seen: Observed, accepted: AcceptedTurn | None, ledger: Ledger, ids: Ids) -> Observed:
    """The replayed side with the baseline's ids in the calls that matched but for ids made up on each run."""
    if not any(call.renamed for call in seen.calls):
        return seen
    calls = [replace(call, arguments=_arguments(call, accepted, ledger, ids)) for call in seen.calls]
    return replace(seen, calls=calls)


def _arguments(call: ReplayedCall, accepted: AcceptedTurn | None, ledger: Ledger, ids: Ids) -> Any:
    index = call.recorded_index
    if call.renamed and index is not None and call.recorded_turn is not None:
        if call.source is Source.RECORD:
            return ledger.turn(call.recorded_turn).calls[index].arguments
        if call.source is Source.ACCEPTED and accepted is not None:
            return accepted.calls[index].arguments
    return ids.renamed(call.arguments)


def differs(found: Iterable[Divergence], *, wording: bool = True) -> bool:
    """Whether any of the divergences counts; wording: that of the output does too."""
    return any(not one.note and one.kind is not Kind.EXPECT and (wording or one.kind is not Kind.TEXT) for one in found)


def from_baseline(found: Iterable[Divergence], from_record: list[Divergence], *, exact: bool) -> list[Divergence]:
    """Divergences from the baseline, marked as such; all of kind `reverted` where the turn is as recorded again."""
    is_back = not differs(from_record, wording=exact)
    return [_marked(one, is_back=is_back and (exact or one.kind is not Kind.TEXT)) for one in found]


def _marked(found: Divergence, *, is_back: bool) -> Divergence:
    if not is_back or found.note:
        return replace(found, baseline=True)
    return replace(found, baseline=True, kind=Kind.REVERTED, detail="as recorded again, not as accepted")


def merge_rows(result: TurnResult, against: list[AlignedCall]) -> None:
    """Put the accepted calls into the rows of the recorded and the replayed ones."""
    by_replayed = {row.replayed: row for row in result.aligned if row.replayed is not None}
    left = [row for row in result.aligned if row.replayed is None]
    calls = result.accepted.calls if result.accepted else []
    numbers = numbered(call.tool for call in calls)
    labels = [call.tool + (f"#{call.ordinal}" if call.ordinal > 1 else "") for call in numbers]
    for pair in against:
        if pair.accepted is None:
            continue
        row = by_replayed.get(pair.replayed) if pair.replayed is not None else None
        if row is None:
            row = next((one for one in left if _is_alike(result, one, calls[pair.accepted])), None)
        if row is None:
            row = AlignedCall(None, pair.replayed, labels[pair.accepted])
            result.aligned.append(row)
        row.accepted = pair.accepted


def _is_alike(result: TurnResult, row: AlignedCall, accepted: ToolCalled) -> bool:
    if row.accepted is not None or row.recorded is None:
        return False
    recorded = result.recorded.calls[row.recorded]
    try:
        return recorded.tool == accepted.tool and same(recorded.arguments, accepted.arguments)
    except Exception:  # what cannot be compared is equal to nothing
        return False


def baseline_of(
    result: ReplayResult, turn: TurnResult, ledger: Ledger, accepted: AcceptedTurn | None = None
) -> AcceptedTurn | None:
    """What a replayed turn did as a baseline, ids as the recording has them; None where it is as recorded.

    ledger: the recording; accepted: the turn's baseline so far. Calls keep the answers that the record does not hold.
    """
    seen = turn.replayed
    found = turn.divergences if turn.accepted is None else turn.from_record
    if seen is None or not differs(found):
        return None
    ids = ids_of(result.fork_id, ledger, seen, isolated=result.mode == "isolated")
    state = ids.renamed(seen.state)
    return AcceptedTurn(
        turn.turn,
        tuple(_accepted_call(call, accepted, ledger, ids) for call in seen.calls),
        copy_value(ids.renamed(seen.output)),
        None if seen.error is None else {key: value for key, value in seen.error.items() if key != "trace"},
        ABSENT if _is_same(state, turn.recorded_state) else copy_value(state),
        ids.renamed(copy_value(seen.memory)) if seen.memory else ABSENT,
        tuple(dict.fromkeys(one.fingerprint for one in found if not one.note and one.kind is not Kind.EXPECT)),
    )


def _is_same(left: Any, right: Any) -> bool:
    try:
        return same(left, right)
    except Exception:  # values of strangers: kept where they cannot be compared
        return False


def _accepted_call(call: ReplayedCall, accepted: AcceptedTurn | None, ledger: Ledger, ids: Ids) -> AcceptedCall:
    arguments = copy_value(_arguments(call, accepted, ledger, ids))
    origin = call.origin or call.source.value
    if origin not in SOURCES:
        return AcceptedCall(call.tool, arguments, call.step, call.agent)
    result, error = copy_value(ids.renamed(call.result)), call.error
    return AcceptedCall(call.tool, arguments, call.step, call.agent, result, error, origin)


def ids_of(fork_id: str, ledger: Ledger, seen: Observed, *, isolated: bool) -> Ids:
    """How the turn's values read in the recording's ids."""
    own = ledger.fork_id(ForkPoint("turn", seen.number)) if isolated else ""
    return Ids.of({fork_id: ledger.id, own: ledger.id}, seen.renames)


def is_error(found: Iterable[Divergence]) -> bool:
    """Whether the agent raised where the recording did not."""
    return any(one.facet is Facet.ERROR and one.kind is Kind.RAISED and one.recorded is ABSENT for one in found)
