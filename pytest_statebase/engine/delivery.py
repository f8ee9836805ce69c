"""How an answer reaches the agent: at once, awaited, chunk by chunk, raised, or from the tool itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..compare.model import ReplayedCall, Source
from ..errors import StatebaseError, UnrecordedCall
from ..values import ABSENT, same
from ..wire.doors import let_pass
from .explain import show
from .handlers import Live, own_turn
from .ongoing import Ongoing
from .revive import build_error, build_result, copied, error_record
from .streams import Stream, Watch, as_async, heard_error, heard_value, is_awaited, is_stream, later, meant, stream_of
from .tools import Tool


class Delivery:
    """The `Handler` half of a fork. The other half decides what answers a call (`_ask`) and keeps it (`_enter`)."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.run: Ongoing | None = None
        self.is_ending = False
        """All turns were taken: what goes on is ended."""
        self.is_closed = False
        """The replay is over: what its turns left behind is judged no more."""

    def close(self) -> None:
        """Have the turns be judged as they stand."""
        with self.lock:
            self.is_closed = True

    def turn_here(self) -> Ongoing | None:
        """The turn that this very code belongs to, be it over; None where it is judged no more. To be held locked."""
        if self.is_closed:
            return None
        own = own_turn()
        if own is not None:
            return own
        return None if self.run is None or self.run.over else self.run

    def _ask(
        self, name: str, arguments: Any, tool: Tool | None, live: Live | None = None
    ) -> tuple[ReplayedCall, Ongoing]:
        raise NotImplementedError

    def _enter(self, call: ReplayedCall) -> None:
        raise NotImplementedError

    def call(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Answer a call of a stubbed tool. `live` runs it, where nothing else answers and the project lets it."""
        call, run = self._ask(tool.name, arguments, tool, live)
        if call.source is not Source.LIVE:
            return self._give(call, run, tool)
        with self._running(call, run):
            result = live()
            call.result = copied(result)
            return result

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Answer a call of a stubbed async tool."""
        call, run = self._ask(tool.name, arguments, tool, live)
        if call.source is not Source.LIVE:
            if call.error is not None and "cancelled_after_ms" in call.error:
                await _be_cancelled(call.error)
            return self._give(call, run, tool)
        with self._running(call, run):
            result = await live()
            call.result = copied(result)
            return result

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Generator[Any, Any, Any]:
        """Answer a call of a stubbed generator, chunk by chunk."""
        call, run = self._ask(tool.name, arguments, tool, live)
        if call.source is not Source.LIVE:
            return self._chunks(call, run, tool)
        return self._watch(call, run, is_async=False).through(live())

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> AsyncGenerator[Any, Any]:
        """Answer a call of a stubbed async generator, chunk by chunk."""
        call, run = self._ask(tool.name, arguments, tool, live)
        if call.source is not Source.LIVE:
            return as_async(self._chunks(call, run, tool))
        return self._watch(call, run, is_async=True).through_async(live())

    def _watch(self, call: ReplayedCall, run: Ongoing, *, is_async: bool) -> Watch:
        kept = Stream([], is_async)

        def ended(closed: bool, returned: Any, error: BaseException | None) -> None:
            call.result = replace(kept, closed=closed, returned=copied(returned)).stored()
            call.error = None if error is None else error_record(error)
            with self.lock:
                if not run.over:
                    self._enter(call)

        return Watch(lambda chunk: kept.chunks.append(copied(chunk)), kept.tell, ended, let_pass)

    def _chunks(self, call: ReplayedCall, run: Ongoing, tool: Tool | None) -> Generator[Any, Any, Any]:
        stream = stream_of(call.result)
        for number, chunk in enumerate(stream.chunks, 1):
            self._still_running(call, run)
            built = self._built(run, lambda chunk=chunk: build_result(chunk, tool))  # type: ignore[misc]
            try:
                sent = yield built
            except Exception as error:
                heard = heard_error(error)
                self._heard(call, run, stream, number, heard)
                if number == len(stream.chunks) and meant(heard) == meant({"error": call.error}):
                    raise
            else:
                self._heard(call, run, stream, number, heard_value(sent))
        self._still_running(call, run)
        if stream.closed:
            number = len(stream.chunks)
            self._refuse(call, run, f"{call.tool} was read on where the recording closed it, after {number} chunks")
        if call.error is not None:
            raise self._built(run, lambda: build_error(call.error or {}, tool))
        return self._built(run, lambda: build_result(stream.returned, tool))

    def _heard(self, call: ReplayedCall, run: Ongoing, stream: Stream, number: int, heard: Mapping[str, Any]) -> None:
        """What comes after a chunk answers what the reader said to it: said otherwise, it is not known."""
        told = stream.told(number)
        if run.latch is None and not (meant(told) == meant(heard) and same(told.get("value"), heard.get("value"))):
            ways = f"recorded {_way(told)}, replayed {_way(heard)}"
            self._refuse(call, run, f"{call.tool} was read on in another way after chunk {number}: {ways}")
        self._still_running(call, run)

    def _still_running(self, call: ReplayedCall, run: Ongoing) -> None:
        """A stream goes no further once its turn has ended or has a call without an answer."""
        if run.latch is not None:
            raise UnrecordedCall(run.latch)
        if run.over:
            message = f"{call.tool} was read on after its turn had ended"
            self.fail(call.tool, message)
            raise UnrecordedCall(message)

    def _refuse(self, call: ReplayedCall, run: Ongoing, message: str) -> None:
        with self.lock:
            call.unrecorded, call.explanation = True, message
            run.latch, run.observed.missed = message, True
        raise UnrecordedCall(message)

    def fail(self, name: str, message: str, error: StatebaseError | None = None) -> None:
        """Mark the turn that is ongoing, whatever its agent makes of the exception that it gets.

        name: the tool that was called. error: why the replay cannot go on at all.
        """
        with self.lock:
            run = self.run
            if run is None or run.over or run.latch is not None:
                return
            call = ReplayedCall(name, {}, run.turn.number, unrecorded=True, explanation=message)
            run.observed.calls.append(call)
            run.latch, run.observed.missed, run.fatal = message, True, error

    @contextmanager
    def _running(self, call: ReplayedCall, run: Ongoing) -> Iterator[None]:
        """Around the real tool, outside of the lock, so that calls made at once run at once."""
        try:
            with let_pass():
                yield
        except Exception as error:
            call.error = error_record(error)
            raise
        finally:
            with self.lock:
                if not run.over:
                    self._enter(call)

    def _give(self, call: ReplayedCall, run: Ongoing, tool: Tool | None) -> Any:
        if is_stream(call.result):
            chunks = self._chunks(call, run, tool)
            return as_async(chunks) if stream_of(call.result).is_async else chunks
        if is_awaited(call.result):
            return later(lambda: self._plain(call, call.result.fields.get("value"), run, tool))
        return self._plain(call, call.result, run, tool)

    def _plain(self, call: ReplayedCall, result: Any, run: Ongoing, tool: Tool | None) -> Any:
        if call.error is not None:
            raise self._built(run, lambda: build_error(call.error or {}, tool))
        kind = type(result)
        if kind is str or kind is int or result is ABSENT:
            return None if result is ABSENT else result
        return self._built(run, lambda: build_result(result, tool))

    def _built(self, run: Ongoing, build: Callable[[], Any]) -> Any:
        try:
            return build()
        except StatebaseError as error:
            # The agent must not be able to take a stub that cannot be built for a failing tool.
            run.fatal = error
            run.latch = str(error)
            raise UnrecordedCall(run.latch) from error


def _way(heard: Mapping[str, Any]) -> str:
    """How a generator was read on."""
    error = heard.get("error")
    if isinstance(error, Mapping):
        return f"with {error.get('type')}({show(error.get('message'))}) thrown in"
    return f"with {show(heard['value'])} sent" if "value" in heard else "with nothing sent"


async def _be_cancelled(error: Mapping[str, Any]) -> None:
    """Wait to be cancelled, as the recorded call was: by a time-out or a task group of the agent's, in its own time."""
    await asyncio.sleep(float(error["cancelled_after_ms"]) * 1.5 / 1000 + 0.5)
