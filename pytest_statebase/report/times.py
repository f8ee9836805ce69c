"""Times as records and results have them."""

from __future__ import annotations

from datetime import UTC, datetime

from ..ledger import Ledger


def parse_time(text: object) -> datetime | None:
    """A recorded time in UTC; one without a zone is taken for UTC. None for what is no time."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def recorded_at(ledger: Ledger) -> datetime | None:
    """When a session was recorded: its creation, else its first event with a time."""
    times = (parse_time(getattr(event, "at", None)) for event in ledger.events)
    return next((moment for moment in times if moment is not None), None)
