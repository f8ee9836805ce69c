"""How much of recorded values a page holds: all of few sessions, the beginning of each value of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..jsonsafe import VALUE_LIMIT
from ..rows import Row
from ..show import one_line, shorten, tag_of

_PAGE = 24_000_000
"""Characters of JSON of all sessions together, before they are packed."""
_LEAST = 200
_WORDS = 2_000
"""Characters of a name, a path or a reason: browsers take minutes to lay out many words of a hundred thousand."""
_SIZE = 40
"""What a text that was cut before says of its size, at most."""


def value_limit(rows: Sequence[Row]) -> int:
    """Characters of one value that the page of these rows holds."""
    values = sum(_values(row) for row in rows)
    return min(VALUE_LIMIT, max(_LEAST, _PAGE // max(1, values)))


def _values(row: Row) -> int:
    """About how many values of any length a row has."""
    turns = [turn for turn in row["turns"] if not (turn["replayed"] or {}).get("same")]
    told = sum(8 + 4 * len(turn["calls"]) + 2 * len(turn["divergences"]) + _messages(turn) for turn in turns)
    reasons = sum("reasoning" in turn["recorded"] for turn in row["turns"])
    return told + reasons + len(row.get("versions", ()))


def _messages(turn: Row) -> int:
    return sum(4 + len(request.get("asked", {}).get("messages", ())) for request in turn.get("requests", ()))


def cut_values(row: Row, limit: int) -> Row:
    """The row with every value of more than `limit` characters cut, with its size; the cassette has it in full."""
    if limit >= VALUE_LIMIT:
        return row
    versions = [_version(version, limit) for version in row.get("versions", ())]
    return {
        **row,
        "turns": [_turn(turn, limit) for turn in row["turns"]],
        **({"versions": versions} if versions else {}),
    }


def _turn(turn: Row, limit: int) -> Row:
    made = {**turn, "input": cut_value(turn.get("input"), limit)}
    for side in _SIDES:
        if turn.get(side):
            made[side] = {key: cut_value(value, limit) for key, value in turn[side].items()}
    made["calls"] = [_call(call, limit) for call in turn["calls"]]
    if "requests" in turn:
        made["requests"] = [_request(request, limit) for request in turn["requests"]]
    made["divergences"] = [
        {key: cut_value(value, limit) if key in _SIDES else value for key, value in found.items()}
        for found in turn["divergences"]
    ]
    return made


def _call(call: Row, limit: int) -> Row:
    sides = {side: call[side] for side in _SIDES if isinstance(call.get(side), dict)}
    return {
        **call,
        **{side: {key: cut_value(value, limit) for key, value in told.items()} for side, told in sides.items()},
    }


def _request(request: Row, limit: int) -> Row:
    made = dict(request)
    for side in ("asked", "recorded", "answer"):
        if side in made:
            made[side] = {key: _said(key, value, limit) for key, value in made[side].items()}
    return made


def _said(key: str, value: Any, limit: int) -> Any:
    is_talk = key == "messages" and isinstance(value, list)
    return [cut_value(message, limit) for message in value] if is_talk else cut_value(value, limit)


def _version(version: Row, limit: int) -> Row:
    made = dict(version)
    if "state" in made:
        made["state"] = cut_value(made["state"], limit)
    if "patch" in made:
        made["patch"] = [[path, *(cut_value(value, limit) for value in values)] for path, *values in made["patch"]]
    return made


_SIDES = ("recorded", "accepted", "replayed")


def cut_value(value: Any, limit: int) -> Any:
    """A value of a row, or its beginning as text with the size of the whole."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, dict) and tag_of(value) == "!cut":
        return {"!cut": {**value["!cut"], "head": value["!cut"]["head"][:limit]}}
    text = value if isinstance(value, str) else one_line(value)
    return value if len(text) <= limit else {"!cut": {"head": text[:limit], "size": len(text)}}


_VALUES = frozenset(("input", "output", "state", "memory", "arguments", "result", "error", "reasoning", "patch"))
_VALUES |= {"about", "requests"}


def short_words(part: Any) -> Any:
    """A row, or a part of it, with texts that are no recorded values (names, paths, reasons) in 2,000 characters."""
    if isinstance(part, str):
        return part if len(part) <= _WORDS + _SIZE else shorten(part, _WORDS)
    if isinstance(part, list):
        return [short_words(one) for one in part]
    if isinstance(part, dict):
        kept = _SIDES if "facet" in part else _VALUES
        return {key: value if key in kept else short_words(value) for key, value in part.items()}
    return part
