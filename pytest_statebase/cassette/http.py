"""HTTP recordings in vcrpy's format: read at the speed of records, with what each interaction says of its turn.

An interaction may have the keys `turn`, `during` (a tool call of that turn), `at`, `latency_ms`, `derived` (it was made
from a trace: what that did not tell), `cut` (why the body ends early), `encoded` (the body is as it came) and `failed`
(why no answer came); vcrpy itself passes over them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import FileError, HttpError
from ..wire.exchange import Exchange
from .files import CONFLICT, read_bytes
from .httpforms import exchange_of, is_http
from .vcryaml import documents_of

VERSION = 1
_AGAIN = "Restore it from version control, or record it again."


@dataclass(frozen=True, slots=True)
class HttpRecording:
    """What one file holds."""

    path: str
    exchanges: tuple[Exchange, ...]
    skipped: tuple[str, ...] = ()
    """What no HTTP client can be answered with, such as messages of websockets: a line each, with its place."""


def read_http(path: str | os.PathLike[str]) -> HttpRecording:
    """The exchanges of a recording in YAML or JSON, always UTF-8.

    Raises HttpError, with file and line, for one that is missing, empty, cut off, of another encoding or version, or
    no recording at all. It never reads as an empty one.
    """
    name = os.fspath(path)
    try:
        data = read_bytes(name)
    except FileError as error:
        remedy = "Restore it, or correct `http` in the plan." if "no such file" in error.what else error.remedy
        raise HttpError(f"the HTTP recording: {error.what}", where=error.where, remedy=remedy) from None
    return http_from(data, where=name)


def http_from(data: bytes, *, where: str) -> HttpRecording:
    """As `read_http`, from bytes in UTF-8."""
    # The search for a line's beginning is slow; most files have no such signs at all.
    conflict = CONFLICT.search(data) if b"<<<<<<<" in data or b">>>>>>>" in data else None
    if conflict is not None:
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise HttpError("there are conflict markers of a merge", where=f"{where}:{line}", remedy="Resolve the merge.")
    try:
        documents = documents_of(data, where=where)
    except FileError as error:
        raise HttpError(error.what, where=error.where, remedy=error.remedy) from None
    except RecursionError:
        raise HttpError("the nesting is too deep", where=where, remedy=_AGAIN) from None
    if len(documents) != 1:
        raise HttpError(f"there are {len(documents)} documents; a recording is one", where=where, remedy=_AGAIN)
    return _Recording(data, where).read(documents[0].value)


@dataclass(frozen=True, slots=True)
class _Recording:
    """A file that is being understood."""

    data: bytes
    where: str

    def read(self, root: Any) -> HttpRecording:
        items = self.items(root)
        exchanges: list[Exchange] = []
        skipped: list[int] = []
        for number, item in enumerate(items):
            if type(item) is dict and not is_http(item):
                skipped.append(number)
                continue
            try:
                exchanges.append(exchange_of(item))
            except KeyError as error:
                raise self.wrong(f"`{error.args[0]}` is missing: it may be cut off", number) from None
            except (TypeError, ValueError, RecursionError) as error:
                raise self.wrong(str(error), number) from None
        if skipped and not exchanges:
            what = f"there is no HTTP exchange in it, but {_told(items[0])}"
            raise HttpError(what, where=self.where, remedy="Only HTTP can be replayed; leave the file out.")
        places = self.places([("interactions", number) for number in skipped]) if skipped else ()
        told = [f"{at}: {_told(items[number])}, no HTTP" for at, number in zip(places, skipped, strict=True)]
        return HttpRecording(self.where, tuple(exchanges), tuple(told))

    def items(self, root: Any) -> list[Any]:
        if type(root) is list and root and type(root[0]) is dict and "request" in root[0]:
            raise self.refused(
                "this is a recording of vcrpy before 1.0", remedy="Migrate it: python -m vcr.migration FILE"
            )
        if type(root) is dict and "http_interactions" in root:
            raise self.refused("this is a recording of Ruby's VCR, not of vcrpy")
        if type(root) is not dict or "interactions" not in root:
            raise self.refused("this is no HTTP recording: it has no `interactions`")
        if "version" not in root:
            remedy = "Restore it from version control. If nothing is missing, add the line `version: 1`."
            raise self.refused("there is no `version`: the file may be cut off", remedy=remedy)
        version = root["version"]
        if version != VERSION or type(version) is not int:
            what = f"the recording has version {version!r:.40}; version {VERSION} is read"
            raise self.refused(what, "version", remedy="Record it again, or upgrade pytest-statebase.")
        items = root["interactions"]
        if type(items) is not list:
            raise self.refused(f"`interactions` is {type(items).__name__}, not a list", "interactions")
        return items

    def wrong(self, what: str, number: int) -> HttpError:
        return self.refused(f"interaction {number + 1}: {what}", "interactions", number)

    def refused(self, what: str, *keys: Any, remedy: str = _AGAIN) -> HttpError:
        return HttpError(what, where=self.places([keys])[0] if keys else self.where, remedy=remedy)

    def places(self, paths: list[tuple[Any, ...]]) -> list[str]:
        """File and line of what stands under some keys, which takes a second reading: nobody asks as a rule."""
        try:
            (document,) = documents_of(self.data, where=self.where, marks=True)
        except FileError:
            return [self.where] * len(paths)
        return [f"{self.where}:{document.position(*path)[0]}" for path in paths]


def _told(item: Mapping[str, Any]) -> str:
    return "messages of a socket" if "direction" in item else f"`{', '.join(map(str, item))}`"[:60]
