"""Texts that a stream tells in pieces: server-sent events and lines of JSON, each with a few characters more."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...wire.exchange import Response

_Path: TypeAlias = tuple[Any, ...]
_STREAMS = re.compile(r"text/event-stream|application/(?:x-)?(?:ndjson|jsonl|jsonlines|json-stream|stream\+json)\b")
_PLACES = ("index", "output_index", "content_index", "item_id")
"""What tells one text of a stream from others that are told at the same time."""


@dataclass(slots=True)
class _Line:
    """A line with JSON in it."""

    number: int
    head: bytes
    value: Any
    tail: bytes


@dataclass(slots=True)
class _Text:
    """A text with its pieces in order."""

    pieces: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where each piece begins in the whole text."""
    places: list[tuple[_Line, _Path]] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, line: _Line, path: _Path) -> None:
        self.pieces.append(text)
        self.starts.append(self.length)
        self.places.append((line, path))
        self.length += len(text)

    def is_split(self, start: int, end: int) -> bool:
        """Whether what stands there is in more than one piece."""
        return bisect_right(self.starts, start) != bisect_right(self.starts, end - 1)


def is_stream(answer: Response) -> bool:
    """Whether an answer may tell a text in pieces."""
    return _STREAMS.match((answer.header("content-type") or "").strip().lower()) is not None


def joined(body: bytes) -> list[str]:
    """The texts that a stream tells in more than one piece."""
    return ["".join(text.pieces) for text in _texts(_lines(body)) if len(text.pieces) > 1]


def with_new_names(body: bytes, ids: re.Pattern[str], new_name: Callable[[str], str | None]) -> bytes:
    """A stream with other ids where more than one piece holds one of them.

    Each piece keeps its share of characters, the last one has the rest; all other lines stay to the byte.
    """
    changed: dict[int, _Line] = {}
    for text in _texts(_lines(body)):
        if len(text.pieces) < 2:
            continue
        whole = "".join(text.pieces)
        told = [(one.start(), one.end(), new_name(one[0])) for one in ids.finditer(whole)]
        split = [(start, end, new) for start, end, new in told if new is not None and text.is_split(start, end)]
        for line in _renamed(text, whole, split) if split else ():
            changed[line.number] = line
    if not changed:
        return body
    parts = body.split(b"\n")
    for number, line in changed.items():
        layout = None if b'": ' in parts[number] else (",", ":")
        value = json.dumps(line.value, separators=layout)
        parts[number] = line.head + value.encode() + line.tail
    return b"\n".join(parts)


def _renamed(text: _Text, whole: str, found: list[tuple[int, int, str]]) -> Iterator[_Line]:
    """Put new names into the pieces, each of which begins and ends where it did, counted in characters."""
    at = 0
    for start, piece, (line, path) in zip(text.starts, text.pieces, text.places, strict=True):
        end = start + len(piece)
        while at < len(found) and found[at][1] <= start:
            at += 1
        out, done, later = "", start, at
        while later < len(found) and found[later][0] < end:
            first, last, new = found[later]
            out += whole[done : max(first, done)] + new[max(0, start - first) : None if last <= end else end - first]
            done, later = min(last, end), later + 1
        if later > at:
            _put(line.value, path, out + whole[done:end])
            yield line


def _put(value: Any, path: _Path, text: str) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = text


def _lines(body: bytes) -> Iterator[_Line]:
    for number, line in enumerate(body.split(b"\n")):
        bare = line.rstrip(b"\r")
        payload = bare.removeprefix(b"data:").lstrip()
        if payload[:1] in (b"{", b"["):
            try:
                value = json.loads(payload)
            except (ValueError, RecursionError):
                continue  # cut off, or no JSON
            yield _Line(number, bare[: len(bare) - len(payload)], value, line[len(bare) :])


def _texts(lines: Iterable[_Line]) -> list[_Text]:
    """By the place in an event, and the numbers that tell texts apart."""
    found: dict[Hashable, _Text] = {}
    for line in lines:
        try:
            leaves = list(_leaves(line.value, (), ()))
        except RecursionError:
            continue
        for place, path, text in leaves:
            found.setdefault(place, _Text()).add(text, line, path)
    return list(found.values())


def _leaves(value: Any, place: _Path, path: _Path) -> Iterator[tuple[_Path, _Path, str]]:
    if isinstance(value, str):
        if value and path:
            yield place, path, value
    elif isinstance(value, dict):
        marks = tuple(value[key] for key in _PLACES if isinstance(value.get(key), (int, str)))
        for key, item in value.items():
            yield from _leaves(item, (*place, *marks, key), (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            told = isinstance(item, dict) and "index" in item
            yield from _leaves(item, (*place, "" if told else at), (*path, at))
