"""Where the requests of a service tell of what its agent is asked: the session, and the user's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from ..compare.paths import lookup, parse_steps
from ..engine.service import PLACES
from ..errors import AgentError, PlanError
from ..values import ABSENT
from ..wire.exchange import Request
from ..wire.forms import body_of, query_of

Place: TypeAlias = Callable[[Request], Any]
"""What stands there in a request; ABSENT where nothing does."""
Pointer: TypeAlias = str | Place
_KINDS = ("body", "header", "query", "cookie")
_ALONE = re.compile(r"\{(\w+)\}\Z")
_HOW = "Write body.session_id, header.x-session-id, query.session, cookie.sid, or a function of the request."


def place_of(pointer: Pointer) -> Place:
    """The place that `body.session_id`, `header.x-session-id`, `query.session` or `cookie.sid` names.

    `body` alone is all of it; a form has its fields by name. Raises AgentError for what names none.
    """
    if callable(pointer):
        return pointer
    kind, _, rest = pointer.partition(".")
    if kind == "body":
        return _in_body(pointer, rest)
    if kind not in _KINDS or not rest:
        raise AgentError(f"{pointer!r} names no place in a request", remedy=_HOW)
    if kind == "header":
        return lambda request: _or_absent(request.header(rest))
    if kind == "query":
        return lambda request: query_of(request).get(rest, ABSENT)
    return lambda request: _cookies(request).get(rest, ABSENT)


def _in_body(pointer: str, rest: str) -> Place:
    if not rest:
        return lambda request: body_of(request).value
    try:
        steps = parse_steps(rest)
    except PlanError as error:
        raise AgentError(f"{pointer!r} names no place in a request: {error.what}", remedy=_HOW) from error

    def find(request: Request) -> Any:
        found = lookup(body_of(request).value, steps)
        return found[0] if len(found) == 1 else ABSENT

    return find


def _or_absent(value: Any) -> Any:
    return ABSENT if value is None else value


def _cookies(request: Request) -> dict[str, str]:
    pairs = (part.partition("=") for part in (request.header("cookie") or "").split(";"))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


class Path:
    """The paths that requests of an agent have: one as `asgi_agent` takes it, `*` for any text between slashes.

    Raises AgentError for what is no path.
    """

    def __init__(self, path: str) -> None:
        if not path.startswith("/"):
            raise AgentError(f"{path!r} is no path of a service", remedy="A path begins with `/`.")
        parts = urlsplit(path)
        names = "|".join(PLACES)
        pieces = re.split(rf"(\*|\{{(?:{names})\}})", parts.path)
        self._pattern = re.compile("".join(map(_piece, pieces)) + r"\Z")
        self.query = parts.query
        self.names = {piece[1:-1] for piece in pieces if piece.startswith("{")}

    def fits(self, path: str) -> bool:
        """Whether a path, decoded, is one of them."""
        return self._pattern.match(path) is not None

    def named(self, name: str) -> Place:
        """What a request's path has at `{name}`."""

        def find(request: Request) -> Any:
            found = self._pattern.match(unquote(request.parts.path))
            return ABSENT if found is None or name not in found.groupdict() else found[name]

        return find


def _piece(text: str) -> str:
    if text == "*":
        return "[^/]*"
    return f"(?P<{text[1:-1]}>.+?)" if text.startswith("{") and text.endswith("}") else re.escape(text)


def places_in(paths: list[Path], body: Any, headers: Mapping[str, str]) -> dict[str, Place]:
    """By name (`input`, `session_id`, …), where requests have what `{input}` and its like stand for alone.

    The settings are those of `asgi_agent`. A body that is made by a function tells nothing.
    """
    found: dict[str, Place] = {}
    for path in paths:
        for name in sorted(path.names):
            found.setdefault(name, path.named(name))
        for pair in path.query.split("&"):
            key, _, value = pair.partition("=")
            _note(found, value, f"query.{unquote(key)}")
    for name, value in headers.items():
        _note(found, str(value), f"header.{name}")
    if not callable(body):
        for pointer, value in _leaves("body", body):
            _note(found, value, pointer)
    return found


def _note(found: dict[str, Place], value: str, pointer: str) -> None:
    alone = _ALONE.match(value)
    if alone and alone[1] in PLACES:
        found.setdefault(alone[1], place_of(pointer))


def _leaves(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f'{pointer}."{key}"', item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{pointer}[{index}]", item)
    elif isinstance(value, str):
        yield pointer, value
