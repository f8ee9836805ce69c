"""A recorded session of three turns, and replays of it made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare.model import Observed, ReplayedCall, Source, TurnResult
from pytest_statebase.compare.verdicts import judge
from pytest_statebase.ledger import Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.values import ABSENT


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def call(tool: str, /, **arguments: Any) -> ToolCalled:
    return ToolCalled(tool, arguments, result={"ok": True})


@dataclass(frozen=True)
class T:
    """One turn to record."""

    calls: tuple[ToolCalled, ...] = ()
    output: Any = "Done."
    state: Any = ABSENT
    error: Mapping[str, Any] | None = None
    input: str | None = "Go on"


def record(*turns: T, state: Any = ABSENT) -> Ledger:
    """A recorded session of these turns."""
    ledger = Ledger([SessionCreated("sess_1", state={"step": 0} if state is ABSENT else state)])
    for number, turn in enumerate(turns, 1):
        ledger.append(TurnStarted(number, None if turn.input is None else text(turn.input)))
        for made in turn.calls:
            ledger.append(made)
        if turn.state is not ABSENT:
            ledger.append(StateUpdated(ledger.next_version(), turn.state))
        output = text(turn.output) if isinstance(turn.output, str) else turn.output
        ledger.append(TurnAdded(output, error=turn.error))
    return ledger


def answered(turn: int, index: int, recorded: ToolCalled, *, at: int | None = None, **values: Any) -> ReplayedCall:
    """A call answered by a recording; `at`: made in another turn."""
    return ReplayedCall(
        recorded.tool,
        dict(recorded.arguments),
        at or turn,
        Source.RECORD,
        recorded_turn=turn,
        recorded_index=index,
        result=recorded.result,
        **values,
    )


def missed(turn: int, tool: str, /, **arguments: Any) -> ReplayedCall:
    return ReplayedCall(tool, arguments, turn, unrecorded=True)


def replay_of(ledger: Ledger) -> list[Observed]:
    """The replay that did exactly what was recorded."""
    observed = []
    for turn in ledger.turns:
        calls = [answered(turn.number, i, made) for i, made in enumerate(turn.calls)]
        state = state_after(ledger, turn.number)
        output = dict(turn.output) if isinstance(turn.output, Mapping) else turn.output
        observed.append(Observed(turn.number, calls, output, turn.error, state))
    return observed


def state_after(ledger: Ledger, number: int) -> Any:
    """The recorded state at the end of a turn."""
    version = ledger.turn(number).version_after
    return ABSENT if version is None else ledger.version_of(version).state


def judged(ledger: Ledger, observed: list[Observed], **values: Any) -> list[TurnResult]:
    """The results of a replay; where it says nothing of the state, that is as it was recorded."""
    for seen in observed:
        if seen.state is ABSENT:
            seen.state = state_after(ledger, seen.number)
    options = {
        name: values.pop(name) for name in ("first", "until", "mode", "stopped", "fork_id", "rules") if name in values
    }
    return judge(ledger=ledger, plan=Plan(**values), observed=observed, **options)


def told(results: list[TurnResult]) -> list[tuple[int, str, str, str]]:
    """Every divergence that counts: turn, facet, kind, path."""
    return [
        (result.turn, str(found.facet), str(found.kind), found.path)
        for result in results
        for found in result.divergences
        if not found.note
    ]


def verdicts(results: list[TurnResult]) -> list[str]:
    return [str(result.verdict) for result in results]
