"""Values with their Python types as JSON text, and back: equal to the type.

What is no JSON value is the object `{"~": [TAG, FORM]}`; a mapping with keys that are no texts, or with the key `~`,
is one as well. Nothing is ever imported to read it.
"""

from __future__ import annotations

import json
import marshal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..cassette.canonical import depth_of
from ..cassette.tags import LISTS, MAPPINGS, SCALARS, TYPED, form_of
from ..values import ABSENT, Uncopied
from .settle import MAX_DEPTH, Settler

_MARK = "~"
_MARKED = '{"~":'


def _no_json(value: Any) -> Any:
    # The one of json asks the object for its class, which a stranger's may raise at.
    raise TypeError("no JSON")


_dumps = json.JSONEncoder(separators=(",", ":"), default=_no_json).encode


def tagged_text(value: Any) -> tuple[str, int]:
    """The JSON text of a value, and how many of its parts could not be stored: there an `Uncopied` stands."""
    try:
        text = _dumps(value)
        if _MARKED not in text and _is_plain(value, text):
            return text, 0
    except (TypeError, ValueError, RecursionError):
        pass
    settler = Settler()
    return _dumps(_form(settler.value(value))), settler.uncopied


def _is_plain(value: Any, text: str) -> bool:
    """Whether the text says all of the value. No Python code looks at each part of it.

    marshal takes exact types alone, and of what both it and json take a comparison tells the rest (tuples, keys that
    are no texts).
    """
    marshal.dumps(value)
    loaded = json.loads(text)
    return bool(loaded == value) and (text.count("{") + text.count("[") <= MAX_DEPTH or depth_of(loaded) <= MAX_DEPTH)


def _form(value: Any) -> Any:
    """The JSON form of a settled value."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int or kind is float:
        return value
    if kind is list:
        return list(map(_form, value))
    if kind is dict:
        if _MARK not in value and all(type(key) is str for key in value):
            return {key: _form(item) for key, item in value.items()}
        return {_MARK: ["!dict", _pairs(value)]}
    if value is ABSENT:
        return {_MARK: ["!absent", ""]}
    if kind is Uncopied:
        return {_MARK: ["!uncopied", value.type]}
    tag, form = form_of(value)
    if type(form) is dict and tag not in TYPED:
        return {_MARK: [tag, _pairs(form)]}
    return {_MARK: [tag, form if type(form) is str else _inner(form)]}


def _inner(form: dict[Any, Any] | list[Any]) -> Any:
    return {key: _form(item) for key, item in form.items()} if type(form) is dict else list(map(_form, form))


def _pairs(value: Mapping[Any, Any]) -> list[Any]:
    return [[_form(key), _form(item)] for key, item in value.items()]


# --- and back


def value_of(text: str) -> Any:
    """The value that a JSON text tells.

    Raises ValueError where it tells none.
    """
    try:
        return _loaded(text)
    except RecursionError:
        return _in_a_thread(text)


def _loaded(text: str) -> Any:
    return json.loads(text, object_hook=_untagged) if _MARKED in text else json.loads(text)


def _in_a_thread(text: str) -> Any:
    """As `_loaded`, with a whole stack to itself: as much as the writer had."""
    found: list[Any] = []

    def load() -> None:
        try:
            found.append((True, _loaded(text)))
        except (ValueError, RecursionError) as error:
            found.append((False, error))

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    is_value, value = found[0]
    if is_value:
        return value
    raise ValueError(f"cannot be read: {value}")


def _untagged(form: dict[str, Any]) -> Any:
    if _MARK not in form or len(form) != 1:
        return form
    match form[_MARK]:
        case [str() as tag, inner]:
            build = _BUILT.get((tag, type(inner)))
            if build is not None:
                try:
                    return build(inner)
                except (TypeError, ValueError, ArithmeticError, KeyError) as error:
                    raise ValueError(f"{tag} does not hold what it says: {error}") from None
    raise ValueError(f"an unknown tag: {form[_MARK]!r:.60}")


def _uncopied(name: str) -> Uncopied:
    made = Uncopied(object)
    made.type = name
    return made


def _dict(pairs: list[Any]) -> dict[Any, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _of_pairs(build: Callable[[dict[Any, Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda pairs: build(_dict(pairs))


_BUILT: dict[tuple[str, type], Callable[[Any], Any]] = {
    **{(tag, str): build for tag, build in SCALARS.items()},
    **{(tag, list): build for tag, build in LISTS.items() if tag != "!json"},
    **{(tag, dict): MAPPINGS[tag] for tag in ("!object", "!error", "!enum")},
    **{(tag, list): _of_pairs(MAPPINGS[tag]) for tag in ("!ordereddict", "!counter")},
    ("!dict", list): _dict,
    ("!absent", str): lambda _: ABSENT,
    ("!uncopied", str): _uncopied,
}
