"""States in a record: as patches where that is shorter (RFC 6902)."""

from __future__ import annotations

import json
from typing import Any

from ..values import ABSENT, copy_value
from .shapes import MalformedError

_WORTH_IT = 400
"""Characters of JSON below which a whole state reads better than a patch."""


def apply_patch(state: Any, patch: Any) -> Any:
    """The state after the patch; `state` itself stays.

    Raises MalformedError where the patch does not fit.
    """
    import jsonpatch

    if state is ABSENT:
        raise MalformedError("`patch` has no state before it to change", "patch")
    try:
        return jsonpatch.JsonPatch(copy_value(patch)).apply(copy_value(state))
    except Exception as error:  # jsonpatch lets AttributeError, TypeError and others out for odd documents
        raise MalformedError(f"`patch` does not fit the state before it: {error}", "patch") from None


def patch_for(before: Any, after: Any) -> list[Any] | None:
    """A patch that is much shorter than `after` and gives just that, key order included; else None."""
    if type(before) is not type(after) or type(after) not in (dict, list):
        return None
    old, new = _plain_text(before), _plain_text(after)
    if old is None or new is None or len(new) < _WORTH_IT:
        return None
    import jsonpatch

    try:
        patch: list[Any] = jsonpatch.make_patch(before, after).patch
        is_short = len(json.dumps(patch)) * 2 <= len(new)
        return patch if is_short and _plain_text(apply_patch(before, patch)) == new else None
    except Exception:  # jsonpatch gives up on depths that a record holds, and has lost its way in odd lists
        return None


def _plain_text(value: Any) -> str | None:
    """The JSON text of a value that is plain JSON through and through, else None."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    level = [value]
    while level:
        item = level.pop()
        kind = type(item)
        if kind is dict:
            if any(type(key) is not str for key in item):
                return False
            level.extend(item.values())
        elif kind is list:
            level.extend(item)
        elif item is not None and kind not in (str, int, float, bool):
            return False
    return True
