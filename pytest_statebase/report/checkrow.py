"""Whether a line of a results file is the result of a replay: files come from other machines, and from forks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from .jsonsafe import DEPTH

_LEVELS = 3 * DEPTH + 20
"""How deep a row is nested at most: each level of a recorded value is up to three of JSON."""
_PRINT = re.compile(r"\w*", re.ASCII)
_NONE = type(None)
_Shape: TypeAlias = Mapping[str, tuple[type, ...]]
_REQUIRED = ("cassette", "fork", "outcome", "turns")
_ROW: _Shape = {
    "cassette": (str,),
    "session": (str,),
    "title": (str, _NONE),
    "agent": (str, _NONE),
    "fork": (str,),
    "until": (int, _NONE),
    "mode": (str, _NONE),
    "owner": (str, _NONE),
    "gate": (str,),
    "outcome": (str,),
    "failure": (str, _NONE),
    "message": (str, _NONE),
    "verdicts": (dict,),
    "warnings": (list,),
    "duration_ms": (int, float),
    "turns": (list,),
    "calls": (dict,),
    "nodeid": (str,),
    "requests": (dict,),
    "pinned": (list,),
    "failing": (list,),
    "versions": (list,),
    "traces": (list,),
    "others": (list,),
    "production": (dict,),
}
_ROW_DEFAULTS: dict[str, Any] = {
    "session": "",
    "title": None,
    "agent": None,
    "until": None,
    "mode": None,
    "owner": None,
    "gate": "block",
    "failure": None,
    "message": None,
    "duration_ms": 0.0,
}
_TURN: _Shape = {
    "turn": (int,),
    "verdict": (str,),
    "recorded": (dict,),
    "accepted": (dict,),
    "replayed": (dict, _NONE),
    "calls": (list,),
    "divergences": (list,),
    "requests": (list,),
    "known": (list,),
    "expired": (list,),
    "reason": (str,),
    "duration_ms": (int, float),
}
_TURN_DEFAULTS: dict[str, Any] = {"input": None, "authored": False, "replayed": None}
_CALL: _Shape = {
    "label": (str,),
    "tool": (str,),
    "recorded": (dict, _NONE),
    "accepted": (dict, _NONE),
    "replayed": (dict, _NONE),
    "flags": (list,),
    "source": (str,),
    "sibling": (str,),
    "from_turn": (int,),
    "explanation": (str,),
}
_CALL_SIDE: _Shape = {"same": (bool,), "agent": (str,), "tool": (str,)}
_REQUEST: _Shape = {
    "method": (str,),
    "address": (str,),
    "source": (str,),
    "from_turn": (int,),
    "flags": (list,),
    "explanation": (str,),
    "hint": (str,),
    "asked": (dict,),
    "recorded": (dict,),
    "answer": (dict,),
}
_ASKED: _Shape = {"messages": (list,), "earlier": (int,), "left": (int,)}
_KNOWN: _Shape = {"fingerprint": (str,), "until": (str,), "ticket": (str, _NONE)}
_CALL_DEFAULTS: dict[str, Any] = {"recorded": None, "replayed": None}
_OTHER: _Shape = {"turn": (int,), "calls": (list,), "greeting": (bool,), "at": (str,), "actor": (str,), "why": (str,)}
_PLACED: _Shape = {"turn": (int, _NONE), "calls": (int,), "at": (str,), "actor": (str,), "why": (str,)}
_VERSION: _Shape = {**_PLACED, "v": (int,), "after": (int,), "back": (int,), "patch": (list,)}
_TRACE: _Shape = {**_PLACED, "action": (str,), "about": (str,)}
_DIVERGENCE: _Shape = {
    "facet": (str,),
    "kind": (str,),
    "path": (str,),
    "fingerprint": (str,),
    "follows": (str,),
    "detail": (str,),
}


def checked_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with what may be left away filled in. Raises ValueError where it is no result of a replay."""
    _has(row, _REQUIRED)
    _check_depth(row)
    _fits(row, _ROW, "")
    full = {**_ROW_DEFAULTS, "verdicts": {}, "warnings": [], "calls": {}, **row}
    full["turns"] = [_turn(turn) for turn in row["turns"]]
    _check_recording(row)
    if "others" in row:
        full["others"] = [{"calls": [], **other} for other in row["others"]]
    for name in ("verdicts", "calls", "requests"):
        if any(type(number) is not int for number in full.get(name, {}).values()):
            raise ValueError(f"the `{name}` of the replay hold what is no number")
    return full


