"""A recording around its replay: state versions, the turns before and after, and what else left a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..events import Event, SessionCreated, StateRolledBack, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from ..ledger import Ledger, StateVersion, Turn
from ..traces import Trace, traces_of
from ..values import same
from .jsonsafe import json_safe, short_text
from .show import shorten, tag_of
from .withoutsecrets import without_secrets

SNIPPET = 160
REASON = 2_000
"""Characters of a reason, or a reasoning, that a row keeps; what is cut says its size."""

_TOLD_ELSEWHERE = frozenset({"state.updated", "state.rolled_back", "turn.added"})


def timeline_row(ledger: Ledger, replayed: Collection[int]) -> dict[str, Any]:
    """What a row keeps of the recording beside the turns that it tells itself.

    replayed: the numbers of those turns.

    `versions`: `{v, turn, at, actor, why}`; the first one with `state`, the whole of it, the others with `patch`, what
    changed since the version before: `[path, value]`, or `[path]` for what is gone, a path being a list of keys and
    positions; `back` is the version that was gone back to. One that was made within a turn says after how many `calls`
    of it, one between turns `after` which.
    `others`: the turns that were not replayed, `{turn, at, actor, why, input, output, calls}`, the calls by the
    names of their tools; a `greeting` is one that no replay asks for.
    `traces`: what is neither a version nor a turn, `{action, at, actor, turn, calls, why, about}`; `turn` is the one in
    which it happened, or after which, where `calls` is missing.
    """
    places = list(_places(ledger.events))
    row: dict[str, Any] = {
        "versions": list(_versions(ledger.versions, _version_places(ledger.events, places))),
        "others": [_other(turn) for turn in ledger.turns if turn.number not in replayed],
        "traces": list(_traces(ledger, places)),
    }
    return {key: value for key, value in row.items() if value}


_Place: TypeAlias = tuple[int | None, int | None]
"""The last turn that began, and how many calls it had made; no number where it was over."""


def _places(events: Iterable[Event]) -> Iterator[_Place]:
    """Where each event stands."""
    turn: int | None = None
    calls: int | None = None
    for event in events:
        if isinstance(event, TurnStarted):
            turn, calls = event.number, 0
        yield turn, calls
        if isinstance(event, TurnAdded):
            calls = None
        elif isinstance(event, ToolCalled) and calls is not None:
            calls += 1


def _version_places(events: Iterable[Event], places: Iterable[_Place]) -> dict[int, _Place]:
    kinds = (SessionCreated, StateUpdated, StateRolledBack)
    return {id(event): place for event, place in zip(events, places, strict=True) if isinstance(event, kinds)}


def _versions(versions: Sequence[StateVersion], places: Mapping[int, _Place]) -> Iterator[dict[str, Any]]:
    before: Any = None
    clean: Any = None
    for index, version in enumerate(versions):
        event = version.event
        state = json_safe(version.state)
        made: dict[str, Any] = {"v": version.version, "turn": version.turn}
        last, calls = places[id(event)]
        if calls:
            made["calls"] = calls
        elif calls is None and last is not None:
            made["after"] = last
        why = event.reason if isinstance(event, StateRolledBack) else event.reasoning
        made |= _told(at=event.at, actor=event.actor, why=why)
        if isinstance(event, StateRolledBack):
            made["back"] = event.to_version
        if index == 0:
            made["state"] = state
            clean = without_secrets(state)
        else:
            now = _clean(state, before, clean)
            made["patch"] = list(changes(clean, now))
            clean = now
        before = state
        yield made


def _clean(state: Any, before: Any, clean: Any) -> Any:
    """`state` without secrets; `clean` is `before` without them. A change alone does not say under which name it is.

    Only what differs from `before` is looked at: a session may have many versions of a large state.
    """
    if not (isinstance(state, dict) and isinstance(before, dict) and isinstance(clean, dict)):
        return without_secrets(state)
    new = {key: value for key, value in state.items() if key not in before or not same(before[key], value)}
    found = without_secrets(new)
    if found.keys() != new.keys() or not before.keys() <= clean.keys():
        return without_secrets(state)
    return {key: found[key] if key in found else clean[key] for key in state}


def changes(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> Iterator[list[Any]]:
    """What turns one JSON value into another: `[path, value]` for what is new or other, `[path]` for what is gone.

    A list that has lost items is given as a whole, and so is a value that was cut, or takes the place of such a one.
    """
    if isinstance(old, dict) and isinstance(new, dict) and not (_is_cut(old) or _is_cut(new)):
        for key in old:
            if key not in new:
                yield [[*path, key]]
        for key, value in new.items():
            if key not in old:
                yield [[*path, key], value]
            else:
                yield from changes(old[key], value, (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) <= len(new):
        for index, value in enumerate(new):
            if index < len(old):
                yield from changes(old[index], value, (*path, index))
            else:
                yield [[*path, index], value]
    elif not same(old, new):
        yield [list(path), new]


def _is_cut(value: dict[str, Any]) -> bool:
    return tag_of(value) == "!cut"


def _other(turn: Turn) -> dict[str, Any]:
    output = turn.output
    if isinstance(output, dict) and "content" in output:
        output = output["content"]
    added = turn.added
    row: dict[str, Any] = {"turn": turn.number, "input": short_text(turn.text, SNIPPET)}
    row["calls"] = [call.tool for call in turn.calls]
    if turn.is_greeting:
        row["greeting"] = True
    if added is not None:
        row["output"] = short_text(added.error if added.error is not None else output, SNIPPET)
    return row | _told(at=turn.started.at, actor=added.actor if added else None, why=added.reasoning if added else None)


def _traces(ledger: Ledger, places: Sequence[_Place]) -> Iterator[dict[str, Any]]:
    for trace in traces_of(ledger.id, ledger.events):
        if trace.action not in _TOLD_ELSEWHERE:
            turn, calls = places[int(trace.id.rpartition("_")[2])]
            told = _told(at=trace.timestamp, actor=trace.actor, why=trace.reasoning, about=_about(trace))
            yield {"action": trace.action, "turn": turn, **({} if calls is None else {"calls": calls}), **told}


def _about(trace: Trace) -> str | None:
    content = trace.details.get("content")
    return None if content is None else short_text(content, SNIPPET)


def _told(**facts: str | None) -> dict[str, str]:
    """Those of the facts that the recording tells."""
    return {name: shorten(value, REASON) for name, value in facts.items() if value is not None}
