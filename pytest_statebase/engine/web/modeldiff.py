"""How a request to a model differs from a recorded one, as messages, tools and parameters."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ...compare import IgnoreRules
from ...compare.diff import diff, plain_equal
from ...compare.paths import render
from ...compare.sequences import align_keys, likeness, with_gaps
from ...values import ABSENT, first_difference, visible_text
from ...wire.exchange import Request
from .models import ModelRequest, Piece, body_of, model_request

Alike: TypeAlias = Callable[[str, str], bool]
"""Whether a recorded and a requested text differ in nothing but what is made up on each run."""


class Change(NamedTuple):
    """One difference; ABSENT on the side that has nothing."""

    path: str
    recorded: Any
    requested: Any
    label: str = ""
    """Whose text it is: `system text`, `user`."""


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """What differs between two requests to a model. Falsy where nothing does."""

    system: list[Change]
    messages: list[Change]
    tools: list[Change]
    parameters: list[Change]

    @property
    def only_prompt(self) -> bool:
        """They differ in system text, tool schemas or parameters, and the conversation is the same."""
        return not self.messages and bool(self)

    def __bool__(self) -> bool:
        return bool(self.system or self.messages or self.tools or self.parameters)

    def text(self) -> str:
        """A few short lines for a person, without control characters."""
        return "\n".join(self.lines())

    def lines(self, most: int = 4) -> list[str]:
        """At most so many differences, a line each, those of the prompt first."""
        changes = [*self.system, *self.tools, *self.parameters, *self.messages]
        shown = [_line(change) for change in changes[:most]]
        more = len(changes) - most
        return [*shown, f"and {more} more"] if more > 0 else shown or ["nothing that can be told"]


def difference(
    recorded: Request,
    requested: Request,
    *,
    rules: IgnoreRules | None = None,
    alike: Alike | None = None,
) -> ModelDifference:
    """How the second request differs from the first.

    rules: what of a request does not count. alike: tells of two texts that they are one, but for ids and times that the
    agent makes up.
    """
    told = parts_difference(model_request(recorded, rules), model_request(requested, rules), alike=alike)
    return told or ModelDifference([], [], [], _elsewhere(recorded, requested, rules))


def parts_difference(old: ModelRequest, new: ModelRequest, *, alike: Alike | None = None) -> ModelDifference:
    """The same, of requests that are in parts already."""
    return ModelDifference(
        system=_texts(old.system, new.system, alike),
        messages=_conversation(old.messages, new.messages, alike),
        tools=_mapping(old.tools, new.tools, "tools"),
        parameters=[*_place(old, new), *_mapping(old.parameters, new.parameters)],
    )


def _place(old: ModelRequest, new: ModelRequest) -> list[Change]:
    pairs = (("model", old.model, new.model), ("endpoint", old.endpoint, new.endpoint))
    return [Change(name, _known(was), _known(now)) for name, was, now in pairs if was != now]


def _known(value: str | None) -> Any:
    return ABSENT if value is None else value


def _mapping(old: dict[str, Any], new: dict[str, Any], *prefix: str) -> list[Change]:
    return [Change(render(one.path), one.recorded, one.replayed) for one in diff(old, new, prefix=prefix)]


def _elsewhere(recorded: Request, requested: Request, rules: IgnoreRules | None) -> list[Change]:
    """What of two bodies differs besides: empty texts, marks, forms of one text."""
    bodies = [body_of(one) for one in (recorded, requested)]
    found = diff(*bodies, prefix=("http", "body"), ignore=rules)
    return [Change(render(one.path[2:]) or "body", one.recorded, one.replayed) for one in found]


# --- Sequences


def _texts(old: Sequence[Piece], new: Sequence[Piece], alike: Alike | None) -> list[Change]:
    found: list[Change] = []
    for left, right in _rows(old, new):
        was, now = left.value if left else ABSENT, right.value if right else ABSENT
        place = right or left
        if place is not None and not plain_equal(was, now) and not _is_made_up(was, now, alike):
            found.append(Change(render(place.path), was, now, "system text"))
    return found


def _conversation(old: Sequence[Piece], new: Sequence[Piece], alike: Alike | None) -> list[Change]:
    found: list[Change] = []
    for left, right in _rows(old, new):
        if left is None or right is None or _role(left.value) != _role(right.value):
            found += [Change(render(left.path), left.value, ABSENT, _role(left.value))] if left else []
            found += [Change(render(right.path), ABSENT, right.value, _role(right.value))] if right else []
            continue
        for one in diff(left.value, right.value, prefix=right.path):
            if not _is_made_up(one.recorded, one.replayed, alike):
                found.append(Change(render(one.path), one.recorded, one.replayed, _role(right.value)))
    return found


def _is_made_up(recorded: Any, requested: Any, alike: Alike | None) -> bool:
    if alike is None or not isinstance(recorded, str) or not isinstance(requested, str):
        return False
    return alike(recorded, requested)


def _rows(old: Sequence[Piece], new: Sequence[Piece]) -> list[tuple[Piece | None, Piece | None]]:
    """Both side by side, so that an added one is one difference."""
    pairs = align_keys([_key(one.value) for one in old], [_key(one.value) for one in new])
    rows = with_gaps(pairs, len(old), len(new), lambda i, j: _score(old[i], new[j]))
    return [(None if i is None else old[i], None if j is None else new[j]) for i, j in rows]


def _score(old: Piece, new: Piece) -> float:
    return 1 + 8 * likeness(old.value, new.value, plain_equal) + 4 * (_role(old.value) == _role(new.value))


def _role(message: Any) -> str:
    return str(message.get("role") or message.get("type") or "") if isinstance(message, dict) else ""


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


# --- The nearest of many


Parts: TypeAlias = Callable[[Request], ModelRequest]
"""What takes a request apart."""


class _Outline(NamedTuple):
    """What of a request is compared to find the nearest one."""

    dialect: str
    system: str
    messages: tuple[int, ...]
    others: tuple[int | str | None, ...]


_outlines: dict[tuple[Parts, bytes], _Outline] = {}
_MOST_OUTLINES = 10_000


def nearest(recordings: Iterable[Request], request: Request, parts: Parts = model_request) -> Request | None:
    """The recorded request that is most alike: one API, the longest common beginning of the conversation.

    Among those of one conversation: the same tools, model and parameters, the most alike system text, the first.
    parts: what takes requests apart.
    """
    asked = _outline(request, parts)
    count = Counter(asked.messages)
    best: tuple[Any, ...] = ()
    found = None
    for recorded in recordings:
        rank = _rank(_outline(recorded, parts), asked, count)
        if rank[0] and rank > best:
            best, found = rank, recorded
    return found


def _rank(old: _Outline, new: _Outline, count: Counter[int]) -> tuple[Any, ...]:
    limit = min(len(old.messages), len(new.messages))
    same = next((at for at in range(limit) if old.messages[at] != new.messages[at]), limit)
    shared = sum((Counter(old.messages[same:]) & count).values()) if same < limit else 0
    alike = sum(was == now for was, now in zip(old.others, new.others, strict=True))
    system = first_difference(old.system, new.system) + (old.system == new.system)
    return old.dialect == new.dialect, same, shared, -abs(len(old.messages) - len(new.messages)), alike, system


def _outline(request: Request, parts_of: Parts) -> _Outline:
    digest = hashlib.blake2b(
        request.body + b"\0" + request.url.encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()
    key = (parts_of, digest)
    found = _outlines.get(key)
    if found is None:
        parts = parts_of(request)
        others = (parts.endpoint, parts.model, hash(_key(parts.tools)), hash(_key(parts.parameters)))
        messages = tuple(hash(_key(one.value)) for one in parts.messages)
        found = _Outline(parts.dialect, "\n".join(str(one.value) for one in parts.system), messages, others)
        if len(_outlines) >= _MOST_OUTLINES:
            _outlines.clear()
        _outlines[key] = found
    return found


# --- For a person

_AROUND = 28
_LONGEST = 72
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def _line(change: Change) -> str:
    where = _place_of(change)
    if change.recorded is ABSENT:
        return f"{where} was not recorded: {_told(change.requested)}"
    if change.requested is ABSENT:
        return f"{where} is gone: {_told(change.recorded)}"
    if isinstance(change.recorded, str) and isinstance(change.requested, str):
        old, new = snippets(change.recorded, change.requested)
    else:
        old, new = _told(change.recorded), _told(change.requested)
    return f"{where}: recorded {old}, now {new}"


def _place_of(change: Change) -> str:
    label = f" ({visible_text(change.label)})" if change.label else ""
    return f"{visible_text(change.path)}{label}"


_SAID = (
    "text", "thinking", "summary", "content", "parts", "tool_calls", "function", "function_call", "functionCall",
    "functionResponse", "toolUse", "toolResult", "output", "response", "json",
)  # fmt: skip
_GIVEN = ("arguments", "input", "args")


def _told(value: Any) -> str:
    """A text in quotes, a message as what is said in it, anything else as JSON."""
    is_message = isinstance(value, dict) and ("role" in value or str(value.get("type")).startswith("function_call"))
    text = _said(value) if is_message or isinstance(value, str) else _json(value)
    short = f"{visible_text(text[:_LONGEST])}{'…' if len(text) > _LONGEST else ''}"
    return f'"{short}"' if is_message or isinstance(value, str) else short


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(_said, value)))
    if isinstance(value, dict):
        given = next((value[key] for key in _GIVEN if key in value), None)
        if given is not None and "name" in value:
            return f"{value['name']}({given if isinstance(given, str) else _json(given)})"
        texts = [_said(value[key]) for key in _SAID if value.get(key)]
        if texts:
            return " ".join(filter(None, texts))
    return _json(value)


def snippets(old: str, new: str) -> tuple[str, str]:
    """Two texts in quotes, of long ones what is around the first word that differs."""
    if max(len(old), len(new)) <= _LONGEST:
        return f'"{visible_text(old)}"', f'"{visible_text(new)}"'
    same = first_difference(old, new)
    start = _start_of_word(old, min(same, len(old)))
    return _window(old, start), _window(new, start)


def _start_of_word(text: str, at: int) -> int:
    while at and text[at - 1 : at].isalnum():
        at -= 1
    return at


def _window(text: str, start: int) -> str:
    begin = start - _AROUND
    if begin > 0:
        begin = text.find(" ", begin, start) + 1 or begin
    begin, end = max(0, begin), start + _LONGEST - _AROUND
    if end < len(text):
        end = max(text.rfind(" ", start + _AROUND, end), 0) or end
    return f'"{"…" if begin else ""}{visible_text(text[begin:end])}{"…" if end < len(text) else ""}"'
