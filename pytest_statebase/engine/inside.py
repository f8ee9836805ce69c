"""The function inside of whatever an agent holds as a tool: a partial, a cache, a method, a framework's object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any

from .frameworks import invoked, is_invoker, naming_the_agent

_FUNCTION_ATTRIBUTES = (
    "func", "coroutine", "fn", "afn", "async_fn", "function", "_func", "_fn", "real_fn", "_async_fn", "entrypoint",
    "callable", "handler", "method", "implementation",
)  # fmt: skip
"""Where the tool objects of frameworks keep the function that does the work."""
ENTRY_METHODS = ("_run", "_arun", "forward", "__call__")
"""What a class of tools implements, where it has no function to hold."""
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Inside:
    """A function that can be stubbed, with how it is called from outside."""

    function: FunctionType
    is_method: bool = False
    """It is called with an object as its first argument, which is none of the call's."""
    instance: Any = None
    """The only object that it is called with from here, where there is one."""
    given: frozenset[str] = frozenset()
    """Parameters that a partial has filled in."""
    clear: Callable[[], Any] | None = None
    """Empties the cache in front of it."""
    adapter: Callable[[FunctionType], Callable[..., Any]] | None = None
    """It is no tool but on the way to one (see `Tool.adapter`)."""


def inside(value: Any) -> Inside | None:
    """The one function that calls of `value` reach, None where there is none, or not one alone."""
    clear: Callable[[], Any] | None = None
    given: frozenset[str] = frozenset()
    for _ in range(_DEPTH):
        if isinstance(value, FunctionType):
            return Inside(value, given=given, clear=clear)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, MethodType):
            found = inside(value.__func__)
            owner = None if isinstance(value.__self__, type) else value.__self__
            return found and replace(found, is_method=True, instance=owner, given=given, clear=clear or found.clear)
        elif isinstance(value, (functools.partial, functools.partialmethod)):
            given |= _given(value)
            value = value.func
        elif (
            not isinstance(value, type)
            and not is_invoker(value)
            and (wrapped := _lasting(value, "__wrapped__")) is not None
        ):
            clear = clear or getattr(value, "cache_clear", None)
            value = wrapped
        else:
            return None
    return None


def _given(value: functools.partial[Any] | functools.partialmethod[Any]) -> frozenset[str]:
    try:
        names = list(inspect.signature(value.func).parameters)
    except (TypeError, ValueError):
        names = []
    return frozenset(names[: len(value.args)]) | frozenset(value.keywords)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of a stranger may raise anything
        return None


def _lasting(value: Any, name: str) -> Any:
    """An attribute, None for one that `__getattr__` makes anew each time: to stub it would stub nothing."""
    found = _attribute(value, name)
    if found is None or inspect.getattr_static(value, name, None) is not None:
        return found
    again = _attribute(value, name)
    same = again is found or (isinstance(found, MethodType) and again == found)
    return found if same else None


def functions_of(value: Any) -> Iterator[Inside]:
    """The functions that a tool object holds (a sync and an async one may do the same), else its own methods."""
    found = False
    for name in _FUNCTION_ATTRIBUTES:
        held = value.get(name) if isinstance(value, Mapping) else _lasting(value, name)
        # A method of the tool object's class is the framework's, not the tool.
        if held is None or (isinstance(held, MethodType) and held.__self__ is value):
            continue
        one = inside(held)
        if one is not None:
            found = True
            yield _with_context(value, one)
    if not found and is_invoker(value):
        for one in _invoked(value.on_invoke_tool):
            found = True
            yield one
    if not found and not isinstance(value, Mapping):
        for name in ENTRY_METHODS:
            method = inside(inspect.getattr_static(type(value), name, None))
            if method is not None:
                yield replace(method, is_method=True, instance=value)


def _with_context(value: Any, found: Inside) -> Inside:
    """pydantic-ai's tools may take the run's context first, under any name and without an annotation."""
    if _attribute(value, "takes_ctx") is not True:
        return found
    parameters = list(inspect.signature(found.function).parameters)[1 if found.is_method else 0 :]
    return replace(found, given=found.given | set(parameters[:1]))


def _invoked(invoker: Any) -> Iterator[Inside]:
    """The function in a tool of openai-agents, and the one on the way to it, which knows the agent that acts."""
    outer, function = invoked(invoker)
    found = None if function is None else inside(function)
    if outer is None:
        return
    if found is None:
        # Written by hand: it gets the arguments as JSON text. An agent as a tool is none.
        if not outer.__module__.startswith("agents."):
            yield Inside(outer)
        return
    yield found
    yield Inside(outer, adapter=naming_the_agent)


def own_name(value: Any) -> str | None:
    """The name that a tool object itself has for the model."""
    if isinstance(value, Mapping):
        try:
            name = value.get("name")
        except Exception:  # a mapping of a stranger may take no text for a key
            name = None
    elif isinstance(value, type):
        field = (_attribute(value, "model_fields") or {}).get("name")
        name = getattr(field, "default", None) if field is not None else vars(value).get("name")
    else:
        name = _attribute(value, "name") or _attribute(_attribute(value, "metadata"), "name")
    return name if isinstance(name, str) and name else None
