"""Times as records have them, and how long ago they were."""

from __future__ import annotations

from datetime import UTC, date, datetime

from ..ledger import Ledger


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


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


def days_since(moment: datetime | None) -> int | None:
    """Whole days up to now; None where the time is not known."""
    return None if moment is None else (now() - moment).days


def days_left(day: object) -> int | None:
    """Days up to a day, negative ones where it is over; None for what is no day."""
    moment = parse_time(day.isoformat() if isinstance(day, date) else day)
    return None if moment is None else (moment.date() - now().date()).days


def age_text(days: int | None) -> str:
    """`today`, `1 day ago`, `in 3 days`."""
    if days is None:
        return "at an unknown time"
    if days == 0:
        return "today"
    told = f"{abs(days):,} day{'' if abs(days) == 1 else 's'}"
    return f"{told} ago" if days > 0 else f"in {told}"
