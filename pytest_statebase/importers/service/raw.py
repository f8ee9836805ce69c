"""What the service answered about one session, as it is kept in `NAME.pulled.json` beside a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ...errors import ImportFileError
from ..files import inside
from ..messages import time_text

FORMAT: Final = 1
SUFFIX: Final = ".pulled.json"
_NO_TIME = "1970-01-01"
"""What stands where no time was recorded, for clients that demand one."""
_LISTS = ("turns", "versions", "traces", "memories")
_REMEDY = "Pull the session again into another directory."

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pulled:
    """One session with everything that belongs to it, each object as the service answered it, without secrets."""

    session: Object
    turns: list[Object] = field(default_factory=list)
    """Oldest first; so are the versions."""
    versions: list[Object] = field(default_factory=list)
    traces: list[Object] = field(default_factory=list)
    """In the order in which the service lists them."""
    memories: list[Object] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What the service did not give, a sentence each."""

    @property
    def id(self) -> str:
        return str(self.session["id"])

    @classmethod
    def parse(cls, document: Any, where: str) -> Pulled:
        """Read the document of a `.pulled.json`.

        Raises ImportFileError where it is none.
        """
        if not isinstance(document, Mapping) or document.get("pulled") != FORMAT:
            found = document.get("pulled") if isinstance(document, Mapping) else None
            what = f"is a pulled session of format {found!r}; this version reads {FORMAT}"
            raise ImportFileError(what, where=where, remedy="Use a version of pytest-statebase that knows it.")
        session = document.get("session")
        if not isinstance(session, Mapping) or not isinstance(session.get("id"), str) or not session["id"]:
            raise ImportFileError("has no `session` with an `id`", where=where, remedy=_REMEDY)
        lists = {key: _objects(document.get(key, []), inside(where, key)) for key in _LISTS}
        missing = [str(line) for line in document.get("missing") or []]
        return cls(session, **lists, missing=missing)

    def text(self) -> str:
        """The file: one object a line, so that a difference of two can be read."""
        parts = [f'"pulled": {FORMAT}', f'"session": {_json(self.session)}']
        for key in _LISTS:
            lines = ",\n".join(map(_json, getattr(self, key)))
            parts.append(f'"{key}": [\n{lines}\n]' if lines else f'"{key}": []')
        parts.append(f'"missing": {_json(self.missing)}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def file(self) -> bytes:
        """`text` as bytes; escaped throughout where it holds half characters."""
        text = self.text()
        try:
            return text.encode()
        except UnicodeEncodeError:
            return "".join(char if char.isascii() else _escaped(char) for char in text).encode()


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _objects(value: Any, where: str) -> list[Object]:
    if not isinstance(value, list):
        raise ImportFileError("is no list", where=where, remedy=_REMEDY)
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise ImportFileError("is no object", where=inside(where, index), remedy=_REMEDY)
    return value


def part(holder: Object, key: str) -> Object:
    """An object inside another; an empty one where there is none."""
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def text_of(value: Any) -> str | None:
    """A text, and nothing else."""
    return value if isinstance(value, str) and value else None


def number_of(value: Any) -> int | None:
    """A whole number, and nothing else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def time_of(item: Object, *keys: str) -> str | None:
    """When something happened, as text: the first of the keys that says it, and means it."""
    times = (time_text(item.get(key)) for key in (*keys, "created_at"))
    return next((found for found in times if found and not found.startswith(_NO_TIME)), None)


def moment(text: str | None) -> datetime | None:
    """A time that can be compared; without a zone it is UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def oldest_first(traces: list[Object]) -> list[Object]:
    """Traces in the order in which they happened; equal times keep the list's own order."""
    times = [moment(time_of(trace, "timestamp")) for trace in traces]
    known = [time for time in times if time is not None]
    if len(known) > 1 and known[0] != known[-1]:
        is_reversed = known[0] > known[-1]
    else:
        is_reversed = bool(traces) and traces[-1].get("action") == "session.created"
    pairs = list(zip(times, traces, strict=True))
    if is_reversed:
        pairs.reverse()
    if len(known) == len(pairs):
        pairs.sort(key=_time)
    return [trace for _, trace in pairs]


def _time(pair: tuple[datetime | None, Object]) -> datetime:
    assert pair[0] is not None
    return pair[0]


def details_of(trace: Object) -> Object:
    """A trace's details; empty where the list left them out."""
    return part(trace, "details")
