"""Values that an agent makes up anew on each run: uuids, random tokens, timestamps.

Two calls that differ only in such values may be the same call. What was *given* to the agent (by the user, the state,
the history, a tool) is never one of them: refunding order B instead of A is no renaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from ..compare.shapes import as_moment, is_text_in_base64, shapes_in
from ..values import TypedData

Piece = tuple[str, Any]
"""The shape (`time`, `uuid`, `token`) and the value itself."""
_LONGEST_KEPT = 16_000
"""Characters of a text up to which what was found in it is kept."""


def mask(value: Any) -> tuple[Any, list[Piece]]:
    """`value` in hashable form with every volatile piece taken out, and the pieces in order."""
    pieces: list[Piece] = []
    return _mask(value, pieces), pieces


def _mask(value: Any, pieces: list[Piece]) -> Any:
    if isinstance(value, str):
        return _mask_text(value, pieces)
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]))
        return ("d", *((key, _mask(item, pieces)) for key, item in items))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(_mask(item, pieces) for item in value))
    if isinstance(value, datetime) or (isinstance(value, (int, float)) and as_moment(value) is not None):
        pieces.append(("time", value))
        return (type(value).__name__, "time")
    return (type(value).__name__, repr(value))


def _mask_text(text: str, pieces: list[Piece]) -> Any:
    if len(text) < 12:
        return text
    masked, found = _masked_text(text) if len(text) <= _LONGEST_KEPT else _masked_text.__wrapped__(text)
    pieces.extend(found)
    return masked


@lru_cache(maxsize=1024)  # a conversation is in every later request to a model once more
def _masked_text(text: str) -> tuple[str, tuple[Piece, ...]]:
    pieces: list[Piece] = []
    kept: list[str] = []
    at = 0
    for found in shapes_in(text):
        shape = found.lastgroup or ""
        if shape == "token" and is_text_in_base64(found):
            continue
        pieces.append((shape, found[0]))
        kept += (text[at : found.start()], f"\x00{shape}\x00")
        at = found.end()
    return "".join([*kept, text[at:]]), tuple(pieces)


def ids_in(values: Iterable[Any]) -> Iterator[str]:
    """Every uuid and token inside `values`, however deep."""
    for value in values:
        if isinstance(value, str):
            if len(value) >= 12:
                yield from (match[0] for match in shapes_in(value) if match.lastgroup != "time")
        elif isinstance(value, Mapping):
            yield from ids_in(value.keys())
            yield from ids_in(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from ids_in(value)


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """`value` with every made-up id replaced by its counterpart, also inside longer texts."""
    if isinstance(value, str):
        for old, new in names.items():
            if old in value:
                value = value.replace(old, new)
        return value
    if type(value) is dict:
        return {key: rename(item, names) for key, item in value.items()}
    if type(value) is list:
        return [rename(item, names) for item in value]
    if type(value) is tuple:
        return tuple(rename(item, names) for item in value)
    if type(value) is TypedData:
        return TypedData(value.type, rename(dict(value.fields), names), value.kind)
    return value
