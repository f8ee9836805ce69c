"""What the client answers: objects with attributes that are mappings as well, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

from .faults import invalid, not_found

Order: TypeAlias = Literal["asc", "desc"]


class Item(dict[str, Any]):
    """An object of the API: `turn.input.content`, `trace.details.get("reasoning")` and `turn["id"]` all work.

    A copy: to change it changes no session. Values that are the user's own (states, metadata, contents) are plain.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r} here: it has {', '.join(map(str, self))}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Page(list[Any]):
    """A list of objects with what the API says about it: `data`, `has_more`, `first_id`, `last_id`."""

    object = "list"

    def __init__(self, items: Iterable[Any] = (), *, has_more: bool = False, **more: Any) -> None:
        super().__init__(items)
        self.has_more = has_more
        self.more = more
        """What else a list of its kind tells, such as `current_version` and `ranking`."""

    @property
    def data(self) -> list[Any]:
        return list(self)

    @property
    def first_id(self) -> str | None:
        return self[0].get("id") if self else None

    @property
    def last_id(self) -> str | None:
        return self[-1].get("id") if self else None

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["more"][name]
        except KeyError:
            raise AttributeError(f"a list has no {name!r}") from None

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)


def page(
    items: list[Any], *, limit: int | None, starting_after: str | None = None, order: Order = "asc", **more: Any
) -> Page:
    """One page of `items`, which come oldest first; without `limit` all of them.

    starting_after: the id of the last item of the page before. order: `asc` (oldest first) or `desc`.
    Raises ApiError for a limit below 1, an unknown order or an id that is not in the list.
    """
    if order not in ("asc", "desc"):
        raise invalid(f"order is 'asc' or 'desc', not {order!r}", "order")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise invalid(f"limit must be a number from 1, not {limit!r}", "limit")
    ordered = items if order == "asc" else items[::-1]
    start = 0 if starting_after is None else _after(ordered, starting_after)
    end = len(ordered) if limit is None else start + limit
    return Page(ordered[start:end], has_more=end < len(ordered), **more)


def _after(items: list[Any], id: str) -> int:
    for index, item in enumerate(items):
        if item.get("id") == id:
            return index + 1
    raise not_found("item", id)


def plain(value: Any) -> Any:
    """A copy in plain dicts and lists: what came out of the client goes into a ledger like any other value."""
    if isinstance(value, Item):
        return {key: plain(item) for key, item in value.items()}
    if type(value) is dict:
        return {key: plain(item) for key, item in value.items()}
    if type(value) in (list, Page):
        return [plain(item) for item in value]
    return value


def moment(value: str | datetime | None, param: str) -> datetime | None:
    """A time as an aware datetime (a naive one is taken as UTC).

    Raises ApiError where it is none.
    """
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        return None if parsed is None else parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, AttributeError):
        raise invalid(f"{value!r} is no time in ISO 8601", param) from None


def between(
    items: Iterable[Any],
    at: Callable[[Any], str | None],
    after: str | datetime | None,
    before: str | datetime | None,
) -> list[Any]:
    """Those of `items` whose time lies in between, ends included; without a bound all of them."""
    first, last = moment(after, "created_after"), moment(before, "created_before")
    if first is None and last is None:
        return list(items)
    kept = []
    for item in items:
        when = recorded(at(item))
        if when is not None and (first is None or when >= first) and (last is None or when <= last):
            kept.append(item)
    return kept


def recorded(at: str | None) -> datetime | None:
    """A recorded time as an aware datetime; None where it is none."""
    try:
        parsed = datetime.fromisoformat(at) if at else None
    except ValueError:
        return None
    return parsed.replace(tzinfo=UTC) if parsed is not None and parsed.tzinfo is None else parsed


def mapping(value: Any, param: str) -> dict[str, Any]:
    """A plain copy of a mapping that was given.

    Raises ApiError where it is none.
    """
    if not isinstance(value, Mapping):
        raise invalid(f"{param} must be a mapping, not {type(value).__name__}", param)
    return {key: plain(item) for key, item in value.items()}
