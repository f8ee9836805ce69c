"""Which replays are of one recording, so that the page tells and counts it once.

A row names no file of a recording: `cassette` is its plan, and several plans may replay one. Ids of sessions are not
enough either, since two recordings may share one. What a row tells of the recording as a whole is the same whatever
was replayed of it, and is what tells recordings apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..rows import Row
from ..show import tag_of

_VERSION = ("v", "turn", "after", "at", "actor", "back")
_TRACE = ("action", "turn", "at", "actor")
_SAID = 100
"""Characters of an input that are compared: each row has so many, however much its values were cut."""


def recordings(rows: Iterable[Row]) -> list[int]:
    """For each row the number of its recording, the same for all replays of one.

    One recording is what has the same session, the same turns (input and time), the same versions and traces, and the
    same figures. Results of earlier versions, and replays that could not begin, tell too little: of these it is what
    has the same session and the same plan.
    """
    numbers: dict[str, int] = {}
    return [numbers.setdefault(_identity(row), len(numbers)) for row in rows]


def _identity(row: Row) -> str:
    if not any(row.get(name) for name in ("production", "versions", "traces", "others")):
        return json.dumps([row.get("session"), row["cassette"]])
    turns = [
        [turn["turn"], turn.get("at"), _said(turn.get("input"))] for turn in (*row.get("others", ()), *row["turns"])
    ]
    versions = [_told(version, _VERSION) for version in row.get("versions", ())]
    traces = [_told(trace, _TRACE) for trace in row.get("traces", ())]
    whole = [row.get("session"), row.get("production"), sorted(map(json.dumps, turns)), versions, traces]
    return json.dumps(whole, sort_keys=True)


def _told(part: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [part.get(name) for name in names]


def _said(value: Any) -> Any:
    """The beginning of an input, which may be cut already."""
    text = value["!cut"]["head"] if isinstance(value, dict) and tag_of(value) == "!cut" else value
    return text[:_SAID] if isinstance(text, str) else None
