"""Lists of a service, page by page, whatever order and size its pages have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from ..errors import PullError
from ..importers.proposal import shorten
from ..importers.service.raw import Object
from .api import Api, Refused

PAGE: Final = 100
"""Items that are asked for at once: as many as the service gives."""
MOST: Final = 20_000
"""Items of one list; a session that has more is none that anybody replays."""


def quoted(id: str) -> str:
    """The id of a session or a trace as one segment of a path.

    Raises PullError for what cannot be one.
    """
    if id in ("", ".", "..") or len(id) > 500:
        raise PullError(f"{shorten(id)!r} is no id")
    return quote(id, safe="", errors="surrogatepass")


def pages(
    api: Api, path: str, params: Mapping[str, str | int], *, ascending: bool = False, most: int = MOST
) -> Iterator[list[Object]]:
    """The items of a list in the order in which they come, each once.

    ascending: ask for the oldest first; the service may not listen.
    Raises PullError for what is no list, and for a list without an end.
    """
    asked: dict[str, str | int] = {**params, "limit": PAGE, **({"order": "asc"} if ascending else {})}
    seen: set[str] = set()
    while True:
        answer = _first(api, path, params, asked) if not seen else api.get(path, asked)
        data = data_of(answer, path)
        new = [item for item in data if _identity(item, path) not in seen]
        seen.update(_identity(item, path) for item in new)
        if len(seen) > most:
            raise PullError(f"the list has more than {most:,} items, which is more than is read", where=path)
        if new:
            yield _once(new, path)
        told = answer.get("has_more") if isinstance(answer, Mapping) else None
        if told is False or (told is None and not new):
            return
        if not new:
            what = f"the service says that there is more, and gives nothing new after {len(seen):,} items"
            raise PullError(what, where=path, remedy="The list has no end; it may be a fault of the service.")
        asked["starting_after"] = _identity(data[-1], path)


def _first(api: Api, path: str, params: Mapping[str, str | int], asked: dict[str, str | int]) -> Any:
    """The first page; asked for without extras where the service does not like them."""
    try:
        return api.get(path, asked)
    except Refused as error:
        if error.status not in (400, 422):
            raise
        for name in ("limit", "order"):
            asked.pop(name, None)
        return api.get(path, asked)


def data_of(answer: Any, path: str) -> list[Object]:
    """The objects of a list, in an envelope or bare.

    Raises PullError for anything else.
    """
    data = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(data, list) or not all(isinstance(item, Mapping) for item in data):
        raise PullError(f"a list of objects was to come, and {_kind(answer)} came", where=path)
    return data


def object_of(answer: Any, path: str) -> Object:
    """The object itself. Raises PullError for anything else."""
    if not isinstance(answer, Mapping):
        raise PullError(f"an object was to come, and {_kind(answer)} came", where=path)
    return answer


def _identity(item: Object, path: str) -> str:
    found = item.get("id")
    if not isinstance(found, str) or not found:
        raise PullError("an object of the list has no id", where=path)
    return found


def _once(items: list[Object], path: str) -> list[Object]:
    return list({_identity(item, path): item for item in items}.values())


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        data = value.get("data")
        return "an object without `data`" if data is None else "one whose `data` is none"
    names = {str: "a text", list: "a list of something else", type(None): "null", bool: "a boolean"}
    return names.get(type(value), "a number")
