"""How far a session that spans tell can be replayed."""

from __future__ import annotations

from collections.abc import Iterator

from ...ledger import Ledger, Turn
from ...values import ABSENT
from ..grades import Grade, Reason, graded
from .model import Conversation
from .reasons import reason


def grade_of(ledger: Ledger, conversation: Conversation, blank: list[str]) -> Grade:
    """The grade of a session: partial where anything is missing, unusable where there is nothing to replay.

    blank: the tools of calls of which nothing but the name is known.
    """
    reasons = list(_reasons(ledger, conversation, blank))
    blind = all(turn.is_opening for turn in ledger.turns)
    mute = all(turn.output is ABSENT and turn.error is None for turn in ledger.turns)
    if blind and mute:
        return graded([reason("no-content", conversation.tracer), *_others(reasons)], unusable=True)
    return graded(reasons, unusable=blind)


def _others(reasons: list[Reason]) -> Iterator[Reason]:
    return (one for one in reasons if one.kind not in ("no-input", "no-output"))


def _reasons(ledger: Ledger, conversation: Conversation, blank: list[str]) -> Iterator[Reason]:
    tracer = conversation.tracer
    turns = ledger.turns
    calls = [call for turn in turns for call in turn.calls]
    lacking = {
        "no-input": _turns([turn for turn in turns if turn.is_opening]),
        "no-output": _turns([turn for turn in turns if _is_mute(turn) and not (turn.calls and _answers(conversation))]),
        "no-arguments": _calls(blank),
        "no-results": _calls([call.tool for call in calls if call.result is ABSENT and call.error is None]),
    }
    for kind, detail in lacking.items():
        if detail:
            yield reason(kind, tracer, detail)
    for flaw in ("truncated", "dropped"):
        count = sum(flaw in span.flaws for span in conversation.spans)
        if count:
            yield reason(flaw, tracer, f"{count} span{'' if count == 1 else 's'}")
    if conversation.orphans and any(lacking.values()):
        yield reason("missing-spans", tracer, f"{conversation.orphans} without the span around")


def _is_mute(turn: Turn) -> bool:
    """Nothing is known of how it ended, nor is it known that it never did."""
    added = turn.added
    return added is None or (added.output is ABSENT and added.error is None)


def _answers(conversation: Conversation) -> bool:
    """Whether all that models answered is known: a turn with calls and no text then ended with its calls."""
    outputs = [span.output for span in conversation.spans if span.kind == "generation"]
    return bool(outputs) and all(outputs) and ABSENT not in outputs


def _turns(turns: list[Turn]) -> str:
    numbers = ", ".join(str(turn.number) for turn in turns[:10])
    more = f" and {len(turns) - 10} more" if len(turns) > 10 else ""
    return f"turn {numbers}{more}" if turns else ""


def _calls(tools: list[str]) -> str:
    names = list(dict.fromkeys(tools))
    listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{len(tools)} of {listed}" if tools else ""
