"""Which sessions are to be pulled."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..errors import OptionError
from ..importers.service.raw import Object, moment, number_of, text_of
from .api import Api
from .pages import pages

_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_LIFE = timedelta(days=30)
"""What was active of late was created no earlier before that."""
_MOST = 200_000
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of a service's sessions."""

    agent: str | None = None
    since: datetime | None = None
    """Active since then."""
    limit: int | None = None
    """The newest ones of that number."""


@dataclass(frozen=True, slots=True)
class Found:
    """A session of the service. What is not known of one that was named is None."""

    id: str
    turns: int | None = None
    updated_at: str | None = None
    expires_at: str | None = None
    session: Object | None = None
    """The whole object, where the list gave one that is small."""

    @classmethod
    def of(cls, session: Object) -> Found:
        """What a session's object tells."""
        turns, updated = number_of(session.get("turn_count")), text_of(session.get("updated_at"))
        return cls(str(session["id"]), turns, updated, text_of(session.get("ttl_expires_at")), session)

    def is_same(self, other: Found) -> bool:
        """Whether nothing happened in the session between the two."""
        return (self.turns, self.updated_at) == (other.turns, other.updated_at)


def since_time(text: str, now: datetime) -> datetime:
    """`24h`, `7d`, `2026-11-29` or `2026-11-29T08:00Z` as a time.

    Raises OptionError for anything else.
    """
    span = _SPAN.fullmatch(text.strip())
    try:
        if span is not None:
            return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
    found = moment(text.strip())
    if found is None:
        remedy = "Give a span (90m, 24h, 7d, 2w) or a time (2026-11-29, 2026-11-29T08:00Z)."
        raise OptionError(f"--since: {text!r} is no time", remedy=remedy)
    return found


def find_sessions(api: Api, wanted: Wanted) -> list[Found]:
    """The sessions that are wanted, those that expire first in front.

    Raises what `pages` raises.
    """
    params: dict[str, str | int] = {} if wanted.agent is None else {"agent_id": wanted.agent}
    if wanted.since is not None and wanted.since - datetime.min.replace(tzinfo=UTC) > _LONGEST_LIFE:
        params["created_after"] = (wanted.since - _LONGEST_LIFE).isoformat()
    found: list[Found] = []
    for page in pages(api, "/v1/sessions", params, most=_MOST):
        found += [_slim(session) for session in page if _is_wanted(session, wanted)]
        if wanted.limit is not None and len(found) >= wanted.limit:
            del found[wanted.limit :]
            break
    return sorted(found, key=lambda one: moment(one.expires_at) or _NEVER)


def _is_wanted(session: Object, wanted: Wanted) -> bool:
    """The filters once more: a service may not know them all."""
    if wanted.agent is not None and session.get("agent_id") not in (wanted.agent, None):
        return False
    active = moment(text_of(session.get("updated_at"))) or moment(text_of(session.get("created_at")))
    return wanted.since is None or active is None or active >= wanted.since


def _slim(session: Object) -> Found:
    """What of a session is kept while others are pulled: not its state, which its history tells as well."""
    found = Found.of({key: value for key, value in session.items() if key != "state"})
    return found if len(str(session.get("metadata", ""))) < 2_000 else replace(found, session=None)
