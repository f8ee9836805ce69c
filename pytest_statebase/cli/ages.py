"""How long ago recorded times were."""

from __future__ import annotations

from datetime import UTC, date, datetime

from ..report.times import parse_time


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


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
