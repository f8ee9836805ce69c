"""Recorded values of a row cut to what there is room for. The cassette has them in full."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .show import one_line, tag_of

ROW_LIMIT = 150_000
"""Characters of all values of a row together: rows cross pytest-xdist's wire and travel as artifacts."""
LEAST = 200
"""Characters of a value that are always left."""
SIDES = ("recorded", "accepted", "replayed")

_Row = dict[str, Any]
_Change = Callable[[Any], Any]


def within_budget(row: _Row, most: int = ROW_LIMIT) -> _Row:
    """The row where its values have at most `most` characters together, else with the longest of them cut alike.

    What was cut is `{"!cut": {"head": text, "size": characters in all}}`.
    """
    sizes: list[int] = []

    def measured(value: Any) -> Any:
        sizes.append(_size(value))
        return value

    with_values(row, measured)
    if sum(sizes) <= most:
        return row
    limit = _fair_limit(sizes, most)
    return with_values(row, lambda value: cut_value(value, limit))


def _fair_limit(sizes: Sequence[int], most: int) -> int:
    """What each value may have, so that those which need less leave the rest to the others."""
    left = most
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            return max(LEAST, left // count)
        left -= size
    return max(sizes, default=LEAST)


def _size(value: Any) -> int:
    if value is None or isinstance(value, (bool, int, float)):
        return 0
    if isinstance(value, dict) and tag_of(value) == "!cut":
        return len(value["!cut"]["head"])
    return len(value if isinstance(value, str) else _encode(value))


_encode = json.JSONEncoder(ensure_ascii=False).encode


def with_values(row: _Row, change: _Change) -> _Row:
    """A copy of the row with `change` made to each of its recorded values."""
    versions = [_version(version, change) for version in row.get("versions", ())]
    return {
        **row,
        "turns": [_turn(turn, change) for turn in row["turns"]],
        **({"versions": versions} if versions else {}),
    }


def _turn(turn: _Row, change: _Change) -> _Row:
    made = {**turn, "input": change(turn.get("input"))}
    for side in SIDES:
        if turn.get(side):
            made[side] = {key: change(value) for key, value in turn[side].items()}
    made["calls"] = [_call(call, change) for call in turn["calls"]]
    if "requests" in turn:
        made["requests"] = [_request(request, change) for request in turn["requests"]]
    made["divergences"] = [
        {key: change(value) if key in SIDES else value for key, value in found.items()} for found in turn["divergences"]
    ]
    return made


def _call(call: _Row, change: _Change) -> _Row:
    made = dict(call)
    for side in SIDES:
        if isinstance(call.get(side), dict):
            made[side] = {key: value if key in _NAMES else change(value) for key, value in call[side].items()}
    return made


_NAMES = ("tool", "agent")


def _request(request: _Row, change: _Change) -> _Row:
    made = dict(request)
    for side in ("asked", "recorded", "answer"):
        if side in made:
            made[side] = {key: _said(key, value, change) for key, value in made[side].items()}
    return made


def _said(key: str, value: Any, change: _Change) -> Any:
    is_talk = key == "messages" and isinstance(value, list)
    return [change(message) for message in value] if is_talk else change(value)


def _version(version: _Row, change: _Change) -> _Row:
    made = dict(version)
    if "state" in made:
        made["state"] = change(made["state"])
    if "patch" in made:
        made["patch"] = [[path, *(change(value) for value in values)] for path, *values in made["patch"]]
    return made


def cut_value(value: Any, limit: int) -> Any:
    """A value of a row, or its beginning as text with the size of the whole."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, dict) and tag_of(value) == "!cut":
        return {"!cut": {**value["!cut"], "head": value["!cut"]["head"][:limit]}}
    text = value if isinstance(value, str) else one_line(value)
    return value if len(text) <= limit else {"!cut": {"head": text[:limit], "size": len(text)}}
