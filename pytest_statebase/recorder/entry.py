"""The agent's entry point: each call of it is a turn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from inspect import CO_COROUTINE
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any, TypeAlias, TypeVar

from ..engine.asked import MARK, Entry, found, streamed
from ..engine.snapshot import snapshot
from ..engine.streams import Watch
from ..engine.trampoline import kind_of, trampoline, twin
from ..errors import AgentError
from ..values import ABSENT
from .turns import Turn

T = TypeVar("T")
Begin: TypeAlias = "Callable[[Asked], Turn | None]"


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call of an entry point asks for."""

    session: str | None
    input: Any
    state: Any
    user: str | None
    agent_id: str | None


def decorated(target: Any, entry: Entry, begin: Begin, failed: Callable[[str, Exception], None]) -> Any:
    """The entry point with its calls captured, and else as it is: its kind, its signature, what it returns.

    begin: makes a turn that has begun, None where the call is none. failed: told of what goes wrong in here.
    Raises AgentError for what is no function, and for a parameter that it does not have.
    """
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(decorated(target.__func__, entry, begin, failed))
    if isinstance(target, MethodType):
        return MethodType(decorated(target.__func__, entry, begin, failed), target.__self__)
    if not isinstance(target, FunctionType):
        raise AgentError(
            f"{type(target).__name__} objects cannot be captured: a function or a method can",
            remedy="Decorate the function or method that is called with what the user says.",
        )
    code = target.__code__
    _check(target, entry)
    made = twin(target, trampoline(code, _Capturing(target, entry, begin, failed).dispatch, is_method=False))
    functools.update_wrapper(made, target)
    del made.__wrapped__  # type: ignore[attr-defined]  # its own signature is the same
    setattr(made, MARK, entry)
    return made


def attach(target: FunctionType, entry: Entry, begin: Begin, failed: Callable[[str, Exception], None]) -> None:
    """As `decorated`, in place: whoever holds the function has its calls captured.

    Raises AgentError for a parameter that it does not have.
    """
    code = target.__code__
    _check(target, entry)
    capturing = _Capturing(twin(target, code), entry, begin, failed)
    target.__code__ = trampoline(code, capturing.dispatch, is_method=False)


def _check(target: FunctionType, entry: Entry) -> None:
    code = target.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    known = code.co_varnames[: count + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)]
    for where in (entry.session, entry.input, entry.state, entry.user):
        name = where.partition(".")[0] if isinstance(where, str) else None
        if name is not None and name not in known and not code.co_flags & 0x08:
            raise AgentError(
                f"{target.__qualname__} has no parameter {name!r}", remedy=f"It has {', '.join(known) or 'none'}."
            )


class _Capturing:
    """Makes a turn of each call of one entry point."""

    def __init__(
        self, target: FunctionType, entry: Entry, begin: Begin, failed: Callable[[str, Exception], None]
    ) -> None:
        self._target = target
        self._entry = entry
        self._begin = begin
        self._failed = failed
        self._is_async = kind_of(target.__code__) == CO_COROUTINE

    def dispatch(self, named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        turn = self._turn(named)
        if turn is None:
            return self._target(*args, **kwargs)
        try:
            with turn.around():
                result = self._target(*args, **kwargs)
        except BaseException as error:
            turn.close(error)
            raise
        if type(result) is CoroutineType:
            return self._awaiting(turn, result)
        return self._replied(turn, result)

    async def _awaiting(self, turn: Turn, coroutine: CoroutineType[Any, Any, Any]) -> Any:
        try:
            with turn.around():
                result = await coroutine
        except BaseException as error:
            turn.close(error)
            raise
        return self._replied(turn, result)

    def _replied(self, turn: Turn, result: Any) -> Any:
        if type(result) is GeneratorType:
            return self._watch(turn).through(result)
        if type(result) is AsyncGeneratorType:
            return self._watch(turn).through_async(result)
        self._reply(turn, result)
        turn.close()
        return result

    def _reply(self, turn: Turn, result: Any) -> None:
        try:
            turn.reply(found(result, self._entry.output))
        except Exception as error:
            self._failed("reply", error)

    def _watch(self, turn: Turn) -> Watch:
        chunks: list[Any] = []

        def seen(chunk: Any) -> None:
            try:
                if turn.has_room():
                    piece = found(chunk, self._entry.output)
                    chunks.append(snapshot(piece))
            except Exception as error:
                self._failed("reply", error)

        def ended(closed: bool, returned: Any, error: BaseException | None) -> None:
            try:
                if chunks or returned is not None:
                    turn.reply(streamed(chunks, returned))
            except Exception as trouble:
                self._failed("reply", trouble)
            turn.close(error, interrupted=closed)

        return Watch(seen, lambda heard: None, ended, turn.around)

    def _turn(self, named: dict[str, Any]) -> Turn | None:
        try:
            return self._begin(self._asked(named))
        except Exception as error:
            self._failed("turn", error)
            return None

    def _asked(self, named: dict[str, Any]) -> Asked:
        entry = self._entry
        session = found(named, entry.session or "session_id", default=None)
        user = found(named, entry.user, default=None) if entry.user is not None else None
        return Asked(
            None if session is None else str(session),
            self._input(named),
            found(named, entry.state or "state", default=ABSENT),
            None if user is None else str(user),
            entry.agent_id,
        )

    def _input(self, named: dict[str, Any]) -> Any:
        if self._entry.input is not None:
            return found(named, self._entry.input)
        if "user_input" in named:
            return named["user_input"]
        if "messages" in named:
            return last_words(named["messages"])
        rest = [name for name in named if name not in ("self", "cls", "session_id", "state")]
        return named[rest[0]] if len(rest) == 1 else None


def last_words(messages: Any) -> Any:
    """What the user said last in chat messages."""
    for message in reversed(list(messages)):
        role = found(message, "role") or found(message, "type")
        if role in ("user", "human"):
            return found(message, "content")
    return None
