"""What was said in a conversation, once: each call of a model repeats all that was said before it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from ...values import ABSENT, freeze
from ..messages import Message, Request
from .model import Span

_KEYS = ("id", "tool", "")
_LATEST = 64
"""Messages whose calls may still be answered."""


@dataclass(slots=True, eq=False)
class Call:
    """One call of a tool, asked for by a model or made by code."""

    request: Request
    entry: Entry
    span: Span | None = None
    """The tool's own span."""
    answer: Message | None = None
    """What a later call of the model was told of the result."""
    inside: Span | None = None
    """The tool's span inside which it was made."""


@dataclass(slots=True, eq=False)
class Entry:
    """One message of the conversation, the results of its calls with it."""

    message: Message
    turn: int
    """The trace that told it first, from 0."""
    time: float | None = None
    agent: str | None = None
    calls: list[Call] = field(default_factory=list)
    aside: bool = False
    """Of another conversation of the agents among themselves: its texts are neither said to the user nor by him."""
    span: Span | None = None
    """The call of the model that gave it; None for what is only known from a later one, and for the user's."""
    made: bool = False
    """A call that no model asked for: the agent's code made it."""
    until: float | None = None
    """Of calls that were made so: when the first of them ended."""

    def __post_init__(self) -> None:
        self.calls = [Call(request, self) for request in self.message.requests]


class Transcript:
    """The messages so far."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._waiting = _Answers()
        self.dropped = 0
        """Messages of a history that stand otherwise where they were first said, or answer no call."""
        self._places: dict[Hashable, list[int]] = {}

    def add(self, entry: Entry) -> Entry:
        """Put a message at the end."""
        self._places.setdefault(_shape(entry.message), []).append(len(self.entries))
        self.entries.append(entry)
        self._waiting.open(entry.calls)
        return entry

    def answer(self, message: Message) -> None:
        """Give a result to a call of the last messages."""
        self.dropped += not self._waiting.answer(message)

    def align(self, history: list[Message]) -> list[int | None]:
        """For each message of a history the place of the entry that it repeats, in order; None for a new one."""
        places: list[int | None] = []
        at = -1
        for message in history:
            known = [] if message.role in ("system", "tool") else self._places.get(_shape(message), [])
            index = bisect_right(known, at)
            place = known[index] if index < len(known) else None
            places.append(place)
            at = at if place is None else place
        return places

    def unsaid(self, history: list[Message], places: list[int | None]) -> list[Message]:
        """What a history has beyond the last message that it repeats; results go to the calls that they answer.

        A model's message that stands just after the last repeated one, where the transcript has one there too, is that
        one in other words.
        """
        last = max((index for index, place in enumerate(places) if place is not None), default=-1)
        waiting = _Answers()
        for message, place in zip(history[: last + 1], places, strict=False):
            if place is not None:
                waiting.open(self.entries[place].calls)
            elif message.role == "tool":
                self.dropped += not waiting.answer(message)
            elif message.role != "system":
                self.dropped += 1
        at = places[last] if last >= 0 else None
        after = self.entries[at + 1 :] if at is not None else []
        return self._new(history[last + 1 :], after, waiting)

    def _new(self, rest: list[Message], after: list[Entry], waiting: _Answers) -> list[Message]:
        new: list[Message] = []
        spoken = [entry for entry in after if entry.message.role == "assistant"]
        for message in rest:
            asking = _asking(message, after) if not new else None
            if asking is not None:
                if asking in spoken:
                    spoken.remove(asking)
                    waiting.open(asking.calls)
            elif message.role == "assistant" and not new and spoken:
                waiting.open(spoken.pop(0).calls)
                self.dropped += 1
            elif message.role == "tool" and not new and waiting.answer(message):
                continue
            elif message.role != "system":
                new.append(message)
        return new


class _Answers:
    """Pairs results with the calls that came just before them."""

    def __init__(self) -> None:
        self._open: list[_Waiting] = []

    def open(self, calls: list[Call]) -> None:
        """The calls of the next message; those before it wait on, in case a result comes late."""
        if calls:
            self._open = [_Waiting(calls), *self._open[: _LATEST - 1]]

    def answer(self, message: Message) -> bool:
        """Give a result to the call that it answers: by id, else by name, else in order; False where none waits."""
        call = next((call for key in _KEYS for one in self._open if (call := one.take(message, key)) is not None), None)
        if call is not None and (call.answer is None or call.answer.result is ABSENT):
            call.answer = message
        return call is not None


class _Waiting:
    """The calls of one message that have no result yet."""

    def __init__(self, calls: list[Call]) -> None:
        self._waiting = {id(call): call for call in calls}
        self._by: dict[tuple[str, str], list[Call]] = {}
        for call in reversed(calls):
            self._by.setdefault(("tool", call.request.tool), []).append(call)
            if call.request.id is not None:
                self._by.setdefault(("id", call.request.id), []).append(call)

    def take(self, message: Message, key: str) -> Call | None:
        """The call that a result answers by a key (`id`, `tool`, or `""` for the first that waits)."""
        if not key:
            return self._waiting.pop(next(iter(self._waiting))) if self._waiting else None
        wanted = message.id if key == "id" else message.name
        calls = [] if wanted is None else self._by.get((key, wanted), [])
        while calls:
            call = self._waiting.pop(id(calls.pop()), None)
            if call is not None:
                return call
        return None


def _asking(message: Message, entries: list[Entry]) -> Entry | None:
    """The entry that holds all calls of a message: some frameworks repeat each call as a message of its own."""
    wanted = {request.id for request in message.requests}
    if not wanted or None in wanted:
        return None
    return next((entry for entry in entries if wanted <= {call.request.id for call in entry.calls}), None)


def _shape(message: Message) -> Hashable:
    """What a message and its repetition have in common: frameworks drop texts beside calls, blanks and ids."""
    if message.requests:
        return "calls", tuple((request.tool, _canonical(request.arguments)) for request in message.requests)
    text = message.text
    if text is None and message.parts:
        return message.role, _canonical([dict(part) for part in message.parts])
    return message.role, " ".join((text or "").split())


def _canonical(value: Any) -> Hashable:
    try:
        return freeze(value)
    except (TypeError, RecursionError):
        return repr(type(value))


def words(message: Message, text: str) -> Message:
    """The message with another text instead of its own."""
    others = [part for part in message.parts or () if part["type"] != "text"]
    return replace(message, parts=[{"type": "text", "content": text}, *others])
