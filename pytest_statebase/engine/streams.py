"""Results that come bit by bit, or later: generators, and coroutines that a plain function hands out.

A record holds the chunks of a generator that ended by itself, broke off with the call's `error`, or was closed before
its end. Recordings made elsewhere have a list of chunks instead, or the one thing that came out of it all.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..values import ABSENT, TypedData
from .snapshot import error_record, snapshot

STREAM = "pytest_statebase:stream"
AWAITED = "pytest_statebase:awaited"


@dataclass(frozen=True, slots=True)
class Stream:
    """What is known of a generator."""

    chunks: list[Any]
    is_async: bool = False
    closed: bool = False
    """Whoever read it stopped before its end: what would have come then is not known."""
    returned: Any = None
    """The value of its `return`."""
    sent: list[Any] = field(default_factory=list)
    """What its reader sent or threw in, and after how many chunks: `{"after": 1, "value": …}`, or with `error`."""

    def tell(self, heard: Mapping[str, Any]) -> None:
        """Keep what was sent or thrown in after the last chunk (see `heard_value`, `heard_error`)."""
        if heard:
            self.sent.append({"after": len(self.chunks), **heard})

    def told(self, after: int) -> Mapping[str, Any]:
        """What was sent or thrown in after so many chunks."""
        return next((one for one in self.sent if isinstance(one, Mapping) and one.get("after") == after), {})

    def stored(self) -> TypedData:
        """As the result of a call."""
        fields: dict[str, Any] = {"chunks": self.chunks}
        if self.is_async:
            fields["async"] = True
        if self.closed:
            fields["closed"] = True
        if self.returned is not None:
            fields["returned"] = self.returned
        if self.sent:
            fields["sent"] = self.sent
        return TypedData(STREAM, fields)


def stream_of(result: Any) -> Stream:
    """The stream that a recorded result stands for."""
    if is_stream(result):
        fields = result.fields
        chunks, sent = list(fields.get("chunks", ())), list(fields.get("sent", ()))
        return Stream(chunks, bool(fields.get("async")), bool(fields.get("closed")), fields.get("returned"), sent)
    if result is ABSENT:
        return Stream([])
    return Stream(list(result) if type(result) in (list, tuple) else [result])


def is_stream(result: Any) -> bool:
    """Whether a recorded result says itself that it came as a generator."""
    return type(result) is TypedData and result.type == STREAM


def is_awaited(result: Any) -> bool:
    """Whether a recorded result says itself that it was awaited, though no async function gave it."""
    return type(result) is TypedData and result.type == AWAITED


def heard_value(sent: Any) -> dict[str, Any]:
    """What a generator was sent, to be kept; nothing where it was only read on."""
    return {} if sent is None else {"value": snapshot(sent)}


def heard_error(error: BaseException) -> dict[str, Any]:
    """What was thrown into a generator, to be kept; nothing where something from outside ends it."""
    return {"error": error_record(error)} if isinstance(error, Exception) else {}


def meant(heard: Mapping[str, Any]) -> Any:
    """What tells one exception that was thrown in from another; None where there is none."""
    error = heard.get("error")
    return (error.get("type"), error.get("message")) if isinstance(error, Mapping) else None


async def as_async(chunks: Generator[Any, Any, Any]) -> AsyncGenerator[Any, Any]:
    """The same chunks, async."""
    step: Callable[[], Any] = lambda: next(chunks)  # noqa: E731
    try:
        while True:
            chunk = step()
            try:
                sent = yield chunk
            except BaseException as error:
                step = _later(chunks.throw, error)
            else:
                step = _later(chunks.send, sent)
    except StopIteration:
        return


async def later(answer: Callable[[], Any]) -> Any:
    """A coroutine that gives the answer when it is awaited."""
    return answer()


class Watch:
    """Sees what goes through a live generator, or comes out of a live coroutine, chunk by chunk.

    seen: called with each chunk as it passes. told: with what is sent or thrown in (see `Stream.tell`).
    ended: called once with (closed, returned, error).
    around: wraps each step of the generator.
    """

    __slots__ = ("around", "ended", "seen", "told")

    def __init__(
        self,
        seen: Callable[[Any], None],
        told: Callable[[Mapping[str, Any]], None],
        ended: Callable[[bool, Any, BaseException | None], None],
        around: Callable[[], Any],
    ) -> None:
        self.seen = seen
        self.told = told
        self.ended = ended
        self.around = around

    def through(self, source: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """`source`, watched."""
        step: Callable[[], Any] = lambda: next(source)  # noqa: E731
        try:
            while True:
                with self.around():
                    chunk = step()
                self.seen(chunk)
                try:
                    sent = yield chunk
                except GeneratorExit:
                    with self.around():
                        source.close()
                    self.ended(True, None, None)
                    raise
                except BaseException as error:
                    self.told(heard_error(error))
                    step = _later(source.throw, error)
                else:
                    self.told(heard_value(sent))
                    step = _later(source.send, sent)
        except StopIteration as end:
            self.ended(False, end.value, None)
            return end.value
        except GeneratorExit:
            raise
        except BaseException as error:
            self.ended(False, None, error)
            raise

    async def through_async(self, source: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
        """`source`, watched."""
        step: Callable[[], Awaitable[Any]] = lambda: _unhooked(source)  # noqa: E731
        try:
            while True:
                with self.around():
                    chunk = await step()
                self.seen(chunk)
                try:
                    sent = yield chunk
                except GeneratorExit:
                    with self.around():
                        await source.aclose()
                    self.ended(True, None, None)
                    raise
                except BaseException as error:
                    self.told(heard_error(error))
                    step = _later(source.athrow, error)
                else:
                    self.told(heard_value(sent))
                    step = _later(source.asend, sent)
        except StopAsyncIteration:
            self.ended(False, None, None)
        except GeneratorExit:
            raise
        except BaseException as error:
            self.ended(False, None, error)
            raise


def _unhooked(source: AsyncGenerator[Any, Any]) -> Awaitable[Any]:
    """The first step of an async generator of which the event loop does not get to know.

    A loop that ends closes those that it knows all at once: the one outside is, and closes what is inside of it.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return source.__anext__()
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _later(function: Callable[[Any], Any], value: Any) -> Callable[[], Any]:
    return lambda: function(value)
