"""The state at each version of a recording, from what a row keeps of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any


def state_at(row: Mapping[str, Any], version: int | None) -> Any:
    """The recorded state of a version of a row that `timeline_row` filled; None where the row does not tell it.

    A value that was masked or cut may no longer hold what changed in it: then nothing is known of the state.
    """
    state: Any = None
    try:
        for number, told in enumerate(row.get("versions", ())):
            state = deepcopy(told.get("state")) if number == 0 else _patched(state, told.get("patch", ()))
            if told["v"] == version:
                return state
    except (KeyError, IndexError, TypeError):
        return None
    return None


def _patched(state: Any, patch: Iterable[Sequence[Any]]) -> Any:
    for path, *values in patch:
        if not path:
            state = deepcopy(values[0])
            continue
        inner = state
        for key in path[:-1]:
            inner = inner[key]
        if not values:
            del inner[path[-1]]
        elif isinstance(inner, list) and path[-1] == len(inner):
            inner.append(deepcopy(values[0]))
        else:
            inner[path[-1]] = deepcopy(values[0])
    return state
