"""Sessions that are kept whatever the others show: those in which something went wrong, or was unusual."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .features import Kind
from .survey import Seen, Survey

SLOW: Final = 0.05
UNUSUAL: Final = 0.01


class Rule(StrEnum):
    """What a session is kept for, as `--keep` and capture name it."""

    ERRORS = "errors"
    ROLLBACKS = "rollbacks"
    SLOW = "slow"
    UNUSUAL = "unusual"
    FEEDBACK = "feedback"


@dataclass(frozen=True, slots=True)
class Limits:
    """From which on a session is slow or unusual."""

    slow: float = SLOW
    """The share of the sessions with the slowest turns, up to 1; else the milliseconds of a slow turn."""
    unusual: float = UNUSUAL
    """The share of the sessions in which a transition is at most, up to 1; else their number."""

    def most_holders(self, sessions: int) -> int:
        """In how many sessions an unusual transition is at most."""
        return int(self.unusual * sessions) if self.unusual < 1 else int(self.unusual)


def reasons_to_keep(survey: Survey, rules: Collection[Rule], limits: Limits) -> dict[int, list[str]]:
    """By position in the survey, each session that a rule keeps with one sentence a rule.

    The rules look at the whole set: what is slow or unusual, the others tell.
    """
    slow_from = _slow_from(survey, limits)
    holders = survey.held_by(Kind.TRANSITION) if Rule.UNUSUAL in rules else {}
    most = limits.most_holders(len(survey.sessions))
    unusual = {number: count for number, count in holders.items() if count <= most}
    found = {}
    for at, session in enumerate(survey.sessions):
        told = {**_told(survey, session, slow_from), **_unusual(survey, session, unusual)}
        # What capture saw as the session ended, it saw with figures of that time.
        told |= {
            Rule(mark): "as it was captured" for mark in session.marks or () if mark in tuple(Rule) and mark not in told
        }
        reasons = [f"{rule}: {told[rule]}" for rule in Rule if rule in rules and rule in told]
        if reasons:
            found[at] = reasons
    return found


def _told(survey: Survey, session: Seen, slow_from: float | None) -> dict[Rule, str]:
    errors = [survey.features[number].text for number in session.features if _is_error(survey, number)]
    told = {Rule.ERRORS: _first_of(errors)} if errors else {}
    if session.rollbacks:
        told[Rule.ROLLBACKS] = f"the state was rolled back {'once' if session.rollbacks == 1 else 'more than once'}"
    if slow_from is not None and session.slowest is not None and session.slowest >= slow_from:
        told[Rule.SLOW] = f"a turn took {session.slowest:,.0f} ms"
    if session.feedback:
        told[Rule.FEEDBACK] = _first_of(list(session.feedback))
    return told


def _is_error(survey: Survey, number: int) -> bool:
    return survey.features[number].kind is Kind.ERROR


def _unusual(survey: Survey, session: Seen, unusual: dict[int, int]) -> dict[Rule, str]:
    own = sorted((unusual[number], survey.features[number].text) for number in session.features if number in unusual)
    if not own:
        return {}
    of_all = f", in {own[0][0]:,} of {len(survey.sessions):,} sessions"
    return {Rule.UNUSUAL: _first_of([own[0][1] + of_all, *(text for _, text in own[1:])])}


def _first_of(texts: list[str]) -> str:
    return texts[0] + (f" and {len(texts) - 1:,} more" if len(texts) > 1 else "")


def _slow_from(survey: Survey, limits: Limits) -> float | None:
    """The milliseconds from which on a turn is slow; None where nothing is."""
    if limits.slow >= 1:
        return limits.slow
    times = sorted(session.slowest for session in survey.sessions if session.slowest is not None)
    most = int(limits.slow * len(times))
    # Where that many are equally slow, all are as they always are.
    if not most or times[-most] == times[0]:
        return None
    return times[-most]


def notes_on_rules(survey: Survey, rules: Collection[Rule], limits: Limits) -> Iterator[str]:
    """What the rules could not tell, and why: one sentence each."""
    sessions = len(survey.sessions)
    if Rule.UNUSUAL in rules and not limits.most_holders(sessions):
        yield f"unusual: {limits.unusual:.2%} of all sessions ({sessions:,}) are less than one"
    if Rule.SLOW in rules:
        timed = sum(session.slowest is not None for session in survey.sessions)
        if not timed:
            yield "slow: no session tells how long its turns took"
        elif limits.slow < 1 and not int(limits.slow * timed):
            yield f"slow: {limits.slow:.2%} of the sessions that tell a time ({timed:,}) are less than one"
