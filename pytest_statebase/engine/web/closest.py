"""The recorded request that is most like one that has no recording, and what differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...compare.diff import Difference, diff
from ...compare.model import Kind
from ...compare.paths import Path
from .keys import Form

if TYPE_CHECKING:
    from .pool import Entry

_PARTS = ("query", "headers", "body")
_KINDS: dict[str | None, str] = {
    "none": "no body", "json": "JSON", "lines": "JSON lines", "form": "a form", "multipart": "a form of several parts",
    "text": "text", "bytes": "bytes", None: "ignored",
}  # fmt: skip


def closest(asked: Form, known: Iterable[tuple[Form, Entry]], turn: int) -> tuple[Form, Entry] | None:
    """The one of the same method and address that differs least; else one of the host with most of the path alike.

    Among those that differ alike: one that is not used, of the turn, the first. None where none is of that host.
    """
    forms = list(known)
    same = [one for one in forms if one[0].address == asked.address]
    same = [one for one in same if one[0].method == asked.method] or same
    if same:
        return min(same, key=lambda one: (_distance(one[0], asked), one[1].used, one[1].exchange.turn != turn))
    host = urlsplit(asked.address).netloc
    near = [one for one in forms if urlsplit(one[0].address).netloc == host]
    return max(near, key=lambda one: (_common(one[0], asked), not one[1].used), default=None)


def _distance(recorded: Form, asked: Form) -> int:
    return sum(_unlike(getattr(recorded, name), getattr(asked, name), 2) for name in _PARTS)


def _unlike(left: Any, right: Any, depth: int) -> int:
    """In how many places two values differ, not looked at to the bottom."""
    if type(left) is dict and type(right) is dict and depth:
        return sum(_unlike(left.get(key), right.get(key), depth - 1) for key in left.keys() | right.keys())
    if type(left) is list and type(right) is list and depth:
        pairs = zip(left, right, strict=False)
        return abs(len(left) - len(right)) + sum(_unlike(one, other, depth - 1) for one, other in pairs)
    return 0 if type(left) is type(right) and left == right else 1


def _common(recorded: Form, asked: Form) -> tuple[int, int, bool]:
    """How much of two paths is alike."""
    old, new = recorded.address.split("/"), asked.address.split("/")
    alike = sum(one == other for one, other in zip(old, new, strict=False))
    return alike, -abs(len(old) - len(new)), recorded.method == asked.method


def differences(recorded: Form, asked: Form) -> list[Difference]:
    """By the paths that `ignore` has: `http.body.amount`."""
    found: list[Difference] = []
    for name in _PARTS:
        path: Path = ("http", name)
        left, right = getattr(recorded, name), getattr(asked, name)
        if name == "body" and recorded.kind != asked.kind:
            told = f"recorded as {_KINDS[recorded.kind]}, sent as {_KINDS[asked.kind]}"
            found.append(Difference(Kind.TYPE, path, left, right, told))
        else:
            found += diff(left, right, prefix=path)
    return found
