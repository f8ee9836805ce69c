"""Verdicts, and the groups in which summaries tell them."""

from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """The four groups of verdicts, in the order in which a summary tells them."""

    FAIL = "fail"
    COULD_NOT_RUN = "could not run"
    REVIEW = "review"
    OK = "ok"

    @property
    def passes(self) -> bool:
        """Whether a turn of the group keeps a replay from nothing."""
        return self not in (Group.FAIL, Group.COULD_NOT_RUN)


class Verdict(StrEnum):
    """What a turn's divergences mean, given what was expected of it."""

    UNCHANGED = "unchanged"
    ACCEPTED = "accepted"
    FIXED = "fixed"
    REWORDED = "reworded"
    OFF_SCRIPT = "off-script"
    STILL_FAILING = "still-failing"
    UNPROVEN = "unproven"
    CHANGED = "changed"
    BROKEN = "broken"
    UNRECORDED = "unrecorded"
    ERROR = "error"
    STALE = "stale"
    INCONCLUSIVE = "inconclusive"
    NOT_REPLAYED = "not-replayed"

    @property
    def group(self) -> Group:
        return _GROUPS[self]


_GROUPS = {
    Verdict.UNCHANGED: Group.OK,
    Verdict.ACCEPTED: Group.OK,
    Verdict.FIXED: Group.OK,
    Verdict.REWORDED: Group.REVIEW,
    Verdict.OFF_SCRIPT: Group.REVIEW,
    Verdict.STILL_FAILING: Group.FAIL,
    Verdict.UNPROVEN: Group.FAIL,
    Verdict.CHANGED: Group.FAIL,
    Verdict.BROKEN: Group.FAIL,
    Verdict.UNRECORDED: Group.FAIL,
    Verdict.ERROR: Group.FAIL,
    Verdict.STALE: Group.COULD_NOT_RUN,
    Verdict.INCONCLUSIVE: Group.COULD_NOT_RUN,
    Verdict.NOT_REPLAYED: Group.COULD_NOT_RUN,
}
