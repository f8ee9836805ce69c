"""Whether a line of a results file is the result of a replay: files come from other machines, and from forks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

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
    "explanation": (str,),
}
_CALL_DEFAULTS: dict[str, Any] = {"recorded": None, "replayed": None}
_OTHER: _Shape = {"turn": (int,), "calls": (list,), "at": (str,), "actor": (str,), "why": (str,)}
_VERSION: _Shape = {"v": (int,), "turn": (int, _NONE), "patch": (list,), "at": (str,), "actor": (str,), "why": (str,)}
_TRACE: _Shape = {"action": (str,), "turn": (int, _NONE), "at": (str,), "actor": (str,), "why": (str,)}
_DIVERGENCE: _Shape = {"facet": (str,), "kind": (str,), "path": (str,), "fingerprint": (str,), "detail": (str,)}


def checked_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with what may be left away filled in. Raises ValueError where it is no result of a replay."""
    _has(row, _REQUIRED)
    _fits(row, _ROW, "")
    full = {**_ROW_DEFAULTS, "verdicts": {}, "warnings": [], "calls": {}, **row}
    full["turns"] = [_turn(turn) for turn in row["turns"]]
    _check_recording(row)
    for name in ("verdicts", "calls", "requests"):
        if any(type(number) is not int for number in full.get(name, {}).values()):
            raise ValueError(f"the `{name}` of the replay hold what is no number")
    return full


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
    required = ("facet", "kind", "path")
    full["divergences"] = [_part(found, _DIVERGENCE, required, "a divergence", {}) for found in divergences]
    return full


def _call(call: Any) -> dict[str, Any]:
    full = _part(call, _CALL, ("label", "tool"), "a call", _CALL_DEFAULTS)
    sides = [side for side in ("recorded", "accepted", "replayed") if full.get(side) and not full[side].get("same")]
    return full | {side: {"arguments": {}, **full[side]} for side in sides}


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
        if kinds is not None and not isinstance(value, kinds):
            raise ValueError(f"the `{key}` of {where or 'the replay'} is {_name(value)}")


def _name(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", _NONE: "null"}
    return names.get(type(value), "a number")
