"""A row with everything that a row may hold, and rows like it with one thing changed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from report_data import row, still_failing, told

_ABSENT = object()
ODD = (_ABSENT, None, True, 7, "x", [], [None], {}, {"x": None}, {"!cut": {"head": 5}}, {"!float": []})
"""What stands in the place of a part; the first takes it away."""


def full_row() -> dict[str, Any]:
    """A replay whose turns have a baseline, requests and known differences, beside its recording."""
    made = row(told(pinned=("clock",)))
    turn = made["turns"][0]
    second = row(still_failing())["turns"][1]
    messages = [{"role": "user", "content": "hi", "calls": [{"tool": "t", "arguments": "{}"}]}]
    turn |= {
        "accepted": {"output": "Yes", "state": {"a": 1}, "memory": [{"content": "b"}], "error": {"type": "E"}},
        "requests": [
            {"method": "POST", "address": "https://a.example/x", "source": "record", "from_turn": 1, "flags": ["kept"]}
            | {"explanation": "why\nso", "hint": "a\nb", "asked": {"query": {"a": 1}, "body": {"b": 1}}}
            | {"recorded": {"query": {"a": 2}, "body": {"b": 2}}, "answer": {"status": 200, "body": {"c": 1}}},
            {"method": "POST", "address": "https://m.example/x", "source": "none", "flags": ["model", "unrecorded"]}
            | {"asked": {"messages": messages, "earlier": 1, "left": 2, "system": "s", "settings": {"model": "m"}}}
            | {"recorded": {"messages": messages}, "answer": {"status": 200, "message": messages[0], "cut": 3}},
            {"method": "GET", "address": "https://m.example/y", "source": "record"}
            | {"answer": {"failed": "timeout", "message": "too late"}},
        ],
        "known": [{"fingerprint": "abc", "until": "2030-01-01", "ticket": "PAY-1"}],
        "expired": [{"fingerprint": "abd", "until": "2020-01-01", "ticket": None}],
        "reason": "because\nof this",
        "actor": "ops",
        "excused": False,
    }
    turn["recorded"] |= {"error": {"type": "E", "message": "m"}, "memory": [{"content": "a"}], "reasoning": "why"}
    turn["replayed"] |= {"error": {"type": "a:E", "message": "m", "trace": "  File x\n"}, "reasoning": "so"}
    turn["replayed"]["memory"] = [{"content": "c"}]
    turn["calls"][0] |= {"accepted": {"same": True}, "places": [0, 0, 0], "flags": ["stale"], "sibling": "s"}
    turn["calls"][1] |= {"accepted": {"tool": "t", "arguments": {"a": 1}, "result": 1}, "explanation": "a\nb"}
    turn["calls"][1]["recorded"] |= {"agent": "one", "tool": "old"}
    turn["divergences"][0] |= {"detail": "said", "note": False, "baseline": True, "follows": ""}
    made["turns"].append(second)
    made |= {
        "requests": {"answered": 1, "model_live": 2},
        "known": [{"fingerprint": "a", "until": "2030-01-01", "ticket": None, "where": "p:1", "matched": True}],
        "unbound": [{"tool": "t", "calls": 1, "lacks": ["a"], "unknown": ["b"]}],
        "upkeep": {"own": {"**.x": True}, "accepted": [1], "reached": [1], "problems": ["p"], "partial": True},
        "failing": [2],
        "agent_given": True,
        "unfinished": False,
        "message": "m\nn",
        "failure": "f",
        "owner": "o",
        "warnings": ["w"],
    }
    return made


def odd_rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """The full row with each part of it taken away, or another in its place; what was changed, and the row."""
    made = full_row()
    for path in _paths(made):
        for odd in ODD:
            changed = copy.deepcopy(made)
            holder: Any = changed
            for key in path[:-1]:
                holder = holder[key]
            if odd is _ABSENT:
                del holder[path[-1]]
            else:
                holder[path[-1]] = copy.deepcopy(odd)
            yield f"{'.'.join(map(str, path))} = {'nothing' if odd is _ABSENT else repr(odd)}", changed


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))