def _check_depth(row: dict[str, Any]) -> None:
    level: list[Any] = [row]
    for _ in range(_LEVELS):
        inner = (item for one in level for item in (one.values() if isinstance(one, dict) else one))
        level = [item for item in inner if isinstance(item, (dict, list))]
        if not level:
            return
    raise ValueError("nested too deeply")


def _check_recording(row: dict[str, Any]) -> None:
    """What is told of the recording beside the turns."""
    for name, shape, required in (
        ("others", _OTHER, ("turn",)),
        ("versions", _VERSION, ("v",)),
        ("traces", _TRACE, ("action",)),
    ):
        for part in row.get(name, ()):
            _part(part, shape, required, f"one of `{name}`", {})
    texts = [*row.get("pinned", ()), *(tool for other in row.get("others", ()) for tool in other.get("calls", ()))]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("names of tools or of what is pinned are no texts")
    if not all(type(turn) is int for turn in row.get("failing", ())):
        raise ValueError("the turns that are `failing` are no numbers")
    for change in (change for version in row.get("versions", ()) for change in version.get("patch", ())):
        if not (isinstance(change, list) and change and isinstance(change[0], list)):
            raise ValueError("the `patch` of a version is none")


def _turn(turn: Any) -> dict[str, Any]:
    where = "a turn"
    _fits(turn, _TURN, where)
    _has(turn, ("turn", "verdict"), where)
    full = {**_TURN_DEFAULTS, "recorded": {}, **turn}
    calls, divergences = full.get("calls", ()), full.get("divergences", ())
    full["calls"] = [_call(call) for call in calls]
    full["divergences"] = [_divergence(found) for found in divergences]
    for request in full.get("requests", ()):
        _check_request(request)
    for name in ("known", "expired"):
        for entry in full.get(name, ()):
            _part(entry, _KNOWN, ("until",), f"one of `{name}`", {})
    return full


def _call(call: Any) -> dict[str, Any]:
    full = _part(call, _CALL, ("label", "tool"), "a call", _CALL_DEFAULTS)
    _check_texts(full, "flags", "a call")
    told = {side: full[side] for side in ("recorded", "accepted", "replayed") if full.get(side) is not None}
    if not told:
        raise ValueError("a call has no side: not recorded, not accepted and not replayed")
    for side, told_side in told.items():
        _fits(told_side, _CALL_SIDE, f"the `{side}` side of a call")
        if told_side.get("same") and _SAME_AS.get(side) not in told:
            raise ValueError(f"the `{side}` side of a call is the same as one that is not there")
    return full | {side: {"arguments": {}, **one} for side, one in told.items() if not one.get("same")}


_SAME_AS = {"replayed": "recorded", "accepted": "replayed"}


def _divergence(found: Any) -> dict[str, Any]:
    full = _part(found, _DIVERGENCE, ("facet", "kind", "path"), "a divergence", {"fingerprint": ""})
    if not (_PRINT.fullmatch(full["fingerprint"]) and _PRINT.fullmatch(full.get("follows", ""))):
        raise ValueError("the fingerprint of a divergence is none")
    return full


def _check_request(request: Any) -> None:
    where = "a request"
    _part(request, _REQUEST, ("method", "address", "source"), where, {})
    _check_texts(request, "flags", where)
    for side in ("asked", "recorded"):
        asked = request.get(side, {})
        _fits(asked, _ASKED, f"the `{side}` of {where}")
        if not all(isinstance(message, dict) for message in asked.get("messages", ())):
            raise ValueError(f"one of the `messages` of {where} is not a mapping")


def _check_texts(part: dict[str, Any], name: str, where: str) -> None:
    if not all(isinstance(text, str) for text in part.get(name, ())):
        raise ValueError(f"one of the `{name}` of {where} is no text")


def _part(part: Any, shape: _Shape, required: tuple[str, ...], where: str, defaults: dict[str, Any]) -> dict[str, Any]:
    _fits(part, shape, where)
    _has(part, required, where)
    return {**defaults, **part}


def _has(mapping: dict[str, Any], required: tuple[str, ...], where: str = "") -> None:
    for key in required:
        if key not in mapping:
            raise ValueError(f"{where or 'it'} has no `{key}`")


def _fits(mapping: Any, shape: _Shape, where: str) -> None:
    if not isinstance(mapping, dict):
        raise ValueError(f"{where or 'it'} is not a mapping")
    for key, value in mapping.items():
        kinds = shape.get(key)
        # type() and not isinstance(): true and false are no numbers here.
        if kinds is not None and type(value) not in kinds:
            raise ValueError(f"the `{key}` of {where or 'the replay'} is {_name(value)}")


def _name(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", _NONE: "null"}
    return names.get(type(value), "a number")
