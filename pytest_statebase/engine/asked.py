"""How an entry point is asked: which of its parameters is what, and where its reply stands in what it gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import AsyncGeneratorType, GeneratorType
from typing import Any, TypeAlias

MARK = "__statebase_entry__"
"""The attribute under which a function carries its `Entry`."""
Where: TypeAlias = str | Callable[[Any], Any] | None
"""A path such as `request.thread_id`, through attributes and keys, or what is called for the value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where an entry point is handed what a turn needs, and where its reply stands in what it returns."""

    session: Where = None
    """None: its parameter `session_id`, or else the session that was entered around the call."""
    input: Where = None
    """None: its parameter `user_input`, the last words of the user in `messages`, or its only parameter."""
    state: Where = None
    """None: its parameter `state`."""
    user: Where = None
    output: Where = None
    """Of a stream: in each chunk. None: what is returned is the reply."""
    agent_id: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """By parameter, what a replay hands it: of those that are told by their bare names."""
        told = {"session_id": self.session, "user_input": self.input, "state": self.state}
        return {where: name for name, where in told.items() if isinstance(where, str) and where.isidentifier()}


_PLAIN = Entry()


def entry_of(function: Any) -> Entry:
    """What a function, a method or the `__call__` of an object says of how it is asked."""
    mark = getattr(function, MARK, None) or getattr(vars(type(function)).get("__call__"), MARK, None)
    return mark if isinstance(mark, Entry) else _PLAIN


def whole(answer: Any, entry: Entry) -> Any:
    """The reply in what an entry point gave: of a stream what came out of it. Of an async one it is to be awaited."""
    kind = type(answer)
    if kind is GeneratorType:
        return _read(answer, entry.output)
    if kind is AsyncGeneratorType:
        return _read_later(answer, entry.output)
    if entry.output is None:
        return answer
    return _later(answer, entry) if isinstance(answer, Awaitable) else found(answer, entry.output)


async def _later(answer: Awaitable[Any], entry: Entry) -> Any:
    reply = whole(await answer, entry)
    return await reply if isinstance(reply, Awaitable) else reply


def _read(stream: Generator[Any, Any, Any], where: Where) -> Any:
    chunks: list[Any] = []
    try:
        while True:
            chunks.append(found(next(stream), where))
    except StopIteration as end:
        return streamed(chunks, end.value)


async def _read_later(stream: AsyncGenerator[Any, Any], where: Where) -> Any:
    return streamed([found(chunk, where) async for chunk in stream], None)


def streamed(chunks: Sequence[Any], returned: Any) -> Any:
    """The reply of a stream: what came out of it, or what it returned in the end where nothing did."""
    return returned if not chunks else joined(chunks)


def found(value: Any, where: Where, *, default: Any = None) -> Any:
    """What stands at a place in a value; `default` where nothing does."""
    if where is None:
        return value
    if callable(where):
        return where(value)
    for part in where.split("."):
        if isinstance(value, Mapping):
            if part not in value:
                return default
            value = value[part]
        elif hasattr(value, part):
            value = getattr(value, part)
        else:
            return default
    return value


def joined(chunks: Sequence[Any]) -> Any:
    """The reply that came bit by bit."""
    given = [chunk for chunk in chunks if chunk is not None]
    if all(isinstance(chunk, str) for chunk in given):
        return "".join(given)
    if all(isinstance(chunk, bytes) for chunk in given):
        return b"".join(given).decode(errors="replace")
    if len(given) == 1:
        return given[0]
    return {"type": "data", "content": given}


def as_content(said: Any) -> dict[str, Any] | None:
    """The input of a turn of which an agent gets `said` (see `user_input`); `{type, content, …}` is one already."""
    if said is None:
        return None
    if isinstance(said, Mapping):
        if isinstance(said.get("type"), str) and "content" in said:
            return dict(said)
        return {"type": "data", "content": dict(said)}
    return {"type": "text" if isinstance(said, str) else "data", "content": said}
