"""One function that an agent calls as a tool, and the arguments of its calls."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any
from uuid import UUID

from ..values import same
from .frameworks import injected
from .trampoline import kept_apart, kind_of

CONTEXT_NAMES = frozenset(
    {"self", "cls", "ctx", "context", "run_context", "tool_context", "runtime", "run_manager", "callback_manager"}
)
_PLAIN = (
    *(str, int, float, complex, bytes, bytearray, type(None), dict, list, tuple, set, frozenset),
    *(Decimal, Fraction, date, time, timedelta, UUID, PurePath, Enum),
)
"""Values, in whatever place they are passed: no machinery."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A call of a function that is a way to tools, as it is recorded."""

    tool: Tool
    arguments: dict[str, Any]
    result: Callable[[Any], Any]
    """Makes of what came back what stands in a record."""
    error: Callable[[BaseException], BaseException]
    """Makes of what was raised what stands in a record."""


@dataclass(eq=False, slots=True)
class Tool:
    """One function that the agent calls as a tool."""

    name: str
    """As it stands in recordings."""
    function: FunctionType
    where: str
    """`module:qualified.name`, for messages."""
    is_method: bool = False
    """The first parameter is `self` or `cls` and no argument of the call."""
    is_async: bool = False
    instance: Any = None
    """Only calls on this object are calls of this tool; others of its class are tools of their own."""
    given: frozenset[str] = frozenset()
    """Parameters that the project fills in itself (a partial): objects among them are no arguments of the call."""
    clear: Callable[[], Any] | None = None
    """Empties the cache in front of it."""
    reads: bool = False
    """Marked in the code as having no effect."""
    live: bool = False
    """Marked in the code as one that may run for a call without an answer."""
    adapter: Callable[[FunctionType], Callable[..., Any]] | None = field(default=None, repr=False)
    """Makes what answers the calls of a function that is a way to tools rather than one; it gets the original."""
    seen: Callable[[dict[str, Any]], Seen] | None = field(default=None, repr=False)
    """What a call of such a function is, by its arguments, for whoever only looks on; None where there is no call."""
    owner: type | None = field(default=None, repr=False)
    """The class that holds the method: overrides in its subclasses are tools, too."""
    is_behind: bool = False
    """It stands behind a wrapper that is the tool: calls from within the wrapper are none of their own."""
    signature: inspect.Signature = field(init=False)
    stub: tuple[CodeType, CodeType] | None = field(init=False, default=None)
    """The code that was stubbed last and the code that stubs it."""
    _defaults: dict[str, Any] = field(init=False)
    _wraps: bool = field(init=False)
    _injected: frozenset[str] = field(init=False)
    """Parameters that a framework fills in by their annotation."""
    _async_inside: bool = field(init=False)

    def __post_init__(self) -> None:
        self.signature = inspect.signature(self.function)
        parameters = list(self.signature.parameters.values())[1 if self.is_method else 0 :]
        self.signature = self.signature.replace(parameters=parameters)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._defaults |= {p.name: [] for p in parameters if p.kind is p.VAR_POSITIONAL}
        self._wraps = hasattr(self.function, "__wrapped__")
        inner = inspect.unwrap(self.function)
        self._injected = injected(inner) if isinstance(inner, FunctionType) else frozenset()
        self._async_inside = not kind_of(self.function.__code__) and inspect.iscoroutinefunction(inner)

    @property
    def is_awaited(self) -> bool:
        """Whether a call made here gives an awaitable, though the function is no async one itself.

        A plain decorator around an async function either hands the coroutine on, or runs it to its end, which it can
        only where no event loop runs.
        """
        if not self._async_inside:
            return False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def bind(self, named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments by parameter name: positional equals keyword; what equals its default is left out."""
        if self._wraps:
            bound = self.signature.bind(*args[1 if self.is_method else 0 :], **kwargs)
            named = self._flatten(dict(bound.arguments))
        return self.canonical({name: value for name, value in named.items() if not self._is_context(name, value)})

    def _is_context(self, name: str, value: Any) -> bool:
        """Whether an argument is the machinery of a framework rather than something the model chose."""
        given = name in CONTEXT_NAMES or name in self.given
        return name in self._injected or (given and not isinstance(value, _PLAIN))

    def _flatten(self, named: dict[str, Any]) -> dict[str, Any]:
        parameters = self.signature.parameters.values()
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                taken = frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL))
                named = kept_apart(named, named.pop(parameter.name, {}), parameter.name, taken)
            elif parameter.kind is parameter.VAR_POSITIONAL and parameter.name in named:
                named[parameter.name] = list(named[parameter.name])
        return named

    def canonical(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`arguments` without those that equal their default."""
        for name, default in self._defaults.items():
            if name in arguments:
                value = arguments[name]
                if value is default or same(value, default):
                    arguments = {key: item for key, item in arguments.items() if key != name}
        return arguments
